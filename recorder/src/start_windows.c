/* start_windows.c: how the recorder is told that the program begins and ends, and that threads end.
 *
 * The loader sends these notices, and holds its lock meanwhile. They take the recorder's locks. */

#include "system_windows.h"

#if defined(_WIN32)

#include <stdlib.h>

volatile LONG lr_started;
int lr_alone, lr_stays;
/* 1: the recorder's own module is being unloaded. */
static int leaving;

LR_OWN void plat_start(void) {
  if (InterlockedCompareExchange(&lr_started, 1, 0) != 0) return;
  lr_start_clock();
  lr_start_process();
  lr_start_threads();
  lr_modules_watch();
  lr_find_runtimes();
  InterlockedExchange(&lr_started, 2);
}

/* finish ends the log. */
LR_OWN static void finish(void) {
  if (!lr_global.ended) {
    lr_end();
  } else if (plat_lock()) {
    plat_file_trim(lr_global.end);
    plat_unlock();
  }
}

/* close_log closes the file for good, unless others record. */
LR_OWN static void close_log(void) {
  if (!plat_lock()) return;
  if (leaving || !lr_others_record()) {
    lr_store(&lr_mode, LR_OFF);
    lr_global.state = LR_STOPPED;
    lr_close_file(lr_global.end);
  }
  plat_unlock();
}

/* The recorder's code is about to be unmapped, the process goes on. */
LR_OWN static void leave(void) {
  close_log();
  lr_crash_release();
  lr_stop_threads();
}

/* on_notice is told of the process's begin and end and of every thread's end,
 * by the loader, which holds its lock. ending: at the begin, the module came with the process. */
LR_OWN static void on_notice(DWORD reason, PVOID self, int ending) {
  const DWORD error = GetLastError();
  struct lr_thread *t;
  switch (reason) {
    case DLL_PROCESS_ATTACH:
      /* If the recorder is in the program, or in a library that is loaded with it. */
      lr_stays = self == (PVOID)GetModuleHandleW(NULL) || ending;
      lr_read_settings();
      plat_start();
      plat_crash_catch(0);
      break;
    case DLL_THREAD_DETACH:
      t = lr_self_get();
      /* lr_thread_exit may want to be called again, after what others do at the thread's end. Here nothing comes
       * after this notice. */
      for (int i = 0; t != &lr_nobody && i < 8 && lr_self_get() == t; i++) lr_thread_exit(t);
      break;
    case DLL_PROCESS_DETACH:
      if (ending) lr_alone = 1;
      else leaving = 1;
      finish();
      if (!ending) lr_modules_unwatch();
      break;
  }
  SetLastError(error);
}

#if defined(LOGREC_BUILD_SHARED)

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, LPVOID reserved);
LR_OWN BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, LPVOID reserved) {
  on_notice(reason, self, reserved != NULL);
  if (reason == DLL_PROCESS_DETACH && !reserved) leave();
  return TRUE;
}

#else

/* A program or library with the recorder linked into it may have a DllMain of its own. A TLS callback gets the same
 * notices, before the constructors of the module run. */
LR_OWN static void NTAPI tls_callback(PVOID self, DWORD reason, PVOID reserved) {
  on_notice(reason, self, reserved != NULL);
}

/* The TLS callback of a library is told of the end before the destructors run: what they record still goes to the
 * file, which is closed here, after them. That of a program is told after the destructors, except under wine. */
LR_OWN static void __cdecl after_destructors(void) {
  const DWORD error = GetLastError();
  if (leaving) {
    leave();
  } else {
    finish();
    if (lr_under_wine) close_log();
  }
  SetLastError(error);
}

#if defined(_MSC_VER)
#if defined(_M_IX86)
#pragma comment(linker, "/INCLUDE:__tls_used /INCLUDE:_lr_tls_callback /INCLUDE:_lr_first_constructor")
#else
#pragma comment(linker, "/INCLUDE:_tls_used /INCLUDE:lr_tls_callback /INCLUDE:lr_first_constructor")
#endif
LR_OWN static void __cdecl first_constructor(void) { atexit(after_destructors); }
#pragma section(".CRT$XLB", long, read)
#pragma section(".CRT$XCB", long, read)
__declspec(allocate(".CRT$XLB")) const PIMAGE_TLS_CALLBACK lr_tls_callback = tls_callback;
__declspec(allocate(".CRT$XCB")) void(__cdecl *const lr_first_constructor)(void) = first_constructor;
#else
extern const PIMAGE_TLS_CALLBACK lr_tls_callback;
__attribute__((section(".CRT$XLB"), used)) const PIMAGE_TLS_CALLBACK lr_tls_callback = tls_callback;
/* With MinGW, functions with the attribute destructor run before the destructors of C++ objects, which are registered
 * by atexit. What is registered first is called last: the first constructor registers this one. */
__attribute__((constructor(101))) LR_OWN static void first_constructor(void) { atexit(after_destructors); }
#endif

#endif

#endif
