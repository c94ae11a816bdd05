// The program of TestStringLayouts: std::string and std::string_view in all sizes that their layouts tell apart, by
// value, by reference, in structs, and as they are when calls return. It writes what the program of TestPrototypes writes.
#include <cstdio>
#include <cstdlib>
#include <string>
#if __cplusplus >= 201703L
#include <string_view>
#endif

#if defined(INSTANTIATED) // the library has none of this layout
template class std::basic_string<char>;
#endif

#if defined(__clang__)
#define CALLED __attribute__((noinline))
#else
#define CALLED __attribute__((noipa))
#endif

namespace app {

struct Named {
  int n;
  std::string name;
};

void __attribute__((noinline)) tell(const char *name, const char *s, size_t n) {
  std::printf("%s\t\"", name);
  for (size_t i = 0; i < n && i < 64; i++) {
    if (s[i]) std::putchar(s[i]);
    else std::printf("\\x00");
  }
  std::printf("\"%s\n", n > 64 ? "…" : "");
}
void __attribute__((noinline)) tell(const char *name, const std::string &s) { tell(name, s.data(), s.size()); }

CALLED int reference(const std::string &s, int n) {
  std::printf("= app::reference\n");
  tell("s", s);
  std::printf("n\t%d\nreturn\t%d\n", n, n + 1);
  return n + 1;
}
CALLED int value(std::string s, const std::string *p) {
  std::printf("= app::value\n");
  tell("s", s);
  if (p) tell("p", *p);
  else std::printf("p\tnull\n");
  std::printf("return\t2\n");
  return 2;
}
CALLED std::string result(int n) {
  std::printf("= app::result\nn\t%d\n", n);
  const std::string s(size_t(n), 'r');
  tell("return", s);
  return s;
}
CALLED int member(const Named &named) {
  std::printf("= app::member\nnamed\t{n = %d, name = \"%s\"}\nreturn\t3\n", named.n, named.name.c_str());
  return 3;
}
CALLED int grown(std::string &s) {
  std::printf("= app::grown\n");
  tell("s", s);
  s += "+";
  tell("s@leave", s);
  std::printf("return\t4\n");
  return 4;
}
#if __cplusplus >= 201703L
CALLED int view(std::string_view v, const std::string_view &w, int n) {
  std::printf("= app::view\n");
  tell("v", v.data(), v.size());
  tell("w", w.data(), w.size());
  std::printf("n\t%d\nreturn\t5\n", n);
  return 5;
}
CALLED std::string_view part(const char *s) {
  std::printf("= app::part\ns\t\"%s\"\n", s);
  const std::string_view v(s + 1, 2);
  tell("return", v.data(), v.size());
  return v;
}
#endif

}  // namespace app

int main() {
  using namespace app;
  // About the most that each layout has room for in place.
  static const size_t sizes[] = {0, 1, 7, 8, 14, 15, 16, 21, 22, 23, 24, 31, 32, 63, 64, 65, 500};
  for (size_t n : sizes) {
    std::string s(n, 'a');
    for (size_t i = 0; i < n; i++) s[i] = char('a' + i % 26);
    reference(s, int(n));
    value(s, n % 2 ? &s : nullptr);
    result(int(n));
    if (n < 64) member({int(n), s});
    if (n < 63) grown(s);
#if __cplusplus >= 201703L
    view(s, std::string_view(s).substr(n / 2), int(n));
#endif
  }
  reference(std::string("zero\0in it", 10), 1);
  std::string shared = "shared by two", other = shared;
  reference(shared, 2), grown(other), reference(shared, 3);
#if __cplusplus >= 201703L
  part("abcd"), view({}, "", 4);
#endif
}
