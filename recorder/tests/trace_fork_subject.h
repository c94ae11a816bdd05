// trace_fork_subject.h: cases of trace_subject.cpp that fork. Included by it, behind its own helpers.

enum { CHILDREN = 100 };
static volatile sig_atomic_t isChild, born;
static pid_t children[CHILDREN];
QUIET static void forkingHandler(int) {
  if (isChild || born == CHILDREN) return;
  const pid_t pid = fork();
  if (pid == 0) isChild = 1;
  else children[born] = pid, born = born + 1;
}

// Handlers that interrupt hooks fork, and parent and child go on where the hook
// was.
QUIET static int forksInHandlers() {
  struct sigaction a = {};
  a.sa_handler = forkingHandler;
  sigaction(SIGALRM, &a, nullptr);
  const itimerval every = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &every, nullptr);
  while (born < CHILDREN && !isChild) leaf(1);
  if (isChild) {
    for (int i = 0; i < 1000; i++) leaf(2);
    _exit(0);
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  int bad = 0;
  for (int i = 0; i < born; i++) {
    int status = 0;
    waitpid(children[i], &status, 0);
    bad += status != 0;
  }
  return bad;
}

static bool loadingWaits, loadingWaited;
// The constructor of a library, called inside the loader.
extern "C" __attribute__((visibility("default"))) QUIET void subjectLoading() {
  if (!loadingWaits) return;
  reach(1);
  for (int i = 0; i < 25000 && __atomic_load_n(&step, __ATOMIC_ACQUIRE) < 2; i++) usleep(200);
  loadingWaited = __atomic_load_n(&step, __ATOMIC_ACQUIRE) < 2;
}
QUIET static void *loads(void *path) { return dlopen(static_cast<const char *>(path), RTLD_NOW | RTLD_LOCAL); }
// The first fork, while another thread is inside the loader and waits for it.
QUIET static int forksWhileLoading(char *path) {
  leaf(1);
  loadingWaits = true;
  pthread_t t;
  pthread_create(&t, nullptr, loads, path);
  await(1);
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  reach(2);
  int status = 0;
  void *library = nullptr;
  waitpid(pid, &status, 0);
  pthread_join(t, &library);
  return library ? status | loadingWaited : 9;
}

LOGGED static int forksInside(const char *how) {
  leaf(1);
  const pid_t pid = how[0] == 'r' ? pid_t(syscall(SYS_fork)) : fork();
  if (pid == 0) {
    branch(20);
    return 0;
  }
  branch(10);
  int status = 0;
  waitpid(pid, &status, 0);
  tell("child", uint64_t(pid));
  return status;
}

LOGGED static int forksDeep(int n) {
  const int status = n > 0 ? forksDeep(n - 1) : forksInside("fork");
  __asm__ volatile("" ::: "memory");
  return status;
}

// Modules have other numbers in the child, where one has gone in the parent.
QUIET static int forksWithPlugins(char **paths) {
  void *first = dlopen(paths[0], RTLD_NOW | RTLD_LOCAL), *second = dlopen(paths[1], RTLD_NOW | RTLD_LOCAL);
  if (!first || !second || dlclose(first) != 0) return 9;
  void *third = dlopen(paths[2], RTLD_NOW | RTLD_LOCAL);
  if (!third) return 9;
  typedef int (*Function)(int);
  const Function b = reinterpret_cast<Function>(dlsym(second, "pluginB")), a = reinterpret_cast<Function>(dlsym(third, "pluginA"));
  tellFunction("pluginA", a);
  b(1);
  const pid_t pid = fork();
  if (pid == 0) return a(1), 0;
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

// A thread that has recorded nothing forks, by the system call, while another one
// records.
QUIET static void *forksRaw(void *) {
  await(1);
  const pid_t pid = pid_t(syscall(SYS_fork));
  if (pid == 0) {
    for (int i = 0; i < 20000; i++) leaf(2);
    _exit(0);
  }
  reach(2);
  int status = 0;
  waitpid(pid, &status, 0);
  tell("child", uint64_t(pid));
  return status ? &step : nullptr;
}

QUIET static int forksRawFirst() {
  pthread_t t;
  void *failed = nullptr;
  pthread_create(&t, nullptr, forksRaw, nullptr);
  leaf(1);
  reach(1);
  await(2);
  for (int i = 0; i < 30000; i++) leaf(1);
  pthread_join(t, &failed);
  return failed ? 9 : 0;
}

// Each is process 1 of a namespace of its own.
QUIET static int namespaces(int generation) {
  leaf(1);
  const pid_t pid = pid_t(syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0));
  if (pid < 0) return tell("noright", 1), 0;
  if (pid == 0) {
    for (int i = 0; i < 10000 * generation; i++) leaf(2);
    _exit(generation == 2 ? 0 : namespaces(generation + 1));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

// In the child another thread is the first that records.
QUIET static void *callsLeaf(void *) {
  leaf(5);
  return nullptr;
}

LOGGED static int forksThread() {
  const pid_t pid = fork();
  if (pid == 0) {
    pthread_t t;
    pthread_create(&t, nullptr, callsLeaf, nullptr);
    pthread_join(t, nullptr);
    leaf(6);
    return 0;
  }
  int status = 0;
  waitpid(pid, &status, 0);
  tell("child", uint64_t(pid));
  return status;
}

QUIET static int vforks() {
  leaf(1);
  const pid_t pid = vfork();
  if (pid == 0) {
    leaf(2);
    execl("/bin/true", "true", static_cast<char *>(nullptr));
    _exit(1);
  }
  leaf(3);
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

// A call of exec that fails, and one that does not.
QUIET static int execs(char *self) {
  branch(5);
  execl("/nowhere/there", "x", static_cast<char *>(nullptr));
  branch(7);
  execl(self, self, "calls", "3", static_cast<char *>(nullptr));
  return 5;
}

// forkCase runs the case that argv names, or returns -1 where it is none of
// these.
QUIET static int forkCase(int argc, char **argv) {
  const char *c = argv[1];
  const auto is = [c](const char *s) QUIET { return strcmp(c, s) == 0; };
  tellFunction("forks", forksInside);
  tellFunction("forksdeep", forksDeep);
  tellFunction("forksthread", forksThread);
  if (is("fork")) return forksInside(argv[2]);
  if (is("forkdeep")) return forksDeep(argc > 2 ? atoi(argv[2]) : 0);
  if (is("forkplugins")) return forksWithPlugins(argv + 2);
  if (is("forkloading")) return forksWhileLoading(argv[2]);
  if (is("forkhandlers")) return forksInHandlers();
  if (is("forkthread")) return forksThread();
  if (is("forkfirst")) return forksRawFirst();
  if (is("namespaces")) return namespaces(1);
  if (is("vfork")) return vforks();
  if (is("exec")) return execs(argv[0]);
  if (is("system")) {
    branch(3);
    return system("true; sh -c 'exit 0'; nice true");
  }
  return -1;
}
