/* Functions before main and after it. */
#include <stdio.h>
#include <stdlib.h>

static int order;
static int next(void) { return ++order; }
static void first(int argc, char **argv, char **environment) {
  (void)argc, (void)argv, (void)environment;
  next();
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char **, char **) = first;
__attribute__((constructor)) static void constructor(void) { printf("constructor %d\n", next()); }
__attribute__((destructor)) static void destructor(void) { printf("destructor %d\n", next()); }
static void at_exit(void) { printf("at exit %d\n", next()); }

int main(void) {
  atexit(at_exit);
  printf("main %d\n", next());
  exit(next());
}
