// outs.cpp has functions that write to what their arguments point to, where it is not easy to know which call's that is: within
// each other, with exceptions, with memory that goes. Each says what will be there when it returns, and the program ends badly
// if it is not.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>

#if defined(__clang__)
#define CALLED __attribute__((noinline))
#else
#define CALLED __attribute__((noipa))
#endif

static void told(const char *function) { printf("= app::%s\n", function); }
static void value(const char *name, const std::string &text) { printf("%s\t%s\n", name, text.c_str()); }
static void must(bool is) {
  if (!is) abort();
}

namespace app {

// Calls of itself write before it does and behind.
CALLED int nested(int n, int *out, std::string &s) {
  told("nested"), value("n", std::to_string(n)), value("out", "?any"), value("s", "?any"), value("out@leave", std::to_string(10 * n));
  value("s@leave", '"' + std::string(n, 'x') + '"'), value("return", std::to_string(n));
  int inner = -1;
  std::string t;
  *out = n;
  if (n > 1) must(nested(n - 1, &inner, t) == n - 1 && inner == 10 * (n - 1) && t.size() == size_t(n - 1));
  *out = 10 * n;
  s.assign(n, 'x');
  return n;
}

// Half of its calls end by an exception, which passes through calls of itself.
CALLED int thrown(int n, int *out) {
  told("thrown"), value("n", std::to_string(n)), value("out", "?any"), value("out@leave", n > 2 ? std::to_string(n) : "?"), value("return", n > 2 ? std::to_string(n) : "?");
  *out = n;
  if (!n) throw n;
  int inner = -1;
  if (n != 3) return thrown(n - 1, &inner) + 1;
  try {
    thrown(n - 1, &inner);
  } catch (int) {
    return n;
  }
  abort();
}

// What the argument leads to is not there any more, or never was.
CALLED void gone(int *out) {
  told("gone"), value("out", "?any"), value("out@leave", "?");
  *out = 1;
  munmap(out, 4096);
}
CALLED void nowhere(int *out) { told("nowhere"), value("out", "null"), value("out@leave", out ? "?" : "null"); }

// The argument itself changes, its target does not.
CALLED int moved(int *out, int n) {
  told("moved"), value("out", "?any"), value("n", std::to_string(n)), value("out@leave", std::to_string(n)), value("return", std::to_string(2 * n));
  *out++ = n;
  *out = 2 * n;
  return *out;
}

}  // namespace app

int main() {
  int out = 0, two[2];
  std::string s;
  for (int n = 1; n < 40; n += 7) must(app::nested(n, &out, s) == n && out == 10 * n);
  must(app::thrown(5, &out) == 5 && out == 5);
  for (int i = 0; i < 3; i++) app::gone(static_cast<int *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
  app::nowhere(nullptr);
  for (int n = 1; n < 4; n++) app::moved(two, n);
}
