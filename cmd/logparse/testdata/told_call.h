// told_call.h prints what a function is called with and what it returns, a line each:
//   = FUNCTION
//   NAME<TAB>VALUE
// It is included behind told.h and the functions "put" of the program's own types.
#pragma once

namespace told {

// A Call prints a call when it ends.
class Call {
 public:
  explicit Call(const char *function) { std::printf("= %s\n", function); }
  ~Call() { std::fflush(stdout); }
  Call &text(const char *name, const string &value) {
    std::printf("%s\t%s\n", name, value.c_str());
    return *this;
  }
  template <class T> Call &a(const char *name, const T &v) { return text(name, put(v)); }
  template <class T> T r(T v) {
    text("return", put(v));
    return v;
  }
};

}  // namespace told
