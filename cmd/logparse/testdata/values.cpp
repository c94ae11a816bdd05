// The program of TestValuesOfProgram: functions with arguments of each kind. Behind each call of main stands
// what its line must be, and behind //4= what it must be with DWARF 4, which says less.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#define CALLED __attribute__((noipa))

namespace app {

enum class Color { Red, Green = 5, Blue };
enum Mode { Read = 1, Write = 2, Exec = 4 };
struct Pt { int x, y; };
struct Big { long a[3]; int n; };
struct Doubles { double a, b; };
struct Mixed { int i; double d; };
struct Bits { unsigned a : 3; int b : 5; unsigned c : 24; };
struct Floats { float x, y, z; };
struct Empty {};
struct Named { std::string name; const char *t; int n; };
struct Label { const char *t; int n; };
union Either { int i; float f; };
struct Counted {
  int n;
  Counted(int n) : n(n) {}
  Counted(const Counted &c) : n(c.n + 1) {}
};

struct Shape {
  int id = 7;
  virtual ~Shape() {}
  virtual int area(int w, int h) = 0;
};
struct Circle : Shape {
  int r = 2;
  CALLED int area(int w, int h) override { return w * h + r; }
  CALLED static int count(unsigned char c) { return c; }
  CALLED Big grow(int by) const { return {{by, r, id}, 1}; }
};

CALLED int plain(int a, const char *s, double d) { return a + (int)d + (s ? 1 : 0); }
CALLED double structs(Pt p, Big b, Doubles d, Mixed i, Color c, bool t) { return p.x + b.a[0] + d.a + i.d + (int)c + t; }
CALLED std::string strings(const std::string &s, std::string_view v, std::string w) { return s + std::string(v) + w; }
CALLED Mixed wide(float x, long double l, __int128 q, short s) { return {(int)x + s, (double)l + (double)q}; }
CALLED Big large(int n, Mode m, char c) { return {{n, n + 1, n + 2}, (int)m + c}; }
CALLED void references(int &x, const Pt &p, int *none) { x += p.x + (none != nullptr); }
CALLED long many(long a, long b, long c, long d, long e, long f, long g, char h, Pt p, float z) {
  return a + b + c + d + e + f + g + h + p.x + (long)z;
}
CALLED unsigned bits(Bits b, unsigned short u, signed char s) { return b.a + b.b + u + s; }
CALLED int hidden(Counted c, std::vector<int> v, int last) { return c.n + (int)v.size() + last; }
CALLED Floats floats(Floats f) { return {f.z, f.y, f.x}; }
CALLED int variadic(const char *f, ...) { return f[0]; }
CALLED const char *name(Color c) { return c == Color::Red ? "red" : nullptr; }
CALLED int named(const Named &m) { return m.n; }
CALLED int label(Label l) { return *l.t ? l.n : 0; }  // gcc need not write a text that is not read
CALLED std::string_view view(const std::string *p) { return *p; }
CALLED int nothing(Empty, Either e, int n) { return e.i + n; }
CALLED long double longDouble(int n) { return n / 4.0L; }
CALLED long overflow(Pt a, Pt b, Pt c, Pt d, Pt e, Doubles f, Mixed g, Big h, Mixed i) { return a.x + b.x + c.x + d.x + e.x + g.i + h.n + i.i + (long)f.a; }
template <class T> CALLED T twice(T t) { return t + t; }

}  // namespace app

int main() {
  using namespace app;
  Circle circle;
  Shape *shape = &circle;
  int x = 1;
  std::string text = "a std::string";
  plain(1, "hello", 2.5);                                                             //= app::plain(int a = 1, char const* s = "hello", double d = 2.5) = 4
  plain(-1, nullptr, -0.0);                                                           //= app::plain(int a = -1, char const* s = null, double d = -0.0) = -1
  structs({1, 2}, {{10, 20, 30}, 4}, {0.5, 1.5}, {3, 2.5}, Color::Blue, true);        //= app::structs(app::Pt p = {x = 1, y = 2}, app::Big b = {a = [10, 20, 30], n = 4}, app::Doubles d = {a = 0.5, b = 1.5}, app::Mixed i = {i = 3, d = 2.5}, app::Color c = Blue, bool t = true) = 21.0
  strings(text, "view", std::string(30, 'w'));                                        //= app::strings(std::string const& s = "a std::string", std::string_view v = "view", std::string w = "wwwwwwwwwwwwwwwwwwwwwwwwwwwwww") = "a std::stringviewwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
  wide(1.5f, 2.25L, -3, -7);                                                          //= app::wide(float x = 1.5, long double l = 2.25, __int128 q = -3, short s = -7) = {i = -6, d = -0.75}
  large(5, (Mode)(Read | Exec), 'q');                                                 //= app::large(int n = 5, app::Mode m = Read|Exec, char c = 'q') = {a = [5, 6, 7], n = 118}
  references(x, {3, 4}, nullptr);                                                     //= app::references(int& x = 1, app::Pt const& p = {x = 3, y = 4}, int* none = null)
  many(1, 2, 3, 4, 5, 6, 7, 'h', {8, 9}, 2.5f);                                       //= app::many(long a = 1, long b = 2, long c = 3, long d = 4, long e = 5, long f = 6, long g = 7, char h = 'h', app::Pt p = {x = 8, y = 9}, float z = 2.5) = 142
  bits({5, -3, 100}, 60000, -2);                                                      //= app::bits(app::Bits b = {a = 5, b = -3, c = 100}, unsigned short u = 60000, signed char s = -2) = 60000
  hidden(Counted(40), {1, 2}, 9);                                                     //= app::hidden(app::Counted c = {n = 40}, std::vector<int> v = ?, int last = 9) = 51 //4= app::hidden(app::Counted c = ?, std::vector<int> v = ?, int last = ?) = 51
  floats({1, 2.5f, -3});                                                              //= app::floats(app::Floats f = {x = 1.0, y = 2.5, z = -3.0}) = {x = -3.0, y = 2.5, z = 1.0}
  variadic("%d", 3);                                                                  //= app::variadic(char const* f = "%d") = 37
  name(Color::Red);                                                                   //= app::name(app::Color c = Red) = "red"
  name(Color::Green);                                                                 //= app::name(app::Color c = Green) = null
  named({"a name of more than fifteen", "hi", 3});                                    //= app::named(app::Named const& m = {name = "a name of more than fifteen", t = "hi", n = 3}) = 3
  label({"on a label", 4});                                                           //= app::label(app::Label l = {t = "on a label", n = 4}) = 4
  view(&text);                                                                        //= app::view(std::string const* p = "a std::string") = "a std::string"
  nothing({}, {7}, 8);                                                                //= app::nothing(app::Empty = {}, app::Either e = {i = 7, f = 1e-44}, int n = 8) = 15
  longDouble(-3);                                                                     //= app::longDouble(int n = -3) = -0.75
  overflow({1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}, {13, 14}, {{15, 16, 17}, 18}, {19, 20});  //= app::overflow(app::Pt a = {x = 1, y = 2}, app::Pt b = {x = 3, y = 4}, app::Pt c = {x = 5, y = 6}, app::Pt d = {x = 7, y = 8}, app::Pt e = {x = 9, y = 10}, app::Doubles f = {a = 11.0, b = 12.0}, app::Mixed g = {i = 13, d = 14.0}, app::Big h = {a = [15, 16, 17], n = 18}, app::Mixed i = {i = 19, d = 20.0}) = 86
  twice(1.25);                                                                        //= app::twice<double>(double t = 1.25) = 2.5
  twice((short)-4);                                                                   //= app::twice<short>(short t = -4) = -8
  Circle::count(200);                                                                 //= app::Circle::count(unsigned char c = 200) = 200
  shape->area(3, 4);                                                                  //= app::Circle::area(this = 0x, int w = 3, int h = 4) = 14
  circle.grow(6);                                                                     //= app::Circle::grow(this = 0x, int by = 6) = {a = [6, 2, 7], n = 1}
  std::puts("done");
}
