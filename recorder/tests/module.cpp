// module.cpp: a shared library or DLL that logs, with its own copy of the
// recorder: linked to the subject, and loaded by it later.

#include "Logger.h"

#if defined(_WIN32)
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

#if !defined(NAME)
#define NAME linkedLeaf
#endif

EXPORT void NAME(void) { LogEnterLeave LogObj; }
