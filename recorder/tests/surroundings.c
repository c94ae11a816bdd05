/* surroundings.c: the program of surroundings.sh. It prints what it sees of its limits, descriptors, files and children; built
 * with hooks and without, it prints the same. The first argument is the case. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTSIDE __attribute__((no_instrument_function))

/* leaf is called a number of times that the case says; nothing else is, but main. */
__attribute__((noinline)) int leaf(int n) {
  __asm__ volatile("" : : "r"(n));
  return n + 1;
}

static int calls;

OUTSIDE static void *call(void *unused) {
  (void)unused;
  long sum = 0;
  for (int i = 0; i < calls; i++) sum += leaf(i);
  return (void *)sum;
}

OUTSIDE static long in_thread(void) {
  pthread_t t;
  pthread_attr_t a;
  void *sum = NULL;
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, 65536);
  const int error = pthread_create(&t, &a, call, NULL);
  if (error) return -error;
  pthread_join(t, &sum);
  return (long)sum;
}

/* memory: four threads, one after the other, and a piece of memory. */
OUTSIDE static void memory(void) {
  for (int i = 0; i < 4; i++) printf("%ld ", in_thread());
  char *p = malloc(1 << 20);
  if (p) memset(p, 1, 1 << 20);
  printf("%s\n", p ? "memory" : "no memory");
}

/* later: the limit comes when the log is there. */
OUTSIDE static void later(void) {
  const struct rlimit limit = {200 << 20, 200 << 20};
  leaf(1);
  printf("%d ", setrlimit(RLIMIT_AS, &limit));
  call(NULL);
  char *p = malloc(50 << 20);
  if (p) memset(p, 1, 50 << 20);
  printf("%s\n", p ? "memory" : "no memory");
}

/* full: address space for a thread's stack is left, and for nothing else. */
OUTSIDE static void full(void) {
  enum { FOR_THREAD = 131072, PAGE = 4096 };
  char text[64];
  leaf(0);
  void *const kept = mmap(NULL, FOR_THREAD, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int fd = open("/proc/self/statm", O_RDONLY);
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = 0;
  munmap(kept, FOR_THREAD);
  const long pages = strtol(text, NULL, 10);
  const struct rlimit limit = {(rlim_t)pages * PAGE, (rlim_t)pages * PAGE};
  setrlimit(RLIMIT_AS, &limit);
  printf("%ld\n", in_thread());
  call(NULL);
}

/* descriptors: which numbers files get, and which of the first three are open; into the file out, because standard output
 * may be closed. */
OUTSIDE static void descriptors(void) {
  char text[200];
  int n = 0;
  const int before = open("/dev/null", O_RDONLY);
  leaf(1);
  n += sprintf(text + n, "%d %d", before, open("/dev/null", O_RDONLY));
  for (int fd = 0; fd < 3; fd++) n += sprintf(text + n, " %d:%d", fd, fcntl(fd, F_GETFL) >= 0);
  printf("printed\n");
  fflush(stdout);
  call(NULL);
  const int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  n += sprintf(text + n, " %d\n", out);
  if (write(out, text, (size_t)n) < 0) abort();
}

OUTSIDE static void on_bus(int number) {
  (void)number;
  if (write(1, "handler\n", 8) < 0) abort();
}

/* truncated LOG [handled]: somebody truncates the log while it is written. */
OUTSIDE static void truncated(const char *log, int handled) {
  if (handled) signal(SIGBUS, on_bus);
  call(NULL);
  if (log[0] && truncate(log, 0) < 0) perror(log);
  call(NULL);
  if (handled) raise(SIGBUS);
  struct sigaction now;
  sigaction(SIGBUS, NULL, &now);
  printf("alive, %s\n", now.sa_handler == on_bus ? "handled" : now.sa_handler == SIG_DFL ? "default" : "changed");
}

/* daemons: the child that forks again calls nothing itself; or, by the C library's daemon. The last one says when it is done. */
static void daemons(int own) {
  int done[2];
  char c;
  if (pipe(done) < 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    if (own) {
      setsid();
      if (fork()) _exit(0);
    } else if (daemon(1, 1) < 0) {
      abort();
    }
    call(NULL);
    _exit(write(done[1], "!", 1) != 1);
  }
  waitpid(child, NULL, 0);
  printf("%zd\n", read(done[0], &c, 1));
}

/* hand_on blocks all signals, or none, sets timers, and becomes another program. */
OUTSIDE static int hand_on(int what, char **command) {
  sigset_t all;
  const struct itimerval far = {{70, 0}, {50, 0}};
  sigfillset(&all);
  if (what & 1) sigprocmask(SIG_SETMASK, &all, NULL);
  for (int i = ITIMER_REAL; (what & 2) && i <= ITIMER_PROF; i++) setitimer(i, &far, NULL);
  execvp(command[0], command);
  return 3;
}

/* inherited: the signals that are blocked, and the timers that run. */
OUTSIDE static void inherited(void) {
  sigset_t m;
  leaf(1);
  sigprocmask(SIG_BLOCK, NULL, &m);
  for (int i = 1; i < 65; i++) putchar(sigismember(&m, i) == 1 ? '1' : '0');
  for (int i = ITIMER_REAL; i <= ITIMER_PROF; i++) {
    struct itimerval t;
    getitimer(i, &t);
    printf(" %d/%ld", t.it_value.tv_sec > 0, (long)t.it_interval.tv_sec);
  }
  putchar('\n');
}

/* traced asks its parent to trace it, which does not know of that. */
OUTSIDE static int traced(void) {
  leaf(1);
  printf("%ld\n", ptrace(PTRACE_TRACEME, 0, 0, 0));
  fflush(stdout);
  signal(SIGUSR1, SIG_IGN);
  raise(SIGUSR1);
  leaf(2);
  return 4;
}

/* no_proc: the child has no /proc. 77: no right to do that. */
OUTSIDE static int no_proc(void) {
  leaf(1);
  if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || umount2("/proc", MNT_DETACH)) return 77;
  const pid_t child = fork();
  if (child == 0) {
    leaf(2);
    _exit(5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
  return 0;
}

int main(int argc, char **argv) {
  const char *const what = argc > 1 ? argv[1] : "";
  calls = argc > 2 ? atoi(argv[2]) : 1000;
  if (strcmp(what, "memory") == 0) memory();
  else if (strcmp(what, "later") == 0) later();
  else if (strcmp(what, "full") == 0) full();
  else if (strcmp(what, "descriptors") == 0) descriptors();
  else if (strcmp(what, "truncated") == 0) truncated(argc > 3 ? argv[3] : "", argc > 4);
  else if (strcmp(what, "daemons") == 0) daemons(argc > 3);
  else if (strcmp(what, "hand-on") == 0) return hand_on(calls, argv + 3);
  else if (strcmp(what, "inherited") == 0) inherited();
  else if (strcmp(what, "no-proc") == 0) return no_proc();
  else if (strcmp(what, "traced") == 0) return traced();
  else if (strcmp(what, "abort") == 0) call(NULL), abort();
  else if (strcmp(what, "calls") == 0) printf("%ld\n", (long)call(NULL));
  else return 2;
  return 0;
}
