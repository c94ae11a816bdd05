// stacks_subject.cpp: programs of several stacks, and such that leave calls without
// returning, for stacks_test.cpp. It is built with -finstrument-functions.
// stacks_subject CASE [N]; standard output has lines "name address".

#include "logrec.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))
#define LOGGED __attribute__((noinline))

static volatile long sum;

// ---- coroutines ----

// A way of changing stacks: resume runs a coroutine until it yields.
struct Coroutine {
  ucontext_t context, back;
  void **pointer, **backPointer;
  void (*body)(Coroutine *);
  bool done;
};
static bool byHand;

#if defined(__x86_64__)
// The registers that a function keeps go to the stack, and the stack is changed.
extern "C" void changeStack(void ***from, void **to);
__asm__(
    ".text\n"
    "changeStack:\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  mov %rsp,(%rdi)\n  mov %rsi,%rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n  ret\n");
#else
QUIET static void changeStack(void ***, void **) { abort(); }
#endif

static thread_local Coroutine *starting;
QUIET __attribute__((noinline)) static void yieldFrom(Coroutine *c) {
  if (byHand) changeStack(&c->pointer, c->backPointer);
  else swapcontext(&c->context, &c->back);
}
QUIET __attribute__((noinline)) static void resume(Coroutine *c) {
  starting = c;
  if (byHand) changeStack(&c->backPointer, c->pointer);
  else swapcontext(&c->back, &c->context);
}
QUIET static void first() {
  Coroutine *const c = starting;
  c->body(c);
  c->done = true;
  yieldFrom(c);
  abort();
}
QUIET static void prepare(Coroutine *c, char *stack, size_t size, void (*body)(Coroutine *)) {
  memset(static_cast<void *>(c), 0, sizeof *c);
  c->body = body;
  if (byHand) {
    c->pointer = reinterpret_cast<void **>(stack + size) - 8;
    memset(c->pointer, 0, 64);
    c->pointer[6] = reinterpret_cast<void *>(first);
    return;
  }
  getcontext(&c->context);
  c->context.uc_stack.ss_sp = stack;
  c->context.uc_stack.ss_size = size;
  makecontext(&c->context, first, 0);
}

LOGGED static void leaf() { sum = sum + 1; }
LOGGED static void pauses(Coroutine *c) {
  leaf();
  yieldFrom(c);
  leaf();
}
LOGGED static void nests(Coroutine *c, int n) {
  if (n > 0) nests(c, n - 1);
  pauses(c);
  leaf();
}
LOGGED static void wide(Coroutine *c) {
  volatile char room[9000];
  room[sum % 9000] = 1;
  pauses(c);
  sum = sum + room[7];
}
LOGGED static void body(Coroutine *c) {
  nests(c, 3);
  leaf();
  wide(c);
}
// Nothing of it is on the stack while it yields.
QUIET static void bare(Coroutine *c) {
  for (int i = 0; i < 5; i++) {
    leaf();
    yieldFrom(c);
  }
}
LOGGED static void round(Coroutine *c) {
  leaf();
  resume(c);
}

enum { COROUTINES = 8, SIZE = 32768 };
static Coroutine coroutines[COROUTINES];
// Side by side, and first in one piece of memory.
QUIET static int takeTurns() {
  char *const stacks = static_cast<char *>(malloc(COROUTINES * SIZE));
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < COROUTINES; i++) prepare(&coroutines[i], stacks + i * SIZE, SIZE, i == 5 ? bare : body);
    for (int left = COROUTINES; left > 0;) {
      left = 0;
      for (Coroutine &c : coroutines) {
        if (!c.done) round(&c);
        left += !c.done;
      }
    }
  }
  free(stacks);
  return 0;
}

// Each time in another thread: two that live, and one that ends between.
static Coroutine wanderer;
static int turn;
QUIET static void *carries(void *p) {
  const int me = int(reinterpret_cast<intptr_t>(p));
  for (;;) {
    int now;
    while ((now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) >= 0 && now % 3 != me) usleep(100);
    if (now < 0) return nullptr;
    if (wanderer.done) __atomic_store_n(&turn, -3000, __ATOMIC_RELEASE);
    else round(&wanderer), __atomic_store_n(&turn, turn + 1, __ATOMIC_RELEASE);
    if (me == 2) return nullptr;
  }
}
QUIET static int wanders() {
  prepare(&wanderer, static_cast<char *>(malloc(SIZE)), SIZE, body);
  pthread_t t[3];
  for (intptr_t i = 0; i < 2; i++) pthread_create(&t[i], nullptr, carries, reinterpret_cast<void *>(i));
  while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) >= 0) {
    pthread_create(&t[2], nullptr, carries, reinterpret_cast<void *>(intptr_t(2)));
    pthread_join(t[2], nullptr);
  }
  for (int i = 0; i < 2; i++) pthread_join(t[i], nullptr);
  return 0;
}

// A coroutine forks; the child goes on in it, and in another one.
LOGGED static void forks(Coroutine *c) {
  leaf();
  const pid_t pid = fork();
  int status = 0;
  if (pid > 0) waitpid(pid, &status, 0);
  if (status) abort();
  leaf();
  yieldFrom(c);
}
QUIET static int forksInside() {
  char *const stacks = static_cast<char *>(malloc(2 * SIZE));
  prepare(&coroutines[0], stacks, SIZE, body);
  prepare(&coroutines[1], stacks + SIZE, SIZE, forks);
  round(&coroutines[0]);
  round(&coroutines[1]);
  while (!coroutines[0].done) round(&coroutines[0]);
  while (!coroutines[1].done) round(&coroutines[1]);
  return 0;
}

// ---- calls that are left ----

static jmp_buf out;
LOGGED static void tick() { sum = sum + 1; }
LOGGED static void wideTick() {
  volatile char room[700];
  room[sum % 700] = 1;
  sum = sum + room[7];
}
LOGGED static void jumpsAt(int n) {
  if (n <= 0) longjmp(out, 1);
  if (n > 0) jumpsAt(n - 1);
  sum = sum + n;
}
QUIET static int jumps(long rounds) {
  for (volatile long i = 0; i < rounds; i = i + 1) {
    if (!setjmp(out)) jumpsAt(int(i % 3));
    tick();
    wideTick();
  }
  return 0;
}
LOGGED static void throwsAt(int n) {
  volatile char room[900];
  room[sum % 900] = 1;
  if (n <= 0) throw 1;
  if (n > 0) throwsAt(n - 1);
  sum = sum + room[7];
}
QUIET static int throws(long rounds) {
  for (long i = 0; i < rounds; i++) {
    try {
      throwsAt(1 + int(i % 3));
    } catch (int) {
    }
    tick();
  }
  return 0;
}

static sigjmp_buf outOfHandler;
static volatile sig_atomic_t leaves;
LOGGED static void handled() { tick(); }
LOGGED static void handler(int) {
  handled();
  if (leaves) siglongjmp(outOfHandler, 1);
}
LOGGED static void raises() {
  raise(SIGUSR1);
  leaf();
}
// On a stack of its own: in the heap, and in a function's frame.
QUIET __attribute__((noinline)) static void handlersOn(char *stack) {
  stack_t own = {};
  own.ss_sp = stack;
  own.ss_size = 65536;
  sigaltstack(&own, nullptr);
  for (int i = 0; i < 20; i++) {
    leaves = i % 2;
    if (!sigsetjmp(outOfHandler, 1)) raises();
    tick();
  }
}
QUIET static int handlers() {
  struct sigaction a = {};
  a.sa_handler = handler;
  a.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &a, nullptr);
  handlersOn(static_cast<char *>(malloc(65536)));
  char frame[65536];
  handlersOn(frame);
  return 0;
}

LOGGED static void becomes() {
  execl("/bin/true", "true", static_cast<char *>(nullptr));
  _exit(1);
}
QUIET static int vforks() {
  tick();
  for (int i = 0; i < 20; i++) {
    const pid_t pid = vfork();
    if (pid == 0) becomes();
    tick();
    int status = 0;
    waitpid(pid, &status, 0);
    if (status) return 9;
  }
  return 0;
}

// Functions that are inlined into one that moves its stack meanwhile.
__attribute__((always_inline)) static inline void inlined(int n) {
  leaf();
  volatile char *const p = static_cast<volatile char *>(__builtin_alloca(size_t(n)));
  p[0] = 1;
  leaf();
  sum = sum + p[0];
}
__attribute__((always_inline)) static inline void around(int n) {
  inlined(n);
  tick();
  inlined(2 * n);
}
LOGGED static void moves(int n) {
  around(n);
  volatile char *const p = static_cast<volatile char *>(__builtin_alloca(size_t(n)));
  p[0] = 2;
  around(n);
  jumpsAt(n > 0 ? 1 : 0);
}
QUIET static int inlines() {
  for (volatile int i = 0; i < 100; i = i + 1)
    if (!setjmp(out)) moves(64 + 16 * i);
  tick();
  return 0;
}

// More open calls than there is memory for.
QUIET static int deep(long depth) {
  static char functions[8];
  for (long i = 0; i < depth; i++) logrec_enter(functions + i % 2);
  for (long i = depth; i-- > 0;) logrec_leave(functions + i % 2);
  tick();
  return 0;
}
// The same around them a call that LOGREC_INSIDE names.
LOGGED static int deepInside(long depth) { return deep(depth) + (sum < 0); }

template <class F>
QUIET static void tell(const char *name, F *f) {
  printf("%s %llu\n", name, static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(f)));
}

QUIET int main(int argc, char **argv) {
  const char *const c = argc > 1 ? argv[1] : "";
  const long n = argc > 2 ? strtol(argv[2], nullptr, 10) : 0;
  tell("leaf", leaf);
  tell("tick", tick);
  tell("wideTick", wideTick);
  tell("jumpsAt", jumpsAt);
  tell("throwsAt", throwsAt);
  tell("handled", handled);
  tell("handler", handler);
  tell("raises", raises);
  tell("becomes", becomes);
  tell("forks", forks);
  tell("round", round);
  tell("moves", moves);
  fflush(stdout);
  byHand = strstr(c, "-by-hand") != nullptr;
  if (!strncmp(c, "turns", 5)) return takeTurns();
  if (!strncmp(c, "wanders", 7)) return wanders();
  if (!strncmp(c, "forks", 5)) return forksInside();
  if (!strcmp(c, "jumps")) return jumps(n);
  if (!strcmp(c, "throws")) return throws(n);
  if (!strcmp(c, "handlers")) return handlers();
  if (!strcmp(c, "vforks")) return vforks();
  if (!strcmp(c, "inlines")) return inlines();
  if (!strcmp(c, "deep")) return deep(n);
  if (!strcmp(c, "deep-inside")) return deepInside(n);
  return 2;
}
