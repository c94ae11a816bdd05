/* sandbox_linux.c: a filter of system calls (seccomp) may end the program when the recorder makes a system
 * call that the filter does not allow. So each filter is run on the recorder's system calls before it is installed.
 * If it does not allow one of them, the recording ends before the filter takes effect.
 *
 * No locks but those of lr_bar and lr_unbar. */

#include "interpose_linux.h"

#if !defined(_WIN32) && !defined(LOGREC_NO_INTERPOSE)

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int lr_sandboxed;

#if defined(__x86_64__) && defined(__LP64__)
enum { THIS_MACHINE = (int)AUDIT_ARCH_X86_64 };
#elif defined(__i386__)
enum { THIS_MACHINE = AUDIT_ARCH_I386 };
#elif defined(__aarch64__)
enum { THIS_MACHINE = (int)AUDIT_ARCH_AARCH64 };
#else
enum { THIS_MACHINE = 0 };
#endif

/* The system calls that the recorder may make at any time. */
struct needed {
  const char *name;
  int number;
  uint64_t arguments[6];
};
static const struct needed needed[] = {{"rt_sigprocmask", SYS_rt_sigprocmask, {SIG_SETMASK, 1, 1, 8}},
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
#if !LR_OWN_CALLS
              {"fstat", SYS_fstat, {700, 1}},
              {"getrlimit", SYS_getrlimit, {1, 1}},
#endif
#if defined(SYS_newfstatat)
              {"newfstatat", SYS_newfstatat, {700, 1, 1, 0x1000 /* AT_EMPTY_PATH */}},
#endif
              {"prlimit64", SYS_prlimit64, {0, 1, 0, 1}},
              {"sigaltstack", SYS_sigaltstack, {0, 1}},
              {"prctl", SYS_prctl, {PR_GET_NAME, 1}},
              {"openat", SYS_openat, {(uint64_t)AT_FDCWD, 1, O_RDONLY | O_CLOEXEC}},
              {"read", SYS_read, {3, 1, 64}},
              {"close", SYS_close, {3}},
#if LR_OWN_CALLS
              {"readlinkat", SYS_readlinkat, {(uint64_t)AT_FDCWD, 1, 1, 64}},
#else
              {"readlink", SYS_readlink, {1, 1, 64}},
#endif
              {"getcwd", SYS_getcwd, {1, 64}},
              {"writev", SYS_writev, {2, 1, 2}}};

/* Further system calls of the crash handler. */
static const struct needed needed_in_crash[] = {{"rt_sigaction", SYS_rt_sigaction, {SIGSEGV, 1, 0, 8}},
                                                {"rt_sigreturn", SYS_rt_sigreturn, {0}},
                                                {"rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, {1, 1, SIGABRT, 1}},
                                                {"process_vm_readv", SYS_process_vm_readv, {1, 1, 1, 1, 1, 0}},
                                                {"process_vm_writev", SYS_process_vm_writev, {1, 1, 1, 1, 1, 0}},
                                                {"fchmod", SYS_fchmod, {700, 0600}},
                                                {"clock_nanosleep", SYS_clock_nanosleep, {CLOCK_MONOTONIC, 0, 1, 0}}};

/* Further ones of the start, which the programs make that a sandboxed one starts. */
static const struct needed needed_at_start[] = {{"fcntl", SYS_fcntl, {3, F_DUPFD_CLOEXEC, 700}},
                                                {"uname", SYS_uname, {1}},
                                                {"getppid", SYS_getppid, {0}},
                                                {"pwrite64", SYS_pwrite64, {700, 1, 1, 0}},
                                                {"mprotect", SYS_mprotect, {4096, 4096, PROT_READ}},
                                                {"getrusage", SYS_getrusage, {(uint64_t)RUSAGE_CHILDREN, 1}},
                                                {"ioctl", SYS_ioctl, {2, TCGETS, 1}},
#if defined(SYS_memfd_create)
                                                {"memfd_create", SYS_memfd_create, {1, 1}},
#endif
                                                {"faccessat", SYS_faccessat, {(uint64_t)AT_FDCWD, 1, R_OK}},
                                                {"unlinkat", SYS_unlinkat, {(uint64_t)AT_FDCWD, 1}}};
uint32_t lr_children_refused;

/* load reads a word of the data that a filter gets; 0 behind its end. */
LR_OWN static uint32_t load(const struct seccomp_data *d, uint32_t at) {
  uint32_t v = 0;
  if (at <= sizeof *d - 4) memcpy(&v, (const char *)d + at, 4);
  return v;
}

/* verdict runs a filter on a call. An invalid filter allows nothing here; the system will refuse it. Filters
 * only jump forward, so that this ends. */
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

/* lacking returns the name of the first of n calls that a filter does not allow; NULL: it allows all. */
LR_OWN static const char *lacking(const struct sock_fprog *f, const struct needed *calls, size_t n) {
  for (size_t i = 0; i < n; i++) {
    struct seccomp_data d;
    memset(&d, 0, sizeof d);
    d.nr = calls[i].number;
    d.arch = (uint32_t)THIS_MACHINE;
    d.instruction_pointer = (uintptr_t)&lacking;
    for (int k = 0; k < 6; k++) d.args[k] = calls[i].arguments[k];
    const uint32_t action = verdict(f, &d) & SECCOMP_RET_ACTION_FULL;
    if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG) return calls[i].name;
  }
  return NULL;
}

#define LACKS(list) lacking(f, list, sizeof list / sizeof *list)

/* bar_for stops the recording where a call of seccomp, or of prctl for the same, does
 * not let it go on. */
LR_OWN static int bar_for(int strict, const struct sock_fprog *f) {
  static const char begin[] = "the program's seccomp filter does not allow the recorder's ";
  const int sound = f && f->filter && f->len && f->len <= BPF_MAXINSNS;
  lr_store(&lr_patch_refused, 1);
  /* The crash handler could not restore the program's signals under this filter, so they are given back now. */
  if (strict || (sound && LACKS(needed_in_crash))) lr_crash_release();
  const struct needed *const copying = &needed_in_crash[3];
  if (sound && lacking(f, copying, 1)) lr_store(&lr_memory_refused, 1);
  if (sound && (LACKS(needed) || LACKS(needed_in_crash) || LACKS(needed_at_start))) lr_store(&lr_children_refused, 1);
  if (strict) return lr_bar("the program asks for seccomp's strict mode");
  const char *name = sound ? LACKS(needed) : NULL;
  if (!name) return 0;
  lr_crash_release();
  char why[sizeof begin + 32];
  memcpy(why, begin, sizeof begin);
  memcpy(why + sizeof begin - 1, name, strlen(name) + 1);
  return lr_bar(why);
}

#if defined(__x86_64__) && defined(__LP64__)
/* long syscall(long number, ...), as the C library has it, but for some numbers. */
__attribute__((visibility("hidden"))) long lr_raw_syscall(long number, long a, long b, long c, long d, long e, long f);
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

/* The seventh argument is on the stack, where callers of syscall put it. */
LR_OWN __attribute__((visibility("hidden"), used)) long lr_watched_syscall(long number, long a, long b, long c, long d, long e, long f) {
  const int caught = plat_crash_caught();
  int bars = 0;
  if (number == SYS_exit_group) {
    lr_end_now();
  } else if (number == SYS_seccomp) {
    if (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)
      bars = bar_for(a == SECCOMP_SET_MODE_STRICT, (const struct sock_fprog *)c);
  } else if (a == PR_SET_SECCOMP) {
    if (b == SECCOMP_MODE_STRICT || b == SECCOMP_MODE_FILTER) bars = bar_for(b == SECCOMP_MODE_STRICT, (const struct sock_fprog *)c);
  } else if (a == PR_SET_TSC && b == PR_TSC_SIGSEGV) {
    lr_crash_release();
    bars = lr_bar("the program may not read the processor's counter any more");
  }
  lr_sandboxed |= bars;
  const long result = lr_raw_syscall(number, a, b, c, d, e, f);
  /* A positive result is a descriptor, or the id of a thread to which the filter could not be applied. */
  const int failed_thread = number == SYS_seccomp && result > 0 && (b & SECCOMP_FILTER_FLAG_TSYNC) && !(b & 8 /* NEW_LISTENER */);
  if (bars && (result < 0 || failed_thread)) {
    const int error = errno;
    lr_unbar("it was not sandboxed");
    lr_sandboxed = 0;
    errno = error;
  }
  if (caught && (result < 0 || failed_thread)) {
    const int error = errno;
    plat_crash_catch(1);
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
  return (int)lr_watched_syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3], 0);
}

#endif
