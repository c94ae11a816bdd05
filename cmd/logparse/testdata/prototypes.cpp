// The program of TestPrototypes: functions with parameters and results of each kind that calling conventions
// tell apart. Each prints itself what it was called with and what it returns, a line each:
//   = FUNCTION
//   NAME<TAB>VALUE
// Values are written as LogParser writes them.
#include <array>
#include <complex>
#include <memory>
#include <utility>
#include <vector>

#include "told.h"

namespace app {

enum class Small : unsigned char { One = 1, Last = 200 };
enum Plain { PlainA, PlainB = 7 };
enum Flag { Read = 1, Write = 2, Exec = 4 };
enum class Signed { Minus = -3, Zero = 0 };
struct Ints { int x, y; };
struct Longs { long a, b; };
struct Floats2 { float x, y; };
struct Floats3 { float x, y, z; };
struct Floats4 { float x, y, z, w; };
struct Doubles { double a, b; };
struct IntDouble { int i; double d; };
struct DoubleInt { double d; int i; };
struct LongDouble_ { long l; double d; };
struct Three { long a, b, c; };
struct Mixed { char c; short s; int i; };
struct Bits { unsigned a : 3; int b : 5; unsigned c : 24; };
union Either { int i; unsigned u; };
struct Four { int v[4]; };
struct Wide { long double v; };
struct Empty {};
struct Nested { Ints a; Floats2 b; };
struct __attribute__((packed)) Packed { char c; int i; };
struct alignas(16) Aligned { long a; };
struct alignas(32) Aligned32 { int a; };
struct Derived : Ints { int z; };
struct Counted {
  int n;
  Counted(int n) : n(n) {}
  Counted(const Counted &c) : n(c.n) {}
};
struct Owner {
  int n;
  Owner(int n) : n(n) {}
  Owner(Owner &&o) : n(o.n) {}
  ~Owner() {}
};
struct Text3 { char t[3]; };

}  // namespace app

namespace told {
using namespace app;
string put(Small v) { return v == Small::One ? "One" : v == Small::Last ? "Last" : std::to_string((int)v); }
string put(Plain v) { return v == PlainA ? "PlainA" : v == PlainB ? "PlainB" : std::to_string((int)v); }
string put(Flag v) { return v == (Read | Exec) ? "Read|Exec" : v == (Write | 64) ? "Write|0x40" : v == Write ? "Write" : v == 64 ? "0x40" : std::to_string((int)v); }
string put(Signed v) { return v == Signed::Minus ? "Minus" : v == Signed::Zero ? "Zero" : std::to_string((int)v); }
string put(Ints v) { return put_all(m("x", v.x), m("y", v.y)); }
string put(Longs v) { return put_all(m("a", v.a), m("b", v.b)); }
string put(Floats2 v) { return put_all(m("x", v.x), m("y", v.y)); }
string put(Floats3 v) { return put_all(m("x", v.x), m("y", v.y), m("z", v.z)); }
string put(Floats4 v) { return put_all(m("x", v.x), m("y", v.y), m("z", v.z), m("w", v.w)); }
string put(Doubles v) { return put_all(m("a", v.a), m("b", v.b)); }
string put(IntDouble v) { return put_all(m("i", v.i), m("d", v.d)); }
string put(DoubleInt v) { return put_all(m("d", v.d), m("i", v.i)); }
string put(LongDouble_ v) { return put_all(m("l", v.l), m("d", v.d)); }
string put(Three v) { return put_all(m("a", v.a), m("b", v.b), m("c", v.c)); }
string put(Mixed v) { return put_all(m("c", v.c), m("s", v.s), m("i", v.i)); }
string put(Bits v) { return put_all(m("a", (unsigned)v.a), m("b", (int)v.b), m("c", (unsigned)v.c)); }
string put(Either v) { return put_all(m("i", v.i), m("u", v.u)); }
string put(Four v) { return "{v = " + list(v.v, 4) + "}"; }
string put(Wide v) { return put_all(m("v", v.v)); }
string put(Nested v) { return put_all("a = " + put(v.a), "b = " + put(v.b)); }
string put(const Packed &v) { return put_all(m("c", (char)v.c), m("i", (int)v.i)); }
string put(Aligned v) { return put_all(m("a", v.a)); }
string put(Aligned32 v) { return put_all(m("a", v.a)); }
string put(const Derived &v) { return put_all("app::Ints = " + put((Ints)v), m("z", v.z)); }
string put(const Counted &v) { return put_all(m("n", v.n)); }
string put(const Owner &v) { return put_all(m("n", v.n)); }
string put(Text3 v) { return "{t = \"" + string(v.t, 3) + "\"}"; }
string put(std::pair<int, int> v) { return put_all(m("first", v.first), m("second", v.second)); }
string put(std::complex<double> v) { return put_all(m("re", v.real()), m("im", v.imag())); }

}  // namespace told

#include "told_call.h"

namespace app {

using told::Call;

#define P1(F, R, V, A) CALLED R F(A a) { return Call("app::" #F).a("a", a).r((R)V); }
P1(p01, char, 'r', char)
P1(p02, signed char, -100, signed char)
P1(p03, unsigned char, 250, unsigned char)
P1(p04, short, -30000, short)
P1(p05, unsigned short, 60000, unsigned short)
P1(p06, int, -7, int)
P1(p07, unsigned, 4000000000u, unsigned)
P1(p08, long, -5000000000, long)
P1(p09, unsigned long, 18000000000000000000u, unsigned long)
P1(p10, long long, -1, long long)
P1(p11, bool, 1, bool)
P1(p12, wchar_t, L'w', wchar_t)
P1(p13, char16_t, u'v', char16_t)
P1(p14, char32_t, U'u', char32_t)
P1(p15, told::Int128, -5, told::Int128)
P1(p16, told::Uint128, 5, told::Uint128)
P1(p17, float, 0.5f, float)
P1(p18, double, -2.25, double)
P1(p19, long double, 1.75L, long double)
CALLED long p20(int a, long b, short c, char d, unsigned e, bool f) {
  return Call("app::p20").a("a", a).a("b", b).a("c", c).a("d", d).a("e", e).a("f", f).r(20l);
}
CALLED long p21(int a, int b, int c, int d, int e, int f, int g, char h, long i) {
  return Call("app::p21").a("a", a).a("b", b).a("c", c).a("d", d).a("e", e).a("f", f).a("g", g).a("h", h).a("i", i).r(21l);
}
CALLED double p22(double a, double b, double c, double d, double e, double f, double g, double h, double i, float j) {
  return Call("app::p22").a("a", a).a("b", b).a("c", c).a("d", d).a("e", e).a("f", f).a("g", g).a("h", h).a("i", i).a("j", j).r(22.5);
}
CALLED float p23(int a, double b, long c, float d, const char *e) { return Call("app::p23").a("a", a).a("b", b).a("c", c).a("d", d).a("e", e).r(2.5f); }
// Its callers leave rubbish in the upper bits.
CALLED char p24(bool a, char b, short c, unsigned char d) {
  volatile bool va = a;
  volatile char vb = b, vd = (char)d;
  volatile short vc = c;
  return Call("app::p24").a("a", (bool)va).a("b", (char)vb).a("c", (short)vc).a("d", (unsigned char)vd).r((char)vb);
}
CALLED char p25(int a) { return Call("app::p25").a("a", a).r((char)a); }
P1(p26, Small, Small::Last, Small)
P1(p27, Plain, PlainB, Plain)
P1(p28, Flag, Write, Flag)
P1(p29, Signed, Signed::Zero, Signed)
P1(p30, Plain, 9, Plain)
P1(p31, const void *, a, const void *)
CALLED int *p32(int *a) { return (int *)Call("app::p32").a("a", (void *)a).r((const void *)a); }
CALLED const char *p33(const char *a, const char *b, const char *c) { return Call("app::p33").a("a", a).a("b", b).a("c", c).r(a); }
CALLED const char *p34(const char *a) { return Call("app::p34").a("a", a).r((const char *)nullptr); }
CALLED void p35(char *a, char **b) { Call("app::p35").a("a", (const char *)a).a("b", (void *)b); }
CALLED int p36(int (*a)(int)) { return Call("app::p36").text("a", told::put((void *)a) + " <app::called>").r(a(1)); }
CALLED int p37(int Ints::*a) { return Call("app::p37").a("a", a == &Ints::y ? 4l : 0l).r(37); }
CALLED int p38(std::nullptr_t a) { return Call("app::p38").a("a", (void *)a).r(38); }
CALLED int &p39(int &a, const double &b) { Call("app::p39").a("a", a).a("b", b).a("return", a); return a; }
CALLED int p40(const Ints &a, int &&b) { return Call("app::p40").a("a", a).a("b", b).r(40); }
CALLED int p41(int (&a)[3]) { return Call("app::p41").text("a", told::list(a, 3)).r(41); }
P1(p42, Ints, (Ints{1, -2}), Ints)
P1(p43, Longs, (Longs{1, -2}), Longs)
P1(p44, Floats2, (Floats2{1, -2}), Floats2)
P1(p45, Floats3, (Floats3{1, -2, 3}), Floats3)
P1(p46, Floats4, (Floats4{1, -2, 3, 4}), Floats4)
P1(p47, Doubles, (Doubles{1, -2}), Doubles)
P1(p48, IntDouble, (IntDouble{1, -2}), IntDouble)
P1(p49, DoubleInt, (DoubleInt{1, -2}), DoubleInt)
P1(p50, LongDouble_, (LongDouble_{0x42, 2.5}), LongDouble_)
P1(p51, Three, (Three{1, -2, 3}), Three)
P1(p52, Mixed, (Mixed{'c', -2, 3}), Mixed)
P1(p53, Bits, (Bits{5, -3, 100}), Bits)
P1(p54, Either, (Either{8}), Either)
P1(p55, Four, (Four{{1, 2, 3, 4}}), Four)
P1(p56, Wide, (Wide{2.5L}), Wide)
CALLED int p57(Empty, int b) { return Call("app::p57").text("?", "{}").a("b", b).r(57); }
P1(p58, Nested, (Nested{{1, 2}, {3, 4}}), Nested)
P1(p59, Packed, (Packed{'p', 3}), Packed)
P1(p60, Aligned, (Aligned{3}), Aligned)
P1(p61, Aligned32, (Aligned32{3}), Aligned32)
P1(p62, Derived, (Derived{{1, 2}, 3}), Derived)
CALLED Counted p63(Counted a, int b) { return Call("app::p63").a("a", a).a("b", b).r(Counted(63)); }
CALLED Owner p64(Owner a, int b) {
  Call("app::p64").a("a", a).a("b", b).text("return", "{n = 64}");
  return Owner(64);
}
P1(p65, Text3, (Text3{{'x', 'y', 'z'}}), Text3)
// Not enough registers are left for a whole struct, but for what is behind it.
CALLED int p66(long a, long b, long c, long d, long e, Longs f, long g, double h) {
  return Call("app::p66").a("a", a).a("b", b).a("c", c).a("d", d).a("e", e).a("f", f).a("g", g).a("h", h).r(66);
}
CALLED int p67(double a, double b, double c, double d, double e, double f, double g, Doubles h, double i, LongDouble_ j) {
  return Call("app::p67").a("a", a).a("b", b).a("c", c).a("d", d).a("e", e).a("f", f).a("g", g).a("h", h).a("i", i).a("j", j).r(67);
}
CALLED int p68(int a, Three b, long double c, Mixed d, told::Int128 e, float f, Aligned g, int h, int i, int j, Ints k) {
  return Call("app::p68").a("a", a).a("b", b).a("c", c).a("d", d).a("e", e).a("f", f).a("g", g).a("h", h).a("i", i).a("j", j).a("k", k).r(68);
}
CALLED int p69(const char *a, ...) { return Call("app::p69").a("a", a).r(69); }
CALLED int p70(double a, int b, ...) { return Call("app::p70").a("a", a).a("b", b).r(70); }
CALLED std::string p71(const std::string &a) { return Call("app::p71").a("a", a).r(std::string("short")); }
CALLED std::string p72(std::string a, int b) { return Call("app::p72").a("a", a).a("b", b).r(std::string(30, 'l')); }
CALLED std::string_view p73(std::string_view a, const std::string *b) { return Call("app::p73").a("a", a).a("b", *b).r(std::string_view(*b)); }
CALLED int p74(std::pair<int, int> a, std::array<int, 3> b, std::vector<int>, int d) {
  return Call("app::p74").a("a", a).text("b", told::list(b.data(), 3)).text("?", "?").a("d", d).r(74);
}
CALLED int p75(std::unique_ptr<int> a, std::shared_ptr<int> b, int c) {
  return Call("app::p75").text("a", a ? "?" : "").text("b", b ? "?" : "").a("c", c).r(75);
}
CALLED std::complex<double> p76(std::complex<double> a) { return Call("app::p76").a("a", a).r(a * 2.0); }
// What is not used need not be passed.
CALLED int p77(int a, int, int c) { return Call("app::p77").a("a", a).text("?", "?or 5").a("c", c).r(77); }
CALLED void p78() { Call("app::p78"); }
// Results that are called for by the caller's own memory.
CALLED Three p79(int a, const char *b) { return Call("app::p79").a("a", a).a("b", b).r(Three{7, 8, 9}); }

struct Shape {
  int id = 7;
  explicit Shape(int id) : id(id) {}
  virtual ~Shape() {}
  virtual int p80(int w, int h) = 0;
};
struct Other {
  long other = 1;
  virtual ~Other() {}
  virtual int p81(double d) = 0;
};
struct Circle : Shape, Other {
  int r = 2;
  CALLED explicit Circle(int id) : Shape(id) {}
  CALLED int p80(int w, int h) override { return Call("app::Circle::p80").a("this", (void *)this).a("w", w).a("h", h).r(w * h); }
  CALLED int p81(double d) override { return Call("app::Circle::p81").a("this", (void *)this).a("d", d).r((int)d); }
  CALLED static int p82(unsigned char c) { return Call("app::Circle::p82").a("c", c).r((int)c); }
  CALLED Three p83(int by) const { return Call("app::Circle::p83").a("this", (void *)this).a("by", by).r(Three{by, 2, 3}); }
  CALLED bool p84(const Circle &o) && { return Call("app::Circle::p84").a("this", (void *)this).text("o", "app::Circle {app::Shape = {id = 3}, app::Other = {other = 1}, r = 2}").r(true); }
  CALLED int operator()(int p85) { return Call("app::Circle::operator()").a("this", (void *)this).a("p85", p85).r(85); }
  template <class T> CALLED T p86(T t) { return Call("app::Circle::p86").a("this", (void *)this).a("t", t).r(t); }
};
template <class T> CALLED T p87(T t, const T &u) { return Call("app::p87").a("t", t).a("u", u).r((T)(t + u)); }
template <class T> struct Box {
  T t;
  template <class U> CALLED U p88(U u, Box<T> *o) { return Call("app::Box::p88").a("this", (void *)this).a("u", u).a("o", (void *)o).r(u); }
};
namespace {
CALLED int p89(int a, const char *b) { return Call("app::(anonymous namespace)::p89").a("a", a).a("b", b).r(a); }
}
extern "C" CALLED int p90(int a, double b) { return Call("app::p90").a("a", a).a("b", b).r(90); }
CALLED static int p91(int a, int b) { return Call("app::p91").a("a", a).a("b", b).r(a); }
CALLED int p92(float a, bool b, char c, short d, Small e, double f, bool g, char h, short i, Small j, bool k, char l) {
  return Call("app::p92").a("a", a).a("b", b).a("c", c).a("d", d).a("e", e).a("f", f).a("g", g).a("h", h).a("i", i).a("j", j).a("k", k).a("l", l).r(92);
}
CALLED int called(int n) { return n + 1; }
struct Method { CALLED int called(int n) { return n; } };
CALLED int p93(int (Method::*a)(int), int b) { return Call("app::p93").text("a", "?any").a("b", b).r(93); }
// The compiler may change what these take.
__attribute__((noinline)) static int p94(int a, int, const Ints &c) { return Call("app::p94").a("a", a).text("?", "?or 7").a("c", c).r(a + c.x); }
__attribute__((noinline)) static int p95(const Ints *a, long b) { return Call("app::p95").a("a", (void *)a).a("b", b + a->x * 0).r(95); }
// It ends by a jump to another, which returns for it.
CALLED int p96(int a) {
  Call("app::p96").a("a", a).text("return", "?or -7");
  return p06(a + 1);
}
#ifdef __cpp_exceptions
// It ends by an exception.
CALLED int p97(const char *a) {
  Call("app::p97").a("a", a).text("return", "?");
  throw 1;
}
#endif
P1(p98, Flag, 64, Flag)

// What they write behind their arguments is asked for, as it is when they return.
struct Line { const char *t; int n; };
class Counter {
 public:
  CALLED bool o09(long by) {
    Call c("app::Counter::o09");
    c.a("this", (void *)this).a("by", by);
    total_ += by;
    return c.a("this->total_@leave", total_).r(true);
  }
  long before = 0, total_ = 40;
};
CALLED int o01(const char *s, int *out) {
  Call c("app::o01");
  c.a("s", s).a("out", (void *)out);
  *out = std::atoi(s);
  return c.a("out@leave", *out).r(1);
}
CALLED void o02(char *buf, size_t n) {
  Call c("app::o02");
  c.a("buf", buf).a("n", n);
  std::snprintf(buf, n, "filled with %zu", n);
  c.a("buf@leave", buf);
}
CALLED bool o03(std::string &s, bool &ok) {
  Call c("app::o03");
  c.a("s", s).a("ok", ok);
  s += " and what was added to it", ok = true;
  return c.a("s@leave", s).a("ok@leave", ok).r(ok);
}
CALLED int o04(Ints *a, Small &b, double *c) {
  Call call("app::o04");
  call.a("a", (void *)a).a("b", b).a("c", (void *)c);
  if (a) *a = {a->x + 1, -1};
  if (c) *c /= 2;
  b = Small::Last;
  return call.text("a@leave", a ? told::put(*a) : "null").a("b@leave", b).text("c@leave", c ? told::put(*c) : "null").r(4);
}
CALLED size_t o05(long, long, long, long, long, long, char **copy, const char *of) {
  Call c("app::o05");
  for (int i = 0; i < 6; i++) c.text("?", "?any");
  c.a("copy", (void *)copy).a("of", of);
  *copy = strdup(of);
  return c.a("copy@leave", (const char *)*copy).r(std::strlen(of));
}
CALLED int o06(std::string_view &rest, Line *line) {
  Call c("app::o06");
  c.a("rest", rest).a("line", (void *)line);
  rest.remove_prefix(2), *line = {"of a line", 6};
  return c.a("rest@leave", rest).text("line@leave", "{t = \"of a line\", n = 6}").r(6);
}
// Each has its own, however deep.
CALLED int o07(int n, int *out) {
  Call("app::o07").a("n", n).a("out", (void *)out).a("out@leave", 10 * n).r(n);
  int inner = -1;
  if (n) o07(n - 1, &inner);
  *out = 10 * n;
  return n;
}
#ifdef __cpp_exceptions
// It ends by an exception.
CALLED int o08(int *out) {
  Call("app::o08").a("out", (void *)out).text("out@leave", "?").text("return", "?");
  *out = 8;
  throw 8;
}
#endif

}  // namespace app

int main() {
  using namespace app;
  p01('a'), p01((char)0xe4), p02(-7), p03(200), p04(-7), p05(65000), p06(-1), p07(3000000000u), p08(-6000000000), p09(1), p10(10), p11(false), p12(L'x');
  p13(u'y'), p14(U'z'), p15(-((told::Int128)1 << (5 * sizeof(told::Int128)))), p16((told::Uint128)1 << (6 * sizeof(told::Int128))), p17(-1.5f), p18(1e100), p18(-0.0), p19(-3.5L);
  p20(1, 2, -3, 'd', 5, true), p21(1, 2, 3, 4, 5, 6, 7, 'h', -9), p22(1, 2, 3, 4, 5, 6, 7, 8, 9.5, -10), p23(1, 2.5, 3, -4, "five");
  ((char (*)(long, long, long, long))(void *)p24)(0x7766554433221101, 0x7766554433221161, 0x77665544332280f0, 0x77665544332211fe);
  p25(0x1234), p26(Small::One), p26((Small)9), p27(PlainA), p28((Flag)(Read | Exec)), p29(Signed::Minus), p30((Plain)8);
  static int x = 5;
  int local = 6;
  p31(nullptr), p31((void *)0x1234), p32(&local), p33("hello", "", "a text of more than sixty-four characters, of which the last are left out"), p34(nullptr);
  char mutable_text[] = "m", *pointer = mutable_text;
  p35(pointer, &pointer), p36(called), p37(&Ints::y), p38(nullptr);
  double d = 1.5;
  p39(x, d), p40({3, 4}, 9);
  int three[3] = {1, -2, 3};
  p41(three), p42({1, 2}), p43({-1, 2}), p44({1, 2}), p45({1, 2, 3}), p46({1, 2, 3, 4}), p47({1, 2}), p48({1, 2}), p49({1, 2}), p50({1, 2}), p51({1, 2, 3});
  p52({'x', 2, 3}), p53({7, -1, 9}), p54({5}), p55({{4, 3, 2, 1}}), p56({1.5L}), p57({}, 4), p58({{1, 2}, {3, 4}}), p59({'q', 9}), p60({6}), p61({7});
  p62({{1, 2}, 3}), p63(Counted(1), 2), p64(Owner(1), 2), p65({{'a', 'b', 'c'}});
  p66(1, 2, 3, 4, 5, {6, 7}, 8, 9), p67(1, 2, 3, 4, 5, 6, 7, {8, 9}, 10, {11, 12});
  p68(1, {2, 3, 4}, 5, {'6', 7, 8}, 9, 10, {11}, 12, 13, 14, {15, 16}), p69("%d", 3), p70(1.5, 2, 3.5, "x");
  std::string text = "a std::string";
  p71(text), p71(std::string(100, 'x')), p72("in place", 1), p72(std::string(40, 'y'), 2), p73("view", &text);
  p74({1, 2}, {3, 4, 5}, {6}, 7), p75(std::make_unique<int>(1), std::make_shared<int>(2), 3), p76({1, 2}), p77(1, 5, 3), p78(), p79(1, "79");
  Circle circle(3), copy = circle;
  Shape *shape = &circle;
  Other *other = &circle;
  shape->p80(3, 4), other->p81(2.5), Circle::p82(200), circle.p83(6), std::move(circle).p84(copy), circle(5), circle.p86(1.5), circle.p86("86");
  p87(1, 2), p87(1.5, 2.5), p87<short>(3, 4);
  Box<Box<int>> box{{1}};
  box.p88(8u, &box), p89(1, "89"), p90(9, 0.5), p91(1, 2);
  p93(&Method::called, 2), p94(1, 7, {3, 4}), p95(&static_cast<const Ints &>(Ints{5, 6}), 8), p96(1), p98((Flag)(Write | 64));
#ifdef __cpp_exceptions
  try {
    p97("thrown");
  } catch (int) {
  }
#endif
  int out = -1;
  char buffer[40] = "not yet";
  o01("17", &out), o02(buffer, 8), o02(buffer, sizeof buffer);
  bool ok = false;
  o03(text, ok);
  Ints ints = {1, 2};
  Small small = Small::One;
  double half = 5;
  o04(&ints, small, &half), o04(nullptr, small, nullptr);
  char *allocated = nullptr;
  o05(1, 2, 3, 4, 5, 6, &allocated, "copied"), std::free(allocated);
  std::string_view rest = "a view";
  Line line = {};
  o06(rest, &line), o07(3, &out), Counter().o09(2);
#ifdef __cpp_exceptions
  try {
    o08(&out);
  } catch (int) {
  }
#endif
  p92(1, true, 'c', 4, Small::One, 6, false, 'h', 9, Small::Last, true, 'l');
}
