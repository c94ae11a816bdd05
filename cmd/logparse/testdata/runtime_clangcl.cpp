// runtime_clangcl.cpp: what the C++ library of MinGW has compiled in itself, for programs that clang-cl builds with its headers: by
// Microsoft's C++ ABI these are other functions. What must not happen ends the program.
#include <cstdarg>
#include <cstdlib>
#include <string>

template class std::allocator<char>;
template class std::basic_string<char>;

namespace std {
void __throw_logic_error(char const *) { abort(); }
void __throw_length_error(char const *) { abort(); }
void __throw_out_of_range_fmt(char const *, ...) { abort(); }
void __throw_bad_alloc() { abort(); }
void __throw_bad_array_new_length() { abort(); }
}  // namespace std

extern "C" {
int _vsnprintf(char *, size_t, const char *, va_list);
int __mingw_vsnprintf(char *to, size_t size, const char *format, va_list list) {
  const int n = _vsnprintf(to, size, format, list);
  if (size && (n < 0 || size_t(n) >= size)) to[size - 1] = 0;
  return n;
}
void __mingw_raise_matherr(int, const char *, double, double, double) {}
int _CRT_MT = 0;
}

// What the types' descriptions begin with, which nobody asks.
extern const void *const described[2] __asm__("??_7type_info@@6B@");
const void *const described[2] = {};
