/* runtimes_windows.c: crashes in which the C or C++ runtime ends the program itself: SIGABRT of abort, terminate, a
 * pure virtual call, an invalid parameter. None of these raises an exception that the filter of crash_windows.c would
 * see.
 *
 * A process may have several runtimes: the one that the recorder is linked with, whose functions it calls, and those
 * of other DLLs, whose functions are asked for once, in plat_start. Each keeps its handlers itself. A handler that the
 * program has set already stays; one that it sets later takes the place of ours, and is given ours to go on with.
 * The runtime calls the handlers here in the thread that ends the program, and holds no lock of its own. */

#include "system_windows.h"

#if defined(_WIN32)

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

typedef void(__cdecl *plain_handler)(void);
typedef void(__cdecl *signal_handler)(int);
typedef void(__cdecl *parameter_handler)(const wchar_t *, const wchar_t *, const wchar_t *, unsigned, uintptr_t);

typedef signal_handler(__cdecl *set_signal)(int, signal_handler);
typedef plain_handler(__cdecl *set_plain)(plain_handler);
typedef parameter_handler(__cdecl *set_parameter)(parameter_handler);

/* The runtimes of Microsoft's compilers that are DLLs. msvcrt.dll goes on after an invalid parameter, and its SIGABRT is
 * that of programs of MinGW. What a process has of these is there when it starts, as a rule. */
static const char *const names[] = {"ucrtbase.dll", "vcruntime140.dll", "msvcr120.dll", "msvcr110.dll", "msvcr100.dll", "msvcr90.dll", "msvcr80.dll"};
/* The C++ runtimes of other compilers that are DLLs. A process has one of them at most. */
static const char *const libraries[] = {"libstdc++-6.dll", "libc++.dll"};
enum { NAMES = sizeof names / sizeof *names, LIBRARIES = sizeof libraries / sizeof *libraries };

static struct runtime {
  set_signal signal;
  set_plain purecall, terminate; /* terminate: of the calling thread */
  plain_handler terminate_at_first;
  int terminate_asked;
  set_parameter parameter;
  plain_handler tell; /* calls the handler, as each function does that gets an invalid parameter */
} runtimes[NAMES];

static set_plain set_terminate; /* of all threads */
static plain_handler terminate_before;
static signal_handler abort_before;
static int first, watching;

/* ---- C++ that is linked with the recorder ----
 * Only if the program has a C++ runtime of its own: a weak reference takes nothing out of an archive. */

#if defined(__GNUC__) && !defined(_MSC_VER)
#define STRING(x) #x
#define EXPANDED(x) STRING(x)
#define SYMBOL(name) EXPANDED(__USER_LABEL_PREFIX__) name
/* The directive is needed besides the attribute, which gcc forgets if only the address is taken. */
#define WEAK(declaration, name)                                \
  __asm__(".weak " SYMBOL(name));                              \
  extern declaration __asm__(SYMBOL(name)) __attribute__((weak))
WEAK(plain_handler linked_set_terminate(plain_handler), "_ZSt13set_terminatePFvvE");
WEAK(void linked_default(void), "_ZN9__gnu_cxx27__verbose_terminate_handlerEv");
WEAK(void *linked_exception_type(void), "__cxa_current_exception_type");
WEAK(void linked_pure_virtual(void), "__cxa_pure_virtual");
#define LINKED(f) (f)
#else
#define LINKED(f) NULL
#endif

/* ---- what the runtimes call ---- */

/* The C runtime has set SIGABRT to its default already, and ends the process when this returns. */
LR_OWN static void __cdecl on_abort(int number) {
  lr_record_ending(LRF_CRASH_ABORT, 0);
  if (abort_before) abort_before(number);
}
LR_OWN static void __cdecl on_abort_elsewhere(int number) {
  (void)number;
  lr_record_ending(LRF_CRASH_ABORT, 0);
}

/* called_purely tells whether __cxa_pure_virtual is among the callers of this function. */
LR_OWN static int called_purely(void) {
#if defined(__GNUC__) && !defined(_MSC_VER) && defined(__x86_64__)
  enum { MOST = 8 };
  CONTEXT c;
  RtlCaptureContext(&c);
  for (int i = 0; linked_pure_virtual && i < MOST; i++) {
    DWORD64 base;
    const RUNTIME_FUNCTION *const f = RtlLookupFunctionEntry(c.Rip, &base, NULL);
    if (!f) return 0;
    if (base + f->BeginAddress == (DWORD64)(uintptr_t)&linked_pure_virtual) return 1;
    void *data;
    DWORD64 frame;
    RtlVirtualUnwind(0 /* UNW_FLAG_NHANDLER */, base, c.Rip, (RUNTIME_FUNCTION *)(uintptr_t)f, &c, &data, &frame, NULL);
  }
#endif
  return 0;
}

/* terminate of libstdc++ or libc++. The handler that was there says what it says, and ends the program. */
LR_OWN static void __cdecl on_terminate(void) {
#if defined(__GNUC__) && !defined(_MSC_VER)
  const int thrown = linked_exception_type && linked_exception_type() != NULL;
#else
  const int thrown = 0;
#endif
  if (!thrown && called_purely()) lr_record_ending(LRF_CRASH_PURE_CALL, 0);
  else lr_record_ending(LRF_CRASH_TERMINATE, !thrown);
  if (terminate_before) terminate_before();
  abort();
}

/* Microsoft's terminate goes on to abort when this returns, and _purecall to its end. */
LR_OWN static void __cdecl on_terminate_elsewhere(void) { lr_record_ending(LRF_CRASH_TERMINATE, 1); }
LR_OWN static void __cdecl on_pure_call(void) { lr_record_ending(LRF_CRASH_PURE_CALL, 0); }

LR_OWN static void __cdecl on_parameter(const wchar_t *expression, const wchar_t *function, const wchar_t *file, unsigned line, uintptr_t reserved) {
  (void)expression, (void)function, (void)file, (void)line, (void)reserved;
  lr_record_ending(LRF_CRASH_PARAMETER, 0);
  /* It is not told which runtime calls; without a handler each ends the program in the same way. */
  for (int i = 0; i < NAMES; i++)
    if (runtimes[i].parameter) runtimes[i].parameter(NULL);
  for (int i = 0; i < NAMES; i++)
    if (runtimes[i].parameter) runtimes[i].tell();
}

/* ---- setting them ---- */

#define ASK(member, module, name)          \
  do {                                     \
    void *const f = lr_function(module, name); \
    memcpy(&(member), &f, sizeof f);       \
  } while (0)

LR_OWN void lr_find_runtimes(void) {
  for (int i = 0; i < NAMES; i++) {
    struct runtime *const r = &runtimes[i];
    if (!GetModuleHandleA(names[i])) continue;
    ASK(r->signal, names[i], "signal");
    ASK(r->purecall, names[i], "_set_purecall_handler");
    ASK(r->parameter, names[i], "_set_invalid_parameter_handler");
    ASK(r->tell, names[i], "_invalid_parameter_noinfo");
    ASK(r->terminate, names[i], "set_terminate");
    if (!r->terminate) ASK(r->terminate, names[i], "?set_terminate@@YAP6AXXZP6AXXZ@Z");
    /* Without it the program could not end as it would have ended. */
    if (!r->tell) r->parameter = NULL;
  }
  set_terminate = LINKED(linked_set_terminate);
  for (int i = 0; i < LIBRARIES && !set_terminate; i++) ASK(set_terminate, libraries[i], "_ZSt13set_terminatePFvvE");
}

/* take_abort sets SIGABRT of the runtime that the recorder is linked with, which take_runtime may have set already. */
LR_OWN static void take_abort(void) {
  const signal_handler was = signal(SIGABRT, on_abort);
  if (was == SIG_DFL || was == SIG_ERR || was == on_abort || was == on_abort_elsewhere) return;
  if (!first) signal(SIGABRT, was);
  else if (was != SIG_IGN) abort_before = was;
}

LR_OWN static void take_terminate(void) {
  if (!set_terminate) return;
  const plain_handler was = set_terminate(on_terminate);
  if (was == on_terminate) return;
  terminate_before = was;
#if defined(__GNUC__) && !defined(_MSC_VER)
  /* Which handler a DLL had at first is not known. */
  if (!first && set_terminate == LINKED(linked_set_terminate) && was != linked_default && was != abort) set_terminate(was);
#endif
}

/* take_runtime sets what a DLL has no handlers for. */
LR_OWN static void take_runtime(const struct runtime *r) {
  if (r->signal) {
    const signal_handler was = r->signal(SIGABRT, on_abort_elsewhere);
    if (was != SIG_DFL && was != SIG_ERR && was != on_abort && was != on_abort_elsewhere) r->signal(SIGABRT, was);
  }
  if (r->purecall) {
    const plain_handler was = r->purecall(on_pure_call);
    if (was && was != on_pure_call) r->purecall(was);
  }
  if (r->parameter) {
    const parameter_handler was = r->parameter(on_parameter);
    if (was && was != on_parameter) r->parameter(was);
  }
}

LR_OWN void lr_watch_runtimes(int before_the_program) {
  first = before_the_program;
  watching = 1;
  for (int i = 0; i < NAMES; i++) take_runtime(&runtimes[i]);
  take_abort();
  take_terminate();
  lr_watch_thread();
}

/* Only if the recorder's code stays as long as the process: a thread's handler cannot be taken back by another
 * thread. */
LR_OWN void lr_watch_thread(void) {
  for (int i = 0; watching && lr_stays && i < NAMES; i++) {
    struct runtime *const r = &runtimes[i];
    if (!r->terminate) continue;
    const plain_handler was = r->terminate(on_terminate_elsewhere);
    if (was == on_terminate_elsewhere) continue;
    /* A runtime's default may be a function of its own: it is what the first thread has before the program runs. */
    if (!r->terminate_asked) r->terminate_at_first = was;
    r->terminate_asked = 1;
    if (was != r->terminate_at_first) r->terminate(was);
  }
}

LR_OWN void lr_unwatch_runtimes(void) {
  if (!watching) return;
  watching = 0;
  for (int i = 0; i < NAMES; i++) {
    const struct runtime *const r = &runtimes[i];
    signal_handler was;
    plain_handler plain;
    parameter_handler parameter;
    if (r->signal && (was = r->signal(SIGABRT, SIG_DFL)) != on_abort_elsewhere && was != SIG_ERR) r->signal(SIGABRT, was);
    if (r->purecall && (plain = r->purecall(NULL)) != on_pure_call) r->purecall(plain);
    if (r->parameter && (parameter = r->parameter(NULL)) != on_parameter) r->parameter(parameter);
  }
  const signal_handler now = signal(SIGABRT, abort_before ? abort_before : SIG_DFL);
  if (now != on_abort && now != SIG_ERR) signal(SIGABRT, now);
  if (set_terminate) {
    const plain_handler t = set_terminate(terminate_before);
    if (t != on_terminate) set_terminate(t);
  }
}

#endif
