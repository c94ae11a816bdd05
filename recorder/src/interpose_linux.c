/* interpose_linux.c: the system's functions that a recorder must know of:
 * those that load and unload modules, fork and exec. Linked into the program
 * or preloaded, these definitions come before the C library's. Each does what
 * the original does. A static program has no next definition to go on to:
 * there build without this file and with LOGREC_NO_INTERPOSE. */

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "core.h"
#include "logrec.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* ---- the originals ---- */

enum {
  DLOPEN,
  DLCLOSE,
  FORK,
  EXECVE,
  EXECVP,
  EXECVPE,
  FEXECVE,
#if defined(__GLIBC__)
  DLMOPEN,
#endif
  ORIGINALS
};
static const char *const names[] = {
    "dlopen",
    "dlclose",
    "fork",
    "execve",
    "execvp",
    "execvpe",
    "fexecve",
#if defined(__GLIBC__)
    "dlmopen",
#endif
};
static void *kept[ORIGINALS];

/* original finds the next definition of a function. dlsym waits for the loader,
 * and no signal handler may call it: only calls that come before the recorder's
 * constructor find it here. */
LR_OWN static void *original(int i) {
  void *f = lr_load(&kept[i]);
  if (!f) {
    const int error = errno;
    f = dlsym(RTLD_NEXT, names[i]);
    errno = error;
    lr_store(&kept[i], f);
  }
  return f;
}

/* Called by the recorder, so that this file comes along out of an archive. */
LR_HIDDEN void lr_find_originals(void);
LR_OWN void lr_find_originals(void) {
  for (int i = 0; i < ORIGINALS; i++) original(i);
}

#define ORIGINAL(type, i, name)  \
  union {                        \
    void *object;                \
    type function;               \
  } next_##name = {original(i)}; \
  type real_##name = next_##name.function

LR_OWN static void look(void) {
  if (lr_load(&lr_global.state) != LR_RUNNING) return;
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (plat_modules_changed()) plat_modules_scan();
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
  const int result = real_dlclose(handle);
  look();
  return result;
}

/* ---- fork, exec ---- */

typedef pid_t (*fork_function)(void);
LOGREC_API pid_t fork(void);
LR_OWN pid_t fork(void) {
  ORIGINAL(fork_function, FORK, fork);
  const pid_t pid = real_fork();
  if (pid > 0 && lr_load(&lr_global.state) == LR_RUNNING) lr_write_fork((uint32_t)pid);
  return pid;
}

typedef int (*execve_function)(const char *, char *const[], char *const[]);
typedef int (*fexecve_function)(int, char *const[], char *const[]);
typedef int (*execvp_function)(const char *, char *const[]);

LR_OWN static int failed(int begun, int result) {
  if (begun) lr_exec_failed();
  return result;
}

LOGREC_API int execve(const char *path, char *const argv[], char *const envp[]);
LR_OWN int execve(const char *path, char *const argv[], char *const envp[]) {
  ORIGINAL(execve_function, EXECVE, execve);
  const int begun = lr_exec_begin(path);
  return failed(begun, real_execve(path, argv, envp));
}

LOGREC_API int execv(const char *path, char *const argv[]);
LR_OWN int execv(const char *path, char *const argv[]) {
  ORIGINAL(execve_function, EXECVE, execve);
  const int begun = lr_exec_begin(path);
  return failed(begun, real_execve(path, argv, environ));
}

LOGREC_API int execvp(const char *file, char *const argv[]);
LR_OWN int execvp(const char *file, char *const argv[]) {
  ORIGINAL(execvp_function, EXECVP, execvp);
  const int begun = lr_exec_begin(file);
  return failed(begun, real_execvp(file, argv));
}

LOGREC_API int execvpe(const char *file, char *const argv[], char *const envp[]);
LR_OWN int execvpe(const char *file, char *const argv[], char *const envp[]) {
  ORIGINAL(execve_function, EXECVPE, execvpe);
  const int begun = lr_exec_begin(file);
  return failed(begun, real_execvpe(file, argv, envp));
}

LOGREC_API int fexecve(int fd, char *const argv[], char *const envp[]);
LR_OWN int fexecve(int fd, char *const argv[], char *const envp[]) {
  ORIGINAL(fexecve_function, FEXECVE, fexecve);
  const int begun = lr_exec_begin(argv[0] ? argv[0] : "");
  return failed(begun, real_fexecve(fd, argv, envp));
}

/* The variadic forms gather their arguments on the stack, as the C library
 * does: they may run between vfork and exec. */
#define GATHER(first, last)                                       \
  size_t n = 1;                                                   \
  va_list list;                                                   \
  va_start(list, last);                                           \
  while (va_arg(list, char *)) n++;                               \
  va_end(list);                                                   \
  char *argv[n + 1];                                              \
  argv[0] = (char *)(uintptr_t)(first);                           \
  va_start(list, last);                                           \
  for (size_t i = 1; i <= n; i++) argv[i] = va_arg(list, char *)

LOGREC_API int execl(const char *path, const char *arg, ...);
LR_OWN int execl(const char *path, const char *arg, ...) {
  GATHER(arg, arg);
  va_end(list);
  return execv(path, argv);
}

LOGREC_API int execlp(const char *file, const char *arg, ...);
LR_OWN int execlp(const char *file, const char *arg, ...) {
  GATHER(arg, arg);
  va_end(list);
  return execvp(file, argv);
}

LOGREC_API int execle(const char *path, const char *arg, ...);
LR_OWN int execle(const char *path, const char *arg, ...) {
  GATHER(arg, arg);
  char *const *envp = va_arg(list, char *const *);
  va_end(list);
  return execve(path, argv, envp);
}
