// reused.cpp is three things: with LIBRARY=1 and LIBRARY=2 a library, else a program that loads the first, frees it,
// loads the second one to the same address, and the first again.

#include "Logger.h"

#if defined(LIBRARY)

#if defined(_WIN32)
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C"
#endif

#if LIBRARY == 1
EXPORT int work(int n) {
  LogEnterLeave LogObj;
  return n + 1;
}
#else
static __attribute__((noinline)) int pad(int n) {
  LogEnterLeave LogObj;
  return n * 2;
}
EXPORT int work(int n) {
  LogEnterLeave LogObj;
  return pad(n) + 7;
}
#endif

#else

#include <stdio.h>
#if defined(_WIN32)
#include <windows.h>
static void *load(const char *name) { return reinterpret_cast<void *>(LoadLibraryA(name)); }
static void *find(void *library) {
  return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), "work"));
}
static void unload(void *library) { FreeLibrary(static_cast<HMODULE>(library)); }
#else
#include <dlfcn.h>
static void *load(const char *name) { return dlopen(name, RTLD_NOW); }
static void *find(void *library) { return dlsym(library, "work"); }
static void unload(void *library) { dlclose(library); }
#endif

static int once(const char *name) {
  LogEnterLeave LogObj;
  void *library = load(name);
  if (!library) return -1000;
  void *found = find(library);
  int (*work)(int);
  memcpy(&work, &found, sizeof work);
  const int result = work(1);
  unload(library);
  return result;
}

int main(int, char **argv) {
  LogEnterLeave LogObj;
  const int result = once(argv[1]) + once(argv[2]) + once(argv[1]);
  printf("%d\n", result);
  return 0;
}

#endif
