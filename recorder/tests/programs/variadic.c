/* Arguments of every kind and results in every register must come through the hooks. */
#include <complex.h>
#include <stdarg.h>
#include <stdio.h>

struct large {
  long v[9];
};
struct mixed {
  float a, b;
  int c;
};
static long sum(int n, ...) {
  va_list list;
  long s = 0;
  va_start(list, n);
  for (int i = 0; i < n; i++) s += i % 2 ? (long)va_arg(list, double) : va_arg(list, int);
  va_end(list);
  return s;
}
static struct large fill(long n) {
  struct large l;
  for (int i = 0; i < 9; i++) l.v[i] = n + i;
  return l;
}
static struct mixed mix(float a, struct mixed m, int c) { return (struct mixed){a + m.a, a * m.b, c + m.c}; }
static long double product(long double a, float b, double c) { return a * b * c; }
static double complex rotate(double complex z) { return z * I; }
static unsigned char narrow(char a, short b, unsigned char c) { return (unsigned char)(a + b + c); }
static __int128 wide(__int128 a) { return a * 3; }

int main(void) {
  const struct mixed m = mix(1.5f, (struct mixed){2, 3, 4}, 5);
  const double complex z = rotate(2 + 3 * I);
  printf("%ld %ld %g %g %d %Lg %g %g %u %ld\n", sum(6, 1, 2.0, 3, 4.0, 5, 6.0), fill(7).v[8], m.a, m.b, m.c,
         product(1.5L, 2.5f, 3.5), creal(z), cimag(z), narrow(100, 200, 33), (long)wide(14));
  return 0;
}
