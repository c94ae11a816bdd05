/* process_linux.c: what is known of the process: ids, command line, environment, folders, and
 * where messages go.
 *
 * No locks. plat_process, plat_command_line and the environment keep what they read in static
 * memory: they are for the start, with the lock or before there are threads. plat_pid and plat_message
 * may be called at any time, also in a signal handler. */

#include "system_linux.h"

#if !defined(_WIN32)

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A forked child of a process that may make no system calls records nothing, whose it ever is. */
LR_OWN uint32_t plat_pid(void) { return LR_UNLIKELY(lr_load(&lr_barred)) ? lr_global.pid : (uint32_t)syscall(SYS_getpid); }

LR_OWN void plat_process(struct plat_process *p) {
  static char path[sizeof p->path];
  memset(p, 0, sizeof *p);
  p->pid = plat_pid();
  p->parent = (uint32_t)syscall(SYS_getppid);
  const ssize_t n = readlink("/proc/self/exe", p->path, sizeof p->path - 1);
  p->path[n > 0 ? n : 0] = 0;
  /* A forked child may have no /proc, but has its parent's memory. */
  memcpy(n > 0 ? path : p->path, n > 0 ? p->path : path, sizeof path);
  /* Field 22 of stat, counted behind the name, which may hold anything. */
  static char stat[1024];
  const size_t length = lr_read_file("/proc/self/stat", stat, sizeof stat - 1);
  stat[length] = 0;
  const char *s = strrchr(stat, ')');
  for (int field = 2; s && field < 22; field++) s = strchr(s + 1, ' ');
  if (s)
    for (s++; *s >= '0' && *s <= '9'; s++) p->started = p->started * 10 + (uint64_t)(*s - '0');
  /* Field 28: where the main thread's stack begins. */
  for (int field = 23; s && field < 28; field++) s = strchr(s + 1, ' ');
  lr_main_stack = 0;
  if (s)
    for (s++; *s >= '0' && *s <= '9'; s++) lr_main_stack = lr_main_stack * 10 + (uintptr_t)(*s - '0');
  if (plat_thread_id() == p->pid && !lr_main_block) lr_main_block = lr_thread_block();
  struct utsname u;
  if (uname(&u) == 0) {
    const char *part[] = {u.sysname, " ", u.release, " ", u.machine};
    size_t at = 0;
    for (int i = 0; i < 5; i++)
      for (const char *c = part[i]; *c && at + 1 < sizeof p->system; c++) p->system[at++] = *c;
  }
}

LR_OWN size_t plat_command_line(char *buffer, size_t size) {
  size_t n = lr_read_file("/proc/self/cmdline", buffer, size);
  if (n && buffer[n - 1]) buffer[n - 1] = 0;
  return n;
}

/* What functions of .preinit_array record comes before the C library knows of an
 * environment: the system has what the process was started with. */
static char *early;
static size_t early_length;

LR_OWN int plat_environment_known(void) {
  enum { MOST = 2 << 20 };
  if (environ || early_length || plat_raised_rights()) return 1;
  if (!early) early = plat_pages(MOST, 0);
  if (early) early_length = lr_read_file("/proc/self/environ", early, MOST - 1);
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

LR_OWN int plat_raised_rights(void) { return lr_auxiliary(AT_SECURE) != 0; }

/* The sign that a message was given is a mapping, whose name other processes can read. The program would see a
 * variable of the environment or a descriptor, and a file would outlive it. */
#define TOLD "logrec-told"

LR_OWN int lr_has_mapped(uint32_t pid, const char *file, uint32_t *parent) {
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
  size_t n = lr_read_file(name[0], text, sizeof text - 1);
  text[n] = 0;
  const char *s = strrchr(text, ')');
  *parent = 0;
  /* The state, the parent's pid. */
  for (s = s ? s + 4 : ""; *s >= '0' && *s <= '9'; s++) *parent = *parent * 10 + (uint32_t)(*s - '0');
  n = lr_read_file(name[1], text, sizeof text - 1);
  text[n] = 0;
  return strstr(text, file) != NULL;
}

LR_OWN int plat_told_before(void) {
  enum { GENERATIONS = 32 };
  int told = 0;
  uint32_t pid = (uint32_t)syscall(SYS_getppid);
  for (int i = 0; i < GENERATIONS && pid > 1 && !told; i++) told = lr_has_mapped(pid, "/memfd:" TOLD, &pid);
#if defined(SYS_memfd_create)
  const int fd = (int)syscall(SYS_memfd_create, TOLD, 1u /* MFD_CLOEXEC */);
  if (fd >= 0) {
    /* If this fails, programs that this one starts say the same again. */
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

LR_OWN int plat_is_special(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
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

/* What standard error was at the start. If the program closes it and opens a file in its place, no message is
 * written into that file. */
static struct stat standard_error;
static enum { NOT_LOOKED_AT, THERE, CLOSED } standard_error_was;

LR_OWN void lr_find_standard_error(void) {
  if (standard_error_was == NOT_LOOKED_AT) standard_error_was = fstat(2, &standard_error) == 0 ? THERE : CLOSED;
}

LR_OWN void plat_message(const char *line) {
  const struct iovec v[] = {{(void *)(uintptr_t)line, strlen(line)}, {(void *)(uintptr_t)"\n", 1}};
  struct stat now;
  if (lr_load(&lr_barred)) return;
  lr_find_standard_error();
  if (standard_error_was == CLOSED || fstat(2, &now) < 0 || now.st_dev != standard_error.st_dev ||
      now.st_ino != standard_error.st_ino)
    return;
  if (S_ISREG(now.st_mode) && !lr_within_limit((uint64_t)now.st_size + v[0].iov_len + 1)) return;
  if (writev(2, v, 2) < 0) return;
}

#endif
