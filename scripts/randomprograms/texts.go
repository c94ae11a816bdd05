package main

// plugin is the library that programs load.
const plugin = `static int __attribute__((noinline)) inside(int n) { __asm__ volatile("" : : "r"(n)); return n + 40; }
int plugin(int n) { return inside(n) + inside(n); }
`

// head is what every program begins with. Functions whose names begin with async are called as often as time wants; all others as
// often in each run.
const head = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define OUT __attribute__((no_instrument_function))
#define NOINLINE __attribute__((noinline, unused))
static char *self;
/* What programs say goes into a file: their standard output may be closed. */
OUT static void say(const char *line) {
  char path[4200], text[200];
  static char folder[4096];
  if (!folder[0] && !getcwd(folder, sizeof folder)) abort();
  snprintf(path, sizeof path, "%s/out", getenv("SAY_FOLDER") ? getenv("SAY_FOLDER") : folder);
  const int n = snprintf(text, sizeof text, "%s\n", line);
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (write(fd, text, (size_t)n) < 0) {}
  close(fd);
}
OUT NOINLINE static void number(const char *what, long n) {
  char text[100];
  snprintf(text, sizeof text, "%s %ld", what, n);
  say(text);
}
/* The numbers that files get, and which descriptors below 40 are open. */
OUT NOINLINE static void seen(void) {
  char text[100];
  unsigned long open_ones = 0;
  for (int fd = 0; fd < 40; fd++)
    if (fcntl(fd, F_GETFD) >= 0) open_ones |= 1ul << fd;
  const int a = open("/dev/null", O_RDONLY), b = open("/dev/null", O_RDWR);
  snprintf(text, sizeof text, "open %lx, then %d %d", open_ones, a, b);
  close(a);
  close(b);
  say(text);
}
OUT NOINLINE static void masks(void) {
  sigset_t m;
  unsigned long bits = 0;
  pthread_sigmask(SIG_SETMASK, 0, &m);
  for (int i = 1; i < 64; i++)
    if (sigismember(&m, i) == 1) bits |= 1ul << i;
  char text[100];
  snprintf(text, sizeof text, "mask %lx", bits);
  say(text);
}
OUT NOINLINE static void ended(pid_t p) {
  int status = 0;
  while (waitpid(p, &status, 0) < 0 && errno == EINTR) {}
  number("child", WIFSIGNALED(status) ? WTERMSIG(status) : 1000 + WEXITSTATUS(status));
}
OUT NOINLINE static rlim_t used(void) {
  char text[64] = "";
  const int fd = open("/proc/self/statm", O_RDONLY);
  if (read(fd, text, sizeof text - 1) < 0) abort();
  close(fd);
  return (rlim_t)strtoul(text, 0, 10) * 4096;
}
OUT NOINLINE static const char *plugin_path(void) { return getenv("PLUGIN"); }
static NOINLINE int leaf(int n) { __asm__ volatile("" : : "r"(n)); return n + 1; }
static NOINLINE int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += leaf(i); return s; }
static NOINLINE int async_leaf(int n) { __asm__ volatile("" : : "r"(n)); return n + 1; }
static NOINLINE int async_work(int n) { int s = 0; for (int i = 0; i < n; i++) s += async_leaf(i); return s; }
static NOINLINE void async_tick(int n) { async_leaf(n); }
static NOINLINE int async_child(int n) { return async_leaf(n); }
static void last(void) { leaf(1); }
__attribute__((constructor)) static void first(void) { leaf(2); }
`

// A wrapper is a function of the C library that a program has itself.
type wrapper struct{ name, text string }

var allWrappers = []wrapper{
	{"malloc and free", `static void *(*real_malloc)(size_t); static void (*real_free)(void *);
void *malloc(size_t n) { if (!real_malloc) real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc"); return real_malloc(n); }
void free(void *p) { if (!real_free) real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free"); real_free(p); }
`},
	{"dl_iterate_phdr", `static pthread_mutex_t phdr_mutex = PTHREAD_MUTEX_INITIALIZER;
int dl_iterate_phdr(int (*f)(struct dl_phdr_info *, size_t, void *), void *p) {
  static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
  pthread_mutex_lock(&phdr_mutex);
  if (!real) real = (int (*)(int (*)(struct dl_phdr_info *, size_t, void *), void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
  const int r = real(f, p);
  pthread_mutex_unlock(&phdr_mutex);
  return r;
}
`},
	{"open", `int open(const char *path, int flags, ...) { va_list v; va_start(v, flags); const int mode = va_arg(v, int); va_end(v); leaf(flags & 1); return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode); }
`},
	{"write", `ssize_t write(int fd, const void *p, size_t n) { leaf(fd); return syscall(SYS_write, fd, p, n); }
`},
	{"close", `int close(int fd) { leaf(1); return (int)syscall(SYS_close, fd); }
`},
	{"getenv", `char *getenv(const char *name) { leaf(3); const size_t n = strlen(name); for (char **e = environ; e && *e; e++) if (strncmp(*e, name, n) == 0 && (*e)[n] == '=') return *e + n + 1; return 0; }
`},
	{"pthread_create", `int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *p) {
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
  leaf(4);
  return real(t, a, f, p);
}
`},
	{"mmap", `void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) { leaf(5); return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset); }
`},
	{"memcpy", `void *memcpy(void *restrict to, const void *restrict from, size_t n) { volatile char *t = to; const volatile char *f = from; while (n--) *t++ = *f++; return to; }
`},
	{"a function that the loader chooses", `static int chosen_a(int n) { return n + 1; } static int chosen_b(int n) { return n + 2; }
static int async_choose(int n) { return n > 3; }
static int (*async_pick(void))(int) { return async_choose(4) ? chosen_b : chosen_a; }
int chosen(int n) __attribute__((ifunc("async_pick")));
__attribute__((constructor)) static void call_chosen(void) { chosen(1); }
`},
	{"sigaction", `int sigaction(int n, const struct sigaction *now, struct sigaction *old) {
  int (*real)(int, const struct sigaction *, struct sigaction *) = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
  leaf(6);
  return real(n, now, old);
}
`},
}
