// crash_subject.cpp CAUSE PLACE FACTS [LIBRARY]: crashes. CAUSE is how, PLACE where; below are the lists.
// Before that it calls work() 1,000 times in each thread that crashes, and writes to the file FACTS the
// address of work and the number of calls that each thread made.
//
// With RECORDED it is built for the recorder; without, it is what the recorded program is compared with.

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#if defined(RECORDED)
#include "logrec.h"
#endif

#define BARE __attribute__((no_instrument_function))

enum { CALLS = 1000, THREADS = 8 };
static std::string cause, place;
static const char *facts, *library;
static volatile int zero, sum;

extern "C" __attribute__((noinline)) void work() { sum = sum + 1; }

BARE static void tell(int calls) {
  char line[64];
  const int n = snprintf(line, sizeof line, "%llx %d\n", (unsigned long long)(uintptr_t)&work, calls);
  const int fd = open(facts, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (write(fd, line, size_t(n)) != n) _exit(99);
  close(fd);
}

// ---- how ----

struct Base {
  Base() { call(); }
  virtual ~Base() {}
  virtual void pure() = 0;
  void __attribute__((noinline)) call() { pure(); }
};
struct Derived : Base {
  void pure() override {}
};

static __attribute__((noinline)) int recurse(int n) {
  volatile char page[256];
  page[n & 255] = char(n);
  if (n < 0) return zero;
  return recurse(n + 1) + page[n & 255];
}

static void (*volatile nowhere)();

extern "C" __attribute__((noinline)) void crash_now() {
  const std::string &c = cause;
  if (c == "null") sum = *(volatile int *)8;
  if (c == "code") *(volatile char *)(uintptr_t)&work = 1;
  if (c == "far") sum = *(volatile int *)0x4141414141414141;
  if (c == "call") nowhere();
  if (c == "divide") sum = 7 / zero;
#if defined(__x86_64__)
  if (c == "privileged") __asm__ volatile("hlt");
  if (c == "illegal") __asm__ volatile("ud2");
  if (c == "breakpoint") __asm__ volatile("int3");
#endif
  if (c == "abort") abort();
  if (c == "pure") Derived d;
  if (c == "throw") throw std::runtime_error("nobody catches this");
  if (c == "free") {
    // With the bytes of an earlier block in front of it, one of two messages would come, as these are.
    char *volatile p = (char *)calloc(100, 1);
    p = p + 8;
    free(p);
  }
  if (c == "raise") raise(SIGSEGV);
  if (c == "kill") kill(getpid(), SIGBUS), pause();
  if (c == "sys") raise(SIGSYS);
  if (c == "overflow") sum = recurse(0);
  if (c == "bus") {
    char name[] = "/tmp/crash_subject.XXXXXX";
    const int fd = mkstemp(name);
    unlink(name);
    sum = *(volatile char *)mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  }
  if (!zero) _exit(98);
}

static __attribute__((noinline)) void down(int n) {
  if (n > 0) down(n - 1);
  else crash_now();
  sum = sum + 1;
}

static void work_and_crash() {
  for (int i = 0; i < CALLS; i++) work();
  if (place != "threads") tell(CALLS);
  down(3);
}

// ---- where ----

static void *in_thread(void *) {
  work_and_crash();
  return nullptr;
}

BARE static void from_handler(int) { crash_now(); }

BARE static void handle(int number, int flags, void (*handler)(int)) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = handler;
  a.sa_flags = flags;
  if (sigaction(number, &a, nullptr) != 0) _exit(97);
}

// The handler of the program's own says what it sees, and dies of the signal.
BARE static void own_handler(int number) {
  struct sigaction now;
  sigaction(number, nullptr, &now);
  char line[] = "own handler: ?\n";
  line[13] = char('A' + number);
  if (write(1, line, sizeof line - 1) < 0) _exit(96);
  signal(number, SIG_DFL);
  raise(number);
}

// Whoever asks must see what was set, and never the recorder's.
BARE static void ask(const char *when) {
  const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  for (int n : numbers) {
    struct sigaction now;
    memset(&now, 1, sizeof now);
    sigaction(n, nullptr, &now);
    printf("%s %d: %s%s %x\n", when, n, now.sa_handler == SIG_DFL ? "default" : now.sa_handler == SIG_IGN ? "ignored" : "a handler",
           now.sa_handler == own_handler ? " of its own" : "", unsigned(now.sa_flags) & ~0x04000000u);
  }
  stack_t s;
  sigaltstack(nullptr, &s);
  printf("%s: a stack: %d\n", when, !(s.ss_flags & SS_DISABLE));
  fflush(stdout);
}

BARE static void in_threads() {
  pthread_t t[THREADS];
  tell(CALLS);
  for (pthread_t &one : t) pthread_create(&one, nullptr, in_thread, nullptr);
  for (pthread_t &one : t) pthread_join(one, nullptr);
}

// The log may not grow any more.
BARE static void with_full_disk() {
  const struct rlimit limit = {65536, 65536};
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 100000; i++) work();
  tell(0);
  down(3);
}

// The log is so large that there is more room for the record.
BARE static void with_large_log() {
  for (int i = 0; i < 400000; i++) work();
  tell(400000);
  down(3);
}

// A signal handler that crashes interrupts the recorder most of the time.
BARE static void in_recorder() {
  tell(0);
  handle(SIGPROF, 0, from_handler);
  const struct itimerval often = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &often, nullptr);
  for (;;) work();
}

// The recorder reads where the program says.
BARE static void in_mark() {
  for (int i = 0; i < CALLS; i++) work();
  tell(CALLS);
#if defined(RECORDED)
  logrec_mark((const char *)8, 100);
#else
  crash_now();
#endif
}

// A handler on a small stack of its own.
BARE static void on_small_stack() {
  static char stack[16384];
  const stack_t s = {stack, 0, sizeof stack};
  sigaltstack(&s, nullptr);
  for (int i = 0; i < CALLS; i++) work();
  tell(CALLS);
  handle(SIGUSR1, SA_ONSTACK, from_handler);
  raise(SIGUSR1);
}

BARE static void in_forked_child() {
  const pid_t child = fork();
  if (child == 0) work_and_crash();
  int status;
  waitpid(child, &status, 0);
  printf("child: signal %d, status %d\n", WTERMSIG(status), WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

// The child dies in its parent's memory, and the parent goes on.
BARE static void in_vforked_child() {
  const pid_t child = vfork();
  if (child == 0) crash_now();
  int status;
  waitpid(child, &status, 0);
  printf("child: signal %d\n", WTERMSIG(status));
  fflush(stdout);
  work_and_crash();
}

BARE static void with_own_handler() {
  const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  static char stack[65536];
  const stack_t s = {stack, 0, sizeof stack};
  sigaltstack(&s, nullptr);
  ask("before");
  for (int n : numbers) handle(n, SA_ONSTACK, own_handler);
  ask("set");
  work_and_crash();
}

// A handler that is for one time.
BARE static void with_handler_for_once() {
  const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  static char stack[65536];
  const stack_t s = {stack, 0, sizeof stack};
  sigaltstack(&s, nullptr);
  for (int n : numbers) handle(n, int(SA_RESETHAND) | SA_ONSTACK | SA_NODEFER, [](int number) {
    struct sigaction now;
    sigaction(number, nullptr, &now);
    if (write(1, now.sa_handler == SIG_DFL ? "once\n" : "not reset\n", 5) < 0) _exit(96);
  });
  work_and_crash();
}

BARE static void asks_for_handlers() {
  ask("at first");
  const int numbers[] = {SIGSEGV, SIGABRT};
  for (int n : numbers) {
    printf("signal: %s\n", signal(n, own_handler) == SIG_DFL ? "default" : "another");
    printf("sysv_signal: %s\n", sysv_signal(n, SIG_IGN) == own_handler ? "its own" : "another");
  }
  ask("set");
  for (int n : numbers) signal(n, SIG_DFL);
  work_and_crash();
}

int main(int argc, char **argv) {
  if (argc < 4) return 95;
  cause = argv[1], place = argv[2], facts = argv[3], library = argc > 4 ? argv[4] : "";
  work();
  if (place == "main") {
    work_and_crash();
  } else if (place == "thread") {
    pthread_t t;
    pthread_create(&t, nullptr, in_thread, nullptr);
    pthread_join(t, nullptr);
  } else if (place == "threads") {
    in_threads();
  } else if (place == "full") {
    with_full_disk();
  } else if (place == "large") {
    with_large_log();
  } else if (place == "dlopen") {
    for (int i = 0; i < CALLS; i++) work();
    tell(CALLS);
    dlopen(library, RTLD_NOW);
  } else if (place == "recorder") {
    in_recorder();
  } else if (place == "mark") {
    in_mark();
  } else if (place == "small-stack") {
    on_small_stack();
  } else if (place == "fork") {
    in_forked_child();
  } else if (place == "vfork") {
    in_vforked_child();
  } else if (place == "own-handler") {
    with_own_handler();
  } else if (place == "once") {
    with_handler_for_once();
  } else if (place == "ask") {
    asks_for_handlers();
  } else {
    return 94;
  }
  return 0;
}
