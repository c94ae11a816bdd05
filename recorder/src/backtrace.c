/* backtrace.c: where the program is, for programs that print it themselves: the calls of this
 * thread as addresses, and what lies where, in the form that LogParser's symbolize reads.
 *
 * No locks of the recorder. What the system unwinds by is its own: not for signal handlers. Frame
 * pointers are followed by code of ours, which looks whether memory is there before it reads it. */

#if defined(__linux__)
#include "interpose_linux.h"
#endif
#include "system_windows.h"

#include "logrec.h"

#if defined(__i386__) || defined(_M_IX86) || (!defined(_WIN32) && (defined(__x86_64__) || defined(__aarch64__)))

enum { LR_PAGE = 4096 };

/* What a frame pointer leads to: the caller's frame, and where the function returns to. */
struct frame {
  const struct frame *caller;
  void *to;
};

LR_OWN static int is_there(const struct frame *f);

/* Follows the frames from f on. Callers' lie above, at most so far: a larger step is no frame. */
LR_OWN static int follow(const struct frame *f, void **buffer, int n) {
  const uintptr_t most = (uintptr_t)1 << 24;
  uintptr_t known = 0; /* a page that is there */
  int found = 0;
  while (found < n) {
    const uintptr_t first = (uintptr_t)f / LR_PAGE, last = ((uintptr_t)f + sizeof *f - 1) / LR_PAGE;
    if (first != known || last != known) {
      if (!is_there(f)) break;
      known = last;
    }
    const struct frame *const caller = f->caller;
    void *const to = f->to;
    if ((uintptr_t)to < LR_PAGE) break;
    buffer[found++] = to;
    if (caller <= f || (uintptr_t)caller - (uintptr_t)f > most || (uintptr_t)caller % sizeof(void *)) break;
    f = caller;
  }
  return found;
}

#define LR_FRAMES 1
#endif

#if defined(_WIN32)

#include <io.h>
#include <tlhelp32.h>

LR_COLD int logrec_backtrace(void **buffer, int n) {
  enum { MOST = 62 }; /* with those left out, before Windows Vista */
  if (n <= 0) return 0;
  const int k = CaptureStackBackTrace(1, (DWORD)(n < MOST ? n : MOST), buffer, NULL);
  int found = 0;
  /* Under wine there may be more behind the end. */
  while (found < k && buffer[found]) found++;
  return found;
}

#if defined(LR_FRAMES)
/* Frames lie on the stack, whose ends the thread's block has. */
LR_OWN static int is_there(const struct frame *f) {
  const uintptr_t base = LR_TEB(4), limit = LR_TEB(8);
  return (uintptr_t)f >= limit && (uintptr_t)f + sizeof *f <= base;
}

LR_COLD int logrec_backtrace_frames(void **buffer, int n) {
  const struct frame *f;
#if defined(_MSC_VER) && !defined(__clang__)
  __asm { mov f, ebp }
#else
  f = __builtin_frame_address(0);
#endif
  return follow(f, buffer, n);
}
#endif

/* A line as Linux has it: a module is one range, from its first byte in the file on. */
LR_OWN static int write_line(int fd, const MODULEENTRY32W *m) {
  static const char digits[] = "0123456789abcdef";
  char line[2048];
  size_t n = 0;
  const uintptr_t bounds[2] = {(uintptr_t)m->modBaseAddr, (uintptr_t)m->modBaseAddr + m->modBaseSize};
  for (int i = 0; i < 2; i++) {
    for (int k = (int)sizeof(void *) * 2; k-- > 0;) line[n++] = digits[bounds[i] >> 4 * k & 15];
    line[n++] = i ? ' ' : '-';
  }
  memcpy(line + n, "r-xp 00000000 00:00 0 ", 22);
  n += 22;
  n += lr_to_utf8(line + n, sizeof line - n - 1, m->szExePath, lr_wide_length(m->szExePath));
  line[n++] = '\n';
  return _write(fd, line, (unsigned)n) == (int)n;
}

LR_COLD int logrec_write_maps(int fd) {
  const HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPMODULE, 0);
  if (list == INVALID_HANDLE_VALUE) return 0;
  MODULEENTRY32W m;
  m.dwSize = sizeof m;
  int ok = Module32FirstW(list, &m);
  for (int more = ok; more && ok; more = Module32NextW(list, &m)) ok = write_line(fd, &m);
  CloseHandle(list);
  return ok;
}

#else

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#if defined(LOGREC_NO_INTERPOSE)
static _Unwind_Reason_Code (*const unwind)(_Unwind_Trace_Fn, void *) = _Unwind_Backtrace;
static _Unwind_Ptr (*const ip_of)(struct _Unwind_Context *) = _Unwind_GetIP;
#else
static _Unwind_Reason_Code (*unwind)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*ip_of)(struct _Unwind_Context *);
#endif

struct walk {
  void **buffer;
  int n, most, skip;
};

LR_OWN static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *p) {
  struct walk *const w = p;
  const uintptr_t ip = (uintptr_t)ip_of(context);
  if (w->skip-- > 0) return _URC_NO_REASON;
  if (w->n == w->most || !ip) return _URC_END_OF_STACK;
  w->buffer[w->n++] = (void *)ip;
  return _URC_NO_REASON;
}

#if defined(LOGREC_NO_INTERPOSE)
LR_OWN static int find_unwinder(void) { return 1; }
#else
/* The compiler's library is no need of the recorder, since not all programs have it: as with the C library's backtrace it is
 * loaded when it is asked for. */
LR_OWN static int find_unwinder(void) {
  void *f = lr_any_definition("_Unwind_Backtrace", NULL), *g = lr_any_definition("_Unwind_GetIP", NULL);
  if (!f || !g) {
    typedef void *(*dlopen_function)(const char *, int);
    ORIGINAL(dlopen_function, DLOPEN, dlopen);
    if (real_dlopen) real_dlopen("libgcc_s.so.1", 2 /* RTLD_NOW */);
    f = lr_any_definition("_Unwind_Backtrace", NULL), g = lr_any_definition("_Unwind_GetIP", NULL);
  }
  if (!f || !g) return 0;
  __builtin_memcpy(&ip_of, &g, sizeof g);
  __builtin_memcpy(&unwind, &f, sizeof f);
  return 1;
}
#endif

LR_COLD int logrec_backtrace(void **buffer, int n) {
  /* This function's own frame is the first. */
  struct walk w = {buffer, 0, n, 1};
  if (n > 0 && (unwind || find_unwinder())) unwind(step, &w);
  return w.n;
}

#if defined(LR_FRAMES)
/* The kernel reads a set of signals before it finds out that there is nothing to do with it: EFAULT says that it could
 * not. Other system calls that read memory may be filtered in a sandbox. */
LR_OWN static int is_there(const struct frame *f) {
  const int saved = errno;
  /* The second asks about the next page, if the frame reaches into it. */
  const int there = (syscall(SYS_rt_sigprocmask, ~0L, f, NULL, 8) == 0 || errno != EFAULT) &&
                    ((uintptr_t)f / LR_PAGE == ((uintptr_t)f + sizeof *f - 1) / LR_PAGE ||
                     syscall(SYS_rt_sigprocmask, ~0L, (const char *)f + sizeof *f - 8, NULL, 8) == 0 || errno != EFAULT);
  errno = saved;
  return there;
}

LR_COLD int logrec_backtrace_frames(void **buffer, int n) {
  const int found = follow(__builtin_frame_address(0), buffer, n);
#if defined(__aarch64__)
  /* Return addresses may be signed. The instruction does nothing where the processor does not know it. */
  for (int i = 0; i < found; i++) {
    register void *to __asm__("x30") = buffer[i];
    __asm__("hint #7" : "+r"(to)); /* xpaclri */
    buffer[i] = to;
  }
#endif
  return found;
}
#endif

LR_COLD int logrec_write_maps(int fd) {
  char text[4096];
  const int from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (from < 0) return 0;
  ssize_t n;
  int ok = 1;
  while (ok && (n = read(from, text, sizeof text)) > 0)
    for (ssize_t done = 0; ok && done < n;) {
      const ssize_t k = write(fd, text + done, (size_t)(n - done));
      if (k < 0 && errno == EINTR) continue;
      ok = k > 0;
      done += k;
    }
  close(from);
  return ok;
}

#endif

#if !defined(LR_FRAMES)
LR_COLD int logrec_backtrace_frames(void **buffer, int n) { return (void)buffer, (void)n, 0; }
#endif
