// values_windows_api.cpp: what trace_windows.sh records with LOGREC_ARGS and LOGREC_RETURN, compiled by MinGW and by
// clang-cl, whose library has no functions here.

#include "logrec_values.h"

namespace app {
enum class Color { Red, Green = 5 };
struct Point { int x, y; };
static void logrec_write(logrec::Text &t, const Point &p) { t.add(p.x < p.y ? "up" : "down", p.x < p.y ? 2 : 4); }

struct Call {
  explicit Call(const void *f) : function(f) { logrec_enter(f); }
  ~Call() { logrec_leave(function); }
  const void *function;
};

static int sum(int a, int b) {
  Call call((const void *)&sum);
  LOGREC_ARGS(a, b);
  return LOGREC_RETURN(a + b);
}
static double mixed(const char *text, double d, Color color, bool b, unsigned char c, long long n) {
  Call call((const void *)&mixed);
  const Point p = {1, 2};
  const char *const nowhere = (const char *)8;
  LOGREC_ARGS(text, d, (int)color, b, c, n, p, nowhere, nullptr);
  return LOGREC_RETURN(d / 2);
}
#if !defined(_MSC_VER)
static std::string text(const std::string &s) {
  Call call((const void *)&text);
  LOGREC_ARGS(s);
  return LOGREC_RETURN(s + "!");
}
#endif
}  // namespace app

int main() {
  const int s = app::sum(3, -4);
  const double d = app::mixed("a text", 5, app::Color::Green, true, 250, -5000000000);
#if !defined(_MSC_VER)
  if (app::text("a string") != "a string!") return 1;
#endif
  return s != -1 || d < 2.5 || d > 2.5;
}
