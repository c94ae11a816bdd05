// prototypes.cpp: functions of every kind that arguments and results are passed by, each called with
// values that are known. A function says itself what it was given and what it returns:
//
//	NAME|PARAMETER=VALUE|...|=RESULT
//
// one line a call, in the order in which calls end. So a log with values can be held against the
// program's own output. It is the same in each run of one build:
//
//	prototypes [ROUNDS]     pointers by the name of what they point to
//	prototypes -a [ROUNDS]  pointers as numbers
//
// Values are written by their type: integers in decimal; true, false; 'c' (characters that are not
// printable as '\xHH'); floating numbers as %.9g (float), %.17g (double) and %.21Lg (long double); enumerators by
// name, flags with | between and what is left in hex; texts in quotes, with \" \\ and \xHH; structs as
// {member=value, ...}; pointers as &NAME, nullptr, or ? where they have no name; references as what they
// refer to. RESULT is void, thrown for a call that an exception leaves.
//
// C++17; gcc, clang and MinGW, 64 and 32 bits. What says the values is not instrumented, and takes them
// out of memory, in their own size: upper bits that a caller left in a register are not seen.

#include <complex>
#include <memory>
#include <optional>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <string_view>
#include <vector>

#if defined(__clang__)
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif
#define HIDDEN __attribute__((no_instrument_function)) KEPT

// ---- types ----

namespace app {
enum Color { Red, Green = 5, Blue = 1000000, Infra = -3 };
enum class Level : uint8_t { Low = 1, High = 200 };
enum Access : unsigned { None = 0, Read = 1, Write = 2, Execute = 4 };

struct Ints { int a, b; };
struct Longs { int64_t a, b; };
struct Three { int a, b, c; };
struct Bytes { char text[16]; };
struct Shorts { short v[8]; };
struct Floats2 { float x, y; };
struct Floats3 { float x, y, z; };
struct Floats4 { float x, y, z, w; };
struct Doubles2 { double x, y; };
struct Doubles4 { double x, y, z, w; };
struct IntFloat { int i; float f; };
struct LongDouble { int64_t l; double d; };
struct DoubleLong { double d; int64_t l; };
struct Big { int64_t a, b, c; };
struct Extended { long double v; };
struct Single { double v; };
struct Empty {};
struct Nested { Ints inner; Floats2 point; };
struct Fields { unsigned low : 3, middle : 7; int sign : 6; };
struct __attribute__((packed)) Packed { char c; int i; short s; };
struct alignas(32) Wide { int64_t a; int b; };
struct Link { Link *next; int value; };
union Either { int i; float f; };
struct Base { int id; };
struct Derived : Base { short extra; };
struct Owner { // not trivial: passed by address
  int v;
  HIDDEN explicit Owner(int n) : v(n) {}
  HIDDEN Owner(const Owner &o) : v(o.v) {}
  HIDDEN ~Owner() {}
};
template <class K, class V> struct Pair { K first; V second; };

struct Shape {
  int id;
  HIDDEN explicit Shape(int n) : id(n) {}
  HIDDEN virtual ~Shape() {}
  virtual int area(int w, int h);
  double scale(double by) const;
  static int count(int first, int second);
  int sum(int a, int b, int c, int d, int e, int f);
  Big corners(int n);
  std::string name(const char *prefix);
};
struct Square : Shape {
  HIDDEN explicit Square(int n) : Shape(n) {}
  HIDDEN ~Square() override {}
  int area(int w, int h) override;
};
struct Named {
  int tag;
  HIDDEN explicit Named(int n) : tag(n) {}
  HIDDEN virtual ~Named() {}
  virtual int label(int n) { return n; }
};
struct Both : Shape, Named { // label is called through a thunk
  HIDDEN Both(int a, int b) : Shape(a), Named(b) {}
  HIDDEN ~Both() override {}
  int label(int n) override;
};
struct Made {
  int v;
  Made(int a, double b);
  ~Made();
  bool operator==(const Made &o) const;
  Made &operator+=(int n);
  int get() &&;
};
template <class T> struct Holder {
  T value;
  T swap(T other);
  template <class U> U convert(U bias) const;
};
}  // namespace app
using namespace app;

// ---- what says the values ----

static bool addresses;
static struct { const void *p; const char *name; } names[64];
static int nameCount;
HIDDEN void named(const void *p, const char *name) { names[nameCount++] = {p, name}; }

struct Line { // of a call; plain, so that it needs no destructor
  char text[1024];
  size_t n;
};
HIDDEN __attribute__((format(printf, 2, 3))) void put(Line &l, const char *format, ...) {
  va_list v;
  va_start(v, format);
  const int k = vsnprintf(l.text + l.n, sizeof l.text - l.n, format, v);
  va_end(v);
  l.n += size_t(k);
  if (l.n >= sizeof l.text) abort();
}
HIDDEN void putCharacter(Line &l, unsigned c) {
  if (c == '"' || c == '\\') put(l, "\\%c", c);
  else if (c >= ' ' && c < 127) put(l, "%c", c);
  else put(l, "\\x%02x", c);
}
HIDDEN void putText(Line &l, const char *s, size_t n) {
  put(l, "\"");
  for (size_t i = 0; i < n; i++) putCharacter(l, uint8_t(s[i]));
  put(l, "\"");
}
HIDDEN void putPointer(Line &l, const void *p) {
  if (!p) return put(l, "nullptr");
  if (addresses) return put(l, "0x%llx", (unsigned long long)(uintptr_t)p);
  for (int i = 0; i < nameCount; i++)
    if (names[i].p == p) return put(l, "&%s", names[i].name);
  put(l, "?");
}

HIDDEN void say(Line &l, const bool &v) { put(l, v ? "true" : "false"); }
HIDDEN void sayCharacter(Line &l, unsigned c) {
  put(l, "'");
  if (c > 255) put(l, "\\x%x", c);
  else putCharacter(l, c);
  put(l, "'");
}
HIDDEN void say(Line &l, const char &v) { sayCharacter(l, uint8_t(v)); }
HIDDEN void say(Line &l, const signed char &v) { put(l, "%d", v); }
HIDDEN void say(Line &l, const unsigned char &v) { put(l, "%u", v); }
HIDDEN void say(Line &l, const char16_t &v) { sayCharacter(l, v); }
HIDDEN void say(Line &l, const short &v) { put(l, "%d", v); }
HIDDEN void say(Line &l, const unsigned short &v) { put(l, "%u", v); }
HIDDEN void say(Line &l, const int &v) { put(l, "%d", v); }
HIDDEN void say(Line &l, const unsigned &v) { put(l, "%u", v); }
HIDDEN void say(Line &l, const long &v) { put(l, "%ld", v); }
HIDDEN void say(Line &l, const unsigned long &v) { put(l, "%lu", v); }
HIDDEN void say(Line &l, const long long &v) { put(l, "%lld", v); }
HIDDEN void say(Line &l, const unsigned long long &v) { put(l, "%llu", v); }
#if defined(__SIZEOF_INT128__)
HIDDEN void say(Line &l, const __int128 &v) {
  char digits[48], *p = digits + sizeof digits;
  unsigned __int128 u = v < 0 ? 0 - (unsigned __int128)v : (unsigned __int128)v;
  *--p = 0;
  do *--p = char('0' + int(u % 10));
  while (u /= 10);
  put(l, "%s%s", v < 0 ? "-" : "", p);
}
#endif
HIDDEN void say(Line &l, const float &v) { put(l, "%.9g", double(v)); }
HIDDEN void say(Line &l, const double &v) { put(l, "%.17g", v); }
HIDDEN void say(Line &l, const long double &v) {
#if defined(__MINGW32__)
  // The C runtime has no such type.
  char s[64];
  __mingw_snprintf(s, sizeof s, "%.21Lg", v);
  put(l, "%s", s);
#else
  put(l, "%.21Lg", v);
#endif
}
template <class T> HIDDEN void say(Line &l, const std::complex<T> &v) {
  const T re = v.real(), im = v.imag();
  put(l, "{re=");
  say(l, re);
  put(l, ", im=");
  say(l, im);
  put(l, "}");
}
HIDDEN void say(Line &l, const char *const &v) { v ? putText(l, v, strlen(v)) : put(l, "nullptr"); }
HIDDEN void say(Line &l, char *const &v) { v ? putText(l, v, strlen(v)) : put(l, "nullptr"); }
HIDDEN void say(Line &l, const std::string &v) { putText(l, v.data(), v.size()); }
HIDDEN void say(Line &l, const std::string_view &v) { putText(l, v.data(), v.size()); }
HIDDEN void say(Line &l, const std::nullptr_t &) { put(l, "nullptr"); }
template <class T> HIDDEN void say(Line &l, T *const &v) { putPointer(l, (const void *)v); }
HIDDEN void say(Line &l, const Color &v) { put(l, "%s", v == Red ? "Red" : v == Green ? "Green" : v == Blue ? "Blue" : v == Infra ? "Infra" : "?"); }
HIDDEN void say(Line &l, const Level &v) { put(l, "%s", v == Level::Low ? "Low" : v == Level::High ? "High" : "?"); }
HIDDEN void say(Line &l, const Access &v) {
  static const char *const bits[] = {"Read", "Write", "Execute"};
  unsigned left = v, n = 0;
  for (unsigned i = 0; i < 3; i++)
    if (left & 1u << i) put(l, "%s%s", n++ ? "|" : "", bits[i]), left &= ~(1u << i);
  if (left) put(l, "%s0x%x", n++ ? "|" : "", left);
  if (!n) put(l, "None");
}
#define MEMBER(name) put(l, #name "="), say(l, v.name)
#define THEN put(l, ", ")
#define STRUCT(type, ...) HIDDEN void say(Line &l, const type &v) { put(l, "{"), __VA_ARGS__, put(l, "}"); }
STRUCT(Ints, MEMBER(a), THEN, MEMBER(b))
STRUCT(Longs, MEMBER(a), THEN, MEMBER(b))
STRUCT(Three, MEMBER(a), THEN, MEMBER(b), THEN, MEMBER(c))
STRUCT(Floats2, MEMBER(x), THEN, MEMBER(y))
STRUCT(Floats3, MEMBER(x), THEN, MEMBER(y), THEN, MEMBER(z))
STRUCT(Floats4, MEMBER(x), THEN, MEMBER(y), THEN, MEMBER(z), THEN, MEMBER(w))
STRUCT(Doubles2, MEMBER(x), THEN, MEMBER(y))
STRUCT(Doubles4, MEMBER(x), THEN, MEMBER(y), THEN, MEMBER(z), THEN, MEMBER(w))
STRUCT(IntFloat, MEMBER(i), THEN, MEMBER(f))
STRUCT(LongDouble, MEMBER(l), THEN, MEMBER(d))
STRUCT(DoubleLong, MEMBER(d), THEN, MEMBER(l))
STRUCT(Big, MEMBER(a), THEN, MEMBER(b), THEN, MEMBER(c))
STRUCT(Extended, MEMBER(v))
STRUCT(Single, MEMBER(v))
HIDDEN void say(Line &l, const Empty &) { put(l, "{}"); }
STRUCT(Nested, MEMBER(inner), THEN, MEMBER(point))
STRUCT(Wide, MEMBER(a), THEN, MEMBER(b))
STRUCT(Link, MEMBER(next), THEN, MEMBER(value))
STRUCT(Either, MEMBER(i), THEN, MEMBER(f))
STRUCT(Base, MEMBER(id))
STRUCT(Derived, put(l, "<base>={id=%d}", v.id), THEN, MEMBER(extra))
STRUCT(Owner, MEMBER(v))
STRUCT(Made, MEMBER(v))
HIDDEN void say(Line &l, const Fields &v) { put(l, "{low=%u, middle=%u, sign=%d}", unsigned(v.low), unsigned(v.middle), int(v.sign)); }
HIDDEN void say(Line &l, const Packed &v) {
  const char c = v.c;
  const int i = v.i;
  const short s = v.s;
  put(l, "{c="), say(l, c), put(l, ", i=%d, s=%d}", i, s);
}
HIDDEN void say(Line &l, const Bytes &v) { put(l, "{text="), putText(l, v.text, strnlen(v.text, sizeof v.text)), put(l, "}"); }
HIDDEN void say(Line &l, const Shorts &v) {
  put(l, "{v=[");
  for (int i = 0; i < 8; i++) put(l, "%s%d", i ? ", " : "", v.v[i]);
  put(l, "]}");
}
template <class K, class V> HIDDEN void say(Line &l, const Pair<K, V> &v) { put(l, "{"), MEMBER(first), THEN, MEMBER(second), put(l, "}"); }
template <class T, size_t N> HIDDEN void say(Line &l, const T (&v)[N]) {
  put(l, "[");
  for (size_t i = 0; i < N; i++) put(l, i ? ", " : ""), say(l, v[i]);
  put(l, "]");
}

#define CALL(name) Line line; line.n = 0; put(line, "%s", name)
#define GIVEN(parameter) put(line, "|" #parameter "="), say(line, parameter)
#define GIVEN_THIS put(line, "|this="), putPointer(line, (const void *)this)
HIDDEN void finish(Line &l) { puts(l.text); }
#define RETURNS(value) do { put(line, "|="); say(line, value); finish(line); return value; } while (0)
#define ENDS do { put(line, "|=void"); finish(line); } while (0)

// What the functions work on.
extern "C" {
int five = 5, nine = 9;
double half = 0.5;
char changing[32] = "can be changed";
int numbers[4] = {1, 2, 3, 4};
}
static Link second = {nullptr, 22}, first = {&second, 11};
static Shape shape(7);
static Square square(8);
static Both both(9, 10);

// ---- integers, characters, booleans ----

KEPT void nothing() { CALL("nothing"); ENDS; }
KEPT int one(int a) { CALL("one"); GIVEN(a); int r = a * 2; RETURNS(r); }
KEPT int six(int a, int b, int c, int d, int e, int f) {
  CALL("six"); GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(f); int r = a + b + c + d + e + f; RETURNS(r);
}
KEPT int64_t eight(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h) {
  CALL("eight"); GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(f); GIVEN(g); GIVEN(h); int64_t r = h - g; RETURNS(r);
}
KEPT int narrow_stack(int a, int b, int c, int d, int e, int f, char g, short h, bool i, unsigned char j) {
  CALL("narrow_stack"); GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(f); GIVEN(g); GIVEN(h); GIVEN(i); GIVEN(j);
  int r = h; RETURNS(r);
}
KEPT bool dirty(bool a, char b, signed char c, unsigned char d, short e, unsigned short f) {
  CALL("dirty"); GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(f); bool r = !a; RETURNS(r);
}
KEPT char character(char c, char16_t w) { CALL("character"); GIVEN(c); GIVEN(w); char r = char(c + 1); RETURNS(r); }
KEPT signed char small_signed(signed char c) { CALL("small_signed"); GIVEN(c); signed char r = (signed char)-c; RETURNS(r); }
KEPT unsigned char small_unsigned(unsigned char c) { CALL("small_unsigned"); GIVEN(c); unsigned char r = (unsigned char)(c + 1); RETURNS(r); }
KEPT short short_one(short s) { CALL("short_one"); GIVEN(s); short r = (short)(s - 1); RETURNS(r); }
KEPT unsigned short short_unsigned(unsigned short s) { CALL("short_unsigned"); GIVEN(s); unsigned short r = (unsigned short)(s + 1); RETURNS(r); }
KEPT unsigned unsigned_one(unsigned u) { CALL("unsigned_one"); GIVEN(u); unsigned r = u + 1; RETURNS(r); }
KEPT long long_one(long v) { CALL("long_one"); GIVEN(v); long r = -v; RETURNS(r); }
KEPT uint64_t wide_unsigned(uint64_t v) { CALL("wide_unsigned"); GIVEN(v); uint64_t r = v ^ 1; RETURNS(r); }
#if defined(__SIZEOF_INT128__)
KEPT __int128 widest(int a, __int128 v) { CALL("widest"); GIVEN(a); GIVEN(v); __int128 r = v * a; RETURNS(r); }
#endif

// ---- floating point ----

KEPT float float_one(float f) { CALL("float_one"); GIVEN(f); float r = f / 2; RETURNS(r); }
KEPT double double_one(double d) { CALL("double_one"); GIVEN(d); double r = d * 3; RETURNS(r); }
KEPT double doubles_nine(double a, double b, double c, double d, double e, double f, double g, double h, double i) {
  CALL("doubles_nine"); GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(f); GIVEN(g); GIVEN(h); GIVEN(i); double r = a + i; RETURNS(r);
}
KEPT double mixed(int a, double b, float c, int64_t d, float e, char const *f) {
  CALL("mixed"); GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(f); double r = a + b; RETURNS(r);
}
KEPT int mixed_stack(double a, int b, int c, int d, int e, int f, int g, int h, float i, short j, double k) {
  CALL("mixed_stack"); GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(f); GIVEN(g); GIVEN(h); GIVEN(i); GIVEN(j); GIVEN(k);
  int r = h; RETURNS(r);
}
KEPT long double extended(int a, long double v) { CALL("extended"); GIVEN(a); GIVEN(v); long double r = v / 3; RETURNS(r); }
KEPT std::complex<double> complex_double(std::complex<double> z) { CALL("complex_double"); GIVEN(z); std::complex<double> r(z.imag(), z.real()); RETURNS(r); }
KEPT std::complex<float> complex_float(std::complex<float> z, int n) {
  CALL("complex_float"); GIVEN(z); GIVEN(n); std::complex<float> r(z.imag(), z.real()); RETURNS(r);
}

// ---- enums, pointers, references, texts ----

KEPT Color color(Color c, Level l) { CALL("color"); GIVEN(c); GIVEN(l); Color r = c == Red ? Blue : Infra; RETURNS(r); }
KEPT Level level(Level l) { CALL("level"); GIVEN(l); Level r = l == Level::Low ? Level::High : Level::Low; RETURNS(r); }
KEPT Access access_of(Access a) { CALL("access_of"); GIVEN(a); Access r = Access(a & ~Write); RETURNS(r); }
KEPT int *pointer(int *p, const double *q) { CALL("pointer"); GIVEN(p); GIVEN(q); int *r = p ? &nine : nullptr; RETURNS(r); }
KEPT int &reference(int &p, const int &q) { CALL("reference"); GIVEN(p); GIVEN(q); int &r = nine; RETURNS(r); }
KEPT int rvalue(int &&p, Ints &&s) { CALL("rvalue"); GIVEN(p); GIVEN(s); int r = p; RETURNS(r); }
KEPT const char *text(const char *s, char *changing_text) { CALL("text"); GIVEN(s); GIVEN(changing_text); const char *r = s ? s + 1 : nullptr; RETURNS(r); }
KEPT int text_long(const char *s) { CALL("text_long"); GIVEN(s); int r = int(strlen(s)); RETURNS(r); }
KEPT std::string string_by_value(std::string s) { CALL("string_by_value"); GIVEN(s); std::string r = s + "!"; RETURNS(r); }
KEPT int string_by_reference(const std::string &s, const std::string *p) {
  CALL("string_by_reference"); GIVEN(s); put(line, "|p="), say(line, *p); int r = int(s.size()); RETURNS(r);
}
KEPT const std::string &string_returned(bool longer) {
  static const std::string brief = "brief", lengthy = "a text that is too long to be kept in the string itself";
  CALL("string_returned"); GIVEN(longer); const std::string &r = longer ? lengthy : brief; RETURNS(r);
}
KEPT std::string_view view(std::string_view v, int n) { CALL("view"); GIVEN(v); GIVEN(n); std::string_view r = v.substr(size_t(n)); RETURNS(r); }
KEPT int view_on_stack(int a, int b, int c, int d, int e, std::string_view v) {
  CALL("view_on_stack"); GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(v); int r = int(v.size()); RETURNS(r);
}
KEPT int view_by_reference(const std::string_view &v) { CALL("view_by_reference"); GIVEN(v); int r = int(v.size()); RETURNS(r); }
KEPT int callback(int (*function)(int), int n) {
  CALL("callback"); put(line, "|function="), putPointer(line, (const void *)function); GIVEN(n); int r = function(n); RETURNS(r);
}
KEPT void out(int *result, int64_t &other) { CALL("out"); put(line, "|result="), putPointer(line, result); GIVEN(other); *result = 77; other = 88; ENDS; }
KEPT int null(std::nullptr_t p, int n) { CALL("null"); GIVEN(p); GIVEN(n); RETURNS(n); }
KEPT int array(const int (&values)[4], int rows[]) { CALL("array"); GIVEN(values); GIVEN(rows); int r = rows[0]; RETURNS(r); }

// ---- structs by value ----

KEPT Ints ints(Ints s, int n) { CALL("ints"); GIVEN(s); GIVEN(n); Ints r = {s.b, n}; RETURNS(r); }
KEPT Longs longs(Longs s) { CALL("longs"); GIVEN(s); Longs r = {s.b, s.a}; RETURNS(r); }
KEPT Three three(Three s) { CALL("three"); GIVEN(s); Three r = {s.c, s.b, s.a}; RETURNS(r); }
KEPT Bytes bytes(Bytes s) { CALL("bytes"); GIVEN(s); Bytes r = s; r.text[0] = 'B'; RETURNS(r); }
KEPT Shorts shorts(Shorts s) { CALL("shorts"); GIVEN(s); Shorts r = s; r.v[7] = -1; RETURNS(r); }
KEPT Floats2 floats2(Floats2 s) { CALL("floats2"); GIVEN(s); Floats2 r = {s.y, s.x}; RETURNS(r); }
KEPT Floats3 floats3(Floats3 s, float f) { CALL("floats3"); GIVEN(s); GIVEN(f); Floats3 r = {s.z, s.y, f}; RETURNS(r); }
KEPT Floats4 floats4(Floats4 s) { CALL("floats4"); GIVEN(s); Floats4 r = {s.w, s.z, s.y, s.x}; RETURNS(r); }
KEPT Doubles2 doubles2(Doubles2 s, double d) { CALL("doubles2"); GIVEN(s); GIVEN(d); Doubles2 r = {s.y, d}; RETURNS(r); }
KEPT Doubles4 doubles4(Doubles4 s) { CALL("doubles4"); GIVEN(s); Doubles4 r = {s.w, s.z, s.y, s.x}; RETURNS(r); }
KEPT IntFloat int_float(IntFloat s) { CALL("int_float"); GIVEN(s); IntFloat r = {s.i + 1, s.f}; RETURNS(r); }
KEPT LongDouble long_double(LongDouble s, int n) { CALL("long_double"); GIVEN(s); GIVEN(n); LongDouble r = {n, s.d}; RETURNS(r); }
KEPT DoubleLong double_long(DoubleLong s, double d) { CALL("double_long"); GIVEN(s); GIVEN(d); DoubleLong r = {d, s.l}; RETURNS(r); }
KEPT Big big(Big s, int n) { CALL("big"); GIVEN(s); GIVEN(n); Big r = {s.c, s.b, n}; RETURNS(r); }
KEPT Extended extended_struct(Extended s) { CALL("extended_struct"); GIVEN(s); Extended r = {s.v + 1}; RETURNS(r); }
KEPT Single single(Single s) { CALL("single"); GIVEN(s); Single r = {s.v + 1}; RETURNS(r); }
KEPT int empty(Empty e, int n) { CALL("empty"); GIVEN(e); GIVEN(n); RETURNS(n); }
KEPT Nested nested(Nested s) { CALL("nested"); GIVEN(s); Nested r = {{s.inner.b, s.inner.a}, {s.point.y, s.point.x}}; RETURNS(r); }
KEPT Fields fields(Fields s) { CALL("fields"); GIVEN(s); Fields r = s; r.sign = -5; RETURNS(r); }
KEPT int packed(Packed s) { CALL("packed"); GIVEN(s); int r = s.i; RETURNS(r); }
KEPT int wide(Wide s, int n) { CALL("wide"); GIVEN(s); GIVEN(n); int r = s.b; RETURNS(r); }
KEPT int link(Link s, Link *p) { CALL("link"); GIVEN(s); GIVEN(p); int r = s.value; RETURNS(r); }
KEPT Either either(Either u) { CALL("either"); GIVEN(u); Either r; r.f = 2; RETURNS(r); }
KEPT Derived derived(Derived s, const Base &b) { CALL("derived"); GIVEN(s); GIVEN(b); Derived r; r.id = b.id; r.extra = s.extra; RETURNS(r); }
KEPT Owner owner(Owner s, int n) { CALL("owner"); GIVEN(s); GIVEN(n); Owner r(s.v + n); RETURNS(r); }
KEPT int struct_does_not_fit(int a, int b, int c, int d, int e, Longs s, int n) {
  CALL("struct_does_not_fit"); GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(s); GIVEN(n); int r = n; RETURNS(r);
}
KEPT double sse_does_not_fit(double a, double b, double c, double d, double e, double f, double g, Doubles2 s, double h) {
  CALL("sse_does_not_fit"); GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(f); GIVEN(g); GIVEN(s); GIVEN(h); double r = h; RETURNS(r);
}
KEPT Pair<int, Pair<double, char>> nested_template(Pair<int, Pair<double, char>> p, Pair<short, short> q) {
  CALL("nested_template"); GIVEN(p); GIVEN(q); Pair<int, Pair<double, char>> r = {q.first, {p.second.first, 'r'}}; RETURNS(r);
}
KEPT std::unique_ptr<int> unique(std::unique_ptr<int> p, int n) {
  CALL("unique"); put(line, "|p="), say(line, *p); GIVEN(n); *p += n;
  put(line, "|="), say(line, *p), finish(line);
  return p;
}
KEPT std::optional<int> optional(std::optional<int> o) {
  CALL("optional"); put(line, "|o="); o ? say(line, *o) : put(line, "none");
  std::optional<int> r = o ? std::optional<int>(*o + 1) : std::nullopt;
  put(line, "|="); r ? say(line, *r) : put(line, "none"); finish(line);
  return r;
}

// ---- methods, templates, variadic ----

KEPT int Shape::area(int w, int h) { CALL("app::Shape::area"); GIVEN_THIS; GIVEN(w); GIVEN(h); int r = w * h; RETURNS(r); }
KEPT int Square::area(int w, int h) { CALL("app::Square::area"); GIVEN_THIS; GIVEN(w); GIVEN(h); int r = w * h + id; RETURNS(r); }
KEPT double Shape::scale(double by) const { CALL("app::Shape::scale"); GIVEN_THIS; GIVEN(by); double r = id * by; RETURNS(r); }
KEPT int Shape::count(int first, int second) { CALL("app::Shape::count"); GIVEN(first); GIVEN(second); int r = first - second; RETURNS(r); }
KEPT int Shape::sum(int a, int b, int c, int d, int e, int f) {
  CALL("app::Shape::sum"); GIVEN_THIS; GIVEN(a); GIVEN(b); GIVEN(c); GIVEN(d); GIVEN(e); GIVEN(f); int r = a + f; RETURNS(r);
}
KEPT Big Shape::corners(int n) { CALL("app::Shape::corners"); GIVEN_THIS; GIVEN(n); Big r = {n, id, 1}; RETURNS(r); }
KEPT std::string Shape::name(const char *prefix) { CALL("app::Shape::name"); GIVEN_THIS; GIVEN(prefix); std::string r = prefix + std::string("shape"); RETURNS(r); }
KEPT int Both::label(int n) { CALL("app::Both::label"); GIVEN_THIS; GIVEN(n); int r = n + tag; RETURNS(r); }
KEPT Made::Made(int a, double b) : v(a) { CALL("app::Made::Made"); GIVEN_THIS; GIVEN(a); GIVEN(b); ENDS; }
KEPT Made::~Made() { CALL("app::Made::~Made"); GIVEN_THIS; ENDS; }
KEPT bool Made::operator==(const Made &o) const { CALL("app::Made::operator=="); GIVEN_THIS; GIVEN(o); bool r = v == o.v; RETURNS(r); }
KEPT Made &Made::operator+=(int n) { CALL("app::Made::operator+="); GIVEN_THIS; GIVEN(n); v += n; Made &r = *this; RETURNS(r); }
KEPT int Made::get() && { CALL("app::Made::get"); GIVEN_THIS; int r = v; RETURNS(r); }
template <class T> KEPT T Holder<T>::swap(T other) { CALL("app::Holder::swap"); GIVEN_THIS; GIVEN(other); T r = value; value = other; RETURNS(r); }
template <class T> template <class U> KEPT U Holder<T>::convert(U bias) const {
  CALL("app::Holder::convert"); GIVEN_THIS; GIVEN(bias); U r = U(value) + bias; RETURNS(r);
}
template <class T> KEPT T twice(T v) { CALL("twice"); GIVEN(v); T r = v + v; RETURNS(r); }
KEPT int by_member(int (Shape::*method)(int, int), int n) { CALL("by_member"); GIVEN(n); int r = (shape.*method)(n, 2); RETURNS(r); }
KEPT int variadic_sum(int n, ...) {
  CALL("variadic_sum"); GIVEN(n);
  va_list v;
  va_start(v, n);
  int r = 0;
  for (int i = 0; i < n; i++) r += va_arg(v, int);
  va_end(v);
  RETURNS(r);
}
KEPT double variadic_format(const char *format, double scale, ...) {
  CALL("variadic_format"); GIVEN(format); GIVEN(scale);
  va_list v;
  va_start(v, scale);
  double r = va_arg(v, double) * scale;
  va_end(v);
  RETURNS(r);
}

// ---- how calls end, and what optimizers change ----

KEPT int tail(int n) { CALL("tail"); GIVEN(n); put(line, "|=%d", n * 2 + 2); finish(line); return one(n + 1); }
KEPT int recursive(int n) { CALL("recursive"); GIVEN(n); int r = n ? recursive(n - 1) + 1 : 0; RETURNS(r); }
KEPT int throws(int n) { CALL("throws"); GIVEN(n); put(line, "|=thrown"); finish(line); throw n; }
__attribute__((noinline)) static int local(int a, int unused, const Ints &s) { (void)unused; CALL("local"); GIVEN(a); put(line, "|s="), say(line, s); int r = a + s.a; RETURNS(r); }
// It does not return: no result.
KEPT bool early(bool stop, int n) {
  CALL("early"); GIVEN(stop); GIVEN(n);
  if (stop) { bool r = false; RETURNS(r); }
  bool r = n > 1; RETURNS(r);
}

static void numbers_once() {
  nothing();
  one(-21);
  six(1, -2, 3, -4, 5, -6);
  eight(1, 2, 3, 4, 5, 6, int64_t(1) << 40, -int64_t(1) << 50);
  narrow_stack(1, 2, 3, 4, 5, 6, 'g', -8, true, 250);
  // The caller leaves rubbish above the values.
  bool (*volatile rubbish)(int, int, int, int, int, int) = (bool (*)(int, int, int, int, int, int))(void (*)())dirty;
  rubbish(0x7f01, 0x7f61, 0x7fff, 0x7fff, 0x7fff8001, 0x7fff8001);
  character('a', 0x4e2d);
  small_signed(100);
  small_unsigned(254);
  short_one(-32767);
  short_unsigned(65534);
  unsigned_one(4000000000u);
  long_one(1234567890);
  wide_unsigned(~uint64_t(0));
#if defined(__SIZEOF_INT128__)
  widest(3, -((__int128)1 << 100));
#endif
  float_one(1.1f);
  double_one(0.1);
  doubles_nine(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5);
  mixed(1, 2.25, 3.125f, 4, 5.5f, "six");
  mixed_stack(1.5, 2, 3, 4, 5, 6, 7, 8, 9.5f, -10, 11.5);
  extended(1, 1.0L / 7);
  complex_double({1.5, -2.5});
  complex_float({1.5f, -2.5f}, 3);
  color(Red, Level::High);
  color(Blue, Level::Low);
  level(Level::High);
  access_of(Access(Read | Write | Execute));
  access_of(Access(Write | 0x40));
  pointer(&five, &half);
  pointer(nullptr, nullptr);
  reference(five, nine);
  rvalue(6, {7, 8});
}

static void texts_once() {
  text("plain", changing);
  text(nullptr, nullptr);
  text("", changing);
  text("\"quoted\" \\ \xe4\xb8\xad", changing);
  text_long("more than sixty-four characters are in this text, so that it is cut where no more are taken of it");
  string_by_value("kept in the string itself"[0] == 'k' ? "in place" : "");
  string_by_value("a text that is too long to be kept in the string itself");
  const std::string s1 = "one", s2("with\0zero", 9);
  string_by_reference(s1, &s2);
  string_returned(false);
  string_returned(true);
  view(std::string_view("a view of text").substr(2, 7), 3);
  view_on_stack(1, 2, 3, 4, 5, "on the stack");
  const std::string_view v1 = "referred to";
  view_by_reference(v1);
}

static void structs_once() {
  callback(one, 4);
  int result = 0;
  int64_t other = 1;
  out(&five, other);
  five = 5;
  (void)result;
  null(nullptr, 3);
  array(numbers, numbers);
  ints({1, -2}, 3);
  longs({-1, 2});
  three({1, 2, -3});
  bytes({"fifteen letters"});
  shorts({{1, -2, 3, -4, 5, -6, 7, -8}});
  floats2({1.5f, -2.5f});
  floats3({1.5f, 2.5f, 3.5f}, 4.5f);
  floats4({1.5f, 2.5f, 3.5f, 4.5f});
  doubles2({1.5, 2.5}, 3.5);
  doubles4({1.5, 2.5, 3.5, 4.5});
  int_float({1, 2.5f});
  long_double({66, 2.5}, 3);
  double_long({1.5, 2}, 3.5);
  big({1, 2, 3}, 4);
  extended_struct({0.1L});
  single({0.25});
  empty({}, 5);
  nested({{1, 2}, {3.5f, 4.5f}});
  fields({5, 100, 17});
  Packed p;
  p.c = 'p', p.i = -70000, p.s = -3;
  packed(p);
  Wide w;
  w.a = 1, w.b = 2;
  wide(w, 3);
  link(first, &second);
  Either u;
  u.i = 1;
  either(u);
  Derived d;
  d.id = 1, d.extra = 2;
  derived(d, d);
  owner(Owner(3), 4);
  struct_does_not_fit(1, 2, 3, 4, 5, {6, 7}, 8);
  sse_does_not_fit(1, 2, 3, 4, 5, 6, 7, {8, 9}, 10);
  nested_template({1, {2.5, 'c'}}, {3, 4});
}

static void classes_once() {
  unique(std::unique_ptr<int>(new int(5)), 6);
  optional(7);
  optional(std::nullopt);
  Shape *volatile shapes[] = {&shape, &square, &both};
  shapes[0]->area(3, 4);
  shapes[1]->area(3, 4);
  shape.scale(2.5);
  Shape::count(10, 3);
  shape.sum(1, 2, 3, 4, 5, 6);
  shape.corners(4);
  shape.name("a ");
  Named *volatile label = &both;
  label->label(5);
  {
    alignas(16) static char room[2][sizeof(Made)];
    named(room[0], "made");
    named(room[1], "equal");
    Made *a = new (room[0]) Made(1, 2.5), *b = new (room[1]) Made(3, 4.5);
    (void)(*a == *b);
    *a += 2;
    static_cast<Made &&>(*a).get();
    b->~Made();
    a->~Made();
    nameCount -= 2;
  }
  static Holder<int> ofInt = {1};
  static Holder<Pair<int, double>> ofPair = {{1, 2.5}};
  named(&ofInt, "ofInt");
  named(&ofPair, "ofPair");
  ofInt.swap(2);
  ofInt.swap(1);
  ofPair.swap({3, 4.5});
  ofPair.swap({1, 2.5});
  ofInt.convert(2.5);
  nameCount -= 2;
  twice(21);
  twice(1.25);
  twice(std::string("ab"));
  by_member(&Shape::area, 6);
  variadic_sum(3, 10, 20, 30);
  variadic_format("%f", 2.0, 1.5);
  tail(10);
  recursive(3);
  try {
    throws(1);
  } catch (int) {
  }
  local(1, 2, {3, 4});
  early(true, 1);
  early(false, 2);
}

static void once() {
  numbers_once();
  texts_once();
  structs_once();
  classes_once();
}

int main(int argc, char **argv) {
  named(&five, "five");
  named(&nine, "nine");
  named(&half, "half");
  named(changing, "changing");
  named(numbers, "numbers");
  named(&first, "first");
  named(&second, "second");
  named(&shape, "shape");
  named(&square, "square");
  named(&both, "both");
  named((const void *)one, "one");
  int i = 1;
  if (i < argc && strcmp(argv[i], "-a") == 0) addresses = true, i++;
  for (long n = i < argc ? atol(argv[i]) : 1; n > 0; n--) once();
  return 0;
}
