/* stacks_nested.c: functions nested in others, which gcc calls with a static chain, for
 * -pg -mfentry -minstrument-return=call. Prints how many calls were made. */

#include <stdio.h>

static int calls;

static int outer(int x) {
  int count = x;
  int inner(int n) {
    int innermost(int k) {
      calls++;
      count += k;
      return count;
    }
    calls++;
    return n > 0 ? inner(n - 1) + innermost(n) : innermost(1);
  }
  int (*volatile by_trampoline)(int) = inner;
  calls++;
  return by_trampoline(3) + inner(2);
}

int main(void) {
  calls = 1;
  for (int i = 0; i < 10; i++) outer(i);
  printf("%d\n", calls);
  return 0;
}
