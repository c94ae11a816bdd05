// values.cpp: functions with arguments and results of each kind that saved files tell apart. Each call prints a line of
// JSON, when it ends, with what it was called with and what it returns:
//
//	{"number": 0, "function": "app::truth", "arguments": {"a": ["bool", "true"]}, "result": {"return": ["bool", "false"]}}
//
// number counts the calls as they begin. A value is a list of its kind and its text; behind that of kind "shown", which
// files have as a text of their own choice, stands the number that it is.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#define CALLED __attribute__((noipa))

namespace app {

enum class Color { Red, Green = 7 };
enum Mode { Read = 1, Write = 2, Exec = 4 };
struct Point { int x; double y; };
struct Line { Point from, to; bool closed; unsigned char width[3]; };

}  // namespace app

namespace told {

using std::string;

string quoted(const string &s) {
  string q = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') q += '\\';
    if (c == '\n') q += "\\n"; else q += c;
  }
  return q + "\"";
}
string value(const char *kind, const string &text) { return string("[\"") + kind + "\", " + quoted(text) + "]"; }
string shown(const string &text, long number) { return "[\"shown\", " + quoted(text) + ", " + std::to_string(number) + "]"; }
string put(signed char v) { return value("int", std::to_string(v)); }
string put(short v) { return value("int", std::to_string(v)); }
string put(int v) { return value("int", std::to_string(v)); }
string put(long v) { return value("int", std::to_string(v)); }
string put(unsigned char v) { return value("uint", std::to_string(v)); }
string put(unsigned short v) { return value("uint", std::to_string(v)); }
string put(unsigned v) { return value("uint", std::to_string(v)); }
string put(unsigned long v) { return value("uint", std::to_string(v)); }
string put(bool v) { return value("bool", v ? "true" : "false"); }
string put(char v) { return shown(string("'") + v + "'", v); }
string put(double v) {
  char b[64];
  std::snprintf(b, sizeof b, "%.17g", v);
  return value("double", b);
}
string put(float v) { return put((double)v); }
string put(const string &v) { return value("text", v); }
string put(const void *v) {
  char b[32];
  std::snprintf(b, sizeof b, "0x%llx", (unsigned long long)(uintptr_t)v);
  return value("pointer", b);
}
string put(const char *v) { return v ? put(string(v)) : put((const void *)v); }
string put(app::Color v) { return v == app::Color::Green ? shown("Green", 7) : shown("Red", 0); }
string put(app::Mode v) { return v == (app::Read | app::Exec) ? shown("Read|Exec", v) : shown("Write", v); }
string put(const app::Point &v) { return "[\"struct\", {\"x\": " + put(v.x) + ", \"y\": " + put(v.y) + "}]"; }
template <class T, int N> string put(const T (&list)[N]) {
  string s;
  for (const T &v : list) s += (s.empty() ? "" : ", ") + put(v);
  return "[\"array\", [" + s + "]]";
}
string put(const app::Line &v) {
  return "[\"struct\", {\"from\": " + put(v.from) + ", \"to\": " + put(v.to) + ", \"closed\": " + put(v.closed) + ", \"width\": " + put(v.width) + "}]";
}

int calls;

// A Call prints a call when it ends.
class Call {
 public:
  explicit Call(const char *function) : number(calls++), function(function) {}
  ~Call() {
    std::printf("{\"number\": %d, \"function\": \"%s\", \"arguments\": {%s}, \"result\": {%s}}\n", number, function, arguments.c_str(), result.c_str());
    std::fflush(stdout);
  }
  Call &is(const char *name, const string &v) {
    arguments += (arguments.empty() ? "\"" : ", \"") + string(name) + "\": " + v;
    return *this;
  }
  template <class T> Call &a(const char *name, const T &v) { return is(name, put(v)); }
  void returns(const string &v) { result = "\"return\": " + v; }
  template <class T> T r(T v) {
    returns(put(v));
    return v;
  }

 private:
  int number;
  const char *function;
  string arguments, result;
};

const string unknown = value("unknown", "");

}  // namespace told

namespace app {

using told::Call;

CALLED int integers(signed char a, unsigned char b, short c, unsigned short d, int e, unsigned f, long g, unsigned long h) {
  return Call("app::integers").a("a", a).a("b", b).a("c", c).a("d", d).a("e", e).a("f", f).a("g", g).a("h", h).r(-a);
}
CALLED double doubles(float a, double b, double c) { return Call("app::doubles").a("a", a).a("b", b).a("c", c).r(-b); }
CALLED bool truth(bool a, bool b) { return Call("app::truth").a("a", a).a("b", b).r(a && b); }
CALLED Color shades(Color color, Mode mode, char letter) { return Call("app::shades").a("color", color).a("mode", mode).a("letter", letter).r(color); }
CALLED const char *texts(const char *s, const std::string &t, const char *none) { return Call("app::texts").a("s", s).a("t", t).a("none", none).r(s); }
CALLED Point structs(Point p, const Line &l) { return Call("app::structs").a("p", p).a("l", l).r(l.to); }
CALLED unsigned long arrays(const int (&list)[3]) { return Call("app::arrays").a("list", list).r(18000000000000000000ul); }
CALLED int next(int n) { return n + 1; }
CALLED void *pointers(void *a, const Point *none, int (*f)(int)) {
  Call call("app::pointers");
  char b[64];
  std::snprintf(b, sizeof b, "0x%llx <app::next>", (unsigned long long)(uintptr_t)f);
  return call.a("a", (const void *)a).a("none", (const void *)none).is("f", told::shown(b, (long)f)).r(a);
}
// What is not known: a class that nobody follows, a text that is nowhere, and the result of a call that ends by an exception.
CALLED int unknown(std::vector<int> v, const char *nowhere, int n) {
  Call call("app::unknown");
  call.is("v", told::unknown).is("nowhere", told::unknown).a("n", n).returns(told::unknown);
  if (n) throw n;
  return 0;
}
CALLED void nothing() { Call("app::nothing"); }
// A call in which others lie.
CALLED int depth(int n) {
  Call call("app::depth");
  call.a("n", n);
  if (n) depth(n - 1);
  return call.r(n * n);
}
class Object {
 public:
  CALLED Object *method(int by) { return (Object *)Call("app::Object::method").a("this", (const void *)this).a("by", by).r((const void *)(by > 0 ? this : nullptr)); }
  long held = 0;
};

}  // namespace app

int main() {
  using namespace app;
  for (int i = 0; i < 200; i++) integers(-i % 100, i % 256, -i, i, i * -10000000, i * 20000000u, i * -5000000000, i * 90000000000000000ul);
  integers(-128, 255, -32768, 65535, INT32_MIN, UINT32_MAX, INT64_MIN, UINT64_MAX);
  doubles(0.5f, -2.25, 3), doubles(-1.5f, 1e100, INFINITY), doubles(1024, -0.0, -INFINITY), doubles(0.125f, 1e-9, NAN);
  truth(true, true), truth(true, false), truth(false, true);
  shades(Color::Red, Write, 'a'), shades(Color::Green, (Mode)(Read | Exec), '7');
  texts("", "\"quoted\" \\ and more", nullptr), texts("two\nlines", "größer, 大", nullptr), texts("?", "null", nullptr), texts("7", "true", nullptr);
  Line line{{1, 2.5}, {-3, 4}, true, {7, 8, 255}};
  structs({5, -0.5}, line), structs(line.to, {line.to, line.from, false, {0, 1, 2}});
  arrays({1, -2, 3});
  pointers(&line, nullptr, next), pointers(nullptr, nullptr, next);
  try {
    unknown({1, 2}, reinterpret_cast<const char *>(8), 1);
  } catch (int) {
  }
  nothing();
  depth(5);
  Object object;
  object.method(1), object.method(-1);
}
