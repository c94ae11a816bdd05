// truth.h: what LogTest says about itself, to compare a log with.
//
// LOGTEST_FUNCTION puts the recorder's object and a truth object into a
// function; the truth object notes the function's name, taken from the source
// and not from any symbol, and the thread. README.md says what a name looks
// like and how the file is written.

#ifndef LOGTEST_TRUTH_H
#define LOGTEST_TRUTH_H

#include "Log.h"

#if defined(_WIN32)
#if defined(LOGTEST_SHAPES)
#define SHAPES_API __declspec(dllexport)
#else
#define SHAPES_API __declspec(dllimport)
#endif
#else
#define SHAPES_API __attribute__((visibility("default")))
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define LOGTEST_NOINLINE __declspec(noinline)
#define LOGTEST_INLINE __forceinline
#else
#define LOGTEST_NOINLINE __attribute__((noinline))
#define LOGTEST_INLINE inline __attribute__((always_inline))
#endif

// With LOGTEST_HOOKS the compiler's hooks record the functions, and no object;
// those that only tell the truth are not among them.
#if defined(LOGTEST_HOOKS)
#define LOGTEST_UNSEEN __attribute__((no_instrument_function))
#else
#define LOGTEST_UNSEEN
#endif

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define LOGTEST_EXCEPTIONS 1
#endif

// Adds a line to the truth file. The file is written in the shapes library,
// so that the program and the library share it.
SHAPES_API void truthAdd(const char *function, bool enter);

class Truth {
 public:
  LOGTEST_UNSEEN explicit Truth(const char *function) : function_(function) { truthAdd(function_, true); }
  LOGTEST_UNSEEN ~Truth() { truthAdd(function_, false); }
  Truth(const Truth &) = delete;
  Truth &operator=(const Truth &) = delete;

 private:
  const char *function_;
};

#if defined(LOGTEST_HOOKS)
#define LOGTEST_FUNCTION(name) Truth truth_(name)
#else
#define LOGTEST_FUNCTION(name) \
  LogEnterLeave LogObj;        \
  Truth truth_(name)
#endif

#endif
