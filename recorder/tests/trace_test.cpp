// trace_test.cpp: runs trace_subject in folders of its own and reads the
// traces. trace_test SUBJECT FOLDER-OF-PLUGINS [OPTION...]; options: kills=N,
// scale=N (divides counts), clang (no leave for frames that an exception ends),
// fentry, unseen (no hook at the end of calls: the next enter shows it),
// preload=LIBRARY (the subject has no recorder of its own), -CASE leaves a case
// out, only=CASE all others but such; patched: functions are patched at the start; libcalls: the subject has
// no hooks, and leaf is in a library. Prints "N passed, N failed".

#include "check.h"
#include "elf_notes.h"
#include "trace_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>

using std::string;
using std::vector;

static string subject, plugins, folder, preload;
static int kills = 100, scale = 1;
static bool clang, fentry, unseen;
static std::set<string> left;
static std::set<string> only;
static bool patched, libcalls;

typedef vector<string> Args;
typedef unsigned long long ull;

static vector<string> traces(const string &where = "") {
  vector<string> names;
  const string d = where.empty() ? folder : where;
  if (DIR *dir = opendir(d.c_str())) {
    while (dirent *e = readdir(dir)) {
      const string n = e->d_name;
      if (n.size() > 8 && n.compare(n.size() - 8, 8, ".lptrace") == 0) names.push_back(d + "/" + n);
    }
    closedir(dir);
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Outcome {
  int status;
  pid_t pid;
  std::map<string, uint64_t> told;
  string out, err;
};

static pid_t spawn(const Args &args, const Args &environment, const std::function<void()> &before) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (chdir(folder.c_str()) != 0) _exit(99);
  for (const char *name : {"LOGREC", "LOGREC_FILE", "LOGREC_MIN", "LOGREC_INCLUDE", "LOGREC_EXCLUDE", "LOGREC_SITES",
                           "LOGREC_SNAPSHOT_SIGNAL", "SUBJECT_STATIC"})
    unsetenv(name);
  setenv("SUBJECT_COUNTS", (folder + "/counts").c_str(), 1);
  if (!preload.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
  if (patched) setenv("LOGREC_PATCH", "1", 1);
  if (libcalls) setenv("LOGREC_LIBCALLS", "leaf", 1);
  for (const string &e : environment) putenv(strdup(e.c_str()));
  dup2(open((folder + "/out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 1);
  dup2(open((folder + "/err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
  for (int fd = 3; fd < 32; fd++) close(fd);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (before) before();
  vector<char *> argv = {strdup(subject.c_str())};
  for (const string &a : args) argv.push_back(strdup(a.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(98);
}

static void fresh() {
  if (system(("rm -rf '" + folder + "' && mkdir -p '" + folder + "'").c_str()) != 0) exit(2);
}

static Outcome finish(pid_t pid) {
  Outcome o;
  o.pid = pid;
  for (int tenths = 0; waitpid(pid, &o.status, WNOHANG) == 0; tenths++) {
    if (tenths == 1200) kill(pid, SIGKILL);
    usleep(tenths < 10 ? 5000 : 100000);
  }
  o.out = content(folder + "/out");
  o.err = content(folder + "/err");
  char name[64];
  ull value;
  for (size_t i = 0; i < o.out.size(); i = o.out.find('\n', i) + 1) {
    if (sscanf(o.out.c_str() + i, "%63s %llu", name, &value) == 2) o.told[name] = value;
    if (o.out.find('\n', i) == string::npos) break;
  }
  return o;
}

static Outcome run(const Args &args, const Args &environment = {}, const std::function<void()> &before = nullptr) {
  fresh();
  return finish(spawn(args, environment, before));
}

static bool isFunction(const TraceEvent &e, uint64_t function) {
  // __fentry__ returns to an address a few bytes into the function.
  return e.addressKind == 0 ? e.address == function : e.address - function < 16;
}

static uint64_t count(const TraceStream &s, TraceEvent::Kind kind, uint64_t function, int level = -1) {
  uint64_t n = 0;
  for (const TraceEvent &e : s.events)
    n += e.kind == kind && isFunction(e, function) && (level < 0 || int(e.level) == level);
  return n;
}
static uint64_t enters(const Trace &t, uint64_t function) {
  uint64_t n = 0;
  for (auto &s : t.streams) n += count(s.second, TraceEvent::Enter, function);
  return n;
}
static uint64_t leaves(const Trace &t, uint64_t function) {
  uint64_t n = 0;
  for (auto &s : t.streams) n += count(s.second, TraceEvent::Leave, function);
  return n;
}

static Trace one(const Outcome &o, bool mayFail = false) {
  CHECK(mayFail || o.status == 0, "status %#x, %s", o.status, o.err.c_str());
  CHECK(o.err.empty() || mayFail, "%s", o.err.c_str());
  const vector<string> names = traces();
  CHECK(names.size() == 1, "%zu traces", names.size());
  Trace t(names.empty() ? folder + "/none" : names[0]);
  CHECK(t.ok(), "%s", t.error.c_str());
  return t;
}

// sound checks what must be true of every trace that ended in order.
static void sound(const Trace &t) {
  CHECK(t.state == 1 && t.end == t.fileSize, "state %u, end %llu of %llu", t.state, (ull)t.end, (ull)t.fileSize);
  CHECK(t.count(1) == 1 && t.count(2) >= 2 && t.count(15) == 1 && t.count(10) == 1, "records");
  for (auto &s : t.streams) {
    CHECK(s.second.lost == 0, "%llu lost", (ull)s.second.lost);
    const TraceModule *last = nullptr;
    for (auto &o : s.second.open) CHECK(o.second.empty() || unseen, "stream %u: %zu calls open", s.first, o.second.size());
    for (const TraceEvent &e : s.second.events)
      if (e.kind == TraceEvent::Enter && !(last && last->holds(e.address, e.time)) && !(last = t.moduleOf(e.address, e.time))) {
        CHECK(false, "%llx is in no module", (ull)e.address);
        break;
      }
  }
  const TraceModule *program = nullptr;
  for (const TraceModule &m : t.modules)
    if (m.flags & 1) program = &m;
  CHECK(program && program->identity.size() >= 8 && program->path == subject, "the program's module");
}

static void testCalls() {
  const Outcome o = run({"calls", "100000"});
  const Trace t = one(o);
  sound(t);
  CHECK(enters(t, o.told.at("leaf")) == 100000 && leaves(t, o.told.at("leaf")) >= (unseen ? 99999u : 100000u), "%llu",
        (ull)enters(t, o.told.at("leaf")));
  CHECK(enters(t, o.told.at("branch")) == 1, "branch");
  CHECK(double(t.eventBytes) / double(t.events) < 4.5, "%.2f bytes an event", double(t.eventBytes) / double(t.events));
  CHECK(t.pid == uint32_t(o.pid), "pid");
  const TraceRecord *p = t.find(1);
  size_t at = 12;
  CHECK(p && Trace::u32(p->body, 8) == 3 && Trace::text(p->body, &at) == subject, "command line");
  int vdso = 0;
  for (const TraceModule &m : t.modules) vdso += m.flags >> 1 & 1 && t.images.count(m.number);
  CHECK(vdso == 1, "the vdso's image");
}

static void testDeep() {
  const Outcome o = run({"deep", "100000"});
  const Trace t = one(o);
  sound(t);
  CHECK(enters(t, o.told.at("deep")) == 100001, "%llu", (ull)enters(t, o.told.at("deep")));
}

static void testJumps() {
  const Outcome o = run({"jumps"});
  const Trace t = one(o);
  sound(t);
  // The three calls that were left by longjmp have no leave (with __fentry__
  // and without a hook at the end: one that was seen at the next enter).
  CHECK(enters(t, o.told.at("third")) == 3, "%llu", (ull)enters(t, o.told.at("third")));
  CHECK(fentry || leaves(t, o.told.at("third")) == 0, "%llu", (ull)leaves(t, o.told.at("third")));
  CHECK(enters(t, o.told.at("leaf")) == 1 && (unseen || leaves(t, o.told.at("leaf")) == 1), "leaf");
  CHECK(unseen || leaves(t, o.told.at("jumps")) == 1, "jumps");
}

static void testCatches() {
  const Outcome o = run({"catches"});
  const Trace t = one(o);
  sound(t);
  CHECK(enters(t, o.told.at("throws")) == 1 && enters(t, o.told.at("passes")) == 1, "enters");
  CHECK(fentry || leaves(t, o.told.at("throws")) == (clang ? 0 : 1), "%llu", (ull)leaves(t, o.told.at("throws")));
  CHECK(unseen || (leaves(t, o.told.at("catches")) == 1 && leaves(t, o.told.at("leaf")) == 1), "leaves");
}

struct Counts {
  volatile uint64_t enters, leaves, handled;
};

static Counts counted(int thread = 0) {
  const string s = content(folder + "/counts");
  Counts c = {0, 0, 0};
  if (s.size() >= size_t(4096 * thread) + sizeof c) memcpy(static_cast<void *>(&c), s.data() + 4096 * thread, sizeof c);
  return c;
}

static void testSignals() {
  const int calls = 2000000 / scale;
  const Outcome o = run({"signals", std::to_string(calls)});
  const Trace t = one(o);
  sound(t);
  CHECK(enters(t, o.told.at("leaf")) == uint64_t(calls) && (unseen || leaves(t, o.told.at("leaf")) == uint64_t(calls)), "%llu",
        (ull)enters(t, o.told.at("leaf")));
  uint64_t nested = 0;
  for (auto &s : t.streams) nested += count(s.second, TraceEvent::Enter, o.told.at("handler"), 1);
  CHECK(enters(t, o.told.at("handler")) == counted().handled, "%llu handled, %llu recorded", (ull)counted().handled,
        (ull)enters(t, o.told.at("handler")));
  CHECK(counted().handled > 0 && (nested > 0 || scale > 1), "%llu signals, %llu nested", (ull)counted().handled, (ull)nested);
}

static void testSignalJumps() {
  const Outcome o = run({"signaljumps", "100"});
  const Trace t = one(o);
  CHECK(enters(t, o.told.at("jumping")) == counted().handled, "%llu of %llu", (ull)enters(t, o.told.at("jumping")),
        (ull)counted().handled);
  CHECK(enters(t, o.told.at("leaf")) >= 1000, "leaf");
  // A handler that leaves by longjmp leaves at most one record unwritten. Where
  // it was the recorder that it interrupted, which is nearly always, the calls
  // that are open are stated.
  const TraceStream &s = t.streams.begin()->second;
  CHECK(s.lost > 0 && s.lost <= 100, "%llu lost", (ull)s.lost);
  uint64_t stated = 0;
  for (const TraceEvent &e : s.events) stated += e.kind == TraceEvent::Stack && e.more->value & 2;
  CHECK(stated > 0 && stated <= s.lost, "%llu stated, %llu lost", (ull)stated, (ull)s.lost);
}

static void testThreads() {
  const Outcome o = run({"threads", "8", "20000", "4"});
  const Trace t = one(o);
  sound(t);
  CHECK(enters(t, o.told.at("leaf")) == 8 * 20000 * 4, "%llu", (ull)enters(t, o.told.at("leaf")));
  // Before main and in it the first thread may have recorded nothing.
  CHECK(t.streams.size() == 33 || t.streams.size() == 32, "%zu streams", t.streams.size());
  CHECK(t.count(6) == 32, "%zu threads ended", t.count(6));
  bool named = false;
  for (const TraceRecord &r : t.records)
    if (r.type == 5) {
      size_t at = 16;
      named = named || Trace::text(r.body, &at) == "worker";
    }
  CHECK(named, "no thread is called worker");
}

static void testVfork() {
  const Outcome o = run({"vfork"});
  const Trace t = one(o);
  sound(t);
  CHECK(enters(t, o.told.at("leaf")) == 3, "%llu", (ull)enters(t, o.told.at("leaf")));
  CHECK(t.count(8) == 0, "EXEC of the child");
}

static void testExec() {
  const Outcome o = run({"exec"});
  CHECK(o.status == 0, "status %#x", o.status);
  const vector<string> names = traces();
  CHECK(names.size() == 2, "%zu traces", names.size());
  bool before = false, after = false;
  for (const string &name : names) {
    const Trace t(name);
    CHECK(t.ok() && t.state == 1, "%s, state %u", t.error.c_str(), t.state);
    CHECK(t.pid == uint32_t(o.pid), "pid");
    uint64_t n = 0;
    for (auto &s : t.streams)
      for (const TraceEvent &e : s.second.events) n += e.kind == TraceEvent::Enter;
    if (t.count(8) == 2) before = n >= 5 + 7 + 2 && n < 20;  // a few before main
    else after = n > 0;
    // The first of them failed.
    size_t at = 8;
    const TraceRecord *back = t.find(9);
    CHECK(t.count(9) == t.count(8) / 2 && (!back || (Trace::u32(back->body, 0) == 1 && Trace::text(back->body, &at) == "exec failed")),
          "%zu EXEC, %zu SWITCH", t.count(8), t.count(9));
  }
  CHECK(before && after, "%d %d", before, after);
}

static void testHelpers() {
  run({"system"});
  CHECK(traces().size() == 1, "%zu traces", traces().size());
}

static void testQuiet() {
  const Outcome o = run({"quiet"}, {"SUBJECT_QUIET=1"});
  CHECK(o.status == 0 && traces().size() <= 1, "%zu traces", traces().size());
}

static void testPlugins() {
  const Outcome o = run({"plugins", plugins + "/libA.so", plugins + "/libB.so"});
  const Trace t = one(o);
  sound(t);
  int a = 0, b = 0;
  std::set<uint64_t> bases;
  for (const TraceModule &m : t.modules) {
    const bool isA = m.path == plugins + "/libA.so", isB = m.path == plugins + "/libB.so";
    a += isA;
    b += isB;
    if (isA || isB) {
      CHECK(m.end != ~uint64_t(0), "not unloaded");
      bases.insert(m.base);
    }
  }
  CHECK(a == 3 && b == 3, "loaded %d and %d times", a, b);
  CHECK(bases.size() == 1, "%zu bases: the second did not take the first's place", bases.size());
  // Each event is in the module that was there then: calls of the plugins'
  // functions, their constructors and destructors alternate.
  string order;
  for (const TraceEvent &e : t.streams.begin()->second.events) {
    const TraceModule *m = e.kind == TraceEvent::Enter ? t.moduleOf(e.address, e.time) : nullptr;
    if (!m || m->path.compare(0, plugins.size() + 4, plugins + "/lib") != 0 || m->path.size() != plugins.size() + 8) continue;
    const char c = m->path[plugins.size() + 4];
    if (order.empty() || order.back() != c) order += c;
  }
  CHECK(order == "ABABAB", "%s", order.c_str());
}

static void testState() { sound(one(run({"state"}))); }

static void testMarks() {
  const Outcome o = run({"marks"});
  const Trace t = one(o);
  sound(t);
  string text;
  int64_t queue = 0, load = 0;
  size_t longer = 0;
  for (const TraceEvent &e : t.streams.begin()->second.events) {
    if (e.kind == TraceEvent::Mark) e.more->text.size() == 1500 ? longer++ : (text += e.more->text, 0);
    if (e.kind == TraceEvent::Counter) (e.more->text == "queue" ? queue : load) = e.more->value;
  }
  double d;
  memcpy(&d, &load, sizeof d);
  CHECK(text == "first mark" && longer == 20 && queue == -5 && d == 0.5, "%s %zu", text.c_str(), longer);
  bool named = false;
  for (const TraceRecord &r : t.records)
    if (r.type == 5) {
      size_t at = 16;
      named = named || Trace::text(r.body, &at) == "main of the test";
    }
  CHECK(named, "thread's name");
}

static void testCancel() {
  const uint64_t calls = uint64_t(2000000 / scale);
  const Outcome o = run({"cancel", std::to_string(calls)});
  const Trace t = one(o);
  sound(t);
  CHECK(enters(t, o.told.at("leaf")) == 2 * calls + 1 && t.count(6) == 1, "%llu of leaf, %zu threads ended",
        (ull)enters(t, o.told.at("leaf")), t.count(6));
}

static void testHandlers() {
  const Outcome o = run({"handlers"});
  CHECK(o.status == 0, "status %#x: that often the recorder has called a function of the program", o.status);
  const Trace t = one(o, true);
  CHECK(enters(t, o.told.at("leaf")) == 1200001, "%llu", (ull)enters(t, o.told.at("leaf")));
}

static void testSmallStack() {
  const Outcome o = run({"smallstack"});
  CHECK(o.status == 0 && std::count(o.err.begin(), o.err.end(), '\n') == 1, "status %#x, %s", o.status, o.err.c_str());
}

static void testLimit() {
  Outcome o = run({"limit"});
  CHECK(o.status == 0 && o.told.count("survived") && std::count(o.err.begin(), o.err.end(), '\n') == 1, "status %#x, %s", o.status,
        o.err.c_str());
  CHECK(traces().size() == 1 && Trace(traces()[0]).state == 3, "the trace");
  // Another file is standard error by then.
  o = run({"limit", "file"});
  CHECK(o.status == 0 && o.told.count("survived") && o.err.empty() && content(folder + "/data.db") == "HEADERFOOTER",
        "status %#x, %s, %s", o.status, o.err.c_str(), content(folder + "/data.db").c_str());
  // A ring goes on; a snapshot of it would be too large.
  o = run({"limit", "ring"}, {"LOGREC=ring:1"});
  CHECK(o.status == 0 && o.told.count("survived"), "status %#x, %s", o.status, o.err.c_str());
}

static void testNotes() {
  const string library = folder + ".so";
  const string s = withoutNotes(content(plugins + "/libA.so"));
  if (FILE *f = fopen(library.c_str(), "wb")) {
    fwrite(s.data(), 1, s.size(), f);
    fclose(f);
  }
  const Outcome o = run({"plugins", library, plugins + "/libB.so"});
  const Trace t = one(o);
  sound(t);
  int found = 0;
  for (const TraceModule &m : t.modules) found += m.path == library && m.identity.empty();
  CHECK(found == 3, "%d times the library", found);
}

static void testDaemon() {
  const int calls = 3000000 / scale;
  const Outcome o = run({"daemon", std::to_string(calls)});
  const Trace t = one(o);
  sound(t);
  CHECK(enters(t, o.told.at("leaf")) == uint64_t(calls) + 1, "%llu", (ull)enters(t, o.told.at("leaf")));
}

static void testAddressSpace() {
  const Outcome o = run({"memory"}, {}, [] {
    const rlimit l = {1200u << 20, 1200u << 20};
    setrlimit(RLIMIT_AS, &l);
  });
  const Trace t = one(o);
  sound(t);
}

static void testRing() {
  const Outcome o = run({"ring", "2000", "10"}, {"LOGREC=ring:1", "LOGREC_SNAPSHOT_SIGNAL=10"});
  CHECK(o.status == 0, "status %#x, %s", o.status, o.err.c_str());
  const vector<string> names = traces();
  CHECK(names.size() == 3, "%zu traces", names.size());
  for (const string &name : names) {
    const Trace t(name);
    CHECK(t.ok(), "%s: %s", name.c_str(), t.error.c_str());
    CHECK(t.ring == 1 << 20 && t.flags & 1, "header");
    CHECK(!!(t.flags & 8) == (name.find("snapshot") != string::npos), "snapshot's flag");
    CHECK(t.fileSize < 3 << 20, "%llu bytes", (ull)t.fileSize);
    // The last calls are there.
    CHECK(enters(t, o.told.at("leaf")) > 90000, "%llu", (ull)enters(t, o.told.at("leaf")));
    const TraceEvent *last = nullptr;
    for (const TraceEvent &e : t.streams.begin()->second.events)
      if (e.kind == TraceEvent::Enter && isFunction(e, o.told.at("leaf"))) last = &e;
    CHECK(last, "no leaf");
  }
}

static void testRingThreads() {
  const Outcome o = run({"threads", "4", std::to_string(60000 / scale), "10"}, {"LOGREC=ring:1"});
  const Trace t = one(o);
  CHECK(t.fileSize < 30 << 20, "%llu bytes", (ull)t.fileSize);
}

static void testStatics() {
  const Outcome o = run({"calls", "3"}, {"SUBJECT_STATIC=1"});
  const Trace t = one(o);
  CHECK(enters(t, o.told.at("constructor")) == 1, "before main");
  CHECK(enters(t, o.told.at("destructor")) == 1 && (unseen || leaves(t, o.told.at("destructor")) == 1), "after main");
}

static void testNames() {
  run({"calls", "3"}, {"LOGREC_FILE=" + folder + "/given.lptrace"});
  CHECK(traces() == vector<string>{folder + "/given.lptrace"}, "given");
  finish(spawn({"calls", "3"}, {"LOGREC_FILE=given.lptrace"}, nullptr));
  CHECK(traces().size() == 2, "an old file was overwritten");
  run({"calls", "3"}, {"LOGREC_FILE=" + folder + "/sub/"}, [] { mkdir((folder + "/sub").c_str(), 0777); });
  CHECK(traces(folder + "/sub").size() == 1, "in a folder");
  const Outcome o = run({"calls", "3"}, {"LOGREC_FILE=/nowhere/x.lptrace"});
  CHECK(o.status == 0 && o.err.find("no such folder") != string::npos &&
            std::count(o.err.begin(), o.err.end(), '\n') == 1,
        "%s", o.err.c_str());
}

static void testDescriptors() {
  const Outcome o = run({"descriptors"});
  const Trace t = one(o);
  sound(t);
  CHECK(enters(t, o.told.at("leaf")) == 3000003, "%llu", (ull)enters(t, o.told.at("leaf")));
}

#include "trace_death_test.h"
#include "trace_fork_test.h"
#include "trace_process_test.h"
#include "trace_settings_test.h"

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  subject = argv[1];
  plugins = argv[2];
  for (int i = 3; i < argc; i++) {
    const string a = argv[i];
    if (a.compare(0, 6, "kills=") == 0) kills = atoi(a.c_str() + 6);
    else if (a.compare(0, 6, "scale=") == 0) scale = atoi(a.c_str() + 6);
    else if (a.compare(0, 8, "preload=") == 0) preload = a.substr(8);
    else if (a == "clang") clang = true;
    else if (a == "fentry") fentry = true;
    else if (a == "unseen") fentry = unseen = true;
    else if (a.compare(0, 5, "only=") == 0) only.insert(a.substr(5));
    else if (a == "patched") patched = true;
    else if (a == "libcalls") libcalls = true;
    else if (a[0] == '-') left.insert(a.substr(1));
  }
  char name[] = "/tmp/trace_test.XXXXXX";
  if (!mkdtemp(name)) return 2;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const string top = name;
  const struct {
    const char *name;
    void (*test)();
  } cases[] = {{"calls", testCalls},     {"deep", testDeep},       {"jumps", testJumps},
               {"catches", testCatches}, {"signals", testSignals}, {"signal-jumps", testSignalJumps},
               {"threads", testThreads}, {"fork", testFork},       {"raw-fork", testRawFork}, {"fork-handlers", testForkHandlers},
               {"fork-loading", testForkLoading}, {"fork-deep", testForkDeep},
               {"vfork", testVfork},     {"exec", testExec},       {"helpers", testHelpers},
               {"quiet", testQuiet},     {"plugins", testPlugins}, {"state", testState},
               {"marks", testMarks},     {"switch", testSwitch},   {"switches", testSwitches},
               {"short", testShort},
               {"lists", testLists},     {"lists-threads", testListsThreads},
               {"lists-file", testListsFile}, {"lists-fork", testListsFork}, {"settings", testSettings}, {"triggers", testTriggers},
               {"sites", testSites},     {"ring", testRing},
               {"ring-threads", testRingThreads}, {"statics", testStatics}, {"names", testNames},
               {"full", testFull},       {"descriptors", testDescriptors}, {"kill", testKill},
               {"triggers-full", testTriggersFull}, {"triggers-killed", testTriggersKilled}, {"libcalls", testLibcalls},
               {"cancel", testCancel},   {"handlers", testHandlers}, {"raw-fork-first", testRawForkFirst},
               {"namespaces", testNamespaces}, {"fork-thread", testForkThread}, {"small-stack", testSmallStack},
               {"limit", testLimit},     {"notes", testNotes}, {"daemon", testDaemon},
               {"address-space", testAddressSpace},
               {"snapshot-signal", testSnapshotSignal}, {"permissions", testPermissions},
               {"raised-rights", testRaisedRights}, {"endings", testEndings}, {"growth", testGrowth},
               {"own-environment", testOwnEnvironment}, {"preinit", testPreinit}, {"own-malloc", testOwnMalloc},
               {"sandbox", testSandbox}, {"late-names", testLateNames}, {"told-once", testToldOnce},
               {"null-file", testNullFile}, {"nothing-recorded", testNothingRecorded}};
  for (const auto &c : cases) {
    if (left.count(c.name) || (!only.empty() && !only.count(c.name)) || (string(c.name) == "libcalls" && !libcalls)) continue;
    folder = top + "/" + c.name;
    caseFailed = false;
    fflush(stdout);
    c.test();
    printf("%s %s\n", caseFailed ? "FAIL" : "ok  ", c.name);
    caseFailed ? failed++ : passed++;
  }
  if (!failed && system(("rm -rf '" + top + "'").c_str()) != 0) return 2;
  if (failed) printf("kept: %s\n", top.c_str());
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
