// startup_clangcl.cpp: what the Microsoft runtime would do, for the builds
// with clang-cl, which has its headers and libraries from MinGW: runs the
// constructors, main and the destructors, and allocates.

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

typedef void(__cdecl *Function)(void);

// The linker sorts the pointers to constructors between these two.
#pragma section(".CRT$XCA", read)
#pragma section(".CRT$XCZ", read)
__declspec(allocate(".CRT$XCA")) Function constructorsBegin[] = {nullptr};
__declspec(allocate(".CRT$XCZ")) Function constructorsEnd[] = {nullptr};

static Function destructors[64];
static int destructorCount;

static void construct() {
  for (Function *f = constructorsBegin; f < constructorsEnd; f++)
    if (*f) (*f)();
}

static void destroy() {
  while (destructorCount > 0) destructors[--destructorCount]();
}

extern "C" {

int _fltused = 0;

int __cdecl atexit(Function f) {
  if (destructorCount == 64) return 1;
  destructors[destructorCount++] = f;
  return 0;
}

int __cdecl _purecall() {
  ExitProcess(99);
  return 0;
}

#if defined(LOGTEST_SHAPES)

BOOL WINAPI DllMainCRTStartup(HINSTANCE, DWORD reason, LPVOID) {
  if (reason == DLL_PROCESS_ATTACH) construct();
  if (reason == DLL_PROCESS_DETACH) destroy();
  return TRUE;
}

#else

int main();

void __cdecl startup() {
  construct();
  const int result = main();
  destroy();
  ExitProcess(UINT(result));
}

#endif
}

void *operator new(size_t size) { return HeapAlloc(GetProcessHeap(), 0, size); }
void operator delete(void *p) noexcept { HeapFree(GetProcessHeap(), 0, p); }
void operator delete(void *p, size_t) noexcept { HeapFree(GetProcessHeap(), 0, p); }
