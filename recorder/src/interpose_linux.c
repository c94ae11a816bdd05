/* interpose_linux.c: functions of the C library that the recorder has to know of, and that
 * it stands in for: those that load and unload modules, that end the program without its
 * destructors, and that leave calls. exec_linux.c has fork and exec, sandbox_linux.c what
 * filters system calls.
 *
 * Linked into the program or preloaded, these definitions come before the C library's. Each
 * does what the original does, and may be called where the original may: longjmp, _exit,
 * sigaltstack, fork and exec also in a signal handler. A static program has no next definition
 * to go on to: LOGREC_NO_INTERPOSE leaves these three files empty. */

#include "interpose_linux.h"

#include "patch.h"

#if !defined(_WIN32) && !defined(LOGREC_NO_INTERPOSE)

#include <dlfcn.h>
#include <setjmp.h>

/* ---- the originals ---- */

static const char *const names[ORIGINALS] = {
    [DLOPEN] = "dlopen",
    [DLCLOSE] = "dlclose",
    [FORK] = "fork",
    [EXECVE] = "execve",
    [EXECVP] = "execvp",
    [EXECVPE] = "execvpe",
    [FEXECVE] = "fexecve",
    [EXIT_NOW] = "_exit",
    [QUICK_EXIT] = "quick_exit",
    [POSIX_SPAWN] = "posix_spawn",
    [POSIX_SPAWNP] = "posix_spawnp",
    [LONGJMP] = "longjmp",
    [LONGJMP_PLAIN] = "_longjmp",
    [SIGLONGJMP] = "siglongjmp",
    [SIGACTION] = "sigaction",
    [SIGNAL_SET] = "signal",
    [WRITE] = "write",
    [WRITEV] = "writev",
#if defined(__GLIBC__)
    [DLMOPEN] = "dlmopen",
    [EXECVEAT] = "execveat",
    [LONGJMP_CHECKED] = "__longjmp_chk",
    [SIGNAL_SYSV] = "__sysv_signal",
    [SIGSET] = "sigset",
    [SIGIGNORE] = "sigignore",
#endif
};
static void *found[ORIGINALS];

LR_PLAIN void *lr_original(enum original i) {
  void *f = lr_load(&found[i]);
  if (!f) {
    f = lr_next_definition(names[i]);
    lr_store(&found[i], f);
  }
  return f;
}

static uint32_t no_sanitizer;

LR_OWN void lr_find_originals(void) {
  static const char *const sanitizers[] = {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init"};
  int n = 0;
  for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++) n += lr_any_definition(sanitizers[i], NULL) != NULL;
  lr_store(&no_sanitizer, n == 0);
  for (int i = 0; i < ORIGINALS; i++) lr_original((enum original)i);
  lr_keep_environment();
#if defined(__GLIBC__)
  lr_crash_abort_message(lr_library_function("__abort_msg"));
#endif
}

LR_OWN int lr_may_have_sanitizer(void) { return lr_load(&no_sanitizer) == 0; }

LR_OWN static void look(void) {
  const int running = lr_load(&lr_global.state) == LR_RUNNING;
  if (!running && !lr_settings.patch) return;
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (running && plat_modules_changed()) plat_modules_scan();
  lr_patch_look();
  plat_slow_end(&saved);
}

/* ---- modules ---- */

/* A name without a slash is searched for in the folders of the module that
 * asks (its RUNPATH), which the C library finds by its return address: such
 * calls go on to the original as they came, and the module is found at the
 * next look: another call of these functions, a new chunk, the end. */
typedef void *(*dlopen_function)(const char *, int);
#if defined(__GLIBC__)
typedef void *(*dlmopen_function)(Lmid_t, const char *, int);
#endif

LR_OWN __attribute__((visibility("hidden"), used)) void *lr_dlopen_here(const char *file, int flags, dlopen_function real) {
  look();
  void *handle = real(file, flags);
  look();
  return handle;
}

/* lr_dlopen_direct tells whether the call must go on as it came, and finds the
 * original. */
LR_OWN __attribute__((visibility("hidden"), used)) int lr_dlopen_direct(const char *file, dlopen_function *real) {
  ORIGINAL(dlopen_function, DLOPEN, dlopen);
  *real = real_dlopen;
  if (file && strchr(file, '/') && !strchr(file, '$')) return 0;
  look();
  return 1;
}

#if defined(__x86_64__) && defined(__LP64__)
/* void *dlopen(const char *file, int flags): a jump keeps the caller's return
 * address. */
__asm__(
    ".text\n"
    ".globl dlopen\n"
    ".type dlopen,@function\n"
    "dlopen:\n"
    ".cfi_startproc\n"
    "  endbr64\n"
    "  push %rdi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  push %rsi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  sub $8,%rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  mov %rsp,%rsi\n"
    "  call lr_dlopen_direct\n"
    "  pop %rdx\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  pop %rsi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  pop %rdi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  test %eax,%eax\n"
    "  jz lr_dlopen_here\n"
    "  jmp *%rdx\n"
    ".cfi_endproc\n"
    ".size dlopen,.-dlopen\n");
#else
LOGREC_API void *dlopen(const char *file, int flags);
LR_OWN void *dlopen(const char *file, int flags) {
  dlopen_function real;
  lr_dlopen_direct(file, &real);
  return lr_dlopen_here(file, flags, real);
}
#endif

#if defined(__GLIBC__)
LOGREC_API void *dlmopen(Lmid_t space, const char *file, int flags);
LR_OWN void *dlmopen(Lmid_t space, const char *file, int flags) {
  ORIGINAL(dlmopen_function, DLMOPEN, dlmopen);
  look();
  void *handle = real_dlmopen(space, file, flags);
  look();
  return handle;
}
#endif

typedef int (*dlclose_function)(void *);
LOGREC_API int dlclose(void *handle);
LR_OWN int dlclose(void *handle) {
  ORIGINAL(dlclose_function, DLCLOSE, dlclose);
  look();
  lr_patch_closing(1);
  const int result = real_dlclose(handle);
  lr_patch_closing(0);
  look();
  return result;
}

/* ---- the end without destructors ---- */

typedef void (*exit_function)(int) __attribute__((noreturn));

LOGREC_API void _exit(int status) __attribute__((noreturn));
LR_OWN void _exit(int status) {
  ORIGINAL(exit_function, EXIT_NOW, _exit);
  lr_end_now();
  real__exit(status);
}

LOGREC_API void _Exit(int status) __attribute__((noreturn));
LR_OWN void _Exit(int status) {
  ORIGINAL(exit_function, EXIT_NOW, _Exit);
  lr_end_now();
  real__Exit(status);
}

/* Functions of at_quick_exit run before the log ends, so that they are still recorded. */
LOGREC_API void quick_exit(int status) __attribute__((noreturn));
LR_OWN void quick_exit(int status) {
  ORIGINAL(exit_function, QUICK_EXIT, quick_exit);
  lr_end_now();
  real_quick_exit(status);
}

/* ---- what leaves calls ---- */

typedef void (*longjmp_function)(jmp_buf, int) __attribute__((noreturn));
#define JUMP(name, i)                                                          \
  LOGREC_API void name(jmp_buf where, int value) __attribute__((noreturn));    \
  LR_OWN void name(jmp_buf where, int value) {                                 \
    ORIGINAL(longjmp_function, i, jump);                                       \
    lr_calls_are_left();                                                       \
    real_jump(where, value);                                                   \
  }
JUMP(longjmp, LONGJMP)
JUMP(_longjmp, LONGJMP_PLAIN)
JUMP(siglongjmp, SIGLONGJMP)
#if defined(__GLIBC__)
JUMP(__longjmp_chk, LONGJMP_CHECKED)
#endif

/* ---- sanitizers ---- */

/* The address sanitizer's library ends a program in which it is not the first to be loaded, as it is not where the recorder is
 * preloaded. It asks for its options by a function that the program may define, before all others: nothing here needs to be relocated. The
 * functions that it stands in for still come before the C library's, which it looks for. */
LOGREC_API const char *__asan_default_options(void);
LR_PLAIN const char *__asan_default_options(void) { return "verify_asan_link_order=0"; }

#endif
