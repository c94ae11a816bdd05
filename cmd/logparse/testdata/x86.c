/* A program for 32 bits of TestX86: what the hooks must leave alone. It prints the same with them and without. */
#include <stdio.h>
typedef float vector __attribute__((vector_size(16)));

__attribute__((noipa)) vector vectors(vector a, vector b, vector c) { return a + b * c; }
__attribute__((noipa, regparm(3))) int registers(int a, int b, int c, int d) { return 1000 * a + 100 * b + 10 * c + d; }
__attribute__((noipa, fastcall)) long long fast(int a, short b, long long c) { return 100 * a + 10 * b + c; }
__attribute__((noipa)) long double deep(int n) { return n ? 1.5L + deep(n - 1) : 0.25L; }
__attribute__((noipa)) double halves(double a) { return a / 2; }
__attribute__((noipa)) float small(float a) { return a * 3; }
__attribute__((noipa)) const char *text(const char *of, const char *nowhere) { return nowhere ? of + 1 : of; }
__attribute__((noipa)) int with(int (*f)(int), int n) { return f(n) + f(n + 1); }

int main(void) {
  int outer = 40;
  __attribute__((noipa)) int nested(int n) { return n + outer++; }
  const vector v = vectors((vector){1, 2, 3, 4}, (vector){5, 6, 7, 8}, (vector){9, 10, 11, 12});
  printf("%g %g %g %g\n", v[0], v[1], v[2], v[3]);
  const int in_registers = registers(1, 2, 3, 4);
  printf("%d %lld\n", in_registers, fast(5, -6, -7));
  /* Nothing is left of the x87's registers for others. */
  printf("%Lg\n", deep(1) + (deep(2) * (deep(3) - (deep(4) / (deep(5) + (deep(6) * (deep(7) - deep(8))))))));
  const double half = halves(-5);
  const float three_halves = small(0.5f);
  printf("%g %g %s\n", half, three_halves, text("text", (const char *)0x10));
  printf("%d %d\n", with(nested, 1), outer);
  return 7;
}
