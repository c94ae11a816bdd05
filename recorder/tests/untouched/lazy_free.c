/* An allocator in the program that looks the real one up when it is first used. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void (*real)(void *);
void free(void *p) {
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "free");
  real(p);
}

static int work(int n) {
  free(malloc(10));
  return n + 1;
}

int main(void) {
  int n = 0;
  for (int i = 0; i < 10; i++) n = work(n);
  printf("%d\n", n);
  return 3;
}
