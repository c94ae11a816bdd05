// Log.h: the object that records a function's enter and leave.
//
// Include it where functions are logged, and put the object first:
//
//     int area(int w, int h) {
//       LogEnterLeave LogObj;
//       return w * h;
//     }
//
// One source file of every module (the program, each DLL or shared library)
// includes Logger.h as well; it holds the code behind this class.
//
// Where LOGPARSER_TRACE is defined for Logger.h, the same line records into a
// trace: the module is linked with the logrec library.
// C++11; Windows and Linux.

#ifndef LOGPARSER_LOG_H
#define LOGPARSER_LOG_H

#include <stdint.h>

// The return address of constructor and destructor is what is recorded, so
// neither may be inlined, cloned, or reached by a jump (a tail call). The
// caller can do none of this while it may not look into them: hence noipa for
// gcc, and for every compiler a volatile member that is read through `this`,
// which keeps the object in the caller's frame until the destructor returned.
// Nor are they calls of the program, where the compiler records these too.
#if defined(__clang__)
#define LOGPARSER_OUTLINE __attribute__((noinline, not_tail_called, no_instrument_function))
#elif defined(__GNUC__) && __GNUC__ >= 8
#define LOGPARSER_OUTLINE __attribute__((noinline, noclone, noipa, no_instrument_function))
#elif defined(__GNUC__)
#define LOGPARSER_OUTLINE __attribute__((noinline, noclone, no_instrument_function))
#elif defined(_MSC_VER)
#define LOGPARSER_OUTLINE __declspec(noinline)
#else
#error "LogParser's recorder needs MSVC, clang or gcc"
#endif

// Hidden, so that each module calls its own copy and none depends on what
// another module exports.
#if defined(__ELF__)
#define LOGPARSER_LOCAL __attribute__((visibility("hidden")))
#else
#define LOGPARSER_LOCAL
#endif

class LOGPARSER_LOCAL LogEnterLeave {
 public:
  // Records the enter: the address it returns to, the thread, the tick.
  LOGPARSER_OUTLINE LogEnterLeave() noexcept;
  // Records the leave, with the address that the constructor recorded.
  LOGPARSER_OUTLINE ~LogEnterLeave();

  LogEnterLeave(const LogEnterLeave &) = delete;
  LogEnterLeave &operator=(const LogEnterLeave &) = delete;

 private:
  volatile uintptr_t address_;
};

#endif
