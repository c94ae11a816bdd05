// clones.cpp has functions of which gcc makes others, with parameters of their own: some of its own choice are left out, or
// passed as parts of what they point to. What they are called with their callers say, since some of them never look at it.
#include <cstdio>
#include <string>

static void told(const char *function) { printf("= app::%s\n", function); }
static void value(const char *name, const std::string &text) { printf("%s\t%s\n", name, text.c_str()); }
static void value(const char *name, long n) { value(name, std::to_string(n)); }

struct Pair {
  long x, y;
};

#define CALLED __attribute__((noinline)) static

long sink(long a, long b);

namespace app {

// One of the parameters becomes another before anything is done.
CALLED int swapped(int a, int b, int) {
  int t = a;
  a = b, b = t;
  return int(sink(a, b)) + a * b;
}
CALLED int replaced(int a, int b, int) {
  a = b, b = 0;
  return int(sink(a, b)) + a * b;
}
CALLED int replaced2(int a, int b, int c, int d) {
  a = b, b = d, d = c, c = 5;
  return int(sink(a, b)) + int(sink(d, c)) + a * b;
}
CALLED int constant(int a, int b, int c) {
  a = 5;
  return int(sink(a, b)) + b + c;
}
// The second one is left out.
CALLED int middle(int a, int unused, int b) {
  (void)unused;
  int r = int(sink(a + 1, b));
  return r + b;
}
CALLED double floats(double a, int unused, float b, double c) {
  (void)unused;
  return double(sink(long(a), long(b))) + a + b + c;
}
CALLED long stacked(int a, int b, int c, int d, int e, int f, int g, int unused, long h) {
  (void)unused;
  return sink(a + b + c + d, e + f) + sink(g, h);
}
// Only what it leads to is passed.
CALLED long part(const Pair *p, int i) { return sink(p->x, i) + i; }
CALLED long parts(Pair p, int i, Pair q) { return sink(p.y, i) + q.x; }
CALLED void nothing(int a, const char *s, long b) {
  a++;
  sink(a, s[0]);
  b--;
  sink(b, s[1]);
}
CALLED int again(int n, int same, int left) {
  if (!n) return same;
  told("again"), value("n", n - 1), value("same", same), value("left", left);
  return again(n - 1, same, left) + int(sink(n, same));
}

}  // namespace app

__attribute__((noipa)) long sink(long a, long b) { return a * 3 + b; }

int main(int argc, char **) {
  using namespace app;
  long sum = 0;
  for (int i = argc; i < argc + 3; i++) {
    told("swapped"), value("a", i), value("b", 2 * i), value("?", 3), sum += swapped(i, 2 * i, 3);
    told("replaced"), value("a", i), value("b", 5 * i), value("?", 6), sum += replaced(i, 5 * i, 6);
    told("replaced2"), value("a", i), value("b", 5 * i), value("c", 7 * i), value("d", 9 * i), sum += replaced2(i, 5 * i, 7 * i, 9 * i);
    told("constant"), value("a", i), value("b", 6 * i), value("c", 11), sum += constant(i, 6 * i, 11);
    told("middle"), value("a", i), value("unused", 7), value("b", 3 * i), sum += middle(i, 7, 3 * i);
    told("floats"), value("a", std::to_string(i) + ".5"), value("unused", 8), value("b", std::to_string(i) + ".25"), value("c", std::to_string(i) + ".0");
    sum += long(floats(i + 0.5, 8, float(i) + 0.25f, i));
    told("stacked"), value("a", i), value("b", i + 1), value("c", i + 2), value("d", i + 3), value("e", i + 4), value("f", i + 5), value("g", i + 6), value("unused", 9), value("h", i + 7);
    sum += stacked(i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, 9, i + 7);
    Pair p = {i, 2 * i}, q = {3 * i, 4};
    told("part"), value("p", "?any"), value("i", 17), sum += part(&p, 17);
    told("parts"), value("p", "{x = " + std::to_string(i) + ", y = " + std::to_string(2 * i) + "}"), value("i", 18), value("q", "{x = " + std::to_string(3 * i) + ", y = 4}");
    sum += parts(p, 18, q);
    told("nothing"), value("a", i), value("s", "\"text\""), value("b", 8 * i), nothing(i, "text", 8 * i);
  }
  told("again"), value("n", 3), value("same", 21), value("left", argc), sum += again(3, 21, argc);
  fprintf(stderr, "%ld\n", sum);
}
