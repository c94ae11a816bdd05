/* report_linux.c: the report of a crash, written by another program while this one waits for it in its handler.
 *
 * Nothing is started before a crash. After it a child is made that shares the memory of the program, and for whose
 * end the kernel sends no signal, so that neither a wait of the program nor SIGCHLD tells of it. That child
 * starts the command as a child of its own, waits for it, and ends it if it takes too long. Both die with the thread that
 * crashed, whatever ends it. They run on stacks in static memory and only make system calls; the command's arguments and
 * environment were prepared at the start.
 *
 * Without the recorder the program would be dead by now. So it must not go on to print anything, or to end in another
 * way: if no handler of its own handles the signal, the child stops all other threads as a debugger does, and ends
 * after the program does. If the system does not allow it to stop them, they keep running.
 *
 * The command gets none of the program's descriptors, handlers and blocked signals, and an environment without the
 * recorder. */

#include "system_linux.h"

#if !defined(_WIN32)

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 16384, STEP_MS = 2, SIGNALS = 65 };

/* What the command is started with, in pages that nothing can be written to once it is there: what a program writes by mistake, or
 * is made to write before it crashes, chooses no program to be run. */
struct start {
  char **environment; /* strings behind their pointers, in such pages, too; NULL: there is no report */
  char command[4096], folder[4096];
};
enum { LARGEST_PAGE = 65536 };
static uint8_t room[2 * LARGEST_PAGE];
static uint8_t stacks[2][STACK] __attribute__((aligned(64)));

/* left_out tells whether a variable of the environment is not passed to the command. */
LR_OWN static int left_out(const char *variable) {
  static const char *const begins[] = {"LOGREC=", "LOGREC_", "LD_PRELOAD=", "LD_AUDIT="};
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (strncmp(variable, begins[i], strlen(begins[i])) == 0) return 1;
  return 0;
}

LR_OWN static struct start *sealed(void) {
  return (struct start *)(((uintptr_t)room + LARGEST_PAGE - 1) & ~(uintptr_t)(LARGEST_PAGE - 1));
}

LR_OWN static int seal(void *p, size_t size) {
  const size_t page = lr_page_size();
  return mprotect(p, (size + page - 1) / page * page, PROT_READ) == 0;
}

LR_OWN void plat_report_prepare(void) {
  struct start *const begin = sealed();
  if (!lr_settings.report[0] || lr_load(&begin->environment)) return;
  size_t count = 0, bytes = 0, at = 0;
  const char *s;
  while ((s = plat_variable(&at)))
    if (!left_out(s)) count++, bytes += strlen(s) + 1;
  char **const list = plat_pages((count + 1) * sizeof *list + bytes, 0);
  if (!list) return;
  const size_t size = bytes;
  char *p = (char *)(list + count + 1);
  at = 0;
  /* No other thread changes it meanwhile, or what is new is left out. */
  for (size_t i = 0; i < count && (s = plat_variable(&at));) {
    const size_t n = strlen(s) + 1;
    if (left_out(s)) continue;
    if (n > bytes) break;
    list[i++] = memcpy(p, s, n);
    p += n, bytes -= n;
  }
  memcpy(begin->command, lr_settings.report, sizeof begin->command);
  memcpy(begin->folder, lr_settings.report_folder, sizeof begin->folder);
  seal(list, (count + 1) * sizeof *list + size);
  lr_store(&begin->environment, list);
  seal(begin, sizeof *begin);
}

LR_OWN int lr_report_wanted(void) { return lr_load(&sealed()->environment) != NULL && !lr_load(&lr_patch_refused); }

/* ---- in the children ----
 * Their errors are the thread's errno, which its handler puts back. */

/* as_default removes the program's handlers from the child, where they would run in the program's memory. */
LR_OWN static void as_default(void) {
  /* What the kernel takes and gives begins with the handler, on all machines that there is a recorder for. */
  static const uintptr_t none[16];
  for (int n = 1; n < SIGNALS; n++) {
    uintptr_t now[16] = {0};
    if (syscall(SYS_rt_sigaction, n, NULL, now, 8) == 0 && now[0] > (uintptr_t)SIG_IGN) syscall(SYS_rt_sigaction, n, none, NULL, 8);
  }
}

LR_OWN static int dies_with(uint32_t parent) {
  return syscall(SYS_prctl, PR_SET_PDEATHSIG, (long)SIGKILL, 0l, 0l, 0l) == 0 && (uint32_t)syscall(SYS_getppid) == parent;
}

struct order {
  uint32_t program, thread, starter;
  uint32_t stop; /* 1: other threads are stopped */
  uint32_t go, done; /* 1: the child may begin; the command has ended */
  char *arguments[7];
};

LR_OWN static void pause_ms(int ms) {
  const struct timespec t = {0, ms * 1000000l};
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

/* add_decimal writes a number behind s, and returns the end. */
LR_OWN static char *add_decimal(char *s, uint32_t v) {
  char digits[12];
  int n = 0;
  do digits[n++] = (char)('0' + v % 10);
  while (v /= 10);
  while (n) *s++ = digits[--n];
  *s = 0;
  return s;
}

/* stop_threads stops the program's threads that run, and returns how many it has found. It is repeated, because they
 * may make others meanwhile. */
LR_OWN static int stop_threads(const struct order *o) {
  static char path[64] = "/proc/";
  static uint64_t entries[2048];
  struct entry { /* linux_dirent64 */
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  int found = 0;
  long n;
  memcpy(add_decimal(path + 6, o->program), "/task", 6);
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
    for (const char *p = (const char *)entries, *const end = p + n; p < end;) {
      const struct entry *const e = (const void *)p;
      long id = 0;
      for (const char *c = e->name; *c >= '0' && *c <= '9'; c++) id = id * 10 + *c - '0';
      if (id && id != (long)o->thread && syscall(SYS_ptrace, (long)PTRACE_SEIZE, id, 0l, 0l) == 0) {
        syscall(SYS_ptrace, (long)PTRACE_INTERRUPT, id, 0l, 0l);
        found++;
      }
      p += e->length;
    }
  }
  if (fd >= 0) syscall(SYS_close, fd);
  return found;
}

LR_OWN static int run(void *context) {
  const struct order *const o = context;
  enum { MOST_FILES = 4096 };
  static const struct sched_param usual;
  static const struct rlimit no_core;
  static const uint8_t no_signals[8];
  if (!dies_with(o->starter)) syscall(SYS_exit_group, 127);
#if defined(SYS_close_range)
  if (syscall(SYS_close_range, 0u, ~0u, 0u) != 0)
#endif
    for (int i = 0; i < MOST_FILES; i++) syscall(SYS_close, i);
  /* The lowest free ones are 0, 1 and 2. */
  for (int i = 0; i < 3; i++) syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
  syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &usual);
#if defined(SYS_setrlimit)
  syscall(SYS_setrlimit, RLIMIT_CORE, &no_core);
#else
  syscall(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, NULL);
#endif
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, no_signals, NULL, sizeof no_signals);
  syscall(SYS_execve, sealed()->command, o->arguments, sealed()->environment);
  syscall(SYS_exit_group, 127);
  return 127;
}

/* wait_for waits for a child, and ends it when that takes longer than most. */
LR_OWN static void wait_for(long child, int most) {
  for (int ms = 0; ms < most; ms += STEP_MS) {
    if (syscall(SYS_wait4, child, NULL, (long)(WNOHANG | __WALL), NULL) != 0) return;
    pause_ms(STEP_MS);
  }
  syscall(SYS_kill, child, SIGKILL);
  syscall(SYS_wait4, child, NULL, (long)__WALL, NULL);
}

LR_OWN static int start(void *context) {
  enum { MOST_ROUNDS = 8, MOST_DYING = 1000 };
  struct order *const o = context;
  as_default();
  if (dies_with(o->program)) {
    while (!lr_load(&o->go)) pause_ms(1);
    for (int i = 0; o->stop && i < MOST_ROUNDS && stop_threads(o) > 0; i++) continue;
    o->starter = (uint32_t)syscall(SYS_getpid);
    const long child = lr_clone(run, stacks[1] + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, o);
    if (child > 0) wait_for(child, lr_settings.report_seconds * 1000);
    lr_store(&o->done, 1);
    /* If the program does not die after all, its threads are let go. */
    for (int ms = 0; o->stop && ms < MOST_DYING && (uint32_t)syscall(SYS_getppid) == o->program; ms += STEP_MS) pause_ms(STEP_MS);
  }
  syscall(SYS_exit_group, 0);
  return 0;
}

/* ---- in the thread that crashed ---- */

LR_OWN void plat_report(const char *log, int dies) {
  static char crash[] = "crash", flag[] = "--report", end[] = "--";
  static struct order o;
  if (!lr_report_wanted()) return;
  o.program = plat_pid();
  o.thread = (uint32_t)plat_thread_id();
  o.stop = (uint32_t)dies;
  o.go = o.done = 0;
  char *const arguments[] = {sealed()->command, crash, flag, sealed()->folder, end, (char *)(uintptr_t)log, NULL};
  memcpy(o.arguments, arguments, sizeof arguments);
  const long child = lr_clone(start, stacks[0] + STACK, CLONE_VM, &o);
  if (child < 0) return;
#if defined(PR_SET_PTRACER)
  /* Yama may allow only ancestors to trace a process. */
  if (dies) syscall(SYS_prctl, PR_SET_PTRACER, child, 0l, 0l, 0l);
#endif
  lr_store(&o.go, 1);
  const int most = (lr_settings.report_seconds + 1) * 1000;
  int ended = 0;
  for (int ms = 0; dies && ms < most && !lr_load(&o.done) && !ended; ms += STEP_MS) {
    ended = syscall(SYS_wait4, child, NULL, (long)(WNOHANG | __WALL), NULL) != 0;
    if (!ended) pause_ms(STEP_MS);
  }
  if (!dies) wait_for(child, most);
  else if (!ended && !lr_load(&o.done)) wait_for(child, 0);
}

#endif
