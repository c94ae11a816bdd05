/* bt.c: a program that prints by which calls it has come to a place, as addresses, and first what lies
 * where: by frame pointers, as long as the code keeps them, and by what the system unwinds by. "logparse symbolize" makes
 * functions and lines of it:
 *
 *   make && ./bt | logparse symbolize
 */

#include <stdio.h>
#include <unistd.h>

#include "bt.h"
#include "logrec.h"

int printed;

static void print(const char *how, void **calls, int n) {
  printf("%s:\n", how);
  for (int i = 0; i < n; i++) printf("called by %p\n", calls[i]);
}

static void test2(void) {
  void *calls[5];
  const int frames = logrec_backtrace_frames(calls, 5);
  print("by frame pointers", calls, frames);
  const int unwound = logrec_backtrace(calls, 5);
  print("by the unwinder", calls, unwound);
  printed++;
}

static void test1(void) {
  test2();
  printed++;
}

static void test(void) {
  in_library(test1);
  printed++;
}

int main(void) {
  if (!logrec_write_maps(STDOUT_FILENO)) return 1;
  test();
  return printed == 4 ? 0 : 1;
}
