/* Functions that the loader calls while it relocates (IFUNC resolvers), and what these call. */
#include <stdio.h>

static int one(void) { return 1; }
static int two(void) { return 2; }
static int choose(int n) { return n > 3; }
static int (*pick(void))(void) { return choose(4) ? two : one; }
int f(void) __attribute__((ifunc("pick")));
int (*volatile address)(void) = f;

int main(void) {
  printf("%d %d\n", f(), address());
  return f();
}
