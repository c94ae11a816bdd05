// trace_death_test.h: cases of trace_test.cpp about disks that are full and programs that die: the program is to end as
// without the recorder, and what was written to be read. Included by it, behind its own.

// Bytes 84 and 96 of the header: the state, and why.
enum class Full { Disk, FileSize };
static void fullAt(const Outcome &o, const string &where, Full why, uint64_t least = 100000) {
  CHECK(o.status == 0 && o.told.count("survived"), "status %#x", o.status);
  CHECK(std::count(o.err.begin(), o.err.end(), '\n') == 1 && o.err.find("logrec: ") == 0, "%s", o.err.c_str());
  const vector<string> names = traces(where);
  CHECK(names.size() == 1, "%zu traces", names.size());
  if (names.size() != 1) return;
  const Trace t(names[0]);
  CHECK(t.ok() && t.state == (why == Full::Disk ? 2 : 3) && t.why == (why == Full::Disk ? 1 : 3), "%s, state %u, why %u", t.error.c_str(), t.state, t.why);
  CHECK(enters(t, o.told.at("leaf")) > least, "%llu", (ull)enters(t, o.told.at("leaf")));
}

static void smallFiles(rlim_t size) {
  const rlimit l = {size, size};
  setrlimit(RLIMIT_FSIZE, &l);
}

static void testFull() {
  fullAt(run({"until-full", "3000000"}, {}, [] { smallFiles(3 << 20); }), "", Full::FileSize);
  const string disk = folder + ".disk";
  mkdir(disk.c_str(), 0777);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=4m") == 0) {
    fullAt(run({"until-full", "3000000"}, {"LOGREC_FILE=" + disk + "/"}), disk, Full::Disk);
    umount(disk.c_str());
  } else {
    printf("  no right to mount: only the limit on file sizes was tried\n");
  }
  rmdir(disk.c_str());
}

// switchMeanwhile sends a program that has begun the signal that switches the recording, an even number of times.
static void switchMeanwhile(pid_t pid, int pairs) {
  for (int ms = 0; content(folder + "/out").find("leaf ") == string::npos && ms < 60000; ms++) usleep(1000);
  for (int i = 0; i < 2 * pairs; i++) {
    kill(pid, SIGUSR2);
    usleep(useconds_t(random() % 1500));
  }
}

// Recording that begins and ends by itself on a full disk.
static void testTriggersFull() {
  const Args settings[] = {{"LOGREC_FROM=leaf"},
                           {"LOGREC_FROM=leaf", "LOGREC_UNTIL=leaf"},
                           {"LOGREC_INSIDE=leaf", "LOGREC_DEPTH=1"},
                           {"LOGREC_AFTER=1ms"}};
  for (const Args &environment : settings) {
    // A call that is recorded alone takes a chunk, of 4 KiB.
    const bool alone = environment.back() == "LOGREC_UNTIL=leaf";
    fullAt(run({"until-full", alone ? "100000" : "3000000"}, environment, [] { smallFiles(1 << 20); }), "", Full::FileSize, alone ? 150 : 30000);
  }
  fresh();
  const pid_t pid = spawn({"until-full", "10000000"}, {"LOGREC_SWITCH_SIGNAL=USR2"}, [] { smallFiles(1 << 20); });
  switchMeanwhile(pid, 10);
  const Outcome o = finish(pid);
  CHECK(o.status == 0 && o.told.count("survived"), "status %#x", o.status);
  for (const string &name : traces()) {
    const Trace t(name);
    // While it was off the program may have come to its end.
    CHECK(t.ok() && t.state == (o.err.empty() ? 1 : 3), "%s, state %u, %s", t.error.c_str(), t.state, o.err.c_str());
  }
}

// What is recorded of leaf by a thread of a program that dies.
enum class Part {
  All,    // each call that it counted, and at most one more
  Enters, // the same of enters; leaves are not recorded
  Some    // no more than that: recording begins later, or ends before
};

// How many switches dies sends where a signal switches.
static const int switchings = 8;

// dies lets a program die in a way, after a random time or a random number of calls, and returns how many calls of leaf
// were recorded.
static uint64_t dies(const char *how, int threads, unsigned longest, const Args &environment, Part part) {
  fresh();
  const bool switches = !environment.empty() && environment[0].compare(0, 20, "LOGREC_SWITCH_SIGNAL") == 0;
  const long at = random() % (part == Part::Enters ? 3000 : 300000 / scale);
  const pid_t pid = spawn({"die", how, std::to_string(at), std::to_string(threads)}, environment, nullptr);
  if (switches) switchMeanwhile(pid, switchings / 2);
  if (how[0] == 'k') {
    usleep(useconds_t(unsigned(random()) % longest));
    kill(pid, SIGKILL);
  }
  const Outcome o = finish(pid);
  const bool right = how[0] == '_'                ? WIFEXITED(o.status) && WEXITSTATUS(o.status) == 3
                     : scale > 1 && how[0] != 'k' ? o.status != 0
                                                  : WIFSIGNALED(o.status) && WTERMSIG(o.status) == (how[0] == 'k' ? SIGKILL : how[0] == 's' ? SIGSEGV : SIGABRT);
  CHECK(right, "%s: status %#x", how, o.status);
  CHECK(scale > 1 || o.err.empty(), "%s: %s", how, o.err.c_str());
  vector<string> names;
  for (const string &n : traces())
    if (Trace::isTrace(n)) names.push_back(n);
  uint64_t done[2] = {counted(0).leaves, threads > 1 ? counted(1).leaves : 0};
  if (names.empty()) {
    CHECK(done[0] + done[1] == 0 || part == Part::Some, "%s: no trace and %llu calls", how, (ull)done[0]);
    return 0;
  }
  const Trace t(names[0]);
  CHECK(t.ok(), "%s: %s", how, t.error.c_str());
  if (!o.told.count("leaf")) return 0;
  CHECK(t.state == (how[0] == '_'), "%s: state %u", how, t.state);
  vector<uint64_t> recorded;
  uint64_t most = 0;
  for (auto &s : t.streams) {
    const uint64_t n = count(s.second, TraceEvent::Leave, o.told.at("leaf")), m = count(s.second, TraceEvent::Enter, o.told.at("leaf"));
    // Where ends are not seen the last call's stays so.
    recorded.push_back(part == Part::Enters || unseen ? m : n);
    // Each switch may keep an enter or a leave of a call out: one that is open as the switch is set.
    CHECK(part == Part::Enters ? n == 0 : m == n || m == n + 1 || (switches && n <= m + switchings && m <= n + switchings), "%s: %llu enters, %llu leaves", how, (ull)m, (ull)n);
    most = std::max(most, m);
  }
  std::sort(recorded.rbegin(), recorded.rend());
  std::sort(done, done + 2, [](uint64_t a, uint64_t b) { return a > b; });
  recorded.resize(2);
  for (int k = 0; k < 2; k++)
    CHECK(recorded[k] == done[k] || recorded[k] == done[k] + 1 || (part == Part::Some && recorded[k] <= done[k]),
          "%s: %llu recorded, %llu counted", how, (ull)recorded[k], (ull)done[k]);
  return most;
}

static void testKill() {
  const char *ways[] = {"kill", "segv", "abort", "_exit"};
  uint64_t most = 0;
  // Some while it starts, most while it records.
  for (int i = 0; i < kills && !caseFailed; i++)
    most = std::max(most, dies(ways[i % 4], 1 + i / 4 % 2, i % 5 == 0 ? 4000 : 40000, {}, Part::All));
  printf("  %d kills, at most %llu calls recorded\n", kills, (ull)most);
}

// Recording that begins and ends by itself in a program that dies.
static void testTriggersKilled() {
  const struct {
    Args environment;
    Part part;
  } cases[] = {{{"LOGREC_FROM=leaf"}, Part::All},
               {{"LOGREC_FROM=leaf", "LOGREC_UNTIL=leaf"}, Part::Enters},
               {{"LOGREC_INSIDE=leaf", "LOGREC_DEPTH=1"}, Part::All},
               {{"LOGREC_AFTER=2ms"}, Part::Some},
               {{"LOGREC_FOR=2ms"}, Part::Some},
               {{"LOGREC_SWITCH_SIGNAL=USR2"}, Part::Some}};
  for (const auto &c : cases) {
    uint64_t most = 0;
    for (const char *how : {"kill", "_exit", "kill", "segv"}) {
      // A sanitizer reports the last.
      if (caseFailed || (scale > 1 && how[0] == 's')) break;
      // Threads come one by one to where the recording begins; signals are for a program that goes on.
      if (c.environment[0].find("SIGNAL") != string::npos && how[0] != 'k') continue;
      most = std::max(most, dies(how, c.part == Part::Some ? 2 : 1, 30000, c.environment, c.part));
    }
    CHECK(!caseFailed, "with %s", c.environment[0].c_str());
    printf("  %s: at most %llu calls recorded\n", c.environment[0].c_str(), (ull)most);
  }
}

// Calls of a program into a library, which has no hooks, nor has the program.
static void testLibcalls() {
  const int calls = 100000 / scale;
  const Outcome o = run({"calls", std::to_string(calls)});
  const Trace t = one(o);
  CHECK(t.state == 1 && t.end == t.fileSize, "state %u", t.state);
  CHECK(enters(t, o.told.at("leaf")) == uint64_t(calls) && leaves(t, o.told.at("leaf")) == uint64_t(calls), "%llu and %llu",
        (ull)enters(t, o.told.at("leaf")), (ull)leaves(t, o.told.at("leaf")));
}
