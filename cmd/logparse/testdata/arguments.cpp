// A program of TestUftrace: functions with the prototypes of those with which uftrace tests arguments and results of C++.
#include <string>
#include <vector>

#define CALLED __attribute__((noipa))

namespace ns {
namespace inner {
class Foo {
 public:
  CALLED explicit Foo(int n) : n(n) {}
  CALLED int bar(int a) { return n + a; }
  CALLED bool less(const Foo &o) const { return n < o.n; }
  CALLED static void *make(bool b, unsigned char c) { return b ? (void *)&count : (void *)(unsigned long)c; }
  CALLED virtual ~Foo() {}
  CALLED virtual double ratio(float f) { return n / f; }
  static int count;
  int n;
};
int Foo::count;
}  // namespace inner
}  // namespace ns

template <class T> class C {
 public:
  C(T val, const char *s) { construct(val, s); }
  C(const C &c) { copy(c.v, c.s); }
  ~C() {}
  CALLED void construct(T val, const char *str) { v = val, s = str; }
  CALLED void copy(T val, const char *str) { v = val, s = str; }

 private:
  T v;
  const char *s;
};

CALLED C<int> foo(C<int> c1, C<int> &c2, const char *str, float f) { return f > 0 && str ? c1 : c2; }
CALLED std::string addString(std::string dst, const char *src) { return dst + src; }
CALLED std::vector<int> addItem(std::vector<int> v, int n) { return v.push_back(n), v; }
CALLED void std_string_arg(std::string &s) { s += "!"; }
CALLED std::string std_string_ret() { return "a result"; }
CALLED bool myless(int a, int b) { return a < b; }
CALLED int thrown(int n) {
  if (n > 2) throw n;
  return thrown(n + 1);
}

int main() {
  ns::inner::Foo a(1), b(2);
  a.bar(3), a.less(b), ns::inner::Foo::make(true, 200), ns::inner::Foo::make(false, 200), a.ratio(4);
  C<int> c1(1, "debug info test"), c2(2, "other");
  foo(c1, c2, "passed by value", 0.00001f), foo(c1, c2, nullptr, -1);
  std::string s = "Hello";
  addString(s, " world"), addString("a text of more than fifteen bytes", ""), addItem({1, 2}, 3), std_string_arg(s), std_string_ret(), myless(1, 2), myless(2, 1);
  try {
    thrown(0);
  } catch (int) {
  }
}
