// values_test.cpp: runs values_subject with its plan and values_api, and reads their traces.
// values_test SUBJECT PLAN API [OPTION...]; options: pointers=N (300,000), kills=N (20), entries (no
// __return__: no results, and calls end late), no-tail (nothing is a tail call), late-signals (the program gets its signals
// when a sanitizer lets it), only=CASE, -CASE. Prints "N passed, N failed".

#include "check.h"
#include "trace_read.h"
#include "values_wanted.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

using std::string;
using std::vector;

static string subject, plan, api, folder;
static long pointers = 300000, kills = 20;
static bool entries, noTail, lateSignals;

static string output(const string &command, int *status) {
  string s;
  *status = -1;
  if (FILE *f = popen(command.c_str(), "r")) {
    char b[4096];
    for (size_t n; (n = fread(b, 1, sizeof b, f)) > 0;) s.append(b, n);
    *status = pclose(f);
  }
  return s;
}

static vector<string> traces() {
  vector<string> names;
  if (DIR *d = opendir(folder.c_str())) {
    while (dirent *e = readdir(d)) {
      const string name = folder + "/" + e->d_name;
      if (name.size() > 8 && name.compare(name.size() - 8, 8, ".lptrace") == 0) names.push_back(name);
    }
    closedir(d);
  }
  std::sort(names.begin(), names.end());
  return names;
}

static void clear() {
  for (const string &name : traces()) unlink(name.c_str());
}

static string write(const string &name, const string &text) {
  const string path = folder + "/" + name;
  if (FILE *f = fopen(path.c_str(), "wb")) {
    fwrite(text.data(), 1, text.size(), f);
    fclose(f);
  }
  return path;
}

struct Function {
  uint64_t rva, size;
  string name;
};
static vector<Function> functions;

static void readPlan() {
  const string text = content(plan);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    unsigned long long rva, size;
    char name[64];
    if (sscanf(text.substr(at, end - at).c_str(), "function %llx %llx %63s", &rva, &size, name) == 3) functions.push_back({rva, size, name});
    at = end + 1;
  }
}

static string hex(const string &bytes) {
  string s;
  for (const char c : bytes) s += "0123456789abcdef"[uint8_t(c) >> 4], s += "0123456789abcdef"[uint8_t(c) & 15];
  return s;
}

// A call of a function of the plan, in the order of enters; "-" where there are no values.
struct Call {
  string name, arguments, result;
  bool ended;
};

struct Run {
  int status;
  string out, err;
  vector<Call> calls;
  vector<Trace> logs;
  vector<string> settings;  // NAME=VALUE
  string carried;           // the plan in the log
  uint64_t hash;
};

static void replay(const Trace &t, Run *r) {
  for (auto &s : t.streams) {
    vector<size_t> open;  // indexes into r->calls; ~0 for other functions
    size_t last = ~size_t(0);
    for (const TraceEvent &e : s.second.events) {
      if (e.kind == TraceEvent::Enter) {
        const TraceModule *m = t.moduleOf(e.address, e.time);
        last = ~size_t(0);
        for (const Function &f : functions)
          if (m && e.address - m->base - f.rva < f.size) {
            last = r->calls.size();
            r->calls.push_back({f.name, "-", "-", false});
          }
        open.push_back(last);
      } else if (e.kind == TraceEvent::Leave) {
        last = open.empty() ? ~size_t(0) : open.back();
        if (!open.empty()) open.pop_back();
        if (last != ~size_t(0)) r->calls[last].ended = true;
      } else if (e.kind == TraceEvent::Arguments && last != ~size_t(0)) {
        r->calls[last].arguments = hex(e.more->text);
      } else if (e.kind == TraceEvent::Result && last != ~size_t(0)) {
        r->calls[last].result = hex(e.more->text);
      }
    }
  }
  for (const TraceRecord &x : t.records) {
    size_t at = 0;
    if (x.type == 13) {
      const string name = Trace::text(x.body, &at), value = Trace::text(x.body, &at);
      r->settings.push_back(name + "=" + value);
    } else if (x.type == 17) {
      r->hash = Trace::u64(x.body, 0);
      const uint32_t total = Trace::u32(x.body, 8), offset = Trace::u32(x.body, 12);
      r->carried.resize(total);
      for (size_t i = 0; i < x.body.size() - 16 && offset + i < total; i++) r->carried[offset + i] = x.body[16 + i];
    }
  }
}

static Run run(const string &program, const string &arguments, const string &environment) {
  Run r = {};
  clear();
  const string error = folder + "/error";
  r.out = output("cd " + folder + " && env LOGREC_FILE=" + folder + "/%p.lptrace " + environment + " " + program + " " + arguments + " 2>" + error, &r.status);
  r.err = content(error);
  for (const string &name : traces()) {
    r.logs.push_back(Trace(name));
    CHECK(r.logs.back().ok(), "%s: %s", environment.c_str(), r.logs.back().error.c_str());
    replay(r.logs.back(), &r);
  }
  return r;
}
static string with(const string &path) { return "LOGREC_VALUES=" + path; }

static vector<Call> of(const Run &r, const string &name) {
  vector<Call> v;
  for (const Call &c : r.calls)
    if (c.name == name) v.push_back(c);
  return v;
}

// round: how many times all was called before.
static void checkKinds(const Run &r, bool unreadable, size_t round = 0, size_t rounds = 1) {
  CHECK(r.status == 0, "status %#x, %s", r.status, r.err.c_str());
  for (const Want &w : wanted()) {
    const vector<Call> calls = of(r, w.name);
    // vs_text was called once before the sandbox.
    const size_t index = size_t(w.index) + (unreadable && string(w.name) == "vs_text") + calls.size() / rounds * round;
    if (calls.size() <= index) {
      CHECK(false, "%s: %zu calls", w.name, calls.size());
      continue;
    }
    const Call &c = calls[index];
    string arguments = w.arguments, result = w.result;
    if (noTail && string(w.name) == "vs_tail") result = "01000a000000";
    if (unreadable) {
      if (string(w.name) == "vs_text") arguments = w.index ? "0100fefffeff" : "0100feffffff";
      if (string(w.name) == "vs_string" || string(w.name) == "vs_many") arguments = "0100fefffeff";
      if (string(w.name) == "vs_view") arguments = "0100fefffeff";
      // What lies on another page than the return address.
      if ((string(w.name) == "vs_big" || string(w.name) == "vs_stack") && c.arguments.size() < arguments.size())
        arguments = w.arguments.substr(0, c.arguments.size());
      if (string(w.name) == "vs_memory") arguments = w.index == 1 ? "01000100" : "01000200";
    }
    CHECK(c.arguments == arguments, "%s %d: %s, not %s", w.name, w.index, c.arguments.c_str(), arguments.c_str());
    if (entries) CHECK(c.result == "-", "%s: result %s", w.name, c.result.c_str());
    else if (!unreadable && result != "*") CHECK(c.result == result, "%s %d: result %s, not %s", w.name, w.index, c.result.c_str(), result.c_str());
  }
  for (const Call &c : of(r, "vs_not_planned")) CHECK(c.arguments == "-" && c.result == "-", "%s", c.arguments.c_str());
}

static uint64_t fnv(const string &s) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : s) h = (h ^ uint8_t(c)) * 0x100000001b3u;
  return h;
}

static void testKinds() {
  const Run r = run(subject, "kinds", with(plan));
  checkKinds(r, false);
  CHECK(r.err.empty(), "%s", r.err.c_str());
  CHECK(r.carried == content(plan) && r.hash == fnv(r.carried), "the log has another plan, of %zu bytes", r.carried.size());
  char setting[64];
  snprintf(setting, sizeof setting, "values=plan %016llx ", (unsigned long long)r.hash);
  CHECK(std::find(r.settings.begin(), r.settings.end(), setting + plan) != r.settings.end(), "no %s", setting);
}

// The first calls take the slow path. Those behind take the fast one, also where a chunk of the log ends.
static void testAgain() {
  const size_t rounds = 150;
  for (const char *way : {"A=1", "LOGREC=ring:1"}) {
    const Run r = run(subject, "kinds " + std::to_string(rounds), with(plan) + " " + way);
    CHECK(of(r, "vs_six").size() == rounds, "%zu rounds", of(r, "vs_six").size());
    for (size_t i = 0; i < rounds && !caseFailed; i++) checkKinds(r, false, i, rounds);
  }
}

// By the longer way through the recorder it is the same.
static void testLongWay() {
  for (const char *more : {"LOGREC_SITES=1", "LOGREC_EXCLUDE=vs_not_planned", "LOGREC_MIN=1ns", "LOGREC=ring:1"}) {
    const Run r = run(subject, "kinds", with(plan) + " " + more);
    checkKinds(r, false);
  }
}

// Values in another order, and fewer of them, as a writer by hand may have them.
static void testOrder() {
  string text = content(plan);
  const size_t at = text.find("function ", text.find(" vs_sum"));
  const size_t begin = text.rfind("function", text.find(" vs_sum"));
  const string moved = text.substr(begin, at - begin);
  text.erase(begin, at - begin);
  text += moved;
  // Enter behind leave, carriage returns, comments.
  const Run r = run(subject, "kinds", with(write("moved.lpvalues", text + "# the end\r\n\r\n")));
  checkKinds(r, false);
  CHECK(r.err.empty(), "%s", r.err.c_str());
}

static void testRaw() {
  const Run r = run(subject, "kinds", with("raw"));
  CHECK(r.status == 0 && r.err.empty(), "status %#x, %s", r.status, r.err.c_str());
  const vector<Call> sums = of(r, "vs_sum"), floats = of(r, "vs_floats"), pairs = of(r, "vs_pair"), tails = of(r, "vs_tail"), others = of(r, "vs_not_planned");
  CHECK(!sums.empty() && !floats.empty() && !pairs.empty() && !tails.empty() && !others.empty(), "calls are missing");
  if (caseFailed) return;
  const string &a = sums[0].arguments;
  CHECK(a.size() == 2 * (6 + 14 * 8) && a.compare(0, 12, "020006080000") == 0 && a.compare(12, 8, "03000000") == 0 && a.compare(28, 8, "fcffffff") == 0,
        "%s", a.c_str());
  CHECK(floats[0].arguments.compare(12 + 6 * 16, 8, "0000c03f") == 0 && floats[0].arguments.compare(12 + 7 * 16, 16, "0000000000000240") == 0, "%s",
        floats[0].arguments.c_str());
  if (entries) return;
  CHECK(sums[0].result.compare(0, 20, "020002020000ffffffff") == 0 && sums[0].result.size() == 2 * (6 + 4 * 8), "%s", sums[0].result.c_str());
  CHECK(pairs[0].result.compare(12, 16, "2900000000000000") == 0 && pairs[0].result.compare(12 + 32, 16, "0000000000000440") == 0, "%s",
        pairs[0].result.c_str());
  CHECK(noTail || tails[0].result == "0400", "a tail call's result: %s", tails[0].result.c_str());
  CHECK(others[0].arguments.size() == a.size() && others[0].result.size() == sums[0].result.size(), "%s", others[0].arguments.c_str());
}

// Recording is switched on inside calls that are not open in the log when they return.
static void testSwitched() {
  for (const string &values : {with(plan), with("raw")}) {
    const Run r = run(subject, "switched", values + " LOGREC=off");
    CHECK(r.status == 0 && r.out == "19\n", "status %#x, %s", r.status, r.out.c_str());
    CHECK(of(r, "vs_sum").size() == 5, "%zu calls", of(r, "vs_sum").size());
  }
}

// Pointers to anything: the program prints what it prints without values, and all is recorded.
static void testPointers() {
  const string n = std::to_string(pointers);
  const Run plain = run(subject, "pointers " + n, "LOGREC=off");
  const Run r = run(subject, "pointers " + n, with(plan) + " LOGREC=ring:8");
  CHECK(r.status == 0 && r.out == plain.out && !r.out.empty(), "status %#x, %s, not %s", r.status, r.out.c_str(), plain.out.c_str());
  long states[4] = {};
  for (const Call &c : of(r, "vs_any")) {
    if (c.arguments.size() < 8) continue;
    const string length = c.arguments.substr(4, 4);
    states[length == "feff" ? 0 : length == "ffff" ? 1 : length == "fdff" ? 2 : 3]++;
  }
  for (const long s : states) CHECK(s > 100, "%ld unreadable, %ld null, %ld long, %ld texts", states[0], states[1], states[2], states[3]);
}

// The same with signals blocked, in threads that change masks, in handlers, and with handlers of the program's own; without
// the recorder's handler, too.
static void testSignals() {
  const string n = " " + std::to_string(pointers / 10 + 100);
  for (const char *const what : {"signals", "masks", "own-handler", "masked-handler", "waiting", "unseen-masks", "unblocking-handler"}) {
    // Without the recorder, too, the rest then waits for ever for what it has raised.
    if (lateSignals && strcmp(what, "masked-handler") == 0) break;
    const Run plain = run(subject, what + n, "LOGREC=off");
    for (const char *const more : {" LOGREC=ring:1", " LOGREC=ring:1 LOGREC_CRASH=first", " LOGREC=ring:1 LOGREC_CRASH=off"}) {
      const Run r = run(subject, what + n, with(plan) + more);
      CHECK(plain.status == 0 && r.status == 0 && r.out == plain.out && !r.out.empty(), "%s%s: status %#x, %s, not %s", what, more, r.status, r.out.c_str(),
            plain.out.c_str());
    }
  }
}

static void testThreads() {
  const long n = 20000;
  const Run r = run(subject, "threads " + std::to_string(n), with(plan));
  CHECK(r.status == 0, "status %#x", r.status);
  size_t sums = 0, texts = 0;
  for (const Call &c : r.calls) {
    if (c.name == "vs_text") texts += c.arguments == "01000b006f66206120746872656164ffff00";
    if (c.name != "vs_sum" || c.arguments.size() != 20) continue;
    uint32_t v[2];
    for (int k = 0; k < 2; k++) v[k] = __builtin_bswap32(uint32_t(strtoul(c.arguments.substr(4 + 8 * size_t(k), 8).c_str(), nullptr, 16)));
    char result[16];
    snprintf(result, sizeof result, "0100%08x", __builtin_bswap32(v[0] + v[1]));
    sums += v[1] == v[0] + 1 && (entries || c.result == result);
  }
  CHECK(sums == 4 * size_t(n) && texts == 4 * size_t(n), "%zu sums, %zu texts", sums, texts);
}

// An enter that is taken back takes its arguments along.
static void testShort() {
  const Run r = run(subject, "short 20000", with(plan) + " LOGREC_MIN=500us");
  CHECK(r.status == 0, "status %#x", r.status);
  size_t bytes = 0, sums = of(r, "vs_sum").size();
  for (const Trace &t : r.logs) bytes += t.eventBytes;
  // The processor may have been taken away within some.
  CHECK(sums < 200 && bytes < 20000, "%zu calls, %zu bytes", sums, bytes);
  for (const Call &c : of(r, "vs_sum")) CHECK(c.arguments != "-" && (entries || c.result != "-"), "%s %s", c.arguments.c_str(), c.result.c_str());
}

// A plan of another build takes nothing, and the log says so.
static void testOtherBuild() {
  string text = content(plan);
  const size_t at = text.find("identity build-id ") + 18;
  text[at] = text[at] == '0' ? '1' : '0';
  Run r = run(subject, "kinds", with(write("other.lpvalues", text)));
  size_t told = 0;
  for (const string &s : r.settings) told += s.compare(0, 21, "values-mismatch=plan ") == 0 && s.find(" loaded ") != string::npos;
  CHECK(r.status == 0 && told == 1 && r.err.find("another build") != string::npos, "status %#x, told %zu, %s", r.status, told, r.err.c_str());
  for (const Call &c : r.calls) CHECK(c.arguments == "-" && c.result == "-", "%s: %s", c.name.c_str(), c.arguments.c_str());
  CHECK(!r.calls.empty(), "no calls");
  // Of another module of another name nothing is said.
  const size_t name = text.find("module values_subject");
  text.replace(name, 21, "module no_such_module");
  r = run(subject, "kinds", with(write("other.lpvalues", text)));
  CHECK(r.status == 0 && r.err.empty(), "status %#x, %s", r.status, r.err.c_str());
}

// Plans that cannot be read: nothing is taken, and it is said in which line.
static void testWrongPlans() {
  const string text = content(plan), head = "lpvalues 1\nmachine x86-64\nabi sysv\nmodule a\nidentity none\nfunction 10 10 f\n";
  const struct {
    string text;
    const char *want;
  } cases[] = {{"", "the plan is no file"},
               {"lpvalues 2\n", "line 1 of the plan: the first line"},
               {"lpvalues 1\nmachine arm64\n", "line 2 of the plan: the plan is for another machine"},
               {"lpvalues 1\nmachine x86-64\nabi win64\n", "line 3 of the plan: the plan is for another machine"},
               {"lpvalues 1\nmachine x86-64\n", "line 2 of the plan: it does not say"},
               {"lpvalues 1\nsomething\n", "line 2 of the plan: not a word"},
               {"lpvalues 1\nenter rdi value 4 1 a\n", "line 2 of the plan: this line cannot stand here"},
               {"lpvalues 1\nfunction 10 10 f\n", "line 2 of the plan: this line cannot stand here"},
               {"lpvalues 1\nidentity none\n", "line 2 of the plan: this line cannot stand here"},
               {head + "enter rdi value 65 1 a\n", "line 7 of the plan: a number"},
               {head + "enter rdi value 0 1 a\n", "line 7 of the plan: a number"},
               {head + "enter rdi value 4 0 a\n", "line 7 of the plan: a number"},
               {head + "enter rdi value 99999999999999999999 1 a\n", "line 7 of the plan: a number"},
               {head + "enter rdi text 1025 1 a\n", "line 7 of the plan: a number"},
               {head + "enter rdi memory 0 257 1 a\n", "line 7 of the plan: a number"},
               {head + "enter rdi string qt 7 1 a\n", "line 7 of the plan: not a word"},
               {head + "enter rdi view libc++\n", "line 7 of the plan: a number"},
               {head + "enter rbx value 4 1 a\n", "line 7 of the plan: not a place"},
               {head + "enter st0 value 16 1 a\n", "line 7 of the plan: not a place"},
               {head + "leave st0 text 16 1 a\n", "line 7 of the plan: not a place"},
               {head + "leave rdi value 4 1 a\n", "line 7 of the plan: not a place"},
               {head + "leave @rdi value 4 1 a\n", "line 7 of the plan: not a place"},
               {head + "enter @rdi memory 0 4 1 a\n", "line 7 of the plan: not a place"},
               {head + "leave @rdi+rsi view libc++ 4 1 a\n", "line 7 of the plan: not a place"},
               {head + "leave @st0 text 4 1 a\n", "line 7 of the plan: not a place"},
               {head + repeated("leave @rdi text 4 1 a\n", 9) + "leave @rsi text 4 1 a\nleave @rdx text 4 1 a\nleave @rcx text 4 1 a\nleave @r8 text 4 1 a\n"
                       "leave @r9 text 4 1 a\nleave @stack+0 text 4 1 a\nleave @stack+8 text 4 1 a\n", "line 22 of the plan: more than"},
               {head + "enter rdi+ value 8 1 a\n", "line 7 of the plan: not a place"},
               {head + "enter stack value 8 1 a\n", "line 7 of the plan: not a place"},
               {head + "enter stack+ value 8 1 a\n", "line 7 of the plan: a number"},
               {head + "enter - value 8 1 a\n", "line 7 of the plan: not a place"},
               {head + "enter rdi value 16 1 a\n", "line 7 of the plan: the place has fewer bytes"},
               {head + "enter rdi+rsi+rdx+rcx+r8+r9+rax+xmm0+xmm1 value 64 1 a\n", "line 7 of the plan: not a place"},
               {head + "enter rsp:8 value 8 1 a\n", "line 7 of the plan: not a place"},
               {head + "hook 10\nenter stack+8 value 8 1 a\n", "line 8 of the plan: not a place"},
               {head + "hook 10\nenter rsp:-8 value 8 1 a\n", "line 8 of the plan: not a place"},
               {head + "hook 10\nenter xmm0:8 value 8 1 a\n", "line 8 of the plan: not a place"},
               {head + "hook 10\nenter rbx:8000000 value 8 1 a\n", "line 8 of the plan: a number"},
               {head + "hook 10\nenter rbx: value 8 1 a\n", "line 8 of the plan: a number"},
               {head + "hook 10\nenter =g value 8 1 a\n", "line 8 of the plan: a number"},
               {head + "hook 10\nleave =1 text 8 1 a\n", "line 8 of the plan: not a place"},
               {head + "hook 10\nleave rbx+=2 view libc++ 8 1 a\n", "line 8 of the plan: not a place"},
               {head + "keep rdi\n", "line 7 of the plan: this line cannot stand here"},
               {head + "hook 10\nkeep rdi+rsi\n", "line 8 of the plan: not a place"},
               {head + "hook 10\nkeep =1\n", "line 8 of the plan: not a place"},
               {head + "hook 10\n" + repeated("keep rbx\n", 8), "line 15 of the plan: more than"},
               {head + "hook 10\nkeep rbx\nhook 11\nleave @1 text 8 1 a\n", "line 10 of the plan: not a place"},
               {head + "hook 10\nkeep rbx\nhook 11\nleave @0 value 8 1 a\n", "line 10 of the plan: not a place"},
               {head + "hook 10\nkeep rbx\nhook 11\nleave @0 text 8 1 a\nkeep rbx\n", "line 11 of the plan: this line cannot stand here"},
               {head + "enter rdi+rsi view libc++-alternate 8 1 a\n", "line 7 of the plan: not a word"},
               {head + "hook 10\nleave st0 value 16 1 a\n", "line 8 of the plan: not a place"},
               {head + "hook 10\nenter rbx value 8 1 a\nhook 10\n", "functions of the plan overlap"},
               {"lpvalues 1\nmodule a\nhook 10\n", "line 3 of the plan: this line cannot stand here"},
               {head + "identity none\n", "line 7 of the plan: this line cannot stand here"},
               {head + repeated("enter rdi value 1 1 a\n", 256), "line 262 of the plan: more than"},
               {head + "function 18 10 g\n", "functions of the plan overlap"},
               {"lpvalues 1\nmodule a\nidentity build-id xyz\n", "line 3 of the plan: a number"},
               {"lpvalues 1\nmodule a\nfunction 10000000000000000 10 f\n", "line 3 of the plan: a number"}};
  for (const auto &c : cases) {
    const Run r = run(subject, "kinds", with(write("wrong.lpvalues", c.text)));
    CHECK(r.status == 0 && r.err.find(string("logrec: LOGREC_VALUES: ") + c.want) == 0 && std::count(r.err.begin(), r.err.end(), '\n') == 1, "%s: status %#x, %s",
          c.want, r.status, r.err.c_str());
    CHECK(!r.calls.empty() && r.settings.empty() == false, "no calls");
    for (const Call &call : r.calls) CHECK(call.arguments == "-" && call.result == "-", "%s: %s", c.want, call.arguments.c_str());
    for (const string &s : r.settings) CHECK(s.compare(0, 6, "values") != 0, "%s: %s", c.want, s.c_str());
  }
  for (const char *path : {"/no/such/plan", "/", "/dev/zero", "/dev/null"}) {
    const Run r = run(subject, "kinds", with(path));
    CHECK(r.status == 0 && r.err.find("logrec: LOGREC_VALUES: the plan is no file") == 0, "%s: status %#x, %s", path, r.status, r.err.c_str());
  }
  // Changed here and there: whatever is taken by it, the program does what it does.
  uint64_t s = 88172645463325252u;
  for (int i = 0; i < 150; i++) {
    string other = text;
    for (int k = 0; k < 1 + i % 5; k++) {
      s ^= s << 13, s ^= s >> 7, s ^= s << 17;
      const size_t begin = text.find("function"), at = begin + s % (other.size() - begin);
      if (s >> 60 < 4) other.erase(at, 1 + (s >> 32) % 8);
      else other[at] = "0123456789 +-\nax"[s >> 40 & 15];
    }
    const Run r = run(subject, "kinds", with(write("other.lpvalues", other)));
    CHECK(r.status == 0, "round %d: status %#x, %s", i, r.status, r.err.c_str());
  }
  // Stack places that are far above.
  string far = text;
  for (size_t at; (at = far.find("enter rsi value 4")) != string::npos;) far.replace(at, 9, "enter stack+1048570");
  const Run r = run(subject, "threads 100", with(write("other.lpvalues", far)));
  CHECK(r.status == 0, "status %#x, %s", r.status, r.err.c_str());
}

static void testSandbox() {
  const Run r = run(subject, "sandbox", with(plan));
  if (r.status == 77 << 8) return;
  const vector<Call> texts = of(r, "vs_text");
  CHECK(texts.size() == 3 && texts[0].arguments == "010006006265666f7265ffff", "%zu texts", texts.size());
  checkKinds(r, true);
}

static void testFork() {
  const Run r = run(subject, "fork", with(plan));
  CHECK(r.status == 0 && r.logs.size() == 2, "status %#x, %zu logs", r.status, r.logs.size());
  vector<string> arguments;
  for (const Call &c : of(r, "vs_sum")) arguments.push_back(c.arguments);
  std::sort(arguments.begin(), arguments.end());
  CHECK((arguments == vector<string>{"01000100000002000000", "01000300000004000000"}), "%zu calls", arguments.size());
  for (const Trace &t : r.logs) CHECK(t.count(17) > 0, "a log without its plan");
}

// Each record of a killed program is whole, and each but the last enter has its arguments.
static void testKill() {
  size_t all = 0; // on a loaded machine some are killed before their first call
  for (long i = 0; i < kills; i++) {
    clear();
    const string log = folder + "/killed.lptrace";
    int ready[2];
    if (pipe(ready) != 0) abort();
    const pid_t child = fork();
    if (child == 0) {
      dup2(ready[1], 1);
      setenv("LOGREC_FILE", log.c_str(), 1);
      setenv("LOGREC_VALUES", plan.c_str(), 1);
      execl(subject.c_str(), subject.c_str(), "endless", (char *)nullptr);
      _exit(127);
    }
    char c;
    if (read(ready[0], &c, 1) != 1) CHECK(false, "it did not begin");
    usleep(useconds_t(500 + 997 * i % 5000));
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    close(ready[0]);
    close(ready[1]);
    Run r = {};
    const Trace t(log);
    CHECK(t.ok(), "round %ld: %s", i, t.error.c_str());
    replay(t, &r);
    size_t without = 0;
    for (const Call &call : r.calls) without += call.arguments == "-" || (call.ended && !entries && call.result == "-");
    CHECK(without <= 1, "round %ld: %zu of %zu without values", i, without, r.calls.size());
    all += r.calls.size();
  }
  CHECK(all > 10, "%zu calls in all rounds", all);
}

static uint16_t u16(const string &s, size_t at) { return uint16_t(uint8_t(s[at]) | uint8_t(s[at + 1]) << 8); }

// A place, and what was recorded there.
struct Told {
  string function, text, types, values;
  vector<uint8_t> codes;
  uint32_t number;
  bool result, isShort;  // isShort: the record's first word has the number
  size_t around;         // open calls
};

static vector<Told> told(const Trace &t) {
  std::map<uint32_t, Told> places;
  for (const TraceRecord &x : t.records) {
    if (x.type != 18) continue;
    Told p = {};
    size_t at = 8;
    p.function = Trace::text(x.body, &at);
    const string file = Trace::text(x.body, &at);
    CHECK(file.find("values_api.c") != string::npos, "%s", file.c_str());
    p.text = Trace::text(x.body, &at);
    const uint16_t n = u16(x.body, at);
    at += 2;
    for (unsigned i = 0; i < n; i++) p.codes.push_back(uint8_t(x.body[at++]));
    for (unsigned i = 0; i < n; i++) p.types += (i ? "|" : "") + Trace::text(x.body, &at);
    CHECK(places.count(Trace::u32(x.body, 0)) == 0, "a place twice");
    places[Trace::u32(x.body, 0)] = p;
  }
  vector<Told> list;
  for (auto &s : t.streams) {
    size_t open = 0;
    for (const TraceEvent &e : s.second.events) {
      if (e.kind == TraceEvent::Enter) open++;
      if (e.kind == TraceEvent::Leave && open) open--;
      if (e.kind != TraceEvent::Arguments && e.kind != TraceEvent::Result) continue;
      CHECK(u16(e.more->text, 0) == 3 && places.count(Trace::u32(e.more->text, 2)) == 1, "%s", hex(e.more->text).c_str());
      Told p = places[Trace::u32(e.more->text, 2)];
      p.number = Trace::u32(e.more->text, 2);
      p.isShort = e.more->value == 1;
      p.result = e.kind == TraceEvent::Result;
      p.values = hex(e.more->text.substr(6));
      p.around = open;
      list.push_back(p);
    }
  }
  return list;
}

static void checkApi(const vector<Told> &list) {
  const struct {
    const char *text;
    bool result;
    vector<int> codes;
    string values;
  } cases[] = {
      {"a, b", false, {7, 7}, "03000000fcffffff"},
      {"a + b", true, {7}, "ffffffff"},
      {"true, 'c', (signed char)-1, (unsigned char)255, (short)-2, (unsigned short)65535, -3, 4000000000u, -5ll, ~0ull, 1.5f, 2.25, 3.5L",
       false,
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12},
       "0163fffffeffffff" "fdffffff00286bee" "fbffffffffffffff" "ffffffffffffffff" "0000c03f" "0000000000000240" "0000000000000c40"},
      {"*p", false, {7}, "07000000"},
      {"std::string(\"by\") + \" value\"", true, {14}, "080062792076616c7565"},
      {"a", false, {7}, "09000000"},
      {"a, once(2)", false, {7, 7}, "0900000002000000"},
      {"s, c, f, 2.5, (_Bool)1, 3.5L, -1L, 1ull << 63, GREEN", false, {5, 4, 11, 12, 1, 12, 9, 10, 7},
       "feffc80000c03f000000000000044001" "0000000000000c40" "ffffffffffffffff" "0000000000000080" "05000000"},
      {"s + 0.5", true, {12}, "000000000000f8bf"},
      {"s, n, \"a literal\", (const char *)0, (char *)8", false, {14, 13, 14, 14, 14},
       "08006368616e67696e67" "4000000000000000" "090061206c69746572616c" "ffff" "feff" "00"},
      {"\"result\"", true, {14}, "0600726573756c74"},
      {"s, p, \"a literal\", array, none, nowhere, std::string(300, 'x')", false, {14, 14, 14, 14, 14, 14, 14},
       "08006120737472696e67" "09006120706f696e746572" "090061206c69746572616c" "05006172726179" "ffff" "feff" "2c01" + repeated("78", 256) + "00"},
  };
  for (const auto &c : cases) {
    bool found = false;
    for (const Told &p : list) {
      if (p.text != c.text || p.result != c.result || found) continue;
      found = true;
      CHECK(p.values == c.values, "%s: %s", c.text, p.values.c_str());
      CHECK(vector<int>(p.codes.begin(), p.codes.end()) == c.codes, "%s: codes", c.text);
      CHECK(p.around == 1, "%s: in %zu calls", c.text, p.around);
    }
    CHECK(found, "%s is missing", c.text);
  }
  for (const Told &p : list) {
    if (p.function != "types") continue;
    CHECK((p.codes == vector<uint8_t>{64 + 8, 64 + 4, 13, 13, 13, 8, 7, 15, 15}), "codes of types");
    CHECK(p.types.find("app::Color|app::Level|") == 0 && p.types.find("app::Point|app::Pair<int, char>") != string::npos, "%s", p.types.c_str());
    CHECK(p.values.compare(0, 10, "05000000c8") == 0 && p.values.find("0700" "28312c202d3229" "0400" "70616972") != string::npos, "%s", p.values.c_str());
  }
}

// checkMany holds against each other the numbers of 80 places, which are in the order of their first records, and what was
// recorded there. A number stands in the first word of a record up to 63 only.
static void checkMany(const Run &many) {
  CHECK(many.status == 0 && many.logs.size() == 1, "status %#x, %zu logs", many.status, many.logs.size());
  for (const Trace &t : many.logs) {
    const vector<Told> list = told(t);
    CHECK(list.size() == 160 && t.count(18) == 80, "%zu told, %zu places", list.size(), t.count(18));
    for (unsigned i = 0; i < list.size(); i++) {
      char values[32];
      const unsigned n = i / 4 + 1, number = 2 * (i / 4) + 1 + i % 2;
      if (i % 2) snprintf(values, sizeof values, "%02x000000", n / 2);
      else snprintf(values, sizeof values, "%02x000000%02x00", n, i / 2 % 2);
      CHECK(list[i].values == values && list[i].result == i % 2, "%u: %s", i, list[i].values.c_str());
      CHECK(list[i].number == number && list[i].isShort == (number <= 63), "%u: place %u%s", i, list[i].number, list[i].isShort ? ", short" : "");
    }
  }
}

static void testApi() {
  const char *right = "1 evaluated, 1 written, errno 77, right\n";
  for (const char *way : {"A=1", "LOGREC_SITES=1", "LOGREC_VALUES=raw"}) {
    const Run r = run(api, "", way);
    CHECK(r.status == 0 && r.out == right && r.err.empty(), "%s: status %#x, %s%s", way, r.status, r.out.c_str(), r.err.c_str());
    CHECK(r.logs.size() == 1, "%zu logs", r.logs.size());
    for (const Trace &t : r.logs) checkApi(told(t));
  }
  // Arguments are evaluated in any case, own types are not written out in vain.
  for (const char *way : {"LOGREC=off", "LOGREC_VALUES=off"}) {
    const Run r = run(api, "", way);
    CHECK(r.status == 0 && r.out == "1 evaluated, 0 written, errno 77, right\n", "%s: status %#x, %s", way, r.status, r.out.c_str());
    for (const Trace &t : r.logs) CHECK(told(t).empty() && t.count(18) == 0, "%s: values", way);
  }
  const Run dropped = run(api, "short 20000", "LOGREC_MIN=500us");
  for (const Trace &t : dropped.logs) CHECK(t.eventBytes < 20000, "%llu bytes", (unsigned long long)t.eventBytes);
  for (const char *way : {"A=1", "LOGREC_SITES=1"}) checkMany(run(api, "many", way));
  const Run forked = run(api, "fork", "A=1");
  CHECK(forked.status == 0 && forked.logs.size() == 2, "status %#x, %zu logs", forked.status, forked.logs.size());
  for (const Trace &t : forked.logs) CHECK(told(t).size() == 2 && t.count(18) == 2, "%zu told, %zu places", told(t).size(), t.count(18));
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  subject = argv[1], plan = argv[2], api = argv[3];
  vector<string> without, only;
  for (int i = 4; i < argc; i++) {
    const string o = argv[i];
    if (o.compare(0, 9, "pointers=") == 0) pointers = atol(o.c_str() + 9);
    else if (o.compare(0, 6, "kills=") == 0) kills = atol(o.c_str() + 6);
    else if (o == "entries") entries = true;
    else if (o == "no-tail") noTail = true;
    else if (o == "late-signals") lateSignals = true;
    else if (o.compare(0, 5, "only=") == 0) only.push_back(o.substr(5));
    else if (o[0] == '-') without.push_back(o.substr(1));
  }
  char name[] = "/tmp/values-test-XXXXXX";
  folder = mkdtemp(name);
  readPlan();
  const struct {
    const char *name;
    void (*test)();
  } cases[] = {{"kinds", testKinds},   {"again", testAgain}, {"long-way", testLongWay}, {"order", testOrder},           {"raw", testRaw},         {"switched", testSwitched},         {"pointers", testPointers}, {"signals", testSignals},
               {"threads", testThreads}, {"short", testShort},      {"other-build", testOtherBuild}, {"wrong-plans", testWrongPlans}, {"sandbox", testSandbox},
               {"fork", testFork},     {"kill", testKill},        {"api", testApi}};
  for (const auto &c : cases) {
    if (std::find(without.begin(), without.end(), c.name) != without.end()) continue;
    if (!only.empty() && std::find(only.begin(), only.end(), c.name) == only.end()) continue;
    caseFailed = false;
    c.test();
    caseFailed ? failed++ : passed++;
    if (caseFailed) printf("%s failed\n", c.name);
  }
  if (system(("rm -rf " + folder).c_str()) != 0) failed++;
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
