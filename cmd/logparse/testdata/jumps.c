/* jumps.c: functions that end by a jump to another one, at -O2. Each call is printed as it is to be shown, with the result that its
 * caller got. Lines that begin with "? " are of calls whose result cannot be known.
 *
 * Those come about by jumps that lead nowhere, and by stepping through the program up to a jump: there a signal handler calls the same
 * function, leaves by siglongjmp, or switches recording off. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noipa))
#define UNSEEN __attribute__((noipa, no_instrument_function))


struct pair {
  long a, b;
};
struct large {
  int n[8];
};
typedef int (*function)(int);

static int next; /* no two calls have the same argument */

APART int target(int n) { return 3 * n + 1; }
APART int once(int n) { return target(n + 100000); }
APART int twice(int n) { return once(n + 10000); }
APART int thrice(int n) { return twice(n + 1000); }
APART int through(function f, int n) { return f(n + 1000); }
APART short narrow_target(int n) { return (short)(n + 1); }
APART short narrow(int n) { return narrow_target(n + 1000); }
APART long wide_target(int n) { return ((long)n << 32) + 7; }
APART int low(int n) { return (int)wide_target(n + 1000); }
APART long wide(int n) { return wide_target(n + 2000); }
APART _Bool odd_target(int n) { return n & 1; }
APART _Bool odd(int n) { return odd_target(n + 1000); }
APART double half_target(int n) { return n / 2.0; }
APART double half(int n) { return half_target(n + 1000); }
APART float quarter_target(int n) { return (float)n / 4; }
APART float quarter(int n) { return quarter_target(n + 1000); }
APART long double long_target(int n) { return n + 0.5L; }
APART long double long_half(int n) { return long_target(n + 1000); }
APART struct pair pair_target(int n) { return (struct pair){n, -n}; }
APART struct pair both(int n) { return pair_target(n + 1000); }
APART struct large large_target(int n) {
  struct large l = {{n}};
  return l;
}
APART struct large larger(int n) { return large_target(n + 1000); }
APART void nothing_target(int n) { next += n & 0; }
APART void nothing(int n) { nothing_target(n + 1000); }
APART const char *word_target(int n) { return n & 1 ? "odd" : "even"; }
APART const char *word(int n) { return word_target(n + 1000); }
APART char *copied(char *to, const char *from) { return strcpy(to, from); }
APART size_t length(const char *s) { return strlen(s); }
APART long number(const char *s) { return strtol(s, NULL, 10); }
APART int number_low(const char *s) { return (int)strtol(s, NULL, 10); }
APART int unseen_end(int n);
UNSEEN int unseen(int n) { return 5 * n; }
APART int unseen_end(int n) { return unseen(n + 1000); }
APART int deep(int n, int depth) { return depth ? deep(n, depth - 1) + 1 : target(n + 100000); }
#define NOWHERE ((function)8)
function nowhere = NOWHERE;
APART int lost(int n) { return nowhere(n + 1000); }
APART int lost_through(function f, int n) { return f(n + 1000); }
/* Some hundred calls, each of which ends by a jump to the next. */
APART int pong(int n, int left);
APART int ping(int n, int left) { return left ? pong(n, left - 1) : target(n + 100000); }
APART int pong(int n, int left) { return left ? ping(n, left - 1) : target(n + 100000); }

/* All calls by pointers are made here: they have the same place on the stack and return to the same address. */
UNSEEN static int call(function f, int n) {
  const int result = f(n);
  __asm__ volatile("" ::: "memory"); /* so that it does not end by a jump */
  return result;
}

UNSEEN static void targets(int n) { printf("target(int n = %d) = %d\n", n, 3 * n + 1); }
UNSEEN static void once_of(int n) {
  printf("once(int n = %d) = %d\n", n, 3 * (n + 100000) + 1);
  targets(n + 100000);
}
UNSEEN static void twice_of(int n) {
  printf("twice(int n = %d) = %d\n", n, 3 * (n + 110000) + 1);
  once_of(n + 10000);
}

UNSEEN static void plain(void) {
  int n = ++next;
  printf("once(int n = %d) = %d\n", n, once(n));
  targets(n + 100000);
  n = ++next;
  printf("thrice(int n = %d) = %d\n", n, thrice(n));
  twice_of(n + 1000);
  n = ++next;
  printf("narrow(int n = %d) = %d\n", n, narrow(n));
  n = ++next;
  printf("low(int n = %d) = %d\n", n, low(n));
  n = ++next;
  printf("wide(int n = %d) = %ld\n", n, wide(n));
  for (int i = 0; i < 2; i++, next++) {
    n = ++next;
    printf("odd(int n = %d) = %s\n", n, odd(n) ? "true" : "false");
    n = ++next;
    printf("word(int n = %d) = \"%s\"\n", n, word(n));
  }
  n = 2 * (next++ / 2) + 1;
  printf("half(int n = %d) = %.1f\n", n, half(n));
  n = 4 * next++ + 2;
  printf("quarter(int n = %d) = %.1f\n", n, quarter(n));
  n = ++next;
  printf("long_half(int n = %d) = %.1Lf\n", n, long_half(n));
  n = ++next;
  const struct pair p = both(n);
  printf("both(int n = %d) = {a = %ld, b = %ld}\n", n, p.a, p.b);
  n = ++next;
  const struct large l = larger(n);
  printf("larger(int n = %d) = {n = [%d, 0, 0, 0, 0, 0, 0, 0]}\n", n, l.n[0]);
  n = ++next;
  nothing(n);
  printf("nothing(int n = %d)\n", n);
  n = ++next;
  printf("deep(int n = %d, int depth = 0) = %d\n", n, deep(n, 0));
  targets(n + 100000);
  n = ++next;
  const int ended = ping(n, 301);
  for (int i = 301; i >= 0; i--) printf("%s(int n = %d, int left = %d) = %d\n", i & 1 ? "ping" : "pong", n, i, ended);
  targets(n + 100000);
}

UNSEEN static void library(void) {
  char text[32], to[32] = "";
  snprintf(text, sizeof text, "%d", ++next);
  const char *const copy = copied(to, text);
  printf("copied(char* to = \"\", char const* from = \"%s\") = \"%s\"\n", text, copy);
  printf("length(char const* s = \"%s\") = %zu\n", text, length(text));
  printf("number(char const* s = \"%s\") = %ld\n", text, number(text));
  printf("number_low(char const* s = \"%s\") = %d\n", text, number_low(text));
}

/* A call that jumps to target, and one of target itself, in all orders. */
UNSEEN static void pointers(void) {
  static const function list[] = {once, target, once, once, target, target, twice, target, unseen_end, target, unseen_end, once, target};
  for (unsigned i = 0; i < sizeof list / sizeof *list; i++) {
    const int n = ++next, got = call(list[i], n);
    if (list[i] == once) once_of(n);
    if (list[i] == twice) twice_of(n);
    if (list[i] == target) targets(n);
    if (list[i] == unseen_end) printf("? unseen_end(int n = %d) = %d\n", n, got);
  }
}

/* ---- what comes between a jump and the function that it leads to ---- */

enum what { NOTHING, CALLS, LEAVES, SWITCHES, KINDS };
static volatile enum what what;
static volatile int acted;
static int (*record)(int on); /* logrec_switch */
static sigjmp_buf back;

UNSEEN static void trapped(int number, siginfo_t *info, void *context) {
  ucontext_t *const c = context;
  const unsigned char *const at = (const unsigned char *)c->uc_mcontext.gregs[REG_RIP];
  (void)number, (void)info;
  if (at - (const unsigned char *)once >= 64 || at < (const unsigned char *)once || (*at != 0xe9 && *at != 0xeb)) return;
  c->uc_mcontext.gregs[REG_EFL] &= ~0x100;
  acted = 1;
  if (what == CALLS) targets((target(next + 500000), next + 500000));
  if (what == LEAVES) siglongjmp(back, 1);
  if (what == SWITCHES) record(0);
}

UNSEEN static void step(void) { __asm__ volatile("pushfq\n\torq $0x100,(%%rsp)\n\tpopfq" ::: "cc", "memory"); }

UNSEEN static void between(void) {
  struct sigaction a = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &a, NULL);
  for (int w = NOTHING; w < KINDS; w++) {
    const int n = ++next, m = ++next;
    volatile int got = 0;
    what = w;
    acted = 0;
    if (!sigsetjmp(back, 1)) {
      step();
      got = call(once, n);
    }
    const int stepped = acted;
    if (w == SWITCHES) record(1);
    /* It has the same place, address and function as what the call before has jumped to. */
    call(target, m);
    if (!stepped) printf("not stepped\n");
    if (w == NOTHING) once_of(n);
    else printf("? once(int n = %d) = %d\n", n, got);
    if (w == CALLS) targets(n + 100000);
    targets(m);
  }
}

UNSEEN static void crashed(int number, siginfo_t *info, void *context) {
  const ucontext_t *const c = context;
  (void)number, (void)info;
  if (c->uc_mcontext.gregs[REG_RIP] != (greg_t)NOWHERE) _exit(3); /* not the jump, but somebody who looked where it leads */
  siglongjmp(back, 1);
}

/* Jumps that lead to where nothing is. */
UNSEEN static void astray(void) {
  struct sigaction a = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO}, before;
  sigaction(SIGSEGV, &a, &before);
  const int n = ++next;
  if (!sigsetjmp(back, 1)) call(lost, n);
  if (!sigsetjmp(back, 1)) lost_through(NOWHERE, n);
  call(target, n + 1000);
  sigaction(SIGSEGV, &before, NULL);
  printf("? lost(int n = %d) = 0\n", n);
  printf("? lost_through(function f = 0x8, int n = %d) = 0\n", n);
  targets(n + 1000);
}

UNSEEN static void *all(void *with_signals) {
  plain();
  library();
  pointers();
  astray();
  if (with_signals) between();
  return NULL;
}

static ucontext_t outside, inside;
UNSEEN static void coroutine(void) { all("signals"); }

int main(void) {
  static char stack[1 << 18];
  pthread_t thread;
  record = (int (*)(int))dlsym(RTLD_DEFAULT, "logrec_switch");
  if (!record) return 1;
  all("signals");
  pthread_create(&thread, NULL, all, NULL);
  pthread_join(thread, NULL);
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = sizeof stack;
  inside.uc_link = &outside;
  makecontext(&inside, coroutine, 0);
  swapcontext(&outside, &inside);
  return 0;
}
