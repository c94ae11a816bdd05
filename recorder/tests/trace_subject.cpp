// trace_subject.cpp: the program that trace_test.cpp runs and whose trace it
// reads. It is built with -finstrument-functions, or with -pg -mfentry.
// trace_subject CASE [ARGUMENT...]; standard output has lines "name value" for
// the test, exit 0 says that all was right from inside.

#include "logrec.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))
#define LOGGED __attribute__((noinline))

// What the program itself has counted, in a mapping of its own.
struct Counts {
  volatile uint64_t enters, leaves, handled;
};
static Counts *counts;
static Counts nowhere;

QUIET static void mapCounts(const char *path) {
  counts = &nowhere;
  if (!path) return;
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || ftruncate(fd, 4096 * 64) < 0) _exit(97);
  counts = static_cast<Counts *>(mmap(nullptr, 4096 * 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  close(fd);
}

#if defined(LEAF_IN_LIBRARY) /* trace_leaf.cpp */
extern "C" int leaf(int x);
#else
LOGGED static int leaf(int x) {
  __asm__ volatile("" ::: "memory");
  return x + 1;
}
#endif
LOGGED static int branch(int n) {
  int last = 0;
  for (int i = 0; i < n; i++) last = leaf(i);
  return last;
}
LOGGED static int deep(int n) { return n == 0 ? leaf(0) : deep(n - 1) + 1; }

QUIET static void tell(const char *name, uint64_t value) {
  char line[128];
  const int n = snprintf(line, sizeof line, "%s %llu\n", name, (unsigned long long)value);
  if (write(1, line, size_t(n)) != n) _exit(96);
}
template <class F>
QUIET static void tellFunction(const char *name, F *f) {
  tell(name, uint64_t(reinterpret_cast<uintptr_t>(f)));
}

LOGGED static void inConstructor() { __asm__ volatile(""); }
LOGGED static void inDestructor() { __asm__ volatile(""); }
struct Static {
  QUIET Static() {
    if (getenv("SUBJECT_STATIC")) inConstructor();
  }
  QUIET ~Static() {
    if (getenv("SUBJECT_STATIC")) inDestructor();
  }
};
static Static object;

struct Loop {
  Counts *counts;
  long calls;
  int death;
};

QUIET static void *loop(void *p) {
  const Loop *l = static_cast<Loop *>(p);
  Counts *c = l->counts;
  for (long i = 0; l->calls < 0 || i < l->calls; i++) {
    leaf(1);
    c->leaves = c->leaves + 1;
    if (i == l->death) break;
  }
  return nullptr;
}

// Calls until it is killed, or ends itself at a random call.
QUIET static int die(const char *how, long at, int threads) {
  static Loop loops[8];
  pthread_t t;
  for (int i = 1; i < threads; i++) {
    loops[i] = Loop{reinterpret_cast<Counts *>(reinterpret_cast<char *>(counts) + 4096 * i), -1, -1};
    pthread_create(&t, nullptr, loop, &loops[i]);
  }
  Loop mine = {counts, how[0] == 'k' ? -1 : at, -1};
  loop(&mine);
  switch (how[0]) {
    case 's': {
      volatile uintptr_t bad = 8;
      *reinterpret_cast<volatile int *>(bad) = 1;
      break;
    }
    case 'a': abort();
    case '_': _exit(3);
  }
  return 0;
}

static jmp_buf jump;
LOGGED static void thirdJumps(int n) {
  if (n == 0) longjmp(jump, 1);
  if (n > 0) thirdJumps(n - 1);
  leaf(n);
}
LOGGED static int jumps() {
  if (setjmp(jump) == 0) thirdJumps(2);
  return leaf(7);
}

LOGGED static int throws(int x) {
  if (x) throw x;
  return leaf(x);
}
LOGGED static int passes(int x) { return throws(x) + 1; }
LOGGED static int catches(int x) {
  try {
    return passes(x);
  } catch (int v) {
    return leaf(v);
  }
}

LOGGED static void handler(int) { counts->handled = counts->handled + 1; }

QUIET static int signals(long calls) {
  struct sigaction a = {};
  a.sa_handler = handler;
  sigaction(SIGALRM, &a, nullptr);
  const itimerval every = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &every, nullptr);
  for (long i = 0; i < calls; i++) leaf(1);
  setitimer(ITIMER_REAL, &never, nullptr);
  return 0;
}

static sigjmp_buf outOfHandler;
static volatile sig_atomic_t mayJump;
LOGGED static void jumpingHandler(int) {
  counts->handled = counts->handled + 1;
  if (mayJump) siglongjmp(outOfHandler, 1);
}
// Handlers that leave by longjmp, out of the recorder too.
QUIET static int signalJumps(int times) {
  struct sigaction a = {};
  a.sa_handler = jumpingHandler;
  sigaction(SIGALRM, &a, nullptr);
  static volatile int done;
  const itimerval once = {{0, 0}, {0, 200}};
  while (done < times) {
    if (sigsetjmp(outOfHandler, 1) == 0) {
      mayJump = 1;
      setitimer(ITIMER_REAL, &once, nullptr);
      for (;;) deep(3);
    }
    mayJump = 0;
    done = done + 1;
  }
  for (int i = 0; i < 1000; i++) leaf(1);
  return 0;
}

struct Worker {
  int calls;
  volatile bool named;
};
QUIET static void *leaves(void *p) {
  Worker *w = static_cast<Worker *>(p);
  branch(w->calls / 2);
  // Its name comes from outside, while it records.
  while (!__atomic_load_n(&w->named, __ATOMIC_ACQUIRE)) usleep(200);
  branch(w->calls - w->calls / 2);
  return nullptr;
}
QUIET static int threads(int number, int calls, int rounds) {
  for (int r = 0; r < rounds; r++) {
    pthread_t t[32];
    Worker w[32];
    for (int i = 0; i < number; i++) {
      w[i].calls = calls;
      w[i].named = false;
      pthread_create(&t[i], nullptr, leaves, &w[i]);
      if (r == 0 && i == 0) pthread_setname_np(t[i], "worker");
      __atomic_store_n(&w[i].named, true, __ATOMIC_RELEASE);
    }
    for (int i = 0; i < number; i++) pthread_join(t[i], nullptr);
  }
  return 0;
}

static int step;
QUIET static void reach(int s) { __atomic_store_n(&step, s, __ATOMIC_RELEASE); }
QUIET static void await(int s) {
  while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < s) usleep(200);
}
// Functions that the recorder must look up, for many threads at once.
template <int N>
LOGGED static void many() {
  __asm__ volatile("" ::"r"(N));
}
enum { MANY = 256 };
static void (*manys[MANY])();
template <int N>
struct Fill {
  QUIET static void fill() {
    manys[N] = many<N>;
    Fill<N - 1>::fill();
  }
};
template <>
struct Fill<-1> {
  QUIET static void fill() {}
};
static int manyReady, manyDone, manyRounds;
QUIET static void *callsMany(void *p) {
  const long me = reinterpret_cast<long>(p);
  leaf(1);
  __atomic_fetch_add(&manyReady, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&manyReady, __ATOMIC_ACQUIRE) < 8) {}
  for (int r = 0; r < manyRounds; r++)
    for (int i = 0; i < MANY; i++) manys[(i + me * 3) % MANY]();
  __atomic_fetch_add(&manyDone, 1, __ATOMIC_ACQ_REL);
  return nullptr;
}
// With a library, what was looked up is forgotten meanwhile, again and again.
QUIET static int manyThreads(int rounds, const char *library) {
  Fill<MANY - 1>::fill();
  for (int i = 0; i < MANY; i++) {
    char name[16];
    snprintf(name, sizeof name, "many%d", i);
    tellFunction(name, manys[i]);
  }
  manyRounds = rounds;
  pthread_t t[8];
  for (long i = 0; i < 8; i++) pthread_create(&t[i], nullptr, callsMany, reinterpret_cast<void *>(i));
  while (library && __atomic_load_n(&manyDone, __ATOMIC_ACQUIRE) < 8) {
    if (void *h = dlopen(library, RTLD_NOW | RTLD_LOCAL)) dlclose(h);
    else return 9;
  }
  for (int i = 0; i < 8; i++) pthread_join(t[i], nullptr);
  return 0;
}

// The program's file goes when the recorder has looked up a function of it, and
// so does the folder that a library was found in. After half of the other
// functions another library comes and goes.
QUIET static int manyOfGoneFile(const char *self, const char *folder, const char *library) {
  Fill<MANY - 1>::fill();
  leaf(1);
  if (chdir(folder) != 0 || !dlopen("./libA.so", RTLD_NOW | RTLD_LOCAL)) return 7;
  if (chdir("/") != 0 || unlink(self) != 0) return 8;
  for (int i = 0; i < MANY; i++) {
    manys[i]();
    if (i != MANY / 2) continue;
    if (void *h = dlopen(library, RTLD_NOW | RTLD_LOCAL)) dlclose(h);
    else return 9;
  }
  leaf(1);
  return 0;
}

QUIET static int plugin(const char *name, const char *path) {
  void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!h) {
    fprintf(stderr, "%s\n", dlerror());
    return 9;
  }
  typedef int (*Function)(int);
  Function f = reinterpret_cast<Function>(dlsym(h, name));
  if (!f) return 8;
  tellFunction(name, f);
  f(1);
  f(2);
  dlclose(h);
  return 0;
}

// A thread records with its cancellation pending, and ends where it says so.
QUIET static void *cancelledLater(void *calls) {
  leaf(1);
  reach(1);
  while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < 2) {}
  for (long i = 0; i < reinterpret_cast<long>(calls); i++) leaf(2);
  reach(3);
  for (;;) pthread_testcancel();
}
QUIET static int cancels(long calls) {
  pthread_t t;
  void *result = nullptr;
  pthread_create(&t, nullptr, cancelledLater, reinterpret_cast<void *>(calls));
  await(1);
  pthread_cancel(t);
  reach(2);
  pthread_join(t, &result);
  for (long i = 0; i < calls; i++) leaf(3);
  return result == PTHREAD_CANCELED && step == 3 ? 0 : 9;
}

// A function of the C library's of the program's own: the recorder calls none of these.
static volatile sig_atomic_t looks;
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* They ask, too. */
typedef int (*Iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
extern "C" __attribute__((visibility("default"))) QUIET int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *),
                                                                            void *p) {
  static Iterate next;
  if (!next) next = reinterpret_cast<Iterate>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  looks = looks + 1;
  return next(each, p);
}
#endif
QUIET static void fillingHandler(int) {
  for (int i = 0; i < 100000; i++) leaf(1);
}
// Handlers that need new chunks.
QUIET static int fillsInHandlers() {
  leaf(1);
  static char room[1 << 16];
  stack_t own = {};
  own.ss_sp = room;
  own.ss_size = sizeof room;
  sigaltstack(&own, nullptr);
  struct sigaction a = {};
  a.sa_handler = fillingHandler;
  sigaction(SIGUSR1, &a, nullptr);
  a.sa_flags = SA_NODEFER | SA_ONSTACK;
  sigaction(SIGUSR2, &a, nullptr);
  raise(SIGUSR1);
  raise(SIGUSR2);
  for (int i = 0; i < 1000000; i++) leaf(1);
  return looks;
}

// Recording stops in a handler that has little more stack than its frame takes.
QUIET static void stoppingHandler(int) {
  for (int i = 0; i < 300000; i++) leaf(1);
}
QUIET static int smallStack() {
  enum { GUARD = 65536, ROOM = 7000 };
  const size_t frame = getauxval(51 /* AT_MINSIGSTKSZ */);
  char *const p = static_cast<char *>(mmap(nullptr, GUARD + (1 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (p == MAP_FAILED || mprotect(p, GUARD, PROT_NONE) != 0) return 9;
  stack_t own = {};
  own.ss_sp = p + GUARD;
  own.ss_size = (frame ? frame : 2048) + ROOM;
  if (sigaltstack(&own, nullptr) != 0) return 9;
  struct sigaction a = {};
  a.sa_handler = stoppingHandler;
  a.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &a, nullptr);
  leaf(1);
  const rlimit l = {100000, 100000};
  setrlimit(RLIMIT_FSIZE, &l);
  raise(SIGUSR1);
  return 0;
}

// The limit on file sizes comes down while the program records; file: one of the
// program's own takes the place of standard error before that.
QUIET static int lowersLimit(const char *how) {
  const bool file = !strcmp(how, "file");
  leaf(1);
  for (int i = 0; i < 300000 && !strcmp(how, "ring"); i++) leaf(1);
  if (file) {
    close(2);
    if (open("data.db", O_RDWR | O_CREAT, 0666) != 2 || write(2, "HEADER", 6) != 6) return 9;
  }
  const rlimit l = {100000, 100000};
  setrlimit(RLIMIT_FSIZE, &l);
  for (int i = 0; i < 300000; i++) leaf(1);
  if (logrec_snapshot(nullptr)) return 8;
  tell("survived", 1);
  return file && write(2, "FOOTER", 6) != 6;
}

// What daemons do, and without the rights to open the file by its mapping.
QUIET static int becomesDaemon(int calls) {
  leaf(1);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0 || chdir("/") != 0) return 9;
  for (int fd = 3; fd < 1024; fd++) close(fd);
  branch(calls);
  return logrec_path()[0] == '/' ? 0 : 8;
}

QUIET static int allocates() {
  leaf(1);
  void *const p = malloc(600u << 20);
  free(p);
  return p ? 0 : 9;
}

QUIET static int loadsInTurn(char **paths) {
  // The second takes the place of the first.
  branch(2);
  int bad = 0;
  for (int i = 0; i < 3 && !bad; i++) bad = plugin("pluginA", paths[0]) || plugin("pluginB", paths[1]);
  return bad;
}

// Every slow way, and neither errno nor the signal mask changes.
QUIET static int keepsState() {
  sigset_t before, after;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (int i = 0; i < 200000; i++) {
    errno = 77;
    leaf(i);
    if (errno != 77) return 4;
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int s = 1; s < 32; s++)
    if (sigismember(&after, s) != (s == SIGUSR1)) return 6;
  return 0;
}

QUIET static int annotates() {
  leaf(1);
  LOGREC_MARK("first mark");
  logrec_counter_i64("queue", -5);
  logrec_counter_f64("load", 0.5);
  logrec_thread_name("main of the test");
  char longer[1500];
  memset(longer, 'x', sizeof longer);
  for (int i = 0; i < 20; i++) logrec_mark(longer, sizeof longer);
  leaf(2);
  return 0;
}

// Calls of many microseconds among short ones.
QUIET static int callsShort() {
  for (int i = 0; i < 100; i++) {
    branch(10);
    if (i % 10 == 0) deep(20000);
  }
  return 0;
}

// Rounds of calls, and a snapshot by a signal and by the program itself, if there is a number of one.
QUIET static int fillsRing(long rounds, int signal) {
  for (int i = 0; i < rounds; i++) branch(1000);
  if (signal) {
    raise(signal);
    if (!logrec_snapshot(nullptr)) return 3;
    branch(3);
  }
  return 0;
}

QUIET static int callsUntilFull(long calls) {
  for (long i = 0; i < calls; i++) leaf(1);
  tell("survived", 1);
  return 0;
}

QUIET static int closesDescriptors() {
  branch(3);
  for (int fd = 3; fd < 1024; fd++) close(fd);
  if (open("/dev/null", O_RDONLY) != 3) return 3;
  branch(3000000);
  return 0;
}

#include "trace_fork_subject.h"
#include "trace_process_subject.h"
#include "trace_switch_subject.h"

QUIET static int run(int argc, char **argv) {
  const char *c = argv[1];
  const auto is = [c](const char *s) QUIET { return strcmp(c, s) == 0; };
  const auto arg = [argc, argv](int i) QUIET { return i < argc ? atol(argv[i]) : 0; };
  mapCounts(getenv("SUBJECT_COUNTS"));
  if (is("quiet")) return 0;
#if defined(LEAF_IN_LIBRARY)
  // A slot that its address is taken from would not be for calls alone.
  tell("leaf", uint64_t(reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "leaf"))));
#else
  tellFunction("leaf", leaf);
#endif
  tellFunction("branch", branch);
  tellFunction("deep", deep);
  tellFunction("handler", handler);
  tellFunction("jumping", jumpingHandler);
  tellFunction("jumps", jumps);
  tellFunction("third", thirdJumps);
  tellFunction("throws", throws);
  tellFunction("passes", passes);
  tellFunction("catches", catches);
  tellFunction("constructor", inConstructor);
  tellFunction("destructor", inDestructor);
  int code = processCase(argc, argv);
  if (code < 0) code = forkCase(argc, argv);
  if (code < 0) code = switchCase(argv);
  if (code >= 0) return code;
  if (is("calls")) return branch(int(arg(2))) < 0;
  if (is("die")) return die(argv[2], arg(3), int(arg(4)));
  if (is("deep")) return deep(int(arg(2))) < 0;
  if (is("jumps")) return jumps() != 8;
  if (is("catches")) return catches(5) != 6;
  if (is("signals")) return signals(arg(2));
  if (is("signaljumps")) return signalJumps(int(arg(2)));
  if (is("threads")) return threads(int(arg(2)), int(arg(3)), int(arg(4)));
  if (is("many")) return manyThreads(int(arg(2)), argc > 3 ? argv[3] : nullptr);
  if (is("gonefile")) return manyOfGoneFile(argv[0], argv[2], argv[3]);
  if (is("cancel")) return cancels(arg(2));
  if (is("handlers")) return fillsInHandlers();
  if (is("smallstack")) return smallStack();
  if (is("limit")) return lowersLimit(argc > 2 ? argv[2] : "");
  if (is("daemon")) return becomesDaemon(int(arg(2)));
  if (is("memory")) return allocates();
  if (is("plugins")) return loadsInTurn(argv + 2);
  if (is("state")) return keepsState();
  if (is("marks")) return annotates();
  if (is("short")) return callsShort();
  if (is("ring")) return fillsRing(arg(2), int(arg(3)));
  if (is("until-full")) return callsUntilFull(arg(2));
  if (is("descriptors")) return closesDescriptors();
  return 2;
}

QUIET int main(int argc, char **argv) { return argc < 2 ? 2 : run(argc, argv); }
