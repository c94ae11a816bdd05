// crash_test.cpp: how a program dies with the recorder, and what its log has of that.
// crash_test PLAIN RECORDED LIBRARY [OPTION...]; options: rounds=N (1), only=CAUSE or only=PLACE, -CAUSE and -PLACE
// (left out), preload=LIBRARY, first (LOGREC_CRASH=first).
// PLAIN and RECORDED are crash_subject without the recorder and with it. For each cause and place both must
// print the same and end by the same signal or status; the log must have the record of the crash, all events
// before it, and no damage. Prints "N passed, N failed".

#include "check.h"
#include "trace_read.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <set>

using std::string;
using std::vector;

enum { CRASH = 14, END = 15, ADDRESS_KNOWN = 1 };

struct Cause {
  const char *name;
  int signal;
  bool addressKnown;
};
static const Cause causes[] = {{"null", SIGSEGV, true},   {"code", SIGSEGV, true},     {"far", SIGSEGV, false},       {"call", SIGSEGV, true},
                               {"divide", SIGFPE, true},  {"privileged", SIGSEGV, false}, {"illegal", SIGILL, true}, {"breakpoint", SIGTRAP, false},
                               {"abort", SIGABRT, false}, {"pure", SIGABRT, false},    {"throw", SIGABRT, false},     {"free", SIGABRT, false},
                               {"raise", SIGSEGV, false}, {"kill", SIGBUS, false},     {"sys", SIGSYS, false},        {"overflow", SIGSEGV, true},
                               {"bus", SIGBUS, true}};
static const char *const places[] = {"main",  "thread", "threads",     "full",        "large", "dlopen", "recorder", "mark", "small-stack",
                                     "fork", "vfork",  "own-handler", "once", "ask"};

static string plain, recorded, library, preload, mode;
static std::set<string> only, without;
static int rounds = 1;

struct Result {
  int status;
  bool hung;
  string out;
};

// run runs a subject in a new folder, which it leaves there.
static Result run(const string &subject, const Cause &c, const string &place, const string &folder, bool with) {
  mkdir(folder.c_str(), 0700);
  const string out = folder + "/out", facts = folder + "/facts", logs = folder + "/logs";
  mkdir(logs.c_str(), 0700);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const int fd = open(out.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 1), dup2(fd, 2);
    if (with) {
      setenv("LOGREC_FILE", logs.c_str(), 1);
      if (!preload.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
      if (!mode.empty()) setenv("LOGREC_CRASH", mode.c_str(), 1);
    }
    execl(subject.c_str(), subject.c_str(), c.name, place.c_str(), facts.c_str(), library.c_str(), (char *)nullptr);
    _exit(127);
  }
  Result r = {0, false, ""};
  const timespec pause = {0, 2000000};
  enum { MOST = 20000 };
  int i = 0;
  while (waitpid(child, &r.status, WNOHANG) == 0 && i++ < MOST) nanosleep(&pause, nullptr);
  if (i >= MOST) {
    r.hung = true;
    kill(child, SIGKILL);
    waitpid(child, &r.status, 0);
  }
  r.out = content(out);
  // What the recorder says itself.
  const size_t own = r.out.find("logrec: ");
  if (own != string::npos) r.out.erase(own, r.out.find('\n', own) + 1 - own);
  return r;
}

static vector<string> traces(const string &folder) {
  vector<string> list;
  if (DIR *d = opendir(folder.c_str())) {
    while (dirent *e = readdir(d))
      if (Trace::isTrace(folder + "/" + e->d_name)) list.push_back(folder + "/" + e->d_name);
    closedir(d);
  }
  return list;
}

static void remove_folder(const string &folder) {
  if (system(("rm -rf '" + folder + "'").c_str()) != 0) printf("  %s stays\n", folder.c_str());
}

// by_instruction tells the causes that come again when a handler returns.
static bool by_instruction(const Cause &c) { return c.addressKnown || string(c.name) == "far" || string(c.name) == "privileged"; }

// has_record tells whether the log of this crash must have a record: not where the program's handler returns
// and nothing is left to crash, or where the C library's abort goes on by itself.
static bool has_record(const Cause &c, const string &place) { return place != "once" || mode == "first" || by_instruction(c); }

static void check_logs(const Cause &c, const string &place, const string &folder) {
  const string told = content(folder + "/facts");
  unsigned long long function = 0;
  int calls = -1;
  if (!told.empty()) sscanf(told.c_str(), "%llx %d", &function, &calls);
  CHECK(calls >= 0, "the program told nothing");
  int records = 0, files = 0;
  for (const string &file : traces(folder + "/logs")) {
    files++;
    const Trace t(file);
    CHECK(t.ok(), "%s", t.error.c_str());
    const TraceRecord *r = t.find(CRASH);
    if (!r) continue;
    records++;
    CHECK(t.count(CRASH) == 1, "%zu records", t.count(CRASH));
    const uint32_t stream = Trace::u32(r->body, 0), kind = Trace::u32(r->body, 4), code = Trace::u32(r->body, 16),
                   flags = Trace::u32(r->body, 32);
    const int number = place == "mark" ? SIGSEGV : c.signal;
    CHECK(kind == 1 && code == uint32_t(number), "kind %u, code %u", kind, code);
    // The program's own handler has sent the signal again.
    if (place != "mark") CHECK(!!(flags & ADDRESS_KNOWN) == (c.addressKnown && (mode == "first" || place != "own-handler")), "flags %x", flags);
    struct stat s;
    CHECK(stat(file.c_str(), &s) == 0 && (s.st_mode & 0777) == 0600, "mode %o", unsigned(s.st_mode));
    size_t at = 48;
    const string registers = Trace::text(r->body, &at);
    CHECK(registers.size() >= 40, "%zu bytes of registers", registers.size());
    Trace::text(r->body, &at);  // the thread's name
    const string message = Trace::text(r->body, &at);
    if (string(c.name) == "free" && place != "mark") CHECK(message.find("invalid pointer") != string::npos, "message %s", message.c_str());
    at += 8;
    const string bytes = Trace::text(r->body, &at);
    if (string(c.name) != "call" || place == "mark") CHECK(bytes.size() == 64, "%zu bytes of code", bytes.size());
    const string maps = Trace::text(r->body, &at);
    CHECK(maps.find(" r-xp ") != string::npos, "maps: %s", maps.c_str());
    at += 8;
    const string stack = Trace::text(r->body, &at);
    const size_t most = place == "large" || place == "recorder" || string(c.name) == "overflow" ? 65536 : 6144;
    CHECK(stack.size() >= 256 && stack.size() <= most, "%zu bytes of stack", stack.size());
    const bool main = place != "thread" && place != "threads" && place != "fork";
    // The signal of a process comes in any thread, also in one that has recorded nothing yet.
    if (string(c.name) == "kill" && !main && !t.streams.count(stream)) continue;
    CHECK(stream && t.streams.count(stream), "stream %u", stream);
    if (!t.streams.count(stream)) continue;
    const TraceStream &thread = t.streams.at(stream);
    int enters = 0;
    for (const TraceEvent &e : thread.events) enters += e.kind == TraceEvent::Enter && e.address == function;
    if (string(c.name) == "kill" && !main) continue;
    if (calls > 0) CHECK(enters == calls + main, "%d calls, %d in the log", calls, enters);
    // Or the program went on.
    if (place != "once") CHECK(t.count(END) == 0, "an END");
  }
  const bool wanted = has_record(c, place);
  CHECK(records == int(wanted), "%d records in %d files", records, files);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  plain = argv[1], recorded = argv[2], library = argv[3];
  for (int i = 4; i < argc; i++) {
    const string o = argv[i];
    if (o.compare(0, 7, "rounds=") == 0) rounds = atoi(o.c_str() + 7);
    else if (o.compare(0, 8, "preload=") == 0) preload = o.substr(8);
    else if (o.compare(0, 5, "only=") == 0) only.insert(o.substr(5));
    else if (o == "first" || o == "last") mode = o;
    else if (o[0] == '-') without.insert(o.substr(1));
  }
  char name[] = "/tmp/crash_test.XXXXXX";
  const string folder = mkdtemp(name);
  setlinebuf(stdout);
  long runs = 0;
  for (const char *place : places) {
    for (const Cause &c : causes) {
      if (without.count(place) || without.count(c.name)) continue;
      if (!only.empty() && !only.count(place) && !only.count(c.name)) continue;
#if !defined(__x86_64__)
      if (string(c.name) == "privileged" || string(c.name) == "illegal" || string(c.name) == "breakpoint" || string(c.name) == "far") continue;
#endif
      // What lies below that stack is the program's data, and what comes of that is not defined.
      if (string(place) == "small-stack" && string(c.name) == "overflow") continue;
      // It waits for the signal, and has got it.
      if (string(place) == "once" && string(c.name) == "kill") continue;
      // There the cause is the recorder's read alone.
      if (string(place) == "mark" && string(c.name) != "null") continue;
      caseFailed = false;
      const string p = folder + "/plain";
      const Result without_recorder = run(plain, c, place, p, false);
      remove_folder(p);
      for (int i = 0; i < rounds && !caseFailed; i++) {
        const string r = folder + "/recorded";
        const Result with_recorder = run(recorded, c, place, r, true);
        runs++;
        CHECK(!with_recorder.hung, "it hangs");
        CHECK(with_recorder.status == without_recorder.status, "status %x, and without the recorder %x", unsigned(with_recorder.status),
              unsigned(without_recorder.status));
        // What several threads print at once differs from run to run.
        if (string(place) != "threads") CHECK(with_recorder.out == without_recorder.out, "it prints\n%s\nand without the recorder\n%s", with_recorder.out.c_str(),
              without_recorder.out.c_str());
        check_logs(c, place, r);
        remove_folder(r);
      }
      (caseFailed ? failed : passed)++;
      if (caseFailed) printf("FAILED: %s, %s\n", c.name, place);
    }
  }
  remove_folder(folder);
  printf("%ld runs\n%d passed, %d failed\n", runs, passed, failed);
  return failed != 0;
}
