// trace_process_test.h: cases of trace_test.cpp about the recorder's process:
// settings, the file, children, the end. Included by it, behind its own.

// The signals that write a snapshot, and those that are none or would swallow a
// fault.
static void testSnapshotSignal() {
  for (const char *name : {"10", "USR1", "SIGUSR1", "usr2", "SigHup", "15", "RTMIN", "RTMIN+3", "sigrtmax-1", "64", "34"}) {
    const string n = name;
    int number = atoi(name);
    if (n == "USR1" || n == "SIGUSR1") number = SIGUSR1;
    if (n == "usr2") number = SIGUSR2;
    if (n == "SigHup") number = SIGHUP;
    if (n == "RTMIN") number = SIGRTMIN;
    if (n == "RTMIN+3") number = SIGRTMIN + 3;
    if (n == "sigrtmax-1") number = SIGRTMAX - 1;
    const Outcome o = run({"ring", "1", std::to_string(number)}, {"LOGREC=ring:1", "LOGREC_SNAPSHOT_SIGNAL=" + n});
    CHECK(o.status == 0 && o.err.empty() && traces().size() == 3, "%s: status %#x, %zu traces, %s", name, o.status, traces().size(),
          o.err.c_str());
  }
  for (const char *name : {"SEGV", "SIGBUS", "11", "7", "4", "8", "5", "31", "6", "ABRT", "IOT", "SYS", "KILL", "9", "SIGSTOP", "19",
                           "0", "32", "33", "65", "1000000", "10x", "SIG", "RTMIN-1", "RTMAX+1", "RTMIN+100", "MY", "-1"}) {
    // While the sanitizers of gcc 12 look for lines to report they overflow their own signal
    // stack now and then, more so where a processor has many registers, and wait for themselves for ever.
    const Outcome o = run({"die", "segv", "10", "1"}, {string("LOGREC_SNAPSHOT_SIGNAL=") + name, "ASAN_OPTIONS=symbolize=0",
                                                       "TSAN_OPTIONS=symbolize=0"});
    CHECK(scale > 1 || (WIFSIGNALED(o.status) && WTERMSIG(o.status) == SIGSEGV), "%s: status %#x", name, o.status);
    CHECK(o.err.find("logrec: LOGREC_SNAPSHOT_SIGNAL is a signal ") == 0 && traces().size() == 1, "%s: %zu traces, %s", name,
          traces().size(), o.err.c_str());
  }
}

static unsigned permissionsOf(const string &name) {
  struct stat s;
  return stat(name.c_str(), &s) == 0 ? s.st_mode & 07777 : 0;
}

// Who may read the log, and its command line.
static void testPermissions() {
  const struct {
    const char *setting;
    mode_t mask;
    unsigned want;
    bool says;
  } cases[] = {{"", 0, 0640, false},
               {"", 077, 0600, false},
               {"LOGREC_PERMISSIONS=", 0, 0640, false},
               {"LOGREC_VALUES=raw", 0, 0600, false},
               {"LOGREC_PERMISSIONS=600", 0, 0600, false},
               {"LOGREC_PERMISSIONS=0644", 0, 0644, false},
               {"LOGREC_PERMISSIONS=666", 022, 0644, false},
               {"LOGREC_PERMISSIONS=400", 0, 0640, true},
               {"LOGREC_PERMISSIONS=755", 0, 0640, true},
               {"LOGREC_PERMISSIONS=4644", 0, 0640, true},
               {"LOGREC_PERMISSIONS=00644", 0, 0640, true},
               {"LOGREC_PERMISSIONS=rw", 0, 0640, true}};
  for (const auto &c : cases) {
    Args environment = {"LOGREC_SNAPSHOT_SIGNAL=10"};
    if (c.setting[0]) environment.push_back(c.setting);
    const mode_t mask = c.mask;
    const Outcome o = run({"ring", "1", "10"}, environment, [mask] { umask(mask); });
    CHECK(o.status == 0 && (o.err.find("logrec: LOGREC_PERMISSIONS ") == 0) == c.says && std::count(o.err.begin(), o.err.end(), '\n') == c.says,
          "%s: status %#x, %s", c.setting, o.status, o.err.c_str());
    CHECK(traces().size() == 3, "%s: %zu traces", c.setting, traces().size());
    for (const string &name : traces()) CHECK(permissionsOf(name) == c.want, "%s: %o", c.setting, permissionsOf(name));
  }
  const struct {
    const char *setting;
    unsigned words;
    bool says;
  } lines[] = {{"LOGREC_COMMAND_LINE=1", 3, false}, {"LOGREC_COMMAND_LINE=0", 0, false}, {"LOGREC_COMMAND_LINE=no", 3, true}};
  for (const auto &l : lines) {
    const Outcome o = run({"calls", "3"}, {l.setting});
    CHECK(o.status == 0 && (o.err.find("logrec: LOGREC_COMMAND_LINE ") == 0) == l.says, "%s: %s", l.setting, o.err.c_str());
    const Trace t = one(o, true);
    const TraceRecord *p = t.find(1);
    CHECK(p && Trace::u32(p->body, 8) == l.words, "%s: %u words", l.setting, p ? Trace::u32(p->body, 8) : 99);
  }
}

// A program with raised rights looks at no setting, shows its log to nobody else,
// and writes only where the user who started it may.
static void testRaisedRights() {
  if (getuid() != 0 || !preload.empty()) {
    printf("  not root, or preloaded: no program with raised rights\n");
    return;
  }
  const string before = subject;
  subject = folder + ".subject";
  if (system(("cp '" + before + "' '" + subject + "' && chmod 4755 '" + subject + "'").c_str()) != 0) exit(2);
  for (const bool may : {true, false}) {
    const Outcome o = run({"ring", "1"}, {"LOGREC=off", "LOGREC_FILE=/nowhere/", "LOGREC_PERMISSIONS=666", "LOGREC_FLIE=1"}, [may] {
      umask(0);
      for (const string &d : {folder, folder.substr(0, folder.rfind('/'))}) chmod(d.c_str(), may ? 0777 : 0755);
      for (const char *name : {"out", "err", "counts"}) {
        const string file = folder + "/" + name;
        close(open(file.c_str(), O_RDWR | O_CREAT, 0666));
        chmod(file.c_str(), 0666);
      }
      if (setgid(65534) != 0 || setuid(65534) != 0) _exit(97);
    });
    CHECK(o.status == 0 && o.told.count("leaf"), "status %#x, %s", o.status, o.err.c_str());
    const vector<string> names = traces();
    CHECK(names.size() == (may ? 1u : 0u), "%zu traces", names.size());
    CHECK(may ? o.err.empty() : o.err.find("permission denied") != string::npos, "%s", o.err.c_str());
    for (const string &name : names) CHECK(permissionsOf(name) == 0600 && Trace(name).ok(), "%s: %o", name.c_str(), permissionsOf(name));
  }
  unlink(subject.c_str());
  subject = before;
}

// A process that lives short leaves a small file, however it ends; where it ends
// itself, one that ends in order.
static void testEndings() {
  const struct {
    const char *how;
    uint64_t leaves;
    bool after;  // something is recorded behind END
  } cases[] = {{"exit", 10, false},       {"_exit", 10, false},  {"_Exit", 10, false}, {"handler", 10, false},
               {"quick_exit", 11, true}, {"thread", 10, false}, {"vfork", 21, false}, {"atexit", 10, false}};
  for (const auto &c : cases) {
    // Where vfork is no such thing.
    if (left.count("vfork") && c.how == string("vfork")) continue;
    const Outcome o = run({"ends", c.how, "10"});
    CHECK(WIFEXITED(o.status) && WEXITSTATUS(o.status) == 7, "%s: status %#x, %s", c.how, o.status, o.err.c_str());
    const Trace t = one(o, true);
    CHECK(o.err.empty() && t.state == 1 && t.count(15) == 1 && t.end == t.fileSize, "%s: state %u, %zu times END, end %llu of %llu, %s",
          c.how, t.state, t.count(15), (ull)t.end, (ull)t.fileSize, o.err.c_str());
    CHECK(t.fileSize <= 96 << 10, "%s: %llu bytes", c.how, (ull)t.fileSize);
    CHECK(t.records.size() > 2 && (t.records.back().type == 15 || c.after), "%s: record %u is last", c.how, t.records.back().type);
    CHECK(enters(t, o.told.at("leaf")) == c.leaves, "%s: %llu of leaf", c.how, (ull)enters(t, o.told.at("leaf")));
  }
}

// The file of a process that is killed is at most twice what it needs, and a large
// one grows by steps of 16 MiB.
static void testGrowth() {
  for (const uint64_t calls : {0, 10, 1000, 10000, 100000, 1000000, 5000000}) {
    const Outcome o = run({"ends", "kill", std::to_string(calls / scale)});
    CHECK(!WIFEXITED(o.status) || scale > 1, "status %#x", o.status);
    const Trace t = one(o, true);
    const uint64_t step = 16 << 20, whole = (t.end + step - 1) / step * step;
    CHECK(t.state == 0 && enters(t, o.told.at("leaf")) == calls / scale, "%llu calls, %llu recorded", (ull)calls / scale,
          (ull)enters(t, o.told.at("leaf")));
    CHECK(t.fileSize <= std::max<uint64_t>(96 << 10, std::min(2 * t.end, whole)), "%llu calls: %llu bytes, %llu needed", (ull)calls,
          (ull)t.fileSize, (ull)t.end);
    CHECK(t.end < 2 * step || t.fileSize == whole, "%llu calls: %llu bytes, %llu needed", (ull)calls, (ull)t.fileSize, (ull)t.end);
  }
}

// The calls of leaf that programs other than the first recorded into a folder.
static uint64_t leavesOfChildren(const string &where, const Outcome &o) {
  uint64_t n = 0;
  for (const string &name : traces(where)) {
    const Trace t(name);
    CHECK(t.ok(), "%s", t.error.c_str());
    // Each run has addresses of its own.
    size_t at = 12;
    if (t.pid == uint32_t(o.pid) || !t.find(1) || Trace::u32(t.find(1)->body, 8) != 3) continue;
    for (int i = 0; i < 3; i++) Trace::text(t.find(1)->body, &at);
    Trace::text(t.find(1)->body, &at);
    if (Trace::text(t.find(1)->body, &at) != "calls") continue;
    for (auto &s : t.streams) {
      std::map<uint64_t, uint64_t> counts;
      for (const TraceEvent &e : s.second.events)
        if (e.kind == TraceEvent::Enter) n += ++counts[e.address] == 5;
    }
  }
  return n;
}

// A child with an environment of its own is recorded as this one is, but for what
// the program says itself.
static void testOwnEnvironment() {
  const bool linked = preload.empty();
  const string sub = folder + "/sub", own = folder + "/own";
  const auto folders = [sub, own] {
    mkdir(sub.c_str(), 0777);
    mkdir(own.c_str(), 0777);
  };
  const string counts = "SUBJECT_COUNTS=" + folder + "/counts";
  for (const char *how : {"execve", "execvpe", "execle", "fexecve", "execveat", "posix_spawn", "posix_spawnp", "vfork", "none"}) {
    const Outcome o = run({"starts", how, "0", "A=1"}, {"LOGREC_FILE=" + sub + "/"}, folders);
    CHECK(o.status == 0 && o.err.empty(), "%s: status %#x, %s", how, o.status, o.err.c_str());
    CHECK(leavesOfChildren(sub, o) == 1 && traces().empty(), "%s: %llu, %zu elsewhere", how, (ull)leavesOfChildren(sub, o), traces().size());
  }
  const struct {
    const char *how, *others;
    Args variables, environment;
    bool inSub, inOwn;  // where the child records
  } cases[] = {// More variables than the stack is used for.
               {"execve", "10000", {}, {}, true, false},
               {"posix_spawn", "10000", {}, {}, true, false},
               // What the program says itself.
               {"execve", "0", {"LOGREC_FILE=" + own + "/"}, {}, false, true},
               {"execve", "0", {"LOGREC=off"}, {}, false, false},
               {"execve", "0", {"LD_PRELOAD="}, {}, linked, false},
               // Its environment as it has become.
               {"environ", "0", {}, {}, false, false},
               // The setting says no.
               {"execve", "0", {}, {"LOGREC_CHILDREN=0"}, false, false},
               {"posix_spawn", "0", {}, {"LOGREC_CHILDREN=0"}, false, false},
               {"execve", "0", {}, {"LOGREC_CHILDREN=1"}, true, false}};
  for (const auto &c : cases) {
    Args args = {"starts", c.how, c.others}, environment = {"LOGREC_FILE=" + sub + "/"};
    for (const string &v : c.variables) args.push_back(v);
    for (const string &v : c.environment) environment.push_back(v);
    const Outcome o = run(args, environment, folders);
    const string name = string(c.how) + " " + c.others + (c.variables.empty() ? "" : " " + c.variables[0]) +
                        (c.environment.empty() ? "" : " " + c.environment[0]);
    // Without the library, to which it is linked, it does not start.
    const bool starts = linked || c.inSub || c.inOwn || c.variables == Args{"LOGREC=off"};
    CHECK(!starts || (o.status == 0 && o.err.empty()), "%s: status %#x, %s", name.c_str(), o.status, o.err.c_str());
    CHECK(leavesOfChildren(sub, o) == c.inSub && leavesOfChildren(own, o) == c.inOwn, "%s: %llu, %llu", name.c_str(),
          (ull)leavesOfChildren(sub, o), (ull)leavesOfChildren(own, o));
  }
}

// Functions of .preinit_array run before the C library knows the environment.
static void testPreinit() {
  const string sub = folder + "/sub";
  const auto folders = [sub] { mkdir(sub.c_str(), 0777); };
  Outcome o = run({"calls", "10"}, {"SUBJECT_PREINIT=1", "LOGREC=off"});
  CHECK(o.status == 0 && o.err.empty() && traces().empty(), "off: %zu traces, %s", traces().size(), o.err.c_str());
  o = run({"calls", "10"}, {"SUBJECT_PREINIT=1", "LOGREC_MIN=1ns", "LOGREC_FILE=" + sub + "/", "TZ=AAA-9"}, folders);
  CHECK(o.status == 0 && o.err.empty() && traces(sub).size() == 1 && traces().empty(), "status %#x, %s", o.status, o.err.c_str());
  for (const string &name : traces(sub)) {
    const Trace t(name);
    CHECK(t.ok() && t.state == 1 && t.minimum == 1 && enters(t, o.told.at("leaf")) == 13, "%s, minimum %llu, %llu of leaf", t.error.c_str(),
          (ull)t.minimum, (ull)enters(t, o.told.at("leaf")));
    CHECK(t.find(2) && Trace::u32(t.find(2)->body, 16) == 9 * 3600, "local time %u", Trace::u32(t.find(2)->body, 16));
  }
  if (getuid() != 0) {
    printf("  not root: the system always tells the environment\n");
    return;
  }
  // Where nobody tells them the settings cannot be known as early.
  for (const bool off : {true, false}) {
    o = run({"calls", "10"}, {"SUBJECT_PREINIT=1", off ? "LOGREC=off" : "LOGREC=on"}, [] {
      if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount("none", "/proc", "tmpfs", 0, nullptr) != 0)
        _exit(97);
    });
    if (WIFEXITED(o.status) && WEXITSTATUS(o.status) == 97) break;
    CHECK(o.status == 0 && o.err.empty() && traces().size() == !off, "status %#x, %zu traces, %s", o.status, traces().size(), o.err.c_str());
    for (const string &name : traces()) CHECK(enters(Trace(name), o.told.at("leaf")) == 10, "%llu", (ull)enters(Trace(name), o.told.at("leaf")));
  }
}

// The recorder calls no function of the program, such as its malloc.
static void testOwnMalloc() {
  const string library = plugins + "/libM.so";
  const Outcome o = run({"starts", "posix_spawn", "10000", "LOGREC=off"}, {"LD_PRELOAD=" + (preload.empty() ? "" : preload + ":") + library});
  const Trace t = one(o);
  CHECK(o.told.count("malloc") && o.told.at("by-recorder") == 0 && o.told.at("by-others") > 0, "%s", o.out.c_str());
  if (!o.told.count("malloc")) return;
  CHECK(enters(t, o.told.at("malloc")) == o.told.at("by-others"), "%llu calls, %llu by others", (ull)enters(t, o.told.at("malloc")),
        (ull)o.told.at("by-others"));
}

// A filter of system calls that does not know the recorder's: the recording ends
// before it is there, and says so.
static void testSandbox() {
  const struct {
    const char *how, *says;  // says: what the recorder lacks, "" nothing
    uint64_t leaves;
  } cases[] = {{"few", "rt_sigprocmask", 5},
               {"few-syscall", "rt_sigprocmask", 5},
               {"strict", "strict mode", 5},
               {"one", "fallocate", 5},
               {"fork", "fallocate", 5},
               {"errno", "rt_sigprocmask", 5},
               {"threads", "rt_sigprocmask", 0},
               {"harmless", "", 300005},
               {"log", "", 300005},
               {"fault", "", 300005},
               {"refused", "", 300005}};
  for (const auto &c : cases) {
    const Outcome o = run({"sandbox", c.how});
    CHECK(o.status == 0 && o.err.empty() && o.told.count("survived"), "%s: status %#x, %s", c.how, o.status, o.err.c_str());
    const Trace t = one(o, true);
    size_t at = 8;
    const TraceRecord *off = t.find(9);
    const string why = off ? Trace::text(off->body, &at) : "";
    CHECK(off ? Trace::u32(off->body, 0) == 0 && c.says[0] && why.find(c.says) != string::npos : !c.says[0], "%s: %s", c.how, why.c_str());
    CHECK(t.state == 1 && t.fileSize == t.end, "%s: state %u, %llu of %llu bytes", c.how, t.state, (ull)t.end, (ull)t.fileSize);
    CHECK(!c.leaves || enters(t, o.told.at("leaf")) == c.leaves, "%s: %llu of leaf", c.how, (ull)enters(t, o.told.at("leaf")));
  }
}

// Names that threads were given after their last chunk began.
static void testLateNames() {
  for (const char *how : {"exit", "_exit", "exec", "thread"}) {
    const Outcome o = run({"names", how});
    CHECK(o.status == 0 && o.err.empty() && traces().size() == (how == string("exec") ? 2 : 1), "%s: status %#x, %zu traces, %s", how, o.status,
          traces().size(), o.err.c_str());
    std::multiset<string> names;
    for (const string &file : traces())
      for (const TraceRecord &r : Trace(file).records) {
        size_t at = 16;
        const string name = r.type == 5 ? Trace::text(r.body, &at) : "";
        if (name.find("late") == 0) names.insert(name);
      }
    CHECK(names == (std::multiset<string>{how == string("thread") ? "late in thread" : "late", "late in main"}), "%s: %zu names", how, names.size());
  }
}

// What is wrong with the settings is said by the first program of a tree alone.
static void testToldOnce() {
  for (const char *how : {"posix_spawn", "vfork", "execve"}) {
    const Outcome o = run({"starts", how, "0"}, {"LOGREC_MIN=x", "LOGREC_FLIE=y"});
    CHECK(o.status == 0 && o.err.find("logrec: LOGREC_MIN ") == 0 && o.err.find("\nlogrec: LOGREC_FLIE is no setting") != string::npos &&
              std::count(o.err.begin(), o.err.end(), '\n') == 2,
          "%s: status %#x, %s", how, o.status, o.err.c_str());
    CHECK(traces().size() == 2, "%s: %zu traces", how, traces().size());
  }
}

// The null device takes everything; nothing is made beside it, or here.
static void testNullFile() {
  const auto inDev = [] {
    size_t n = 0;
    if (DIR *dir = opendir("/dev")) {
      while (dirent *e = readdir(dir)) n += strncmp(e->d_name, "null", 4) == 0;
      closedir(dir);
    }
    return n;
  };
  const size_t before = inDev();
  const Outcome o = run({"fork", "fork"}, {"LOGREC_FILE=/dev/null"});
  CHECK(o.status == 0 && o.err.empty() && traces().empty() && inDev() == before, "status %#x, %zu traces, %s", o.status, traces().size(),
        o.err.c_str());
}

// The library in a program without hooks says so, but only to a person.
static void testNothingRecorded() {
  if (preload.empty()) return;
  const string before = subject;
  subject = "/bin/sh";
  const struct {
    const char *script;
    bool terminal, says;
  } cases[] = {{"exec /bin/true", true, true}, {"exec /bin/true", false, false}, {"/bin/true; /bin/true", true, false}};
  for (const auto &c : cases) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char name[64] = "";
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || ptsname_r(master, name, sizeof name) != 0) {
      printf("  no terminal\n");
      break;
    }
    const int terminal = c.terminal ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    const string slave = name;
    const Outcome o = run({"-c", c.script}, {}, [c, slave] {
      if (c.terminal) dup2(open(slave.c_str(), O_RDWR | O_NOCTTY), 2);
    });
    char said[1024] = "";
    fcntl(master, F_SETFL, O_NONBLOCK);
    const ssize_t n = read(master, said, sizeof said - 1);
    const bool says = n > 0 && strstr(said, "logrec: nothing was recorded");
    CHECK(o.status == 0 && o.out.empty() && o.err.empty() && traces().empty() && says == c.says, "%s: status %#x, %s%s", c.script, o.status,
          said, o.err.c_str());
    close(master);
    if (terminal >= 0) close(terminal);
  }
  subject = before;
}
