/* own_linux.c: functions of strings, and system calls whose arguments the C library changes (own_linux.h).
 *
 * All may be called anywhere: in signal handlers, and in hooks while vector registers are in use. */

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif
#endif

#include "lookup_linux.h"

#if defined(__aarch64__)
#define LR_KERNEL_CLOCK "__kernel_clock_gettime"
#else
#define LR_KERNEL_CLOCK "__vdso_clock_gettime"
#endif

#if defined(__linux__)

/* ---- memory and strings: the barriers keep compilers from making calls of the C library's functions of the loops ---- */

LR_PLAIN void *lr_memcpy(void *to, const void *from, size_t n) {
#if defined(__x86_64__) || defined(__i386__)
  void *d = to;
  __asm__ volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(n) : : "memory");
#else
  uint8_t *d = to;
  const uint8_t *s = from;
  for (; n >= 8; n -= 8, d += 8, s += 8) {
    uint64_t v;
    __builtin_memcpy(&v, s, 8);
    __builtin_memcpy(d, &v, 8);
    lr_barrier();
  }
  for (; n; n--, lr_barrier()) *d++ = *s++;
#endif
  return to;
}

LR_PLAIN void *lr_memmove(void *to, const void *from, size_t n) {
  uint8_t *const d = to;
  const uint8_t *const s = from;
  if ((uintptr_t)d - (uintptr_t)s >= n) return lr_memcpy(to, from, n);
  for (; n; lr_barrier()) n--, d[n] = s[n];
  return to;
}

LR_PLAIN void *lr_memset(void *to, int c, size_t n) {
#if defined(__x86_64__) || defined(__i386__)
  void *d = to;
  __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
#else
  for (uint8_t *d = to; n; n--, lr_barrier()) *d++ = (uint8_t)c;
#endif
  return to;
}

LR_PLAIN int lr_memcmp(const void *a, const void *b, size_t n) {
  const uint8_t *p = a, *q = b;
  for (; n; n--, p++, q++, lr_barrier())
    if (*p != *q) return *p - *q;
  return 0;
}

LR_PLAIN void *lr_memchr(const void *p, int c, size_t n) {
  for (const uint8_t *s = p; n; n--, s++, lr_barrier())
    if (*s == (uint8_t)c) return (void *)(uintptr_t)s;
  return NULL;
}

LR_PLAIN size_t lr_strlen(const char *s) {
  size_t n = 0;
  for (; s[n]; n++) lr_barrier();
  return n;
}

LR_PLAIN static int lower(char c) { return c >= 'A' && c <= 'Z' ? c + 32 : (uint8_t)c; }

LR_PLAIN int lr_strncmp(const char *a, const char *b, size_t n) {
  for (; n; n--, a++, b++, lr_barrier())
    if (*a != *b || !*a) return (uint8_t)*a - (uint8_t)*b;
  return 0;
}
LR_PLAIN int lr_strcmp(const char *a, const char *b) { return lr_strncmp(a, b, SIZE_MAX); }
LR_PLAIN int lr_strncasecmp(const char *a, const char *b, size_t n) {
  for (; n; n--, a++, b++, lr_barrier())
    if (lower(*a) != lower(*b) || !*a) return lower(*a) - lower(*b);
  return 0;
}
LR_PLAIN int lr_strcasecmp(const char *a, const char *b) { return lr_strncasecmp(a, b, SIZE_MAX); }

LR_PLAIN char *lr_strchr(const char *s, int c) {
  for (; *s != (char)c; s++, lr_barrier())
    if (!*s) return NULL;
  return (char *)(uintptr_t)s;
}
LR_PLAIN char *lr_strrchr(const char *s, int c) {
  const char *last = NULL;
  for (;; s++, lr_barrier()) {
    if (*s == (char)c) last = s;
    if (!*s) return (char *)(uintptr_t)last;
  }
}
LR_PLAIN char *lr_strstr(const char *s, const char *part) {
  const size_t n = lr_strlen(part);
  for (;; s++) {
    if (lr_strncmp(s, part, n) == 0) return (char *)(uintptr_t)s;
    if (!*s) return NULL;
  }
}
LR_PLAIN size_t lr_strcspn(const char *s, const char *reject) {
  size_t n = 0;
  while (s[n] && !lr_strchr(reject, s[n])) n++;
  return n;
}

/* ---- system calls ---- */

#if LR_OWN_CALLS

__thread int lr_errno __attribute__((tls_model("initial-exec")));

LR_PLAIN long lr_result(long result) {
  if ((unsigned long)result < -4095ul) return result;
  errno = (int)-result;
  return -1;
}

/* Those with variable arguments take them as the kernel does, from registers. */
LR_PLAIN int lr_open(const char *path, int flags, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, flags);
  const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? __builtin_va_arg(list, unsigned) : 0;
  __builtin_va_end(list);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

LR_PLAIN int lr_fcntl(int fd, int command, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, command);
  const long argument = __builtin_va_arg(list, long);
  __builtin_va_end(list);
  return (int)syscall(SYS_fcntl, fd, command, argument);
}

LR_PLAIN void *lr_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
  return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}
LR_PLAIN void *lr_mremap(void *at, size_t n, size_t larger, int flags, ...) { return (void *)syscall(SYS_mremap, at, n, larger, flags); }

LR_PLAIN char *lr_getcwd(char *to, size_t n) {
  const long length = syscall(SYS_getcwd, to, n);
  /* A folder that cannot be reached has a name that begins in another way. */
  return length > 0 && to[0] == '/' ? to : NULL;
}

/* Where the file system cannot do it, a byte in each block is written: there is nothing at these places yet. */
LR_PLAIN int lr_posix_fallocate(int fd, off_t from, off_t n) {
  enum { BLOCK = 4096 };
  long result;
  do result = lr_system(SYS_fallocate, fd, 0, from, n, 0, 0);
  while (result == -EINTR);
  if (result != -EOPNOTSUPP) return (int)-result;
  const off_t end = from + n;
  for (off_t at = from; at < end;) {
    result = pwrite(fd, "", 1, at);
    if (result < 0 && errno == EINTR) continue;
    if (result != 1) return result < 0 ? errno : ENOSPC;
    at = at == end - 1 ? end : at + BLOCK < end ? at + BLOCK : end - 1;
  }
  return 0;
}

/* The kernel's code in the program's memory is as quick as the C library's function, which calls the same. */
LR_PLAIN int lr_clock_gettime(clockid_t id, struct timespec *t) {
  static int (*quick)(clockid_t, struct timespec *);
  static uint32_t looked;
  if (!lr_load(&looked)) {
    void *const f = lr_kernel_function(LR_KERNEL_CLOCK);
    if (f) __builtin_memcpy(&quick, &f, sizeof f);
    lr_store(&looked, 1);
  }
  return quick ? quick(id, t) : (int)syscall(SYS_clock_gettime, id, t);
}

LR_PLAIN int lr_is_terminal(int fd) {
  uint32_t settings[32];
  return syscall(SYS_ioctl, fd, TCGETS, settings) == 0;
}
LR_PLAIN uintptr_t lr_break(void) { return (uintptr_t)lr_system(SYS_brk, 0, 0, 0, 0, 0, 0); }
LR_PLAIN int lr_own_mask(int how, const sigset_t *set, sigset_t *old) {
  if (old) sigemptyset(old);
  return (int)-lr_system(SYS_rt_sigprocmask, how, (long)set, (long)old, LR_SET_BYTES, 0, 0);
}

LR_PLAIN int lr_clone(int (*f)(void *), void *stack, unsigned long flags, void *context) {
  long result;
#if defined(__x86_64__)
  register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
  __asm__ volatile("mov %[f],%%r12\n\tmov %[context],%%r13\n\t"
                   "syscall\n\t"
                   "test %%rax,%%rax\n\tjnz 1f\n\t"
                   "xor %%ebp,%%ebp\n\tmov %%r13,%%rdi\n\tcall *%%r12\n\t"
                   "mov %%eax,%%edi\n\tmov %[end],%%eax\n\tsyscall\n"
                   "1:"
                   : "=a"(result)
                   : "0"((long)SYS_clone), "D"(flags), "S"((uintptr_t)stack & ~(uintptr_t)15), "d"(0l), "r"(r10), "r"(r8), [f] "r"(f),
                     [context] "r"(context), [end] "i"(SYS_exit)
                   : "rcx", "r11", "r12", "r13", "memory");
#else
  register long x8 __asm__("x8") = SYS_clone, x0 __asm__("x0") = (long)flags, x1 __asm__("x1") = (long)((uintptr_t)stack & ~(uintptr_t)15),
                x2 __asm__("x2") = 0, x3 __asm__("x3") = 0, x4 __asm__("x4") = 0;
  __asm__ volatile("mov x19,%[f]\n\tmov x20,%[context]\n\t"
                   "svc 0\n\t"
                   "cbnz x0,1f\n\t"
                   "mov x29,0\n\tmov x0,x20\n\tblr x19\n\t"
                   "mov x8,%[end]\n\tsvc 0\n"
                   "1:"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), [f] "r"(f), [context] "r"(context), [end] "i"(SYS_exit)
                   : "x19", "x20", "memory");
  result = x0;
#endif
  return (int)lr_result(result);
}

#else

LR_PLAIN int lr_clone(int (*f)(void *), void *stack, unsigned long flags, void *context) { return clone(f, stack, (int)flags, context); }
LR_PLAIN int lr_is_terminal(int fd) { return isatty(fd); }
LR_PLAIN uintptr_t lr_break(void) { return (uintptr_t)sbrk(0); }
LR_PLAIN int lr_own_mask(int how, const sigset_t *set, sigset_t *old) {
  if (old) sigemptyset(old);
  return syscall(SYS_rt_sigprocmask, how, set, old, LR_SET_BYTES) == 0 ? 0 : errno;
}

#endif

#else
typedef int lr_no_own;
#endif

#if defined(__x86_64__) && defined(__clang__)
#pragma clang attribute pop
#endif
