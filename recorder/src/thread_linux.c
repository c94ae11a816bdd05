/* thread_linux.c: ids and names of threads, signals, and where stacks lie.
 *
 * plat_own_stack takes the lock. A signal handler may call all but plat_signal, which is for the
 * start. */

#include "system_linux.h"

#if !defined(_WIN32)

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct lr_thread *lr_self __attribute__((tls_model("initial-exec"))) = &lr_nobody;

LR_OWN uint64_t plat_thread_id(void) { return (uint64_t)syscall(SYS_gettid); }

LR_OWN void plat_thread_name(char *name, size_t size) {
  char comm[16] = "";
  syscall(SYS_prctl, PR_GET_NAME, comm);
  size_t n = 0;
  for (; n + 1 < size && n < sizeof comm && comm[n]; n++) name[n] = comm[n];
  name[n] = 0;
}

LR_OWN void plat_name_of_thread(uint64_t id, char *name, size_t size) {
  char path[64] = "/proc/self/task/", digits[24], *p = path + strlen(path);
  int k = 0;
  do digits[k++] = (char)('0' + id % 10);
  while (id /= 10);
  while (k) *p++ = digits[--k];
  memcpy(p, "/comm", 6);
  const size_t n = lr_read_file(path, name, size - 1);
  name[n && name[n - 1] == '\n' ? n - 1 : n] = 0;
}

LR_OWN int plat_signal(const char *text) {
  static const struct {
    const char *name;
    int number;
  } signals[] = {{"HUP", SIGHUP},       {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},     {"USR2", SIGUSR2},
                 {"PIPE", SIGPIPE},     {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CHLD", SIGCHLD},     {"CONT", SIGCONT},
                 {"TSTP", SIGTSTP},     {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}, {"URG", SIGURG},       {"XCPU", SIGXCPU},
                 {"XFSZ", SIGXFSZ},     {"PROF", SIGPROF}, {"IO", SIGIO},     {"VTALRM", SIGVTALRM}, {"WINCH", SIGWINCH},
                 {"POLL", SIGIO},       {"PWR", SIGPWR}};
  int n = 0;
  if (*text >= '0' && *text <= '9') {
    while (*text >= '0' && *text <= '9' && n < 1000) n = n * 10 + (*text++ - '0');
    if (*text) return 0;
    /* Those between are the C library's own. */
    if (n >= SIGRTMIN && n <= SIGRTMAX) return n;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
      if (n == signals[i].number) return n;
    return 0;
  }
  if (strncasecmp(text, "SIG", 3) == 0) text += 3;
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    if (strcasecmp(text, signals[i].name) == 0) return signals[i].number;
  const int low = strncasecmp(text, "RTMIN", 5) == 0;
  if (!low && strncasecmp(text, "RTMAX", 5) != 0) return 0;
  text += 5;
  if (*text == (low ? '+' : '-'))
    for (text++; *text >= '0' && *text <= '9' && n < 100; text++) n = n * 10 + (*text - '0');
  n = low ? SIGRTMIN + n : SIGRTMAX - n;
  return !*text && n >= SIGRTMIN && n <= SIGRTMAX ? n : 0;
}

LR_OWN int plat_on_signal_stack(void) {
  stack_t s;
  return !lr_load(&lr_barred) && syscall(SYS_sigaltstack, NULL, &s) == 0 && (s.ss_flags & SS_ONSTACK);
}

LR_OWN void plat_signal_stack(uintptr_t *low, uintptr_t *high) {
  stack_t s;
  const int error = errno;
  const int there = !lr_load(&lr_barred) && syscall(SYS_sigaltstack, NULL, &s) == 0 && !(s.ss_flags & SS_DISABLE);
  errno = error;
  if (!there) return;
  *low = (uintptr_t)s.ss_sp;
  *high = *low + s.ss_size;
}

LR_OWN int plat_current_stack(uintptr_t *low, uintptr_t *high) {
  (void)low;
  (void)high;
  return 0;
}

uintptr_t lr_main_block, lr_main_stack;

LR_OWN void lr_each_mapping(int (*see)(uintptr_t low, uintptr_t high, void *context), void *context) {
  char text[512];
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  uintptr_t range[2] = {0, 0};
  int part = 0 /* of a line: both numbers, and the rest */, done = 0;
  ssize_t n;
  while (!done && (n = read(fd, text, sizeof text)) > 0)
    for (ssize_t i = 0; i < n && !done; i++) {
      const char c = text[i];
      if (c == '\n') {
        part = 0;
        range[0] = range[1] = 0;
      } else if (part < 2 && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
        range[part] = range[part] << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
      } else if (part < 2 && ++part == 2) {
        done = see(range[0], range[1], context);
      }
    }
  close(fd);
}

/* An address, and where the mapping that it lies in begins; 0: not known. */
struct searched {
  uintptr_t address, low;
};

LR_OWN static int see_address(uintptr_t low, uintptr_t high, void *context) {
  struct searched *const s = context;
  if (s->address - low >= high - low) return 0;
  s->low = low;
  return 1;
}

/* The C library puts a thread's block at the upper end of its stack. */
LR_OWN int plat_own_stack(uintptr_t frame, uintptr_t *low, uintptr_t *high) {
  const uintptr_t block = lr_thread_block();
  struct rlimit limit;
  uintptr_t size = (uintptr_t)1 << (sizeof(void *) == 8 ? 30 : 26);
  if (block != lr_main_block && block - frame <= LR_CLOSE_BY) return 1;
  if (!lr_load(&lr_barred) && getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < size) size = (uintptr_t)limit.rlim_cur;
  *high = block == lr_main_block ? lr_main_stack : block;
  if (!*high) return 1; /* nobody tells */
  *low = *high - size;
  if (block != lr_main_block && !lr_load(&lr_barred) && plat_lock()) {
    struct searched s = {block, 0};
    lr_each_mapping(see_address, &s);
    plat_unlock();
    if (s.low) *low = s.low;
  }
  return frame - *low < *high - *low;
}

#endif
