/* Functions that call themselves and each other, by pointer and from a library. */
#include <stdio.h>
#include <stdlib.h>

static int is_odd(unsigned n);
static int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }
static int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }
static unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static double sum(double (*f)(double), int n) {
  double s = 0;
  for (int i = 1; i <= n; i++) s += f(i);
  return s;
}
static double inverse(double x) { return 1 / x; }

int main(void) {
  int list[] = {9, 4, 7, 1, 8, 2, 2, 6};
  qsort(list, 8, sizeof list[0], by_value);
  for (int i = 0; i < 8; i++) printf("%d ", list[i]);
  printf("%d %d %u %.6f\n", is_even(40), is_odd(41), ackermann(2, 3), sum(inverse, 50));
  return 3;
}
