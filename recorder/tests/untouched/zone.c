/* What the C library tells of time zones before the program has asked it. */
#include <stdio.h>
#include <time.h>

static int leaf(int n) { return n; }

int main(void) {
  printf("%ld %d\n", timezone, daylight);
  return leaf(6);
}
