// aliases.cpp has functions whose types have names of their own: typedefs, aliases, alias templates and inline namespaces. What
// values are does not depend on their names.
#include <array>
#include <memory>
#include <vector>

#include "told.h"

namespace json {
using String = std::string;
typedef std::string_view View;
template <class T> using Same = T;
template <class T> using List = std::vector<T>;
using Constant = const std::string;
using Pointer = const std::string *;
using Characters = const char *;
typedef const char Character;
using Reference = const String &;
inline namespace v1 {
struct Ints { int x, y; };
enum class Mode : short { Off, On = 300 };
struct Large { long a, b, c; };
struct Copied {
  int n;
  explicit Copied(int n) : n(n) {}
  Copied(const Copied &c) : n(c.n) {}
};
}  // namespace v1
typedef struct { double d; long l; } Unnamed;
using Point = const Ints;
using Setting = Mode;
typedef Large *LargePointer;
using Method = int(int);
struct Node;
typedef Node NodeName;
struct Node { int n; const NodeName *next; };
}  // namespace json

namespace told {
string put(json::Ints v) { return put_all(m("x", v.x), m("y", v.y)); }
string put(json::Mode v) { return v == json::Mode::On ? "On" : "Off"; }
string put(const json::Large &v) { return put_all(m("a", v.a), m("b", v.b), m("c", v.c)); }
string put(const json::Copied &v) { return put_all(m("n", v.n)); }
string put(json::Unnamed v) { return put_all(m("d", v.d), m("l", v.l)); }
}  // namespace told
#include "told_call.h"

namespace app {
using namespace json;
using told::Call;

CALLED String a01(int n) { return Call("app::a01").a("n", n).r(String((size_t)n, 'b')); }
CALLED int a02(String s) { return Call("app::a02").a("s", s).r((int)s.size()); }
CALLED int a03(const String &s, Reference t, int n) { return Call("app::a03").a("s", s).a("t", t).a("n", n).r(3); }
CALLED View a04(View v, const View &w) { return Call("app::a04").a("v", v).a("w", w).r(v); }
CALLED Same<String> a05(Same<String> s, Same<int> n) { return Call("app::a05").a("s", s).a("n", n).r(Same<String>("five")); }
CALLED int a06(Constant s, Constant &t) { return Call("app::a06").a("s", (const String &)s).a("t", t).r(6); }
CALLED Pointer a07(String *s, Pointer t) { Call("app::a07").a("s", *s).a("t", *t).a("return", *t); return t; }
CALLED Characters a08(Characters s, Character *t) { return Call("app::a08").a("s", s).a("t", t).r(s); }
CALLED Point a09(Point p, const Point &q, Setting s) { return Call("app::a09").a("p", p).a("q", q).a("s", s).r((Ints)p); }
CALLED Unnamed a10(Unnamed u, int n) { return Call("app::a10").a("u", u).a("n", n).r(u); }
CALLED Large a11(Large l, LargePointer p, int n) { return Call("app::a11").a("l", l).a("p", (void *)p).a("n", n).r(l); }
CALLED Copied a12(Same<Copied> c, int n) { return Call("app::a12").a("c", c).a("n", n).r(Copied(12)); }
CALLED int a13(List<int>, const List<int> &w, int n) { return Call("app::a13").text("?", "?").a("w", (void *)&w).a("n", n).r(13); }
struct Holder { int n; String s; };
CALLED int a14(const Holder &h, Same<std::array<int, 2>> a) { return Call("app::a14").text("h", "{n = " + told::put(h.n) + ", s = " + told::put(h.s) + "}").text("a", told::list(a.data(), 2)).r(14); }
struct Methods { CALLED int called(int n) { return n; } };
CALLED int a15(Method Methods::*a, int b) { return Call("app::a15").text("a", "?any").a("b", b).r(15); }
CALLED int a16(const NodeName &n, NodeName m) { 
  return Call("app::a16").text("n", "{n = " + told::put(n.n) + ", next = " + told::put((void *)n.next) + "}").text("m", "{n = " + told::put(m.n) + ", next = " + told::put((void *)m.next) + "}").r(16);
}
CALLED int a17(std::unique_ptr<int> a, Same<std::shared_ptr<int>> b, int c) { return Call("app::a17").text("a", a ? "?" : "").text("b", b ? "?" : "").a("c", c).r(17); }

}  // namespace app

int main() {
  using namespace app;
  String s = "a typedef", l(70, 'l');
  Large large = {1, 2, 3};
  List<int> list = {1, 2};
  NodeName last = {1, nullptr}, first = {2, &last};
  a01(3), a01(40), a02(s), a02(l), a03(s, l, 3), a04(s, View("view")), a05("same", 5), a06(s, l), a07(&s, &l), a08("text", "more"), a08(nullptr, nullptr);
  a09({1, 2}, {3, 4}, Mode::On), a10({1.5, 2}, 3), a11(large, &large, 4), a12(Copied(1), 2), a13(list, list, 5), a14({6, "seven"}, {8, 9});
  a15(&Methods::called, 2), a16(first, last), a17(std::make_unique<int>(1), std::make_shared<int>(2), 3);
}
