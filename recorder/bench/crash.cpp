// crash.cpp: how long a crash takes from the fault to the handler of the program's own.
// crash CAUSE STACK CALLS: crashes so with about STACK bytes of stack in use after CALLS recorded calls. Prints ns of the clock, and of the
// thread's processor time, from just before the fault to the handler. With LOGREC_CRASH=first the recorder's handler lies between, with off not.

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <stdexcept>

#define BARE __attribute__((no_instrument_function))

static volatile int zero, sum;
static timespec begin, processor;

BARE static long since(clockid_t clock, const timespec &t) {
  timespec now;
  clock_gettime(clock, &now);
  return (now.tv_sec - t.tv_sec) * 1000000000L + now.tv_nsec - t.tv_nsec;
}

BARE static void handler(int) {
  const long wall = since(CLOCK_MONOTONIC, begin), used = since(CLOCK_THREAD_CPUTIME_ID, processor);
  char line[64];
  const int n = snprintf(line, sizeof line, "%ld %ld\n", wall, used);
  _exit(write(1, line, size_t(n)) != n);
}

__attribute__((noinline)) static void work() { sum = sum + 1; }

struct Base {
  BARE Base() { call(); }
  BARE virtual ~Base() {}
  virtual void pure() = 0;
  BARE void __attribute__((noinline)) call() { pure(); }
};
struct Derived : Base {
  BARE void pure() override {}
};

BARE static __attribute__((noinline)) int recurse(int n) {
  volatile char page[256];
  page[n & 255] = char(n);
  // The clock begins shortly before the stack ends.
  if (!(n & 1023)) {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &processor);
    clock_gettime(CLOCK_MONOTONIC, &begin);
  }
  if (n < 0) return zero;
  return recurse(n + 1) + page[n & 255];
}

static void (*volatile nowhere)();

BARE static void crash(const char *c) {
  char *volatile memory = (char *)malloc(100);
  const auto is = [c](const char *s) { return !strcmp(c, s); };
  void *file = nullptr;
  if (is("bus")) {
    char name[] = "/tmp/crash_bench.XXXXXX";
    const int fd = mkstemp(name);
    unlink(name);
    file = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &processor);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (is("null")) sum = *(volatile int *)8;
  if (is("code")) *(volatile char *)(uintptr_t)&work = 1;
  if (is("far")) sum = *(volatile int *)0x4141414141414141;
  if (is("call")) nowhere();
  if (is("divide")) sum = 7 / zero;
#if defined(__x86_64__)
  if (is("privileged")) __asm__ volatile("hlt");
  if (is("illegal")) __asm__ volatile("ud2");
  if (is("breakpoint")) __asm__ volatile("int3");
#endif
  if (is("abort")) abort();
  if (is("pure")) Derived d;
  if (is("throw")) throw std::runtime_error("nobody catches this");
  if (is("free")) {
    memory = memory + 8;
    free(memory);
  }
  if (is("raise")) raise(SIGSEGV);
  if (is("kill")) kill(getpid(), SIGBUS), pause();
  if (is("sys")) raise(SIGSYS);
  if (is("overflow")) sum = recurse(0);
  if (is("bus")) sum = *(volatile char *)file;
  _exit(3);
}

BARE static __attribute__((noinline)) void use(size_t bytes, const char *cause) {
  volatile char *const some = (volatile char *)__builtin_alloca(bytes + 16);
  for (size_t i = 0; i < bytes; i += 64) some[i] = char(i);
  crash(cause);
  sum = some[0];
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  static char stack[1 << 16];
  const stack_t s = {stack, 0, sizeof stack};
  sigaltstack(&s, nullptr);
  for (int n : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS}) {
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = handler;
    a.sa_flags = SA_ONSTACK;
    sigaction(n, &a, nullptr);
  }
  for (long i = atol(argv[3]); i > 0; i--) work();
  use(size_t(atol(argv[2])), argv[1]);
  return 4;
}
