// told.h writes values as LogParser writes them, for programs that print what their functions are called with (told_call.h).
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#if defined(__clang__)
#define CALLED __attribute__((noinline))
#else
#define CALLED __attribute__((noipa))
#endif

namespace told {

using std::string;

string put(bool v) { return v ? "true" : "false"; }
string put(char v) { return v & 0x80 ? "'\\x" + string{"0123456789abcdef"[(v >> 4) & 15], "0123456789abcdef"[v & 15]} + "'" : string{'\'', v, '\''}; }
string put(wchar_t v) { return string{'\'', (char)v, '\''}; }
string put(char16_t v) { return string{'\'', (char)v, '\''}; }
string put(char32_t v) { return string{'\'', (char)v, '\''}; }
string put(signed char v) { return std::to_string((int)v); }
string put(unsigned char v) { return std::to_string((int)v); }
string put(short v) { return std::to_string(v); }
string put(unsigned short v) { return std::to_string(v); }
string put(int v) { return std::to_string(v); }
string put(unsigned v) { return std::to_string(v); }
string put(long v) { return std::to_string(v); }
string put(unsigned long v) { return std::to_string(v); }
string put(long long v) { return std::to_string(v); }
string put(unsigned long long v) { return std::to_string(v); }
#ifdef __SIZEOF_INT128__
using Int128 = __int128;
using Uint128 = unsigned __int128;
string put(unsigned __int128 v) { return v < 10 ? string(1, (char)('0' + (int)v)) : put(v / 10) + (char)('0' + (int)(v % 10)); }
string put(__int128 v) { return v < 0 ? "-" + put(-(unsigned __int128)v) : put((unsigned __int128)v); }
#else  // machines of 32 bits have none
using Int128 = long long;
using Uint128 = unsigned long long;
#endif
template <class F> string number(F v) {
  char b[64];
  string s(b, std::snprintf(b, sizeof b, "%.9g", (double)v));
  return s.find_first_of(".en") == string::npos ? s + ".0" : s;
}
string put(float v) { return number(v); }
string put(double v) { return number(v); }
string put(long double v) { return number(v); }
string quoted(std::string_view v, bool cut) { return "\"" + string(v) + "\"" + (cut ? "…" : ""); }
string put(std::string_view v) { return quoted(v.substr(0, 64), v.size() > 64); }
string put(const string &v) { return put(std::string_view(v)); }
string put(const char *v) { return v ? put(std::string_view(v)) : "null"; }
string put(const void *v) {
  char b[32];
  if (!v) return "null";
  std::snprintf(b, sizeof b, "0x%llx", (unsigned long long)(uintptr_t)v);
  return b;
}
string list(const int *v, int n) {
  string s = "[";
  for (int i = 0; i < n; i++) s += (i ? ", " : "") + put(v[i]);
  return s + "]";
}
template <class... V> string put_all(V... list) {
  string s = "{";
  ((s += (s.size() > 1 ? ", " : "") + list), ...);
  return s + "}";
}
template <class T> string m(const char *name, const T &v) { return string(name) + " = " + put(v); }

}  // namespace told
