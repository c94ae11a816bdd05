/* interpose_linux.c: the system's functions that a recorder must know of:
 * those that load and unload modules, fork and exec. Linked into the program
 * or preloaded, these definitions come before the C library's. Each does what
 * the original does. A static program has no next definition to go on to:
 * there build without this file and with LOGREC_NO_INTERPOSE. */

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
/* With it longjmp is another name for __longjmp_chk. */
#undef _FORTIFY_SOURCE

#include "core.h"
#include "logrec.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
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
  EXIT_NOW,
  QUICK_EXIT,
  POSIX_SPAWN,
  POSIX_SPAWNP,
  LONGJMP,
  LONGJMP_PLAIN,
  SIGLONGJMP,
#if defined(__GLIBC__)
  DLMOPEN,
  EXECVEAT,
  LONGJMP_CHECKED,
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
    "_exit",
    "quick_exit",
    "posix_spawn",
    "posix_spawnp",
    "longjmp",
    "_longjmp",
    "siglongjmp",
#if defined(__GLIBC__)
    "dlmopen",
    "execveat",
    "__longjmp_chk",
#endif
};
static void *kept[ORIGINALS];

/* original finds the next definition of a function. dlsym waits for the loader,
 * and no signal handler may call it: only calls that come before the recorder's
 * constructor find it here. */
LR_OWN static void *original(int i) {
  void *f = lr_load(&kept[i]);
  if (!f) {
    struct plat_saved saved;
    plat_slow_begin(&saved);
    f = dlsym(RTLD_NEXT, names[i]);
    plat_slow_end(&saved);
    lr_store(&kept[i], f);
  }
  return f;
}

/* What a program that gets an environment of its own is given besides: the settings
 * that this one was started with, and the library, if it was preloaded. Copies, since
 * a program may overwrite what it was started with. */
enum { KEPT_BYTES = 1 << 16, MOST_KEPT = 16 };
static char kept_bytes[KEPT_BYTES];
static size_t kept_length;
static const char *kept_settings[MOST_KEPT];
static size_t kept_count;
/* The library's path, if LD_PRELOAD named it. */
static const char *library;

LR_HIDDEN const char *lr_preloaded(void);
LR_OWN const char *lr_preloaded(void) { return library; }

LR_OWN static const char *keep(const char *s, size_t n, const char *t, size_t k) {
  if (n + k + 1 > KEPT_BYTES - kept_length) return NULL;
  char *p = kept_bytes + kept_length;
  memcpy(p, s, n);
  memcpy(p + n, t, k);
  p[n + k] = 0;
  kept_length += n + k + 1;
  return p;
}

LR_OWN static const char *last_part(const char *path, size_t n) {
  while (n > 0 && path[n - 1] != '/') n--;
  return path + n;
}

/* keep_library keeps the entry of LD_PRELOAD that names this library. */
LR_OWN static void keep_library(const char *list) {
  static const char preload[] = "LD_PRELOAD=";
  static char path[4096];
  Dl_info info;
  if (!dladdr(&kept_count, &info) || !info.dli_fname || strlen(info.dli_fname) >= sizeof path) return;
  memcpy(path, info.dli_fname, strlen(info.dli_fname) + 1);
  const char *const name = last_part(path, strlen(path));
  for (size_t n; *list; list += n) {
    n = strcspn(list, ": ");
    if (!n) {
      n = 1;
      continue;
    }
    const char *end = last_part(list, n);
    if ((size_t)(list + n - end) != strlen(name) || memcmp(end, name, strlen(name)) != 0) continue;
    plat_make_absolute(path, sizeof path);
    library = keep("", 0, path, strlen(path));
    /* $LIB and $PLATFORM may be others for the program that is started. */
    const char *entry = memchr(list, '$', n) ? keep(preload, strlen(preload), list, n) : keep(preload, strlen(preload), path, strlen(path));
    if (library && entry && !lr_settings.no_children) kept_settings[kept_count++] = entry;
    return;
  }
}

LR_OWN static void keep_environment(void) {
  static char value[sizeof lr_settings.file];
  int fits;
  const char *s = plat_environment("LD_PRELOAD", value, sizeof value, &fits);
  if (s) keep_library(s);
  if (lr_settings.no_children) return;
  for (const char *const *name = lr_setting_names; *name && kept_count + 1 < MOST_KEPT; name++) {
    s = plat_environment(*name, value, sizeof value, &fits);
    const char *kept_one = s ? keep(*name, strlen(*name), "=", 1) : NULL;
    if (!kept_one) continue;
    /* In the place of the 0. */
    kept_length--;
    if (keep(s, strlen(s), "", 0)) kept_settings[kept_count++] = kept_one;
  }
}

/* Called by the recorder, so that this file comes along out of an archive. */
LR_HIDDEN void lr_find_originals(void);
LR_OWN void lr_find_originals(void) {
  for (int i = 0; i < ORIGINALS; i++) original(i);
  keep_environment();
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

/* What at_quick_exit calls is still recorded. */
LOGREC_API void quick_exit(int status) __attribute__((noreturn));
LR_OWN void quick_exit(int status) {
  ORIGINAL(exit_function, QUICK_EXIT, quick_exit);
  lr_end_now();
  real_quick_exit(status);
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

/* An environment of the program's own: its pointers and ours, on the stack, as long
 * as there are few. All this may run between vfork and exec. */
enum { FEW = 4096 };

/* The process's system calls are filtered. */
static int sandboxed;

/* room_for tells how many pointers it takes; 0: it stays as it is. */
LR_OWN static size_t room_for(char *const envp[]) {
  if (!kept_count || envp == environ) return 0;
  size_t n = 0;
  while (envp && envp[n]) n++;
  return n + kept_count + 1;
}

/* What is in it already, also if it is empty, is what the program wants. */
LR_OWN static int has(char *const envp[], const char *variable) {
  const size_t n = (size_t)(strchr(variable, '=') - variable) + 1;
  for (; envp && *envp; envp++)
    if (strncmp(*envp, variable, n) == 0) return 1;
  return 0;
}

LR_OWN static char *const *complete(char *const envp[], char **room) {
  const int error = errno;
  size_t n = 0;
  for (; envp && envp[n]; n++) room[n] = envp[n];
  for (size_t i = 0; i < kept_count; i++) {
    if (has(envp, kept_settings[i])) continue;
    /* In another root there may be no such file, and the loader would complain. */
    if (i == 0 && library && !sandboxed && access(library, R_OK) != 0) continue;
    room[n++] = (char *)(uintptr_t)kept_settings[i];
  }
  room[n] = NULL;
  errno = error;
  return room;
}

#define CHILD_ENVIRONMENT(envp)                                                     \
  const size_t room_size = room_for(envp);                                          \
  char *few[room_size && room_size <= FEW ? room_size : 1];                         \
  char **const room = room_size <= FEW ? few : plat_pages(room_size * sizeof *room, 0); \
  char *const *const child = room_size && room ? complete(envp, room) : envp
#define CHILD_ENVIRONMENT_END() \
  if (room_size > FEW && room) plat_pages_free(room, room_size * sizeof *room)

LOGREC_API int execve(const char *path, char *const argv[], char *const envp[]);
LR_OWN int execve(const char *path, char *const argv[], char *const envp[]) {
  ORIGINAL(execve_function, EXECVE, execve);
  CHILD_ENVIRONMENT(envp);
  const int begun = lr_exec_begin(path);
  const int result = real_execve(path, argv, child);
  CHILD_ENVIRONMENT_END();
  return failed(begun, result);
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
  CHILD_ENVIRONMENT(envp);
  const int begun = lr_exec_begin(file);
  const int result = real_execvpe(file, argv, child);
  CHILD_ENVIRONMENT_END();
  return failed(begun, result);
}

LOGREC_API int fexecve(int fd, char *const argv[], char *const envp[]);
LR_OWN int fexecve(int fd, char *const argv[], char *const envp[]) {
  ORIGINAL(fexecve_function, FEXECVE, fexecve);
  CHILD_ENVIRONMENT(envp);
  const int begun = lr_exec_begin(argv[0] ? argv[0] : "");
  const int result = real_fexecve(fd, argv, child);
  CHILD_ENVIRONMENT_END();
  return failed(begun, result);
}

#if defined(__GLIBC__)
typedef int (*execveat_function)(int, const char *, char *const[], char *const[], int);
LOGREC_API int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags);
LR_OWN int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags) {
  ORIGINAL(execveat_function, EXECVEAT, execveat);
  if (!real_execveat) {
    errno = ENOSYS;
    return -1;
  }
  CHILD_ENVIRONMENT(envp);
  const int begun = lr_exec_begin(path);
  const int result = real_execveat(fd, path, argv, child, flags);
  CHILD_ENVIRONMENT_END();
  return failed(begun, result);
}
#endif

typedef int (*spawn_function)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                              char *const[], char *const[]);
LOGREC_API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);
LR_OWN int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  ORIGINAL(spawn_function, POSIX_SPAWN, posix_spawn);
  CHILD_ENVIRONMENT(envp);
  const int result = real_posix_spawn(pid, path, actions, attributes, argv, child);
  CHILD_ENVIRONMENT_END();
  return result;
}

LOGREC_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);
LR_OWN int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  ORIGINAL(spawn_function, POSIX_SPAWNP, posix_spawnp);
  CHILD_ENVIRONMENT(envp);
  const int result = real_posix_spawnp(pid, file, actions, attributes, argv, child);
  CHILD_ENVIRONMENT_END();
  return result;
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

/* ---- what leaves calls, and where handlers run ---- */

/* Sanitizers call it before anything else may be called. The C library's is the system
 * call, too. */
LOGREC_API int sigaltstack(const stack_t *now, stack_t *old);
__attribute__((no_sanitize("address", "thread", "undefined"))) LR_OWN int sigaltstack(const stack_t *now, stack_t *old) {
  const int result = (int)syscall(SYS_sigaltstack, now, old);
  struct lr_thread *t = lr_self_get();
  if (now && t != &lr_nobody) t->signal_known = 0;
  return result;
}

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

/* ---- sandboxes ----
 *
 * A filter of system calls that does not know the recorder's would end the program.
 * So each is tried on them before it is installed, and where one of them would not be
 * let through the recording ends before that. */

#if defined(__x86_64__) && defined(__LP64__)
enum { THIS_MACHINE = (int)AUDIT_ARCH_X86_64 };
#elif defined(__i386__)
enum { THIS_MACHINE = AUDIT_ARCH_I386 };
#elif defined(__aarch64__)
enum { THIS_MACHINE = (int)AUDIT_ARCH_AARCH64 };
#else
enum { THIS_MACHINE = 0 };
#endif

/* What the recorder calls, at any time. */
static const struct {
  const char *name;
  int number;
  uint64_t arguments[6];
} needed[] = {{"rt_sigprocmask", SYS_rt_sigprocmask, {SIG_SETMASK, 1, 1, 8}},
              {"gettid", SYS_gettid, {0}},
              {"getpid", SYS_getpid, {0}},
              {"futex", SYS_futex, {1, FUTEX_WAIT_PRIVATE}},
              {"futex", SYS_futex, {1, FUTEX_WAKE_PRIVATE, 1}},
              {"clock_gettime", SYS_clock_gettime, {CLOCK_MONOTONIC, 1}},
              {"mmap", SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, UINT32_MAX}},
              {"munmap", SYS_munmap, {4096, 4096}},
              {"mremap", SYS_mremap, {4096, 4096, 8192, MREMAP_MAYMOVE}},
              {"madvise", SYS_madvise, {4096, 4096, 23 /* MADV_POPULATE_WRITE */}},
              {"fallocate", SYS_fallocate, {700, 0, 0, 4096}},
              {"pwritev", SYS_pwritev, {700, 1, 1}},
              {"ftruncate", SYS_ftruncate, {700, 4096}},
              {"fstat", SYS_fstat, {700, 1}},
#if defined(SYS_newfstatat)
              {"newfstatat", SYS_newfstatat, {700, 1, 1, 0x1000 /* AT_EMPTY_PATH */}},
#endif
#if defined(SYS_getrlimit)
              {"getrlimit", SYS_getrlimit, {1, 1}},
#endif
              {"prlimit64", SYS_prlimit64, {0, 1, 0, 1}},
              {"sigaltstack", SYS_sigaltstack, {0, 1}},
              {"prctl", SYS_prctl, {PR_GET_NAME, 1}},
              {"openat", SYS_openat, {(uint64_t)AT_FDCWD, 1, O_RDONLY | O_CLOEXEC}},
              {"read", SYS_read, {3, 1, 64}},
              {"close", SYS_close, {3}},
#if defined(SYS_readlink)
              {"readlink", SYS_readlink, {1, 1, 64}},
#endif
              {"getcwd", SYS_getcwd, {1, 64}},
              {"writev", SYS_writev, {2, 1, 2}}};

/* load reads a word of what a filter sees of a call; 0 beyond it. */
LR_OWN static uint32_t load(const struct seccomp_data *d, uint32_t at) {
  uint32_t v = 0;
  if (at <= sizeof *d - 4) memcpy(&v, (const char *)d + at, 4);
  return v;
}

/* verdict runs a filter; what is no sound filter lets nothing through, and the system
 * refuses it. It only goes forward. */
LR_OWN static uint32_t verdict(const struct sock_fprog *f, const struct seccomp_data *d) {
  uint32_t a = 0, x = 0, m[BPF_MEMWORDS] = {0};
  for (uint32_t pc = 0; pc < f->len; pc++) {
    const struct sock_filter *i = &f->filter[pc];
    const uint32_t k = i->k, v = BPF_SRC(i->code) == BPF_X ? x : k;
    switch (BPF_CLASS(i->code)) {
      case BPF_LD:
        a = BPF_MODE(i->code) == BPF_ABS ? load(d, k)
            : BPF_MODE(i->code) == BPF_MEM ? m[k % BPF_MEMWORDS]
            : BPF_MODE(i->code) == BPF_LEN ? (uint32_t)sizeof *d
                                           : k;
        break;
      case BPF_LDX:
        x = BPF_MODE(i->code) == BPF_MEM ? m[k % BPF_MEMWORDS] : BPF_MODE(i->code) == BPF_LEN ? (uint32_t)sizeof *d : k;
        break;
      case BPF_ST: m[k % BPF_MEMWORDS] = a; break;
      case BPF_STX: m[k % BPF_MEMWORDS] = x; break;
      case BPF_ALU:
        switch (BPF_OP(i->code)) {
          case BPF_ADD: a += v; break;
          case BPF_SUB: a -= v; break;
          case BPF_MUL: a *= v; break;
          case BPF_DIV:
            if (!v) return SECCOMP_RET_KILL_THREAD;
            a /= v;
            break;
          case BPF_AND: a &= v; break;
          case BPF_OR: a |= v; break;
          case BPF_XOR: a ^= v; break;
          case BPF_LSH: a = v < 32 ? a << v : 0; break;
          case BPF_RSH: a = v < 32 ? a >> v : 0; break;
          case BPF_NEG: a = 0 - a; break;
          default: return SECCOMP_RET_KILL_THREAD;
        }
        break;
      case BPF_JMP: {
        int holds;
        switch (BPF_OP(i->code)) {
          case BPF_JA:
            if (k >= f->len - pc) return SECCOMP_RET_KILL_THREAD;
            pc += k;
            continue;
          case BPF_JEQ: holds = a == v; break;
          case BPF_JGT: holds = a > v; break;
          case BPF_JGE: holds = a >= v; break;
          case BPF_JSET: holds = (a & v) != 0; break;
          default: return SECCOMP_RET_KILL_THREAD;
        }
        pc += holds ? i->jt : i->jf;
        break;
      }
      case BPF_RET: return BPF_RVAL(i->code) == BPF_A ? a : k;
      case BPF_MISC:
        if (BPF_MISCOP(i->code) == BPF_TAX) x = a;
        else a = x;
        break;
    }
  }
  return SECCOMP_RET_KILL_THREAD;
}

/* lacking returns the name of a call of ours that a filter does not let through. */
LR_OWN static const char *lacking(const struct sock_fprog *f) {
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    struct seccomp_data d;
    memset(&d, 0, sizeof d);
    d.nr = needed[i].number;
    d.arch = (uint32_t)THIS_MACHINE;
    d.instruction_pointer = (uintptr_t)&lacking;
    for (int k = 0; k < 6; k++) d.args[k] = needed[i].arguments[k];
    const uint32_t action = verdict(f, &d) & SECCOMP_RET_ACTION_FULL;
    if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG) return needed[i].name;
  }
  return NULL;
}

/* bar_for stops the recording where a call of seccomp, or of prctl for the same, does
 * not let it go on. */
LR_OWN static int bar_for(int strict, const struct sock_fprog *f) {
  static const char begin[] = "the program's seccomp filter does not allow the recorder's ";
  if (strict) return lr_bar("the program asks for seccomp's strict mode");
  const char *name = f && f->filter && f->len && f->len <= BPF_MAXINSNS ? lacking(f) : NULL;
  if (!name) return 0;
  char why[sizeof begin + 32];
  memcpy(why, begin, sizeof begin);
  memcpy(why + sizeof begin - 1, name, strlen(name) + 1);
  return lr_bar(why);
}

#if defined(__x86_64__) && defined(__LP64__)
/* long syscall(long number, ...), as the C library has it, but for some numbers. */
LR_HIDDEN long lr_raw_syscall(long number, long a, long b, long c, long d, long e, long f);
__asm__(
    ".text\n"
    ".globl syscall\n"
    ".type syscall,@function\n"
    "syscall:\n"
    ".cfi_startproc\n"
    "  endbr64\n"
    "  cmp $157,%rdi\n" /* prctl */
    "  je lr_watched_syscall\n"
    "  cmp $231,%rdi\n" /* exit_group */
    "  je lr_watched_syscall\n"
    "  cmp $317,%rdi\n" /* seccomp */
    "  je lr_watched_syscall\n"
    ".globl lr_raw_syscall\n"
    ".hidden lr_raw_syscall\n"
    "lr_raw_syscall:\n"
    "  mov %rdi,%rax\n"
    "  mov %rsi,%rdi\n"
    "  mov %rdx,%rsi\n"
    "  mov %rcx,%rdx\n"
    "  mov %r8,%r10\n"
    "  mov %r9,%r8\n"
    "  mov 8(%rsp),%r9\n"
    "  syscall\n"
    "  cmp $-4095,%rax\n"
    "  jae 1f\n"
    "  ret\n"
    "1:\n"
    "  neg %rax\n"
    "  push %rax\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  call __errno_location@PLT\n"
    "  pop %rdx\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  mov %edx,(%rax)\n"
    "  mov $-1,%rax\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size syscall,.-syscall\n");
#else
#define lr_raw_syscall(n, a, b, c, d, e, f) syscall(n, a, b, c, d, e, f)
#endif

LR_OWN __attribute__((visibility("hidden"), used)) long lr_watched_syscall(long number, long a, long b, long c, long d, long e) {
  int bars = 0;
  if (number == SYS_exit_group) {
    lr_end_now();
  } else if (number == SYS_seccomp) {
    if (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)
      bars = bar_for(a == SECCOMP_SET_MODE_STRICT, (const struct sock_fprog *)c);
  } else if (a == PR_SET_SECCOMP) {
    if (b == SECCOMP_MODE_STRICT || b == SECCOMP_MODE_FILTER) bars = bar_for(b == SECCOMP_MODE_STRICT, (const struct sock_fprog *)c);
  } else if (a == PR_SET_TSC && b == PR_TSC_SIGSEGV) {
    bars = lr_bar("the program may not read the processor's counter any more");
  }
  sandboxed |= bars;
  const long result = lr_raw_syscall(number, a, b, c, d, e, 0);
  /* A positive result may be a descriptor, or the thread that could not be had. */
  const int failed_thread = number == SYS_seccomp && result > 0 && (b & SECCOMP_FILTER_FLAG_TSYNC) && !(b & 8 /* NEW_LISTENER */);
  if (bars && (result < 0 || failed_thread)) {
    const int error = errno;
    lr_unbar("it was not sandboxed");
    sandboxed = 0;
    errno = error;
  }
  return result;
}

LOGREC_API int prctl(int option, ...);
LR_OWN int prctl(int option, ...) {
  long arguments[4];
  va_list list;
  va_start(list, option);
  for (int i = 0; i < 4; i++) arguments[i] = va_arg(list, long);
  va_end(list);
  return (int)lr_watched_syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
