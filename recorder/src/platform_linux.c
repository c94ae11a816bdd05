/* platform_linux.c: platform.h for Linux. */

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#if !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif
#if !defined(MADV_WIPEONFORK)
#define MADV_WIPEONFORK 18
#endif

__thread struct lr_thread *lr_self __attribute__((tls_model("initial-exec"))) = &lr_nobody;
__thread int lr_busy __attribute__((tls_model("initial-exec")));

static int last_error;

/* ---- clock ---- */

LR_OWN static uint64_t nanoseconds(clockid_t id) {
  struct timespec t = {0, 0};
  clock_gettime(id, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

LR_OWN uint64_t plat_counter(void) { return nanoseconds(CLOCK_MONOTONIC); }

#if defined(__x86_64__) || defined(__i386__)
/* told_rate is what processor or hypervisor say the counter's rate is, or 0. */
LR_OWN static uint64_t told_rate(void) {
  unsigned a, b, c, d;
  /* Each costs microseconds where a hypervisor takes it. Where there is no leaf 1, there
   * is no counter. */
  __cpuid(1, a, b, c, d);
  if (c >> 31 & 1) {
    __cpuid(0x40000000, a, b, c, d);
    if (a >= 0x40000010 && a < 0x40010000) {
      __cpuid(0x40000010, a, b, c, d);
      if (a > 100000) return (uint64_t)a * 1000;
    }
  }
  if (__get_cpuid_count(0x15, 0, &a, &b, &c, &d) && a && b && c) return (uint64_t)c * b / a;
  return 0;
}
#endif

LR_OWN void plat_clock_init(struct plat_clock *c) {
  c->counter = LRF_MONOTONIC;
  c->rate = 1000000000;
#if defined(__x86_64__) || defined(__i386__)
  c->counter = LRF_TSC;
  c->rate = told_rate();
  if (!c->rate) c->rate = lr_measured_rate();
#elif defined(__aarch64__)
  c->counter = LRF_CNTVCT;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(c->rate));
  if (!c->rate) c->rate = lr_measured_rate();
#endif
}

LR_OWN void plat_times(uint64_t *monotonic, int64_t *wall) {
  *monotonic = nanoseconds(CLOCK_MONOTONIC);
  *wall = (int64_t)nanoseconds(CLOCK_REALTIME);
}

static int32_t utc_offset;
LR_OWN int32_t plat_utc_offset(void) { return utc_offset; }

/* ---- no system calls any more ---- */

/* How many threads are in slow paths. */
static uint32_t slow_paths, barred;

LR_OWN void plat_bar(void) {
  enum { MOST = 100 };
  lr_store(&barred, 1);
  /* Those that are on their way out still make some. */
  for (int i = 0; i < MOST && __atomic_load_n(&slow_paths, __ATOMIC_SEQ_CST); i++) {
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
}
LR_OWN void plat_unbar(void) { lr_store(&barred, 0); }

/* ---- memory ---- */

LR_OWN void *plat_pages(size_t size, int lost_in_child) {
  if (lr_load(&barred)) return NULL;
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  /* A child that no fork handler ran in must not write into its parent's
   * file: it finds a thread that is not alive. Before Linux 4.14 only the fork
   * handler sees to that. */
  if (lost_in_child) madvise(p, size, MADV_WIPEONFORK);
  return p;
}
LR_OWN void plat_pages_free(void *p, size_t size) { munmap(p, size); }

/* A page that holds 1, and 0 again in a forked child, but not between vfork and
 * exec, where it is the parent's. Process ids would not tell: each pid namespace
 * has its process 1. NULL before Linux 4.14. */
static uint32_t *not_forked;

LR_OWN static void watch_for_forks(void) {
  enum { PAGE = 4096 };
  if (not_forked) return;
  uint32_t *p = plat_pages(PAGE, 0);
  if (!p) return;
  if (madvise(p, PAGE, MADV_WIPEONFORK) < 0) {
    plat_pages_free(p, PAGE);
    return;
  }
  *p = 1;
  lr_store(&not_forked, p);
}
LR_OWN void *plat_pages_grow(void *p, size_t size, size_t larger) {
  if (lr_load(&barred)) return NULL;
  void *q = mremap(p, size, larger, MREMAP_MAYMOVE);
  return q == MAP_FAILED ? NULL : q;
}

/* ---- the file ---- */

/* One mapping, larger than any file: only what was allocated is touched. Bytes
 * below zeroed were put into memory by write_zeros, or in use before. */
static struct {
  int fd;
  uint8_t *base;
  uint64_t mapped, size, zeroed;
} file = {-1, NULL, 0, 0, 0};

/* Out of the way of programs that close all descriptors they know of, or that
 * expect the next one to have a certain number. */
LR_OWN static int move_up(int fd) {
  if (fd < 0) return fd;
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 700);
  if (high < 0) return fd;
  close(fd);
  return high;
}

LR_OWN static size_t read_file(const char *path, char *buffer, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t n = 0;
  while (n < size) {
    const ssize_t k = read(fd, buffer + n, size - n);
    if (k <= 0) break;
    n += (size_t)k;
  }
  close(fd);
  return n;
}

/* mapping_size is 1 TiB, and where the program's address space has a limit, at
 * most an eighth of what is left of it, but not less than a step. */
LR_OWN static uint64_t mapping_size(void) {
  uint64_t size = sizeof(void *) == 8 ? (uint64_t)1 << 40 : (uint64_t)1 << 30;
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return size;
  char text[64];
  text[read_file("/proc/self/statm", text, sizeof text - 1)] = 0;
  uint64_t used = 0;
  for (const char *s = text; *s >= '0' && *s <= '9'; s++) used = used * 10 + (uint64_t)(*s - '0');
  used *= (uint64_t)sysconf(_SC_PAGESIZE);
  const uint64_t most = limit.rlim_cur > used ? (limit.rlim_cur - used) / 8 : 0;
  while (size > most && size > PLAT_STEP) size /= 2;
  return size;
}

/* within_limit tells whether a file may have that many bytes. Beyond them the kernel
 * would kill the program by SIGXFSZ. */
LR_OWN static int within_limit(uint64_t size) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

/* create makes a new file. A program with raised rights (setuid, setgid, file
 * capabilities) shows it to nobody else, and puts a log and its snapshots only where
 * the user who started it may write: into the working folder, if access, which asks
 * for the real user, says so. The name is then the path's last part, so that nobody
 * puts another folder in the place of that one meanwhile. */
LR_OWN static int create(const char *path, int flags) {
  flags |= O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY;
  if (!getauxval(AT_SECURE)) return open(path, flags, lr_settings.permissions ? lr_settings.permissions : 0640);
  const char *name = strrchr(lr_global.path, '/');
  const size_t folder = name ? (size_t)(name + 1 - lr_global.path) : 0;
  if (strncmp(path, lr_global.path, folder) == 0 && !strchr(path + folder, '/')) {
    if (access(".", W_OK | X_OK) < 0) return -1;
    path += folder;
  }
  return open(path, flags, 0600);
}

LR_OWN int plat_file_create(const char *path) {
  watch_for_forks();
  const int fd = create(path, O_RDWR);
  if (fd < 0) {
    last_error = errno;
    return errno == EEXIST ? PLAT_EXISTS : errno == ENOSPC || errno == EDQUOT ? PLAT_FULL : PLAT_ERROR;
  }
  file.fd = move_up(fd);
  file.size = file.zeroed = 0;
  for (uint64_t size = mapping_size(); size >= PLAT_STEP; size /= 2) {
    file.base = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.fd, 0);
    if (file.base != MAP_FAILED) {
      file.mapped = size;
      /* Core dumps stay small: what is in the file need not be in them. */
      madvise(file.base, (size_t)size, MADV_DONTDUMP);
      return PLAT_OK;
    }
    last_error = errno;
  }
  unlink(path);
  close(file.fd);
  file.fd = -1;
  file.base = NULL;
  return PLAT_ERROR;
}

/* same_file guards against a program that closed our descriptor, or put a file
 * of its own in its place. */
LR_OWN static int same_file(void) {
  struct stat now;
  static dev_t device;
  static ino_t inode;
  if (fstat(file.fd, &now) < 0) return 0;
  if (file.size == 0) {
    device = now.st_dev;
    inode = now.st_ino;
  }
  return now.st_dev == device && now.st_ino == inode;
}

LR_OWN static int reopen(void) {
  /* The mapping holds the file; /proc has a name for it. */
  char name[80] = "/proc/self/map_files/";
  char *p = name + strlen(name);
  const uint64_t range[2] = {(uint64_t)(uintptr_t)file.base, (uint64_t)(uintptr_t)file.base + file.mapped};
  for (int i = 0; i < 2; i++) {
    int digits = 1;
    while (digits < 16 && range[i] >> 4 * digits) digits++;
    while (digits--) *p++ = "0123456789abcdef"[range[i] >> 4 * digits & 15];
    *p++ = i ? 0 : '-';
  }
  int fd = open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0 && !getauxval(AT_SECURE)) fd = open(lr_global.path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  file.fd = move_up(fd);
  return same_file();
}

/* write_zeros puts pages of the file into memory, from offset to end, and into the
 * mapping: that costs less than half of a fault a page. The system takes memory for
 * what is written at a time in one piece, where that begins at a multiple of its
 * size, and one fault maps the piece. Larger pieces save nothing more and are
 * harder to find. */
enum { ZEROS_PIECE = 256 << 10, ZEROS_LEAST = 16384 };

/* What the log of a process that lives short has room in; then the file doubles, up
 * to a step a time, so that one that is killed leaves no more zeros than it wrote. */
enum { LEAST_SIZE = 32768 };

LR_OWN static int write_zeros(uint64_t offset, uint64_t end) {
  enum { PART = 65536, PARTS = ZEROS_PIECE / PART };
  static const char zeros[PART];
  const uint64_t begin = offset;
  while (offset < end) {
    uint64_t left = ZEROS_PIECE - offset % ZEROS_PIECE;
    if (left > end - offset) left = end - offset;
    struct iovec v[PARTS];
    int n = 0;
    for (; left > 0; n++) {
      v[n].iov_base = (void *)(uintptr_t)zeros;
      v[n].iov_len = left < PART ? (size_t)left : PART;
      left -= v[n].iov_len;
    }
    const ssize_t k = pwritev(file.fd, v, n, (off_t)offset);
    if (k <= 0) {
      if (k < 0 && errno == EINTR) continue;
      last_error = k < 0 ? errno : ENOSPC;
      return 0;
    }
    offset += (uint64_t)k;
  }
  madvise(file.base + begin, (size_t)(end - begin), MADV_POPULATE_WRITE);
  return 1;
}

LR_OWN void *plat_file_extend(uint64_t offset, uint32_t size, int exact, int *why) {
  const uint64_t end = offset + size;
  if (end > file.mapped) {
    last_error = EFBIG;
    *why = PLAT_FULL;
    return NULL;
  }
  const int grows = end > file.size, needs_zeros = size >= ZEROS_LEAST && end > file.zeroed;
  if ((grows || needs_zeros) && !within_limit(end)) {
    last_error = EFBIG;
    *why = PLAT_FULL;
    return NULL;
  }
  if ((grows || needs_zeros) && !same_file() && !reopen()) {
    last_error = EBADF;
    *why = PLAT_ERROR;
    return NULL;
  }
  if (grows) {
    const uint64_t larger_step = (end + PLAT_STEP - 1) / PLAT_STEP * PLAT_STEP;
    uint64_t larger = file.size ? 2 * file.size : LEAST_SIZE;
    if (exact || larger < end) larger = end;
    if (larger > larger_step) larger = larger_step;
    if (!within_limit(larger)) larger = end;
    int error = 0;
    if (larger > LEAST_SIZE) error = posix_fallocate(file.fd, (off_t)file.size, (off_t)(larger - file.size));
    /* To write zeros takes the space, too, and to touch and to cut off what is allocated
     * but not written takes long. */
    else if (write_zeros(file.size, larger)) file.zeroed = larger;
    else error = last_error;
    if (error == ENOSPC && larger > end) {
      larger = end;
      error = posix_fallocate(file.fd, (off_t)file.size, (off_t)(larger - file.size));
    }
    if (error) {
      last_error = error;
      *why = error == ENOSPC || error == EDQUOT || error == EFBIG ? PLAT_FULL : PLAT_ERROR;
      /* What was allocated of it is given back. */
      if (ftruncate(file.fd, (off_t)file.size) < 0) last_error = error;
      return NULL;
    }
    file.size = larger;
  }
  if (needs_zeros) {
    /* Behind offset nobody has written yet. */
    const uint64_t from = offset > file.zeroed ? offset : file.zeroed;
    uint64_t to = (end + ZEROS_PIECE - 1) / ZEROS_PIECE * ZEROS_PIECE;
    if (to > file.size) to = file.size;
    if (!within_limit(to)) to = end;
    if (!write_zeros(from, to)) {
      *why = last_error == ENOSPC || last_error == EDQUOT || last_error == EFBIG ? PLAT_FULL : PLAT_ERROR;
      return NULL;
    }
    file.zeroed = to;
  }
  return file.base + offset;
}

LR_OWN void plat_file_trim(uint64_t size) {
  if (file.fd < 0 || size >= file.size || (!same_file() && !reopen())) return;
  if (ftruncate(file.fd, (off_t)size) < 0) return;
  file.size = size;
  if (file.zeroed > size) file.zeroed = size;
}

LR_OWN void plat_file_forget(void) {
  if (file.base) {
    /* Memory stays where a hook that the fork interrupted may write. Should there be
     * none, it must not be the file any more. */
    enum { LARGEST_PAGE = 65536 };
    uint64_t used = (file.size + LARGEST_PAGE - 1) / LARGEST_PAGE * LARGEST_PAGE;
    if (used > file.mapped) used = file.mapped;
    if (used < file.mapped) munmap(file.base + used, (size_t)(file.mapped - used));
    if (used && mmap(file.base, (size_t)used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
      munmap(file.base, (size_t)used);
  }
  if (file.fd >= 0 && same_file()) close(file.fd);
  file.fd = -1;
  file.base = NULL;
  file.size = file.zeroed = 0;
}

LR_OWN const void *plat_file_at(uint64_t offset) { return file.base + offset; }

static int copy_fd = -1;
static uint64_t copied;
LR_OWN int plat_copy_begin(const char *path) {
  copied = 0;
  copy_fd = create(path, O_WRONLY);
  if (copy_fd >= 0) return PLAT_OK;
  last_error = errno;
  return errno == EEXIST ? PLAT_EXISTS : PLAT_ERROR;
}
LR_OWN int plat_copy_write(const void *p, size_t n) {
  const char *b = p;
  copied += n;
  if (!within_limit(copied)) {
    last_error = EFBIG;
    return 0;
  }
  while (n > 0) {
    const ssize_t k = write(copy_fd, b, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) {
      last_error = errno;
      return 0;
    }
    b += k;
    n -= (size_t)k;
  }
  return 1;
}
LR_OWN int plat_copy_end(int ok) {
  const int closed = close(copy_fd) == 0;
  copy_fd = -1;
  return ok && closed;
}

/* ---- threads ---- */

/* A futex: 0 free, else the owner's thread id, with the top bit where somebody
 * waits. */
static uint32_t lock_word, modules_word;
enum { WAITED_FOR = (int)0x80000000 };

LR_OWN uint64_t plat_thread_id(void) { return (uint64_t)syscall(SYS_gettid); }

LR_OWN static int take(uint32_t *word, int wait) {
  const uint32_t me = (uint32_t)plat_thread_id();
  uint32_t mine = me;
  for (;;) {
    uint32_t now = 0;
    if (__atomic_compare_exchange_n(word, &now, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 1;
    if ((now & ~(uint32_t)WAITED_FOR) == me || !wait) return 0;
    if (!(now & (uint32_t)WAITED_FOR) &&
        !__atomic_compare_exchange_n(word, &now, now | (uint32_t)WAITED_FOR, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      continue;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, now | (uint32_t)WAITED_FOR, NULL, NULL, 0);
    mine = me | (uint32_t)WAITED_FOR;
  }
}
LR_OWN static void give(uint32_t *word) {
  if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) & (uint32_t)WAITED_FOR)
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

LR_OWN int plat_lock(void) { return !lr_load(&barred) && take(&lock_word, 1); }
LR_OWN void plat_unlock(void) { give(&lock_word); }
LR_OWN int plat_modules_trylock(void) { return !lr_load(&barred) && take(&modules_word, 0); }

/* How often the modules' lock was given back, and that count when somebody
 * waited for it in vain: nobody else waits until it was given back again. */
static uint32_t modules_given, modules_in_vain = UINT32_MAX;

LR_OWN int plat_modules_lock(void) {
  enum { PAUSE = 50000, MOST = 2000000000 }; /* ns */
  uint64_t since = 0;
  uint32_t before = 0;
  if (lr_load(&barred)) return 0;
  while (!take(&modules_word, 0)) {
    const uint32_t owner = lr_load(&modules_word), given = lr_load(&modules_given);
    if (owner == (uint32_t)plat_thread_id() || given == lr_load(&modules_in_vain)) return 0;
    const uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    if (!since || given != before) {
      since = now;
      before = given;
    } else if (now - since > MOST) {
      lr_store(&modules_in_vain, given);
      return 0;
    }
    const struct timespec pause = {0, PAUSE};
    /* It ends at once where the owner is another one by now. */
    if (owner) syscall(SYS_futex, &modules_word, FUTEX_WAIT_PRIVATE, owner, &pause, NULL, 0);
  }
  return 1;
}
LR_OWN void plat_modules_unlock(void) {
  lr_store(&modules_given, modules_given + 1);
  give(&modules_word);
}
LR_OWN void plat_locks_reset(void) { lock_word = modules_word = 0; }

/* Of the words the first and the last are for something else. */
typedef char check_saved[sizeof(sigset_t) + 2 * sizeof(uint64_t) <= sizeof(struct plat_saved) ? 1 : -1];
enum { LEVEL_TAKEN = 17, WAS_BARRED = 2 };

LR_OWN void plat_slow_begin(struct plat_saved *s) {
  __atomic_fetch_add(&slow_paths, 1, __ATOMIC_SEQ_CST);
  if (LR_UNLIKELY(lr_load(&barred))) {
    __atomic_fetch_sub(&slow_paths, 1, __ATOMIC_SEQ_CST);
    s->words[LEVEL_TAKEN] = WAS_BARRED;
    return;
  }
  const int error = errno;
  sigset_t all;
  sigfillset(&all);
  /* A fault of ours is reported like one of the program's. */
  sigdelset(&all, SIGSEGV);
  sigdelset(&all, SIGBUS);
  sigdelset(&all, SIGILL);
  sigdelset(&all, SIGFPE);
  sigdelset(&all, SIGTRAP);
  pthread_sigmask(SIG_SETMASK, &all, (sigset_t *)&s->words[1]);
  /* Files are opened and written with locks held: that may not end the thread. */
  int cancel;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  s->words[0] = (uint64_t)(uint32_t)error | (uint64_t)(uint32_t)cancel << 32;
  uint32_t *const here = lr_load(&not_forked);
  if (LR_UNLIKELY(here && !lr_load(here)) && !__atomic_exchange_n(here, 1, __ATOMIC_ACQ_REL)) {
    lr_fork_child();
    slow_paths = 1;
  }
  /* Hooks find this thread in a hook, and on their slow way that it is busy. */
  struct lr_thread *t = lr_self_get();
  s->words[LEVEL_TAKEN] = lr_alive(t) && lr_idle(&t->level[0]);
  if (s->words[LEVEL_TAKEN]) t->level[0].inside = (uintptr_t)s;
  lr_busy++;
  errno = error;
}
LR_OWN void plat_slow_end(const struct plat_saved *s) {
  if (s->words[LEVEL_TAKEN] == WAS_BARRED) return;
  struct lr_thread *t = lr_self_get();
  lr_busy--;
  if (s->words[LEVEL_TAKEN] && t->level[0].inside == (uintptr_t)s) t->level[0].inside = t->mode;
  int was;
  pthread_setcancelstate((int)(s->words[0] >> 32), &was);
  pthread_sigmask(SIG_SETMASK, (const sigset_t *)&s->words[1], NULL);
  errno = (int)(uint32_t)s->words[0];
  __atomic_fetch_sub(&slow_paths, 1, __ATOMIC_SEQ_CST);
}
LR_OWN int plat_in_handler(const struct plat_saved *s) {
  return s->words[LEVEL_TAKEN] == WAS_BARRED || !sigisemptyset((const sigset_t *)&s->words[1]) || plat_on_signal_stack();
}

static pthread_key_t exit_key;
static int have_key;

LR_OWN static void thread_exit(void *t) {
  if (lr_self_get() == t) lr_thread_exit(t);
}

LR_OWN void plat_on_thread_exit(struct lr_thread *t) {
  if (lr_load(&have_key)) pthread_setspecific(exit_key, t);
}

LR_OWN void plat_thread_name(char *name, size_t size) {
  char comm[16] = "";
  prctl(PR_GET_NAME, comm);
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
  const size_t n = read_file(path, name, size - 1);
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
  return !lr_load(&barred) && sigaltstack(NULL, &s) == 0 && (s.ss_flags & SS_ONSTACK);
}

LR_OWN void plat_signal_stack(uintptr_t *low, uintptr_t *high) {
  stack_t s;
  if (lr_load(&barred) || sigaltstack(NULL, &s) != 0 || (s.ss_flags & SS_DISABLE)) return;
  *low = (uintptr_t)s.ss_sp;
  *high = *low + s.ss_size;
}

LR_OWN int plat_current_stack(uintptr_t *low, uintptr_t *high) {
  (void)low;
  (void)high;
  return 0;
}

/* The block of the main thread that thread-local storage counts from, and where its
 * stack begins. */
static uintptr_t main_block, main_stack;

/* mapping_below returns where the mapping that an address lies in begins; 0: not known.
 * With the lock. */
LR_OWN static uintptr_t mapping_below(uintptr_t address) {
  static char text[4096];
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  uintptr_t range[2] = {0, 0}, found = 0;
  int part = 0; /* of a line: both numbers, and the rest */
  ssize_t n;
  while (!found && (n = read(fd, text, sizeof text)) > 0)
    for (ssize_t i = 0; i < n && !found; i++) {
      const char c = text[i];
      if (c == '\n') {
        part = 0;
        range[0] = range[1] = 0;
      } else if (part < 2 && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
        range[part] = range[part] << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
      } else if (part < 2 && ++part == 2 && address - range[0] < range[1] - range[0]) {
        found = range[0];
      }
    }
  close(fd);
  return found;
}

/* The C library puts a thread's block at the upper end of its stack. */
LR_OWN int plat_own_stack(uintptr_t frame, uintptr_t *low, uintptr_t *high) {
  enum { CLOSE_BY = 65536 };
  const uintptr_t block = (uintptr_t)pthread_self();
  struct rlimit limit;
  uintptr_t size = (uintptr_t)1 << (sizeof(void *) == 8 ? 30 : 26);
  if (block != main_block && block - frame <= CLOSE_BY) return 1;
  if (!lr_load(&barred) && getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < size) size = (uintptr_t)limit.rlim_cur;
  *high = block == main_block ? main_stack : block;
  if (!*high) return 1; /* nobody tells */
  *low = *high - size;
  if (block != main_block && !lr_load(&barred) && plat_lock()) {
    const uintptr_t begin = mapping_below(block);
    plat_unlock();
    if (begin) *low = begin;
  }
  return frame - *low < *high - *low;
}

#if !defined(LOGREC_NO_INTERPOSE)
/* interpose_linux.c */
LR_HIDDEN const char *lr_preloaded(void);
LR_OWN int plat_preloaded(void) { return lr_preloaded() != NULL; }
#else
LR_OWN int plat_preloaded(void) { return 0; }
#endif

/* ---- process ---- */

LR_OWN uint32_t plat_pid(void) { return (uint32_t)syscall(SYS_getpid); }

LR_OWN void plat_process(struct plat_process *p) {
  memset(p, 0, sizeof *p);
  p->pid = plat_pid();
  p->parent = (uint32_t)syscall(SYS_getppid);
  const ssize_t n = readlink("/proc/self/exe", p->path, sizeof p->path - 1);
  p->path[n > 0 ? n : 0] = 0;
  /* Field 22 of stat, counted behind the name, which may hold anything. */
  static char stat[1024];
  const size_t length = read_file("/proc/self/stat", stat, sizeof stat - 1);
  stat[length] = 0;
  const char *s = strrchr(stat, ')');
  for (int field = 2; s && field < 22; field++) s = strchr(s + 1, ' ');
  if (s)
    for (s++; *s >= '0' && *s <= '9'; s++) p->started = p->started * 10 + (uint64_t)(*s - '0');
  /* Field 28: where the main thread's stack begins. */
  for (int field = 23; s && field < 28; field++) s = strchr(s + 1, ' ');
  main_stack = 0;
  if (s)
    for (s++; *s >= '0' && *s <= '9'; s++) main_stack = main_stack * 10 + (uintptr_t)(*s - '0');
  if (plat_thread_id() == p->pid && !main_block) main_block = (uintptr_t)pthread_self();
  struct utsname u;
  if (uname(&u) == 0) {
    const char *part[] = {u.sysname, " ", u.release, " ", u.machine};
    size_t at = 0;
    for (int i = 0; i < 5; i++)
      for (const char *c = part[i]; *c && at + 1 < sizeof p->system; c++) p->system[at++] = *c;
  }
}

LR_OWN size_t plat_command_line(char *buffer, size_t size) {
  size_t n = read_file("/proc/self/cmdline", buffer, size);
  if (n && buffer[n - 1]) buffer[n - 1] = 0;
  return n;
}

/* What functions of .preinit_array record comes before the C library knows of an
 * environment: the system has what the process was started with. */
static char *early;
static size_t early_length;

LR_OWN int plat_environment_known(void) {
  enum { MOST = 2 << 20 };
  if (environ || early_length || getauxval(AT_SECURE)) return 1;
  if (!early) early = plat_pages(MOST, 0);
  if (early) early_length = read_file("/proc/self/environ", early, MOST - 1);
  return early_length > 0;
}

LR_OWN const char *plat_variable(size_t *at) {
  if (environ) return environ[*at] ? environ[(*at)++] : NULL;
  if (*at >= early_length) return NULL;
  const char *s = early + *at;
  *at += strlen(s) + 1;
  return s;
}

/* Not by getenv, which programs define themselves. */
LR_OWN const char *plat_environment(const char *name, char *buffer, size_t size, int *fits) {
  *fits = 1;
  if (plat_raised_rights()) return NULL;
  const size_t k = strlen(name);
  size_t at = 0;
  const char *v = plat_variable(&at);
  while (v && !(strncmp(v, name, k) == 0 && v[k] == '=')) v = plat_variable(&at);
  if (!v) return NULL;
  v += k + 1;
  const size_t n = strlen(v);
  *fits = n < size;
  if (!*fits) return NULL;
  memcpy(buffer, v, n + 1);
  return buffer;
}

LR_OWN int plat_raised_rights(void) { return getauxval(AT_SECURE) != 0; }

/* The mark is a mapping, whose name others may read: a variable of the environment, a
 * file or a descriptor would be seen by the program or outlive it. */
#define TOLD "logrec-told"

/* has_mapped tells whether a process has mapped a file, and who started it. */
LR_OWN static int has_mapped(uint32_t pid, const char *file, uint32_t *parent) {
  static char text[1 << 20];
  char name[2][64];
  for (int i = 0; i < 2; i++) {
    char digits[16], *p = name[i];
    int k = 0;
    for (uint32_t v = pid; v || !k; v /= 10) digits[k++] = (char)('0' + v % 10);
    memcpy(p, "/proc/", 6);
    for (p += 6; k;) *p++ = digits[--k];
    memcpy(p, i ? "/maps" : "/stat", 6);
  }
  size_t n = read_file(name[0], text, sizeof text - 1);
  text[n] = 0;
  const char *s = strrchr(text, ')');
  *parent = 0;
  /* The state, the parent's pid. */
  for (s = s ? s + 4 : ""; *s >= '0' && *s <= '9'; s++) *parent = *parent * 10 + (uint32_t)(*s - '0');
  n = read_file(name[1], text, sizeof text - 1);
  text[n] = 0;
  return strstr(text, file) != NULL;
}

LR_OWN int plat_told_before(void) {
  enum { GENERATIONS = 32 };
  int told = 0;
  uint32_t pid = (uint32_t)syscall(SYS_getppid);
  for (int i = 0; i < GENERATIONS && pid > 1 && !told; i++) told = has_mapped(pid, "/memfd:" TOLD, &pid);
#if defined(SYS_memfd_create)
  const int fd = (int)syscall(SYS_memfd_create, TOLD, 1u /* MFD_CLOEXEC */);
  if (fd >= 0) {
    /* Without it others say the same again. */
    void *const mark = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    (void)mark;
    close(fd);
  }
#endif
  return told;
}

LR_OWN int plat_is_null(const char *path) {
  struct stat s, null;
  return stat(path, &s) == 0 && S_ISCHR(s.st_mode) && stat("/dev/null", &null) == 0 && s.st_rdev == null.st_rdev;
}

LR_OWN int plat_is_folder(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

LR_OWN void plat_make_absolute(char *path, size_t size) {
  static char folder[PATH_MAX];
  if (path[0] == '/' || !getcwd(folder, sizeof folder)) return;
  const size_t n = folder[1] ? strlen(folder) : 0, k = strlen(path) + 1;
  if (n + 1 + k > size) return;
  memmove(path + n + 1, path, k);
  memcpy(path, folder, n);
  path[n] = '/';
}

/* What standard error was at the start. A program that closes it and opens a file
 * of its own in its place gets nothing into that. */
static struct stat standard_error;
static enum { NOT_LOOKED_AT, THERE, CLOSED } standard_error_was;

LR_OWN static void find_standard_error(void) {
  if (standard_error_was == NOT_LOOKED_AT) standard_error_was = fstat(2, &standard_error) == 0 ? THERE : CLOSED;
}

LR_OWN void plat_message(const char *line) {
  const struct iovec v[] = {{(void *)(uintptr_t)line, strlen(line)}, {(void *)(uintptr_t)"\n", 1}};
  struct stat now;
  if (lr_load(&barred)) return;
  find_standard_error();
  if (standard_error_was == CLOSED || fstat(2, &now) < 0 || now.st_dev != standard_error.st_dev ||
      now.st_ino != standard_error.st_ino)
    return;
  if (S_ISREG(now.st_mode) && !within_limit((uint64_t)now.st_size + v[0].iov_len + 1)) return;
  if (writev(2, v, 2) < 0) return;
}

LR_OWN const char *plat_error(void) {
  switch (last_error) {
    case ENOSPC: return "no space left on the disk";
    case EDQUOT: return "the disk quota is used up";
    case EFBIG: return "the file may not grow any more";
    case EACCES: return "permission denied";
    case ENOENT: return "no such folder";
    case EROFS: return "the file system is read-only";
    case EMFILE:
    case ENFILE: return "too many open files";
    case EEXIST: return "files of all names exist";
    case ENOMEM: return "no address space for the mapping";
    case EBADF: return "its descriptor was closed";
    default: return "it cannot be written";
  }
}

/* ---- start and end ---- */

LR_OWN static void before_fork(void) { lr_fork_before(); }
LR_OWN static void parent_after_fork(void) { lr_fork_parent(); }
LR_OWN static void child_after_fork(void) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  /* Before Linux 4.14 that did not notice. */
  lr_fork_child();
  slow_paths = 1;
  plat_slow_end(&saved);
}

LR_OWN static void snapshot_handler(int number) {
  (void)number;
  lr_snapshot_to(NULL);
}

#if !defined(LOGREC_NO_INTERPOSE)
/* interpose_linux.c */
LR_HIDDEN void lr_find_originals(void);
#endif

LR_OWN void plat_start(void) {
  static int done;
  if (done) return;
  done = 1;
#if !defined(LOGREC_NO_INTERPOSE)
  lr_find_originals();
#endif
  pthread_atfork(before_fork, parent_after_fork, child_after_fork);
  if (pthread_key_create(&exit_key, thread_exit) == 0) lr_store(&have_key, 1);
  const time_t now = time(NULL);
  struct tm local;
  if (localtime_r(&now, &local)) utc_offset = (int32_t)local.tm_gmtoff;
  if (lr_settings.snapshot_signal) {
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = snapshot_handler;
    a.sa_flags = SA_RESTART;
    sigfillset(&a.sa_mask);
    sigaction(lr_settings.snapshot_signal, &a, NULL);
  }
}

/* Before other constructors where the linker sorts by priority, and after
 * other destructors; calls outside are recorded all the same. */
__attribute__((constructor(101))) LR_OWN static void begin(void) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  find_standard_error();
  lr_read_settings();
  plat_start();
  if (plat_thread_id() == plat_pid()) main_block = (uintptr_t)pthread_self();
  /* What the main thread recorded before. */
  struct lr_thread *t = lr_self_get();
  if (t != &lr_nobody) plat_on_thread_exit(t);
  lr_local_time_known();
  plat_slow_end(&saved);
}

#if !defined(LOGREC_NO_INTERPOSE)
/* tell_of_nothing says that the preloaded library found nothing to record: to a
 * person at a terminal, and only of a program that neither was started by one with
 * the library nor has started others, which may be what is to be recorded. */
LR_OWN static void tell_of_nothing(void) {
  const char *library = lr_preloaded();
  struct rusage children;
  struct stat s;
  uint32_t parent;
  if (lr_load(&lr_global.state) != LR_NOT_STARTED || lr_relaxed(&lr_settings.off) || !library) return;
  if (fstat(2, &s) < 0 || !S_ISCHR(s.st_mode) || !isatty(2)) return;
  if (getrusage(RUSAGE_CHILDREN, &children) < 0 || children.ru_maxrss || has_mapped((uint32_t)syscall(SYS_getppid), library, &parent)) return;
  plat_message("logrec: nothing was recorded: the program calls no hooks; build it with -finstrument-functions");
}
#endif

__attribute__((destructor(101))) LR_OWN static void end(void) {
  const int error = errno;
  lr_end();
#if !defined(LOGREC_NO_INTERPOSE)
  struct plat_saved saved;
  plat_slow_begin(&saved);
  tell_of_nothing();
  plat_slow_end(&saved);
#endif
  /* A library that holds the recorder may be going now, the process not. */
  if (lr_load(&have_key)) {
    lr_store(&have_key, 0);
    pthread_key_delete(exit_key);
  }
  errno = error;
}
