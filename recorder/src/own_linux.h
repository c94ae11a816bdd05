/* own_linux.h: what the recorder calls in the place of the C library's functions.
 *
 * A program may define such functions itself, or a sanitizer does for it: they are instrumented, take locks, allocate,
 * report races, and are ends of threads that are cancelled. So here is none that the program can stand in for: system
 * calls are made directly, and functions of strings are the recorder's. The names stay those of the C library, as macros,
 * so that no file can call the other one by mistake; errno is a variable of the recorder's own, and program_errno the
 * program's. Where pointers have 32 bits system calls are still the C library's.
 *
 * What there is only in the C library is looked up there (lookup_linux.c). */

#ifndef LOGREC_OWN_LINUX_H
#define LOGREC_OWN_LINUX_H

#if defined(__linux__)

/* With it some functions have other names. */
#undef _FORTIFY_SOURCE

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* ---- memory and strings ---- */

void *lr_memcpy(void *to, const void *from, size_t n);
void *lr_memmove(void *to, const void *from, size_t n);
void *lr_memset(void *to, int c, size_t n);
int lr_memcmp(const void *a, const void *b, size_t n);
void *lr_memchr(const void *p, int c, size_t n);
size_t lr_strlen(const char *s);
int lr_strcmp(const char *a, const char *b);
int lr_strncmp(const char *a, const char *b, size_t n);
int lr_strcasecmp(const char *a, const char *b);
int lr_strncasecmp(const char *a, const char *b, size_t n);
char *lr_strchr(const char *s, int c);
char *lr_strrchr(const char *s, int c);
char *lr_strstr(const char *s, const char *part);
size_t lr_strcspn(const char *s, const char *reject);

/* Compilers make such calls of copies of structures and of loops. */
__asm__(".set memcpy,lr_memcpy\n\t.set memmove,lr_memmove\n\t.set memset,lr_memset\n\t.set memcmp,lr_memcmp");

/* Few bytes are moved without a call. */
#define LR_FEW(n) (__builtin_constant_p(n) && (n) <= 32)
#define memcpy(to, from, n) (LR_FEW(n) ? __builtin_memcpy(to, from, LR_FEW(n) ? (n) : 0) : lr_memcpy(to, from, n))
#define memset(to, c, n) (LR_FEW(n) ? __builtin_memset(to, c, LR_FEW(n) ? (n) : 0) : lr_memset(to, c, n))
#define memmove(to, from, n) lr_memmove(to, from, n)
#define memcmp lr_memcmp
#define memchr lr_memchr
#define strlen(s) (__builtin_constant_p(__builtin_strlen(s)) ? __builtin_strlen(s) : lr_strlen(s))
#define strcmp lr_strcmp
#define strncmp lr_strncmp
#define strcasecmp lr_strcasecmp
#define strncasecmp lr_strncasecmp
#define strchr lr_strchr
#define strrchr lr_strrchr
#define strstr lr_strstr
#define strcspn lr_strcspn

/* ---- system calls ---- */

#if (defined(__x86_64__) && defined(__LP64__)) || defined(__aarch64__)
#define LR_OWN_CALLS 1

/* lr_system makes a system call, and returns what the kernel does: -4095 to -1 are errors. */
__attribute__((always_inline, no_instrument_function)) static inline long lr_system(long n, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "=a"(result) : "0"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d,
                x4 __asm__("x4") = e, x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#endif
}
/* lr_result keeps the error of a system call, as the C library does. */
long lr_result(long result);
__attribute__((always_inline, no_instrument_function)) static inline int lr_int(long result) { return (int)result; }

#define LR_CALL(n, a, b, c, d, e, f, ...) lr_result(lr_system((long)(n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))
#undef syscall
#define syscall(...) LR_CALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

extern __thread int lr_errno __attribute__((tls_model("initial-exec")));
static inline __attribute__((always_inline, no_instrument_function)) int *lr_program_errno(void) { return &errno; }
#define program_errno (*lr_program_errno())
#undef errno
#define errno lr_errno

int lr_open(const char *path, int flags, ...);
int lr_fcntl(int fd, int command, ...);
void *lr_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
void *lr_mremap(void *at, size_t n, size_t larger, int flags, ...);
char *lr_getcwd(char *to, size_t n);
int lr_posix_fallocate(int fd, off_t from, off_t n);
int lr_clock_gettime(clockid_t id, struct timespec *t);

#define open lr_open
#define fcntl lr_fcntl
#define mmap lr_mmap
#define mremap lr_mremap
#define getcwd lr_getcwd
#define posix_fallocate lr_posix_fallocate
#define clock_gettime lr_clock_gettime
#define read(fd, to, n) syscall(SYS_read, fd, to, n)
#define write(fd, from, n) syscall(SYS_write, fd, from, n)
#define pread(fd, to, n, at) syscall(SYS_pread64, fd, to, n, at)
#define pwrite(fd, from, n, at) syscall(SYS_pwrite64, fd, from, n, at)
#define writev(fd, v, n) syscall(SYS_writev, fd, v, n)
#define pwritev(fd, v, n, at) syscall(SYS_pwritev, fd, v, n, at, 0)
#define close(fd) lr_int(syscall(SYS_close, fd))
#define fstat(fd, s) lr_int(syscall(SYS_newfstatat, fd, "", s, 0x1000 /* AT_EMPTY_PATH */)) /* as the C library has it */
#define stat(path, s) lr_int(syscall(SYS_newfstatat, AT_FDCWD, path, s, 0))
#define access(path, mode) lr_int(syscall(SYS_faccessat, AT_FDCWD, path, mode))
#define unlink(path) lr_int(syscall(SYS_unlinkat, AT_FDCWD, path, 0))
#define readlink(path, to, n) syscall(SYS_readlinkat, AT_FDCWD, path, to, n)
#define ftruncate(fd, n) lr_int(syscall(SYS_ftruncate, fd, n))
#define fchmod(fd, mode) lr_int(syscall(SYS_fchmod, fd, mode))
#define munmap(at, n) lr_int(syscall(SYS_munmap, at, n))
#define mprotect(at, n, protection) lr_int(syscall(SYS_mprotect, at, n, protection))
#define madvise(at, n, advice) lr_int(syscall(SYS_madvise, at, n, advice))
#define getrlimit(which, limit) lr_int(syscall(SYS_prlimit64, 0, which, 0, limit))
#define prlimit(pid, which, now, was) lr_int(syscall(SYS_prlimit64, pid, which, now, was))
#define getrusage(which, usage) lr_int(syscall(SYS_getrusage, which, usage))
#define nanosleep(t, left) lr_int(syscall(SYS_nanosleep, t, left))
#define sched_yield() lr_int(syscall(SYS_sched_yield))
#define uname(u) lr_int(syscall(SYS_uname, u))
#define getpid() lr_int(syscall(SYS_getpid))

#else
#define LR_OWN_CALLS 0
#define program_errno errno
static inline __attribute__((no_instrument_function)) long lr_system(long n, long a, long b, long c, long d, long e, long f) {
  const long result = syscall(n, a, b, c, d, e, f);
  return result == -1 ? -errno : result;
}
#endif

/* Two real-time signals are glibc's own, three musl's. */
#undef SIGRTMIN
#undef SIGRTMAX
#if defined(__GLIBC__)
#define SIGRTMIN 34
#else
#define SIGRTMIN 35
#endif
#define SIGRTMAX 64

/* Begins a task that runs f(context) on the stack that ends at stack, and ends with its result. */
int lr_clone(int (*f)(void *), void *stack, unsigned long flags, void *context);
/* isatty, and sbrk(0). */
int lr_is_terminal(int fd);
uintptr_t lr_break(void);

/* A value of the vector that the kernel gave the program at its start; 0: not there. */
unsigned long lr_auxiliary(unsigned long type);
size_t lr_page_size(void);

/* An address in this thread's block, which the C library puts at the upper end of the stack; no other thread has the same. 0: there
 * is no thread-local storage yet. */
#if defined(__x86_64__) && defined(__LP64__)
__attribute__((always_inline, no_instrument_function)) static inline uintptr_t lr_thread_block(void) {
  uintptr_t block;
  __asm__("mov %%fs:0,%0" : "=r"(block));
  return block;
}
#elif defined(__aarch64__)
__attribute__((always_inline, no_instrument_function)) static inline uintptr_t lr_thread_block(void) { return (uintptr_t)__builtin_thread_pointer(); }
#else
__attribute__((always_inline, no_instrument_function)) static inline uintptr_t lr_thread_block(void) { return (uintptr_t)pthread_self(); }
#endif

/* ---- signal sets, of which the kernel has 64 bits, the first ones of the C library's ---- */

enum { LR_SET_BYTES = 8 };
static inline __attribute__((no_instrument_function)) void lr_set_fill(sigset_t *s, int on) {
  memset(s, 0, sizeof *s);
  lr_memset(s, on ? 0xff : 0, LR_SET_BYTES);
}
static inline __attribute__((no_instrument_function)) uint64_t lr_set_bit(int number) { return (uint64_t)1 << (number - 1); }
static inline __attribute__((no_instrument_function)) uint64_t lr_set_get(const sigset_t *s) {
  unsigned long words[LR_SET_BYTES / sizeof(unsigned long)];
  __builtin_memcpy(words, s, sizeof words);
  return sizeof(long) == 8 ? words[0] : (uint64_t)words[sizeof words / sizeof *words - 1] << 32 | words[0];
}
static inline __attribute__((no_instrument_function)) void lr_set_put(sigset_t *s, uint64_t bits) {
  unsigned long words[LR_SET_BYTES / sizeof(unsigned long)];
  words[0] = (unsigned long)bits;
  words[sizeof words / sizeof *words - 1] = (unsigned long)(sizeof(long) == 8 ? bits : bits >> 32);
  __builtin_memcpy(s, words, sizeof words);
}
#undef sigfillset
#undef sigemptyset
#undef sigaddset
#undef sigdelset
#undef sigismember
#undef sigisemptyset
#define sigfillset(s) lr_set_fill(s, 1)
#define sigemptyset(s) lr_set_fill(s, 0)
#define sigaddset(s, number) lr_set_put(s, lr_set_get(s) | lr_set_bit(number))
#define sigdelset(s, number) lr_set_put(s, lr_set_get(s) & ~lr_set_bit(number))
#define sigismember(s, number) ((lr_set_get(s) & lr_set_bit(number)) != 0)
#define sigisemptyset(s) (lr_set_get(s) == 0)

/* Changes this thread's mask; also the signals by which the C library cancels threads and changes ids in all of them. 0, or
 * the error's number. */
int lr_own_mask(int how, const sigset_t *set, sigset_t *old);

#pragma GCC visibility pop

#endif

#endif
