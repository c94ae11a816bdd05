// values_subject.cpp: what values_test records with a plan, values.plan, that names its functions.
//
//	values_subject kinds [N]          each way to take a value once, or N times
//	values_subject pointers N SEED    N calls with pointers to anything
//	values_subject threads N          4 threads, N calls each
//	values_subject short N            N calls of which each has a value
//	values_subject endless            calls until it is killed
//	values_subject sandbox            kinds, behind a filter that kills who calls process_vm_readv
//	values_subject masks N            and masked-handler, waiting, unseen-masks, unblocking-handler, own-handler: N calls in
//	                                  threads and handlers with masks of all kinds
//	values_subject fork               a call in the parent, one in the child
//	values_subject signals N          N calls with all signals blocked
//
// Built with -pg -mfentry -minstrument-return=call; functions of the plan have C names.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#if defined(__clang__)
#define KEPT __attribute__((noinline, optnone))
#else
#define KEPT __attribute__((noipa))
#endif
#define HIDDEN __attribute__((no_instrument_function))

struct LongDouble { int64_t l; double d; };
struct Big { int64_t a, b, c; };
struct Two { int64_t a; short b; };
struct Three { char a[3]; };
struct View { size_t size; const char *data; }; // as libstdc++ has a view

static __thread volatile int sink;

extern "C" {

KEPT int vs_sum(int a, int b) { return a + b; }
KEPT bool vs_small(bool a, char b, short c) { return a && b && c; }
KEPT double vs_floats(float a, double b) { return double(a) + b; }
KEPT long vs_six(int a, long b, short c, int d, char e, long f) { return a + b + c + d + e + f; }
KEPT bool vs_odd(bool a, long b) { return a && b; }
KEPT Two vs_two(long a, short b) { return {a + 1, short(b - 1)}; }
KEPT Three vs_three(Three a) { return {{a.a[2], a.a[1], a.a[0]}}; }
KEPT void vs_nothing(char a) { sink = a; }
KEPT float vs_mixed(int a, double b, long c, float d) { return float(a + b + double(c) + d); }
KEPT long vs_stack(long a, long b, long c, long d, long e, long f, long g, short h) { return g - h + (a + b + c + d + e + f) * 0; }
KEPT LongDouble vs_pair(LongDouble s) { return {s.l + 1, s.d * 2}; }
KEPT int64_t vs_big(Big s) { return s.a + s.c; }
KEPT long double vs_extended(int n) { return (long double)n / 3; }
KEPT Big vs_hidden(int n) { return {n, 2 * n, 3 * n}; }
KEPT const char *vs_text(const char *s, const char *t) { sink = t != nullptr; return s ? s + 1 : nullptr; }
KEPT int vs_string(const std::string &s, std::string t) { return int(s.size() + t.size()); }
KEPT size_t vs_view(View v, const View &w) { return v.size + w.size; }
KEPT int vs_memory(const int *p) { sink = p != nullptr; return 1; }
int logrec_switch(int on);
/* It returns without being open in the log. */
KEPT int vs_switches_on(int n) {
  logrec_switch(1);
  for (int i = 0; i < 5; i++) n += vs_sum(i, 1);
  return n;
}
KEPT int vs_tail(int n) { return vs_sum(n, 1); }
KEPT int vs_many(const char *a, const char *b, const char *c, int n) { sink = a && b && c; return n; }
KEPT int vs_out(int n, char *text, Big *big, std::string &string, long, long, long *far) {
  if (n) {
    char inner[16] = "";
    Big own = {7, 7, 7};
    std::string name;
    long there = 0;
    vs_out(n - 1, inner, &own, name, 0, 0, &there);
  }
  strcpy(text, n ? "outer" : "inner");
  if (big) *big = {n, 10 + n, 100 + n};
  string = n ? "a text that is not short" : "short";
  *far = -n;
  return n;
}
KEPT int vs_not_planned(int n) { return n + sink; }
KEPT unsigned vs_any(const char *text, const Big *memory, const std::string *string, const View *view) {
  // It must not look at them.
  return unsigned(uintptr_t(text) ^ uintptr_t(memory) ^ uintptr_t(string) ^ uintptr_t(view));
}
}

HIDDEN static void kinds() {
  const std::string within = "in place", beyond = "a text that is too long for the string itself";
  char unended[4];
  memcpy(unended, "abcd", 4);
  static char longer[3000];
  memset(longer, 'l', sizeof longer - 1);
  vs_sum(3, -4);
  vs_small(true, 'c', -2);
  vs_floats(1.5f, 2.25);
  vs_six(-1, 1l << 40, -3, 4, 'e', -6);
  vs_odd(true, -7);
  vs_two(-5, -6);
  vs_three({{'x', 'y', 'z'}});
  vs_nothing('n');
  vs_mixed(-1, 2.5, -3, 4.5f);
  vs_stack(1, 2, 3, 4, 5, 6, 7, -8);
  vs_pair({40, 1.25});
  vs_big({1, 2, 3});
  sink = int(vs_extended(1));
  vs_hidden(5);
  vs_text("plain", nullptr);
  vs_text("", longer);
  vs_string(within, beyond);
  vs_string(beyond, within);
  vs_view({4, "view of"}, {0, nullptr});
  const int numbers[4] = {10, 20, 30, 40};
  vs_memory(numbers);
  vs_memory(nullptr);
  vs_memory((const int *)8);
  vs_tail(9);
  vs_many(longer, longer, longer, 7);
  vs_not_planned(1);
  char text[16] = "before";
  std::string name = "before";
  long there = 5;
  vs_out(1, text, nullptr, name, 0, 0, &there);
}

// pages has a readable page before and behind one that is not.
HIDDEN static char *pages() {
  char *p = (char *)mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(p, 'p', 3 * 4096);
  mprotect(p + 4096, 4096, PROT_NONE);
  return p;
}

HIDDEN static uint64_t random64(uint64_t &s) {
  s ^= s << 13, s ^= s >> 7, s ^= s << 17;
  return s;
}

HIDDEN static unsigned pointers(long n, uint64_t s) {
  static const char *const edge = pages();
  const std::string text = "a string";
  unsigned sum = 0;
  for (long i = 0; i < n; i++) {
    const char *p[4];
    for (const char *&q : p) {
      const uint64_t r = random64(s);
      switch (r >> 61) {
        case 0: q = (const char *)(uintptr_t)r; break;                                  // anything
        case 1: q = (const char *)(uintptr_t)(r & 0x7fffffffffff); break;               // of a user
        case 2: q = (const char *)(uintptr_t)(r & 0xffff); break;                       // small
        case 3: q = edge + (r & 0x3fff) % (3 * 4096); break;                            // about the hole
        case 4: q = (const char *)&s - (r & 0xfffff); break;                            // on the stack, and beyond its end
        case 5: q = (const char *)(uintptr_t)pointers + (r & 0xffffff) - 0x800000; break; // in the program, and around it
        case 6: q = (const char *)(uintptr_t)-(int64_t)(r & 0xffff); break;             // the highest ones
        default: q = (r & 1) ? (const char *)&text : nullptr;
      }
    }
    // What it returns differs from run to run.
    vs_any(p[0], (const Big *)p[1], (const std::string *)p[2], (const View *)p[3]);
    sum += unsigned(i) * 7 + unsigned(vs_sum(int(i & 0xffff), 1));
  }
  return sum;
}

/* ---- with signals in all ways ---- */

struct Job {
  int kind;
  long n;
  unsigned sum;
};

HIDDEN static void block(int how, bool faults) {
  sigset_t set;
  sigfillset(&set);
  if (!faults) sigdelset(&set, SIGSEGV), sigdelset(&set, SIGBUS);
  pthread_sigmask(how, &set, nullptr);
}

HIDDEN static void *job(void *p) {
  Job &j = *(Job *)p;
  const long part = j.n / 16 + 1;
  for (volatile int i = 0; i < 16; i++) {
    static __thread sigjmp_buf back;
    switch (j.kind) {
      case 0: block(SIG_UNBLOCK, true); break;
      case 1: block(SIG_SETMASK, true); break;
      case 2: block(i % 2 ? SIG_UNBLOCK : SIG_BLOCK, true); break;
      case 4: break;
      default:
        /* A jump brings the mask back that was kept. */
        block(SIG_SETMASK, i % 2 == 0);
        if (sigsetjmp(back, 1) == 0) {
          block(SIG_SETMASK, i % 2 != 0);
          j.sum += pointers(part / 2, uint64_t(j.kind) * 99 + 2 * uint64_t(i) + 1);
          siglongjmp(back, 1);
        }
    }
    j.sum += pointers(part, uint64_t(j.kind) * 77 + 2 * uint64_t(i) + 1);
  }
  return nullptr;
}

HIDDEN static unsigned masks(long n) {
  Job jobs[8];
  pthread_t t[8];
  unsigned sum = 0;
  // Threads that come after others have all blocked from the beginning.
  for (int round = 0; round < 2; round++) {
    if (round) block(SIG_SETMASK, true);
    for (int i = 0; i < 8; i++) {
      jobs[i] = {round && i < 6 ? 4 : i % 4, n / 16, 0};
      pthread_create(&t[i], nullptr, job, &jobs[i]);
    }
    for (int i = 0; i < 8; i++) {
      pthread_join(t[i], nullptr);
      sum += jobs[i].sum;
    }
  }
  return sum;
}

static volatile int handled;
HIDDEN static void in_handler(int) {
  pointers(3, uint64_t(handled) | 1);
  handled = handled + 1;
}

/* A handler while which all is blocked; one that waits with all blocked but its own signal. */
HIDDEN static unsigned handlers(long n, bool masked) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = in_handler;
  if (masked) sigfillset(&a.sa_mask);
  sigaction(SIGUSR1, &a, nullptr);
  unsigned sum = pointers(n, 5);
  sigset_t all, waiting;
  sigfillset(&all);
  waiting = all;
  sigdelset(&waiting, SIGUSR1);
  for (long i = 0; i < n / 100; i++) {
    sum += pointers(2, uint64_t(i) | 1);
    if (masked) {
      raise(SIGUSR1);
      continue;
    }
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, nullptr);
    sum += pointers(1, uint64_t(i) | 1);
    raise(SIGUSR1);
    const timespec none = {0, 0};
    if (i % 3 == 0) pselect(0, nullptr, nullptr, nullptr, &none, &waiting);
    else if (i % 3 == 1) ppoll(nullptr, 0, &none, &waiting);
    else sigsuspend(&waiting);
    sigprocmask(SIG_UNBLOCK, &usr1, nullptr);
  }
  return sum + unsigned(handled);
}

extern "C" int __ppoll_chk(pollfd *, nfds_t, const timespec *, const sigset_t *, size_t);
extern "C" int epoll_pwait2(int, epoll_event *, int, const timespec *, const sigset_t *) __attribute__((weak));

/* A handler that lets all signals through; when it returns they are blocked as before. */
HIDDEN static void unblocking(int) {
  block(SIG_UNBLOCK, true);
  pointers(3, uint64_t(handled) | 1);
  handled = handled + 1;
}

/* The ways by which a thread's mask changes that are seldom used; after each, pointers lead to nothing with all blocked. */
HIDDEN static unsigned unseen_masks(long n, bool unblocks) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = unblocks ? unblocking : in_handler;
  sigaction(SIGUSR1, &a, nullptr);
  sigset_t all, waiting;
  sigfillset(&all);
  waiting = all;
  sigdelset(&waiting, SIGUSR1);
  // While they wait nothing else is blocked.
  if (!unblocks) sigdelset(&waiting, SIGSEGV), sigdelset(&waiting, SIGBUS);
  const int fd = epoll_create1(0);
  epoll_event event;
  pollfd none_to_poll;
  unsigned sum = 0, most = unblocks ? 4 : 8;
  unsigned long bits = 0;
  memcpy(&bits, &waiting, sizeof bits);
  const struct {
    const void *set;
    size_t size;
  } sixth = {&bits, 8};
  for (long i = 0; i < n / 100; i++) {
    const timespec none = {0, 0}, soon = {0, 1000000};
    timespec left = none;
    block(SIG_SETMASK, true);
    raise(SIGUSR1);
    const int before = handled;
    switch (unsigned(i) % most) {
      case 0: __ppoll_chk(&none_to_poll, 0, &none, &waiting, sizeof none_to_poll); break;
      case 1:
        if (epoll_pwait2) epoll_pwait2(fd, &event, 1, &soon, &waiting);
        break;
      case 2: syscall(SYS_ppoll, nullptr, 0, &left, &bits, 8); break;
      case 3: syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, &left, &sixth); break;
      case 4: syscall(SYS_epoll_pwait, fd, &event, 1, 1, &bits, 8); break;
      case 5: syscall(SYS_rt_sigsuspend, &bits, 8); break;
      default: {
        const unsigned long open = 0, closed = ~0ul;
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &open, nullptr, 8);
        sum += pointers(3, uint64_t(i) | 1);
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &closed, nullptr, 8);
      }
    }
    if (handled == before) {
      sigset_t usr1;
      sigemptyset(&usr1);
      sigaddset(&usr1, SIGUSR1);
      sigwaitinfo(&usr1, nullptr);
    }
    sum += pointers(20, 2 * uint64_t(i) + 1);
  }
  close(fd);
  return sum + unsigned(handled != 0);
}

static sigjmp_buf fault;
HIDDEN static void on_fault(int, siginfo_t *info, void *) {
  handled = handled + ((uintptr_t)info->si_addr == 8 ? 1 : 1000);
  siglongjmp(fault, 1);
}

/* Handlers of the program's own, which see its own faults and no others. */
HIDDEN static unsigned own_handler(long n) {
  unsigned sum = pointers(n / 2, 3);
  struct sigaction a, old;
  memset(&a, 0, sizeof a);
  a.sa_sigaction = on_fault;
  a.sa_flags = SA_SIGINFO;
  for (int i = 0; i < 4; i++) {
    sigaction(i % 2 ? SIGBUS : SIGSEGV, &a, &old);
    static volatile uintptr_t eight = 8;
    if (i % 2 == 0 && sigsetjmp(fault, 1) == 0) *(volatile int *)eight = 1;
    sum += pointers(n / 8, 2 * uint64_t(i) + 1);
    sigaction(i % 2 ? SIGBUS : SIGSEGV, &old, nullptr);
    sum += pointers(n / 8, 4 * uint64_t(i) + 1);
  }
  return sum + unsigned(handled);
}

HIDDEN static void *thread(void *p) {
  for (long i = 0, n = (long)(intptr_t)p; i < n; i++) vs_sum(int(i), int(i) + 1), vs_text("of a thread", nullptr);
  return nullptr;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "kinds";
  const long n = argc > 2 ? atol(argv[2]) : 1;
  if (strcmp(what, "pointers") == 0) {
    printf("%u\n", pointers(n, argc > 3 ? strtoull(argv[3], nullptr, 10) | 1 : 1));
  } else if (strcmp(what, "masks") == 0) {
    printf("%u\n", masks(n));
  } else if (strcmp(what, "masked-handler") == 0 || strcmp(what, "waiting") == 0) {
    printf("%u\n", handlers(n, what[0] == 'm'));
  } else if (strcmp(what, "unseen-masks") == 0 || strcmp(what, "unblocking-handler") == 0) {
    printf("%u\n", unseen_masks(n, what[2] == 'b'));
  } else if (strcmp(what, "own-handler") == 0) {
    printf("%u\n", own_handler(n));
  } else if (strcmp(what, "switched") == 0) {
    printf("%d\n", vs_switches_on(4));
  } else if (strcmp(what, "threads") == 0) {
    pthread_t t[4];
    for (pthread_t &x : t) pthread_create(&x, nullptr, thread, (void *)(intptr_t)n);
    for (pthread_t &x : t) pthread_join(x, nullptr);
  } else if (strcmp(what, "short") == 0) {
    for (long i = 0; i < n; i++) vs_sum(int(i), 1);
    usleep(1000);
  } else if (strcmp(what, "endless") == 0) {
    puts("ready");
    fflush(stdout);
    for (int i = 0;; i++) vs_sum(i, i + 1), vs_text("until it is killed", nullptr);
  } else if (strcmp(what, "sandbox") == 0) {
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter = {sizeof code / sizeof *code, code};
    vs_text("before", nullptr);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) return 77;
    kinds();
  } else if (strcmp(what, "fork") == 0) {
    vs_sum(1, 2);
    if (fork() == 0) {
      vs_sum(3, 4);
      exit(0);
    }
    int status;
    wait(&status);
  } else if (strcmp(what, "signals") == 0) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    printf("%u\n", pointers(n, 7));
  } else {
    for (long i = 0; i < n; i++) kinds();
  }
  return 0;
}
