// The program of TestStringsMSVC: texts with the layouts and the names that they have in Microsoft's library, which is not here. Each
// function says what it was called with, as those of prototypes.cpp do.
#include <stdio.h>
#include <string.h>

namespace std {
template <class E> struct char_traits {};
template <class T> class allocator {};
#ifdef CHECKED // iterators
struct _Container_base12 {
  void *_Myproxy = nullptr;
};
#else
struct _Container_base12 {};
#endif
template <class E> struct _String_val : _Container_base12 {
  union _Bxty {
    E _Buf[16];
    E *_Ptr;
  } _Bx;
  unsigned long long _Mysize, _Myres;
};
template <class A, class V> struct _Compressed_pair : A {
  V _Myval2;
};
template <class E, class T = char_traits<E>, class A = allocator<E> > class basic_string {
  _Compressed_pair<A, _String_val<E> > _Mypair;

 public:
  basic_string(const E *from, unsigned long long n) {
    _String_val<E> &v = _Mypair._Myval2;
    v._Mysize = n;
    v._Myres = n < 16 ? 15 : n;
    if (n >= 16) v._Bx._Ptr = new E[n + 1];
    memcpy(data(), from, n);
    data()[n] = 0;
  }
  basic_string(const basic_string &o) : basic_string(o.data(), o.size()) {}
  ~basic_string() {
    if (size() >= 16) delete _Mypair._Myval2._Bx._Ptr;
  }
  E *data() { return size() < 16 ? _Mypair._Myval2._Bx._Buf : _Mypair._Myval2._Bx._Ptr; }
  const E *data() const { return const_cast<basic_string *>(this)->data(); }
  unsigned long long size() const { return _Mypair._Myval2._Mysize; }
};
template <class E, class T = char_traits<E> > class basic_string_view {
  const E *_Mydata;
  unsigned long long _Mysize;

 public:
  basic_string_view(const E *from, unsigned long long n) : _Mydata(from), _Mysize(n) {}
  const E *data() const { return _Mydata; }
  unsigned long long size() const { return _Mysize; }
};
typedef basic_string<char> string;
typedef basic_string_view<char> string_view;
}  // namespace std

namespace app {

template <class S> static void say(const char *name, const S &s) {
  printf("%s\t\"%.*s\"%s\n", name, (int)(s.size() < 64 ? s.size() : 64), s.data(), s.size() > 64 ? "\xe2\x80\xa6" : "");
}
struct Named {
  int n;
  std::string name;
};

__attribute__((noinline)) void s1(const std::string &a, std::string *b) {
  printf("= app::s1\n");
  say("a", a), say("b", *b);
}
__attribute__((noinline)) void s2(std::string a, int n) {
  printf("= app::s2\n");
  say("a", a);
  printf("n\t%d\n", n);
}
__attribute__((noinline)) void s3(std::string_view a, const std::string_view &b) {
  printf("= app::s3\n");
  say("a", a), say("b", b);
}
__attribute__((noinline)) void s4(const Named &a) {
  printf("= app::s4\n");
  printf("a\t{n = %d, name = \"%s\"}\n", a.n, a.name.data());
}

}  // namespace app

int main() {
  using namespace app;
  static const char text[] = "characters, of which a text has more and more, until it has more than are taken of it";
  static const int lengths[] = {0, 1, 7, 14, 15, 16, 17, 31, 63, 64, 65, 80};
  for (int n : lengths) {
    std::string a(text, n), b(text + 1, n);
    s1(a, &b), s2(a, n), s3(std::string_view(text, n), std::string_view(text + 2, n));
    if (n <= 64) s4({n, a});
  }
}
