/* start_windows.c: what the system tells the recorder of: the program's begin and end, the ends of
 * threads.
 *
 * The notices come from the loader, with its lock; they take the recorder's. */

#include "system_windows.h"

#if defined(_WIN32)

#include <stdlib.h>

volatile LONG lr_started;
int lr_alone, lr_stays;
/* The recorder's own module goes. */
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
      /* In the program, or in what it is linked with. */
      lr_stays = self == (PVOID)GetModuleHandleW(NULL) || ending;
      lr_read_settings();
      plat_start();
      plat_crash_catch(0);
      break;
    case DLL_THREAD_DETACH:
      t = lr_self_get();
      /* The core asks to be called again some times; here comes nothing
       * after us. */
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

/* In a program or library that is linked with the recorder there is somebody
 * else's DllMain: a TLS callback is told the same, before the constructors of
 * the module. */
LR_OWN static void NTAPI tls_callback(PVOID self, DWORD reason, PVOID reserved) {
  on_notice(reason, self, reserved != NULL);
}

/* A library's is told of the end before the destructors run: what they record
 * goes to the file, which is closed behind them. A program's is told after
 * them, but not under wine. */
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
/* MinGW calls destructors of this kind before those of C++ objects, which are
 * told by atexit: the first told is the last called. */
__attribute__((constructor(101))) LR_OWN static void first_constructor(void) { atexit(after_destructors); }
#endif

#endif

#endif
