// trace_process_subject.h: cases of trace_subject.cpp about the recorder's
// process: the end, children, sandboxes. Included by it, behind its own helpers.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>

#include <vector>

QUIET static void leafAtEnd() { leaf(9); }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Before the C library and the recorder have begun.
QUIET static void inPreinit(int, char **, char **envp) {
  for (; envp && *envp; envp++)
    if (strcmp(*envp, "SUBJECT_PREINIT=1") == 0) leaf(1), leaf(2), leaf(3);
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **, char **) = inPreinit;
#endif

LOGGED static int leafInChild() { return leaf(8); }

// Ends the process in one of many ways after n calls.
QUIET static int endsBy(const char *how, int n) {
  branch(n);
  const auto is = [how](const char *s) QUIET { return strcmp(how, s) == 0; };
  if (is("_exit")) _exit(7);
  if (is("_Exit")) _Exit(7);
  if (is("exit")) exit(7);
  if (is("handler")) {
    struct sigaction a = {};
    a.sa_handler = [](int) QUIET { _exit(7); };
    sigaction(SIGUSR1, &a, nullptr);
    raise(SIGUSR1);
  }
  if (is("quick_exit")) {
    at_quick_exit(leafAtEnd);
    quick_exit(7);
  }
  if (is("thread")) {
    pthread_t t;
    pthread_create(&t, nullptr, [](void *) QUIET -> void * { _exit(7); }, nullptr);
    for (;;) pause();
  }
  if (is("atexit")) {
    atexit([]() QUIET { _exit(7); });
    exit(8);
  }
  if (is("vfork")) {
    const pid_t pid = vfork();
    if (pid == 0) {
      leafInChild();
      _exit(3);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    branch(n);
    exit(WEXITSTATUS(status) == 3 ? 7 : 8);
  }
  if (is("abort")) abort();
  if (is("kill")) raise(SIGKILL);
  return 9;
}

// Starts another program, with an environment of its own unless how says otherwise.
QUIET static int starts(const char *how, char **argv, char **envp) {
  const auto is = [how](const char *s) QUIET { return strcmp(how, s) == 0; };
  char *const path = argv[0];
  pid_t pid = 0;
  static int failed;
  leaf(1);
  if (is("posix_spawn")) {
    failed = posix_spawn(&pid, path, nullptr, nullptr, argv, envp);
  } else if (is("posix_spawnp")) {
    failed = posix_spawnp(&pid, path, nullptr, nullptr, argv, envp);
  } else if (is("vfork")) {
    pid = vfork();
    if (pid == 0) {
      execve(path, argv, envp);
      _exit(99);
    }
  } else if ((pid = fork()) == 0) {
    if (is("execve")) execve(path, argv, envp);
    if (is("execvpe")) execvpe(path, argv, envp);
    if (is("execle")) execle(path, argv[0], argv[1], argv[2], static_cast<char *>(nullptr), envp);
    if (is("fexecve")) fexecve(open(path, O_RDONLY | O_CLOEXEC), argv, envp);
    if (is("execveat")) execveat(AT_FDCWD, path, argv, envp, 0);
    if (is("none")) execve(path, argv, nullptr);
    if (is("environ")) {
      environ = envp;
      execve(path, argv, environ);
    }
    _exit(98);
  }
  int status = 0;
  if (failed || waitpid(pid, &status, 0) != pid) return 9;
  return status ? 10 : 0;
}

// starts HOW COUNT NAME=VALUE...: a child with these variables, and COUNT others.
QUIET static int startsChild(int argc, char **argv) {
  const int others = atoi(argv[3]);
  std::vector<char *> envp;
  char other[] = "OTHER=1";
  for (int i = 0; i < others; i++) envp.push_back(other);
  for (int i = 4; i < argc; i++) envp.push_back(argv[i]);
  envp.push_back(nullptr);
  char calls[] = "calls", five[] = "5";
  char *child[] = {argv[0], calls, five, nullptr};
  return starts(argv[2], child, envp.data());
}

// A filter that ends the process at all calls but these, or at these alone.
QUIET static bool sandbox(bool bySyscall, bool onlyThese, const std::vector<int> &calls, unsigned action) {
  std::vector<sock_filter> code;
  code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (int c : calls) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, unsigned(c), 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, onlyThese ? SECCOMP_RET_ALLOW : action));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, onlyThese ? action : SECCOMP_RET_ALLOW));
  sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return bySyscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0
                   : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// The end of a thread takes calls that some of the filters do not let through.
static bool sandboxEnds;
static pid_t sandboxedChild;
static int sandboxThreads;
QUIET static void *callsUntil(void *) {
  leaf(2);
  __atomic_fetch_add(&sandboxThreads, 1, __ATOMIC_ACQ_REL);
  do leaf(2);
  while (!__atomic_load_n(&sandboxEnds, __ATOMIC_ACQUIRE));
  return nullptr;
}

// Five calls, the sandbox, and many more.
QUIET static int sandboxed(const char *how) {
  const auto is = [how](const char *s) QUIET { return strcmp(how, s) == 0; };
  const bool threads = is("threads");
  pthread_t t[3];
  for (int i = 0; i < 3 && threads; i++) pthread_create(&t[i], nullptr, callsUntil, nullptr);
  // So do their beginnings.
  while (threads && __atomic_load_n(&sandboxThreads, __ATOMIC_ACQUIRE) < 3) usleep(200);
  branch(5);
  bool done = true;
  const unsigned kill = SECCOMP_RET_KILL_PROCESS;
  if (is("strict")) done = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0;
  if (is("few")) done = sandbox(false, true, {SYS_write, SYS_exit_group}, kill);
  if (is("few-syscall")) done = sandbox(true, true, {SYS_write, SYS_exit_group}, kill);
  if (is("harmless")) done = sandbox(true, false, {SYS_ptrace, SYS_mount}, kill);
  if (is("log")) done = sandbox(true, false, {SYS_fallocate}, SECCOMP_RET_LOG);
  if (is("one") || is("fork")) done = sandbox(true, false, {SYS_fallocate}, kill);
  if (is("errno")) done = sandbox(false, false, {SYS_fallocate, SYS_ftruncate, SYS_rt_sigprocmask}, SECCOMP_RET_ERRNO | 1);
  if (is("refused")) done = !sandbox(true, true, std::vector<int>(5000, SYS_write), kill);
  if (is("fault")) done = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr) == -1 && errno == EFAULT;
  if (is("threads")) {
    for (int i = 0; i < 20; i++) leaf(3);
    done = sandbox(true, false, {SYS_fallocate, SYS_gettid, SYS_rt_sigprocmask, SYS_sigaltstack, SYS_pwritev, SYS_fstat, SYS_newfstatat}, kill);
  }
  branch(300000);
  for (int i = 0; i < 50 && threads; i++) branch(1000);
  if (is("fork")) {
    sandboxEnds = true;
    const pid_t pid = fork();
    if (pid == 0) _exit(branch(1000) == 0);
    int status = 0;
    waitpid(pid, &status, 0);
    if (status) return 7;
    pthread_create(&t[0], nullptr, callsUntil, nullptr);
    pthread_join(t[0], nullptr);
    char *const argv[] = {const_cast<char *>("true"), nullptr}, *const none[] = {nullptr};
    if (posix_spawn(&sandboxedChild, "/bin/true", nullptr, nullptr, argv, none) != 0 || waitpid(sandboxedChild, &status, 0) != sandboxedChild || status) return 6;
  }
  static const char line[] = "survived 1\n";
  if (done && write(1, line, sizeof line - 1) < 0) return 8;
  if (is("strict")) syscall(SYS_exit, 0);
  // What -pg links in makes system calls of its own after main.
  if (is("few")) _exit(0);
  if (is("few-syscall")) syscall(SYS_exit_group, 0);
  return 0;
}

// Threads get names after they have recorded, and the program ends.
QUIET static void *namedLate(void *how) {
  leaf(1);
  if (strcmp(static_cast<const char *>(how), "thread") == 0) {
    prctl(PR_SET_NAME, "late in thread", 0, 0, 0);
    return nullptr;
  }
  prctl(PR_SET_NAME, "late", 0, 0, 0);
  reach(1);
  for (;;) pause();
}
QUIET static int namesLate(char *how, char *path) {
  pthread_t t;
  leaf(1);
  pthread_create(&t, nullptr, namedLate, how);
  if (strcmp(how, "thread") == 0) pthread_join(t, nullptr);
  else await(1);
  prctl(PR_SET_NAME, "late in main", 0, 0, 0);
  char calls[] = "calls", one[] = "1", *argv[] = {path, calls, one, nullptr};
  if (strcmp(how, "exec") == 0) execv(path, argv);
  if (strcmp(how, "_exit") == 0) _exit(0);
  return 0;
}

// processCase runs the case that argv names, or returns -1 where it is none of
// these.
QUIET static int processCase(int argc, char **argv) {
  const char *c = argv[1];
  const auto is = [c](const char *s) QUIET { return strcmp(c, s) == 0; };
  if (is("ends") && argc > 3) return endsBy(argv[2], atoi(argv[3]));
  if (is("sandbox") && argc > 2) return sandboxed(argv[2]);
  if (is("names") && argc > 2) return namesLate(argv[2], argv[0]);
  if (is("starts") && argc > 3) return startsChild(argc, argv);
  return -1;
}
