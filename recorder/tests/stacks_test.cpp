// stacks_test.cpp: runs stacks_subject and reads its traces.
// stacks_test SUBJECT [OPTION...]; options: rounds=N (of longjmp and of exceptions),
// clang (no leave for frames that an exception ends), nested=PROGRAM (stacks_nested.c),
// logparse=COMMAND (reads the traces, too), only=CASE. Prints "N passed, N failed".

#include "check.h"
#include "trace_read.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

using std::string;
using std::vector;
typedef unsigned long long ull;

static string subject, nested, logparse, folder;
static long rounds = 20000;
static bool clang;

static double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

static string output(const string &command) {
  string s;
  if (FILE *f = popen(command.c_str(), "r")) {
    char b[4096];
    for (size_t n; (n = fread(b, 1, sizeof b, f)) > 0;) s.append(b, n);
    if (pclose(f) != 0) s.clear();
  }
  return s;
}

// What a program's traces say: events of all threads in order of time, and for each stack
// its calls.
struct Run {
  std::map<string, uint64_t> told;
  vector<string> files;
  vector<TraceEvent> events;
  vector<uint32_t> threads;  // of events
  vector<size_t> depth;      // of events: calls around them on their stack
  uint64_t pairs, left, strays, open, lost, stacks, took;  // took: ns
  int status;
};

static void replay(Run *r, const Trace &t) {
  struct Item {
    TraceEvent e;
    uint32_t stream;
  };
  vector<Item> all;
  for (auto &s : t.streams) {
    r->lost += s.second.lost;
    for (const TraceEvent &e : s.second.events) all.push_back(Item{e, s.first});
  }
  std::stable_sort(all.begin(), all.end(), [](const Item &a, const Item &b) { return a.e.time < b.e.time; });
  // Of a coroutine the number, else the stream.
  std::map<std::pair<uint32_t, uint32_t>, vector<uint64_t>> open;
  for (const Item &i : all) {
    auto &calls = open[std::make_pair(i.e.stack, i.e.stack ? 0 : i.stream)];
    r->events.push_back(i.e);
    r->threads.push_back(i.stream);
    r->depth.push_back(calls.size());
    if (i.e.kind == TraceEvent::Enter) {
      calls.push_back(i.e.address);
    } else if (i.e.kind == TraceEvent::Left) {
      const size_t n = std::min(size_t(i.e.more->value), calls.size());
      CHECK(n == size_t(i.e.more->value), "%llu calls left of %zu", (ull)i.e.more->value, calls.size());
      calls.resize(calls.size() - n);
      r->left += n;
    } else if (i.e.kind == TraceEvent::Leave) {
      size_t n = calls.size();
      while (n > 0 && calls[n - 1] != i.e.address) n--;
      if (n == 0) {
        r->strays++;
        continue;
      }
      r->left += calls.size() - n;
      calls.resize(n - 1);
      r->depth.back() = n - 1;
      r->pairs++;
    }
  }
  r->stacks = open.size();
  for (auto &o : open) r->open += o.second.size();
}

static Run run(const string &program, const string &name, const string &argument = "", rlim_t memory = 0) {
  Run r = {};
  folder = "/tmp/stacks_test." + std::to_string(getpid()) + "/" + name;
  if (system(("rm -rf '" + folder + "' && mkdir -p '" + folder + "'").c_str()) != 0) exit(2);
  const double begun = now();
  const pid_t pid = fork();
  if (pid == 0) {
    if (chdir(folder.c_str()) != 0 || !freopen("out", "w", stdout)) _exit(99);
    if (memory) {
      const rlimit l = {memory, memory};
      setrlimit(RLIMIT_AS, &l);
    }
    execl(program.c_str(), program.c_str(), name.c_str(), argument.c_str(), static_cast<char *>(nullptr));
    _exit(98);
  }
  for (int tenths = 0; waitpid(pid, &r.status, WNOHANG) == 0; tenths++) {
    if (tenths == 3000) kill(pid, SIGKILL);
    usleep(tenths < 100 ? 2000 : 100000);
  }
  r.took = uint64_t((now() - begun) * 1e9);
  CHECK(r.status == 0, "status %#x", r.status);
  char word[64];
  ull value;
  const string out = content(folder + "/out");
  for (size_t i = 0; i < out.size(); i = out.find('\n', i) + 1)
    if (sscanf(out.c_str() + i, "%63s %llu", word, &value) == 2) r.told[word] = value;
  if (DIR *d = opendir(folder.c_str())) {
    while (dirent *e = readdir(d))
      if (strstr(e->d_name, ".lptrace")) r.files.push_back(folder + "/" + e->d_name);
    closedir(d);
  }
  for (const string &f : r.files) {
    const Trace t(f);
    CHECK(t.ok(), "%s", t.error.c_str());
    if (t.pid == uint32_t(pid)) replay(&r, t);
  }
  CHECK(r.lost == 0, "%llu events lost", (ull)r.lost);
  return r;
}

static uint64_t count(const Run &r, TraceEvent::Kind kind, const char *name) {
  uint64_t n = 0;
  for (const TraceEvent &e : r.events) n += e.kind == kind && e.address == r.told.at(name);
  return n;
}

// Enters of a function whose depth is another than it should be.
static uint64_t misplaced(const Run &r, const char *name, size_t depth) {
  uint64_t n = 0;
  for (size_t i = 0; i < r.events.size(); i++)
    n += r.events[i].kind == TraceEvent::Enter && r.events[i].address == r.told.at(name) && r.depth[i] != depth;
  return n;
}

// read has the real reader say how many rows there are, and how many with a note.
static void read(const Run &r, uint64_t rows, uint64_t noted) {
  if (logparse.empty()) return;
  for (const string &f : r.files) {
    if (r.files.size() > 1 && f.find("." + std::to_string(r.told.count("pid") ? r.told.at("pid") : 0) + ".") == string::npos) continue;
    const string csv = output(logparse + " show --format csv --no-index-cache '" + f + "' 2>&1");
    const string info = output(logparse + " info --no-index-cache '" + f + "' 2>&1");
    uint64_t n = 0, notes = 0;
    for (size_t i = csv.find('\n'); i != string::npos && i + 1 < csv.size(); i = csv.find('\n', i + 1)) {
      const size_t end = csv.find('\n', i + 1);
      const string line = csv.substr(i + 1, end - i - 1);
      n++;
      notes += line.find(",no leave") != string::npos || line.find(",stray") != string::npos || line.find(",open") != string::npos;
    }
    CHECK(n == rows && notes == noted, "logparse: %llu rows, %llu with a note, want %llu, %llu", (ull)n, (ull)notes, (ull)rows, (ull)noted);
    CHECK(info.find("damage      none") != string::npos, "logparse: %s", info.c_str());
  }
}

static void whole(const Run &r, uint64_t pairs, uint64_t stacks) {
  CHECK(r.left == 0 && r.strays == 0 && r.open == 0, "%llu calls left, %llu stray leaves, %llu open", (ull)r.left, (ull)r.strays, (ull)r.open);
  CHECK(r.pairs == pairs && r.stacks == stacks, "%llu pairs on %llu stacks, want %llu on %llu", (ull)r.pairs, (ull)r.stacks, (ull)pairs,
        (ull)stacks);
  read(r, 2 * pairs, 0);
}

// A body has 1 + 4 + 1 of itself, nests and wide, 5 pauses with 2 leaves each, 5 other leaves:
// and is resumed 6 times, by rounds with a leaf each; one without calls on the stack 6 times.
enum { BODY = 6 + 5 + 10 + 5, TURNS = 6 };
static void turns(const string &name) {
  const Run r = run(subject, name);
  whole(r, 2 * (7 * (BODY + 2 * TURNS) + 5 + 2 * 6), 9);
}
static void testTurns() { turns("turns"); }
static void testTurnsByHand() { turns("turns-by-hand"); }

static void wanders(const string &name) {
  const Run r = run(subject, name);
  CHECK(r.left == 0 && r.strays == 0 && r.open == 0 && r.pairs == BODY + 2 * TURNS, "%llu left, %llu stray, %llu open, %llu pairs",
        (ull)r.left, (ull)r.strays, (ull)r.open, (ull)r.pairs);
  std::map<uint32_t, int> on;
  for (size_t i = 0; i < r.events.size(); i++)
    if (r.events[i].kind == TraceEvent::Enter && r.events[i].stack) on[r.threads[i]]++;
  CHECK(on.size() == 4, "in %zu threads", on.size());
  read(r, 2 * r.pairs, 0);
}
static void testWanders() { wanders("wanders"); }
static void testWandersByHand() { wanders("wanders-by-hand"); }

static void testForks() {
  const Run r = run(subject, "forks");
  CHECK(r.files.size() == 2, "%zu traces", r.files.size());
  CHECK(r.left == 0 && r.strays == 0 && r.open == 0, "%llu left, %llu stray, %llu open", (ull)r.left, (ull)r.strays, (ull)r.open);
  CHECK(count(r, TraceEvent::Leave, "forks") == 1, "forks");
}

static void speed(const char *what, const Run &r) {
  const uint64_t events = 2 * r.pairs + r.left;
  printf("  %ld rounds of %s: %llu events, %.1f ns each\n", rounds, what, (ull)events, double(r.took) / double(events));
}

static void testJumps() {
  const Run r = run(subject, "jumps", std::to_string(rounds));
  uint64_t calls = 0;
  for (long i = 0; i < rounds; i++) calls += uint64_t(1 + i % 3);
  CHECK(count(r, TraceEvent::Enter, "jumpsAt") == calls && count(r, TraceEvent::Leave, "jumpsAt") == 0, "jumpsAt");
  CHECK(misplaced(r, "tick", 0) == 0 && misplaced(r, "wideTick", 0) == 0, "%llu of tick, %llu of wideTick in other calls",
        (ull)misplaced(r, "tick", 0), (ull)misplaced(r, "wideTick", 0));
  CHECK(r.left == calls && r.strays == 0 && r.open == 0 && r.pairs == 2 * uint64_t(rounds), "%llu left, %llu stray, %llu open",
        (ull)r.left, (ull)r.strays, (ull)r.open);
  speed("longjmp", r);
  if (rounds <= 100000) read(r, 2 * r.pairs + r.left, r.left);
}

static void testThrows() {
  const Run r = run(subject, "throws", std::to_string(rounds));
  uint64_t calls = 0;
  for (long i = 0; i < rounds; i++) calls += uint64_t(2 + i % 3);
  CHECK(count(r, TraceEvent::Enter, "throwsAt") == calls && count(r, TraceEvent::Leave, "throwsAt") == (clang ? 0 : calls), "throwsAt");
  CHECK(misplaced(r, "tick", 0) == 0, "%llu of tick in other calls", (ull)misplaced(r, "tick", 0));
  CHECK(r.left == (clang ? calls : 0) && r.strays == 0 && r.open == 0, "%llu left, %llu stray, %llu open", (ull)r.left, (ull)r.strays,
        (ull)r.open);
  speed("exceptions", r);
  if (rounds <= 100000) read(r, 2 * r.pairs + r.left, r.left);
}

static void testHandlers() {
  const Run r = run(subject, "handlers");
  // Of 40 handlers 20 are left, and raises with them.
  CHECK(r.stacks == 1, "%llu stacks", (ull)r.stacks);
  CHECK(misplaced(r, "handler", 1) == 0 && misplaced(r, "handled", 2) == 0 && misplaced(r, "raises", 0) == 0, "depths");
  CHECK(r.left == 40 && r.strays == 0 && r.open == 0, "%llu left, %llu stray, %llu open", (ull)r.left, (ull)r.strays, (ull)r.open);
  read(r, 2 * r.pairs + r.left, r.left);
}

static void testVforks() {
  const Run r = run(subject, "vforks");
  CHECK(misplaced(r, "tick", 0) == 0 && misplaced(r, "becomes", 0) == 0, "depths");
  CHECK(r.left == 20 && r.strays == 0 && r.open == 0 && r.pairs == 21, "%llu left, %llu stray, %llu open, %llu pairs", (ull)r.left,
        (ull)r.strays, (ull)r.open, (ull)r.pairs);
}

static void testInlines() {
  const Run r = run(subject, "inlines");
  // Of moves 100 are left, with two of jumpsAt each.
  CHECK(r.left == 300 && r.strays == 0 && r.open == 0, "%llu left, %llu stray, %llu open", (ull)r.left, (ull)r.strays, (ull)r.open);
  CHECK(misplaced(r, "moves", 0) == 0 && count(r, TraceEvent::Leave, "leaf") == 800, "moves");
  read(r, 2 * r.pairs + r.left, r.left);
}

static void testDeep() {
  const long depth = 3000000;
  for (const unsigned inside : {0u, 1u}) {
    if (inside) setenv("LOGREC_INSIDE", "deepInside", 1);
    const Run r = run(subject, inside ? "deep-inside" : "deep", std::to_string(depth), rlim_t(400) << 20);
    unsetenv("LOGREC_INSIDE");
    // What was forgotten has leaves with an address, and counts for the depth that chunks begin with.
    CHECK(r.pairs == uint64_t(depth) + 1 + inside && r.left == 0 && r.strays == 0 && r.open == 0, "inside %u: %llu pairs, %llu left, %llu stray, %llu open",
          inside, (ull)r.pairs, (ull)r.left, (ull)r.strays, (ull)r.open);
    CHECK(misplaced(r, "tick", inside) == 0, "tick");
    size_t unnamed = 0;
    for (const TraceEvent &e : r.events) unnamed += e.kind == TraceEvent::Stack && e.more->depth > 0 && e.more->functions.empty();
    CHECK(unnamed > 0, "no chunk began when only forgotten calls were open");
  }
}

static void testNested() {
  if (nested.empty()) {
    printf("  not built: clang has no nested functions, others no -mfentry\n");
    return;
  }
  const Run r = run(nested, "nested");
  const uint64_t calls = strtoull(content(folder + "/out").c_str(), nullptr, 10);
  CHECK(calls > 100 && r.pairs == calls && r.left == 0 && r.strays == 0 && r.open == 0, "%llu pairs of %llu, %llu left", (ull)r.pairs,
        (ull)calls, (ull)r.left);
}

static void testWays() {
  const Run r = run(subject, "jumps", "1");
  string ways;
  for (const string &f : r.files) {
    const Trace t(f);
    for (const TraceRecord &s : t.records) {
      size_t at = 0;
      if (s.type == 13 && Trace::text(s.body, &at) == "way") ways += Trace::text(s.body, &at) + " ";
    }
  }
  CHECK(ways == "finstrument-functions ", "%s", ways.c_str());
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  subject = argv[1];
  string only;
  for (int i = 2; i < argc; i++) {
    const string a = argv[i];
    if (a.compare(0, 7, "rounds=") == 0) rounds = atol(a.c_str() + 7);
    else if (a.compare(0, 7, "nested=") == 0) nested = a.substr(7);
    else if (a.compare(0, 9, "logparse=") == 0) logparse = a.substr(9);
    else if (a.compare(0, 5, "only=") == 0) only = a.substr(5);
    else if (a == "clang") clang = true;
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const struct {
    const char *name;
    void (*test)();
  } cases[] = {{"turns", testTurns},       {"wanders", testWanders},
#if defined(__x86_64__)
               {"turns-by-hand", testTurnsByHand}, {"wanders-by-hand", testWandersByHand},
#endif
               {"forks", testForks},       {"jumps", testJumps},     {"throws", testThrows}, {"handlers", testHandlers},
               {"vforks", testVforks},     {"inlines", testInlines}, {"deep", testDeep},     {"nested", testNested},
               {"ways", testWays}};
  for (const auto &c : cases) {
    if (!only.empty() && only != c.name) continue;
    caseFailed = false;
    c.test();
    printf("%s %s\n", caseFailed ? "FAIL" : "ok  ", c.name);
    caseFailed ? failed++ : passed++;
  }
  const string top = "/tmp/stacks_test." + std::to_string(getpid());
  if (!failed && system(("rm -rf '" + top + "'").c_str()) != 0) return 2;
  if (failed) printf("kept: %s\n", top.c_str());
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
