/* longjmp out of nested calls and out of a signal handler. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static jmp_buf out;
static sigjmp_buf from_handler;
static int depth(int n) {
  if (n == 0) longjmp(out, 7);
  return depth(n - 1) + 1;
}
static int round_of(int i) {
  volatile int count = i;
  const int v = setjmp(out);
  if (v == 0) return depth(i % 5);
  return v + count;
}
static void handler(int number) {
  (void)number;
  siglongjmp(from_handler, 1);
}
static void fault(volatile int *p) { *p = 1; }
static int survive(void) {
  if (sigsetjmp(from_handler, 1)) return 1;
  fault((volatile int *)16);
  return 0;
}

int main(void) {
  long sum = 0;
  struct sigaction action = {0};
  action.sa_handler = handler;
  sigaction(SIGSEGV, &action, NULL);
  for (int i = 0; i < 200; i++) sum += round_of(i);
  for (int i = 0; i < 10; i++) sum += survive();
  printf("%ld\n", sum);
  return 0;
}
