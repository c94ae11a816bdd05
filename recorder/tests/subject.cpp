// subject.cpp: the program that linux_test.cpp runs and whose log it reads.
// subject CASE [NUMBER...]; exit 0 when what can be seen from inside is right.

#include "Logger.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern "C" void linkedLeaf(void);

// All logged functions of the program lie in this section, so that their
// addresses can be checked.
#define LOGGED __attribute__((noinline, section("logged")))
extern "C" const char __start_logged[], __stop_logged[];

LOGGED static void leaf() { LogEnterLeave LogObj; }

LOGGED static void branch(int pairs) {
  LogEnterLeave LogObj;
  for (int i = 1; i < pairs; i++) leaf();
}

// Its last act is a call to the destructor, and its caller's last act is a
// call to it.
LOGGED static int last(int x) {
  LogEnterLeave LogObj;
  return x + 1;
}
LOGGED static int jumps(int x) { return last(x); }

static int number(char **argv, int i) { return atoi(argv[i]); }

static int openDescriptors() {
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  while (readdir(d)) n++;
  closedir(d);
  return n;
}

static void *threadBody(void *pairs) {
  const int n = int(reinterpret_cast<intptr_t>(pairs));
  for (int i = 0; i < n; i++) {
    leaf();
    linkedLeaf();
  }
  return nullptr;
}

static int threads(int count, int pairs) {
  pthread_t t[64];
  for (int i = 0; i < count; i++) pthread_create(&t[i], nullptr, threadBody, reinterpret_cast<void *>(intptr_t(pairs)));
  for (int i = 0; i < count; i++) pthread_join(t[i], nullptr);
  return 0;
}

typedef void (*Leaf)(void);

static Leaf loadPlugin(const char *path, void **handle) {
  *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*handle) {
    fprintf(stderr, "%s\n", dlerror());
    exit(9);
  }
  return reinterpret_cast<Leaf>(dlsym(*handle, "pluginLeaf"));
}

// A module that is loaded after the program changed its folder and its
// environment, and again and again.
static int plugin(const char *path, int loads) {
  leaf();
  linkedLeaf();
  if (chdir("/") != 0) return 8;
  setenv("LOGPARSER_LOG", "/nowhere/x.dat", 1);
  int before = 0;
  for (int i = 0; i < loads; i++) {
    void *handle;
    loadPlugin(path, &handle)();
    dlclose(handle);
    if (i == 0) before = openDescriptors();
  }
  return openDescriptors() == before ? 0 : 1;
}

static int forks(int pairs) {
  branch(pairs);
  const pid_t child = fork();
  if (child == 0) {
    branch(pairs);
    linkedLeaf();
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      linkedLeaf();
      _exit(0);
    }
    waitpid(grandchild, nullptr, 0);
    _exit(0);
  }
  branch(pairs);
  linkedLeaf();
  int status;
  waitpid(child, &status, 0);
  return status;
}

static bool going;

static void *untilDone(void *) {
  while (__atomic_load_n(&going, __ATOMIC_RELAXED)) leaf();
  return nullptr;
}

// Forks while another thread records.
static int forksBusy(int times) {
  __atomic_store_n(&going, true, __ATOMIC_RELAXED);
  pthread_t t;
  pthread_create(&t, nullptr, untilDone, nullptr);
  int failed = 0;
  for (int i = 0; i < times; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      leaf();
      linkedLeaf();
      _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  __atomic_store_n(&going, false, __ATOMIC_RELAXED);
  pthread_join(t, nullptr);
  return failed;
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static int vforks() {
  leaf();
  const pid_t child = vfork();
  if (child == 0) {
    leaf();
    linkedLeaf();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  leaf();
  return 0;
}

static int keepsErrno() {
  errno = 123;
  leaf();
  if (errno != 123) return 1;
  linkedLeaf();
  return errno != 123;
}

static void onSignal(int) {
  leaf();
  linkedLeaf();
}

static volatile sig_atomic_t handled;
static void countSignal(int s) {
  handled = handled + 1;
  onSignal(s);
}

// Logs in a handler that interrupts logging; prints how often.
static int signals(int pairs) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = countSignal;
  a.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &a, nullptr);
  struct timespec step = {0, 50000};
  timer_t timer;
  struct sigevent e;
  memset(&e, 0, sizeof e);
  e.sigev_notify = SIGEV_SIGNAL;
  e.sigev_signo = SIGALRM;
  if (timer_create(CLOCK_MONOTONIC, &e, &timer) != 0) return 7;
  const struct itimerspec every = {step, step};
  timer_settime(timer, 0, &every, nullptr);
  branch(pairs);
  timer_delete(timer);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarms, nullptr);
  printf("%d\n", int(handled));
  return 0;
}

// What daemons do: close everything, then open files of their own.
static int closesAll(int pairs) {
  branch(pairs);
  for (int fd = 3; fd < 4096; fd++) close(fd);
  const int mine = open("mine.txt", O_RDWR | O_CREAT | O_TRUNC, 0666);
  branch(pairs);
  linkedLeaf();
  struct stat st;
  return fstat(mine, &st) == 0 && st.st_size == 0 ? 0 : 1;
}

// A file size limit, with the signal it raises left as it is; lower: set after the
// first record.
static int limited(int pairs, bool lower, bool file = false) {
  leaf();
  if (file) {
    // Another file takes the place of standard error.
    close(2);
    if (open("mine.txt", O_RDWR | O_CREAT, 0666) != 2 || write(2, "HEADER", 6) != 6) return 9;
  }
  const struct rlimit l = {20000, 20000};
  if (lower) setrlimit(RLIMIT_FSIZE, &l);
  branch(pairs - 1);
  linkedLeaf();
  return 0;
}

static int step;
static void *cancelledLater(void *pairs) {
  leaf();
  __atomic_store_n(&step, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < 2) {}
  branch(*static_cast<int *>(pairs) - 1);
  __atomic_store_n(&step, 3, __ATOMIC_RELEASE);
  for (;;) pthread_testcancel();
}

// A thread logs with its cancellation pending, and the files are opened so.
static int cancels(int pairs) {
  pthread_t t;
  void *result = nullptr;
  pthread_create(&t, nullptr, cancelledLater, &pairs);
  while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < 1) {}
  for (int fd = 3; fd < 4096; fd++) close(fd);
  pthread_cancel(t);
  __atomic_store_n(&step, 2, __ATOMIC_RELEASE);
  pthread_join(t, &result);
  leaf();
  return result == PTHREAD_CANCELED && step == 3 ? 0 : 1;
}

// Somebody empties the log while it is written, as log rotation does.
static int truncated(int pairs) {
  branch(pairs);
  if (truncate("LogDetails.dat", 0) != 0) return 5;
  branch(pairs);
  linkedLeaf();
  return 0;
}

static int inSection() {
  leaf();
  jumps(1);
  printf("%lx %lx\n", long(__start_logged), long(__stop_logged));
  return 0;
}

int main(int argc, char **argv) {
  const char *c = argc > 1 ? argv[1] : "";
  if (!strcmp(c, "pairs")) {
    branch(number(argv, 2));
    return 0;
  }
  if (!strcmp(c, "threads")) return threads(number(argv, 2), number(argv, 3));
  if (!strcmp(c, "plugin")) return plugin(argv[2], number(argv, 3));
  if (!strcmp(c, "fork")) return forks(number(argv, 2));
  if (!strcmp(c, "fork-busy")) return forksBusy(number(argv, 2));
  if (!strcmp(c, "vfork")) return vforks();
  if (!strcmp(c, "errno")) return keepsErrno();
  if (!strcmp(c, "signals")) return signals(number(argv, 2));
  if (!strcmp(c, "close")) return closesAll(number(argv, 2));
  if (!strcmp(c, "limited")) return limited(number(argv, 2), false);
  if (!strcmp(c, "lowered")) return limited(number(argv, 2), true, argc > 3);
  if (!strcmp(c, "cancel")) return cancels(number(argv, 2));
  if (!strcmp(c, "truncated")) return truncated(number(argv, 2));
  if (!strcmp(c, "section")) return inSection();
  if (!strcmp(c, "exec")) {
    branch(number(argv, 2));
    execl("/proc/self/exe", argv[0], "pairs", argv[2], nullptr);
    return 6;
  }
  if (!strcmp(c, "kill")) {
    for (;;) leaf();
  }
  fprintf(stderr, "subject: unknown case\n");
  return 2;
}
