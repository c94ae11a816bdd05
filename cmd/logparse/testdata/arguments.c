// A program of TestUftrace: functions with the prototypes of those with which uftrace tests arguments and results of C.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLED __attribute__((noipa))

enum color { RED, GREEN = 5, BLUE };
enum flag { READ = 1, WRITE = 2, EXEC = 4 };
struct int1 { int a; };
struct int3 { int a, b, c; };
struct lng1 { long a; };
struct lng3 { long a, b, c; };
struct dbl1 { double a; };
struct dbl3 { double a, b, c; };
struct mix1 { int a; double b; };
struct mix2 { double a; long b; };
struct mix3 { float a; int b; long c; double d; };
struct option { const char *name; int has; int *flag; int val; };
struct view { const char *data; unsigned long length; };

CALLED int int_add(int a, long b) { return a + (int)b; }
CALLED int int_sub(char a, short b) { return a - b; }
CALLED int int_mul(long long a, int b) { return (int)a * b; }
CALLED int int_div(int a, long b) { return a / (int)b; }
CALLED char *str_cpy(char *d, char *s) { return strcpy(d, s); }
CALLED char *str_cat(char *d, char *s) { return strcat(d, s); }
CALLED char three(char a, char b, char c) { return a < b ? b : c; }
CALLED char four(char a, char b, char c, char d) { return a < b ? c : d; }
CALLED float float_add(float a, float b) { return a + b; }
CALLED float float_sub(float a, double b) { return a - (float)b; }
CALLED double float_mul(double a, float b) { return a * b; }
CALLED double float_div(double a, double b) { return a / b; }
CALLED double mixed_add(int a, float b) { return a + b; }
CALLED long mixed_sub(void *a, unsigned long b) { return (long)a - (long)b; }
CALLED long long mixed_mul(double a, long long b) { return (long long)a * b; }
CALLED long double mixed_div(long long a, long double b, int c) { return a / b / c; }
CALLED char *mixed_str(char *a, double b) { return b > 1 ? a : NULL; }
CALLED int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m) { return a + b + c + d + e + f + g + h + i + j + k + l + m; }
CALLED int variadic(const char *format, ...) {
  char text[200];
  va_list list;
  va_start(list, format);
  const int n = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return n;
}
CALLED int pass_int1(struct int1 a, int x, char *y, double z) { return a.a + x + *y + (int)z; }
CALLED int pass_int3(struct int3 a, int x, char *y, double z) { return a.a + a.b + a.c + x + *y + (int)z; }
CALLED long pass_lng1(struct lng1 a, int x, char *y, double z) { return a.a + x + *y + (int)z; }
CALLED long pass_lng3(struct lng3 a, int x, char *y, double z) { return a.a + a.b + a.c + x + *y + (int)z; }
CALLED double pass_dbl1(struct dbl1 a, int x, char *y, double z) { return a.a + x + *y + z; }
CALLED double pass_dbl3(struct dbl3 a, int x, char *y, double z) { return a.a + a.b + a.c + x + *y + z; }
CALLED float pass_mix1(struct mix1 a, int x, char *y, double z) { return (float)(a.a + a.b + x + *y + z); }
CALLED float pass_mix2(struct mix2 a, int x, char *y, double z) { return (float)(a.a + (double)a.b + x + *y + z); }
CALLED int pass_mix3(struct mix3 a, int x, char *y, double z) { return (int)(a.a + (float)a.b + (float)a.c + a.d + x + *y + z); }
CALLED int with_structs(struct option o, struct view v, int a, int b, int c) { return o.val + (int)v.length + a + b + c; }
CALLED enum color painted(enum color c) { return c == RED ? BLUE : RED; }
CALLED void opened(enum flag f, const char *name) { (void)f, (void)name; }
CALLED float calls(char *s, char c, double d, void (*f)(enum flag, const char *)) { return f(READ, s), c + (float)d; }
CALLED int reads(int *p, int n) { return *p + n; }
CALLED void null(char *s) { (void)s; }

int main(void) {
  char text[64] = "";
  int n = 7;
  int_add(-1, 2), int_sub(3, -4), int_mul(3, 4), int_div(4, -2), int_add(1 << 30, -1L << 31);
  str_cpy(text, "hello"), str_cat(text, " world"), three('f', 'o', 'o'), four(0, 'B', 'a', 'r'), three('\n', '\'', '"');
  float_add(-0.1f, 0.2f), float_sub(0.1f, 0.2), float_mul(300, 400), float_div(40000000000, -0.02);
  mixed_add(-1, 0.2f), mixed_sub((void *)0x400000, 2048), mixed_mul(-3, 80000000000), mixed_div(4, -0.000002L, 1), mixed_str("hello", 0), mixed_str("hello", 2);
  many(12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), variadic("print %c %s %d %ld %lu %lld %f", 'a', "hello", 100, 1234l, 5678ul, 9876543210ll, 3.141592);
  char y = 'y';
  pass_int1((struct int1){1}, 2, &y, 3), pass_int3((struct int3){1, 2, 3}, 4, &y, 5), pass_lng1((struct lng1){1}, 2, &y, 3), pass_lng3((struct lng3){1, 2, 3}, 4, &y, 5);
  pass_dbl1((struct dbl1){1}, 2, &y, 3), pass_dbl3((struct dbl3){1, 2, 3}, 4, &y, 5), pass_mix1((struct mix1){1, 2}, 3, &y, 4), pass_mix2((struct mix2){1, 2}, 3, &y, 4);
  pass_mix3((struct mix3){1, 2, 3, 4}, 5, &y, 6), with_structs((struct option){"name", 1, &n, 22}, (struct view){"text", 4}, 44, 55, 66);
  painted(RED), painted(BLUE), opened(READ | EXEC, "file"), opened(64, NULL), calls("string argument", 'x', -3.5, opened), reads(&n, -1), null(NULL);
  return 0;
}
