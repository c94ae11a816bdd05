// trace_windows_test.cpp: the trace recorder's tests for Windows. It runs
// trace_windows_subject in folders of its own, and reads what it wrote.
// trace_windows_test SUBJECT [shared] [KILLS]: SUBJECT.exe lies beside it, with
// one.dll and two.dll, which are linked for one address, and bare.dll, which is
// one.dll without symbols. shared: all of them
// use logrec.dll, and so one file. A SUBJECT whose name has "penter" in it is
// trace_windows_penter.

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdlib.h>
#include <wchar.h>

#include "check.h"
#include "trace_read.h"

using std::string;
using std::vector;

static bool shared;
static string folder, home, subject;
static int kills = 10;

static vector<string> listOf(const string &pattern) {
  vector<string> names;
  WIN32_FIND_DATAA d;
  const HANDLE h = FindFirstFileA((folder + "\\" + pattern).c_str(), &d);
  if (h == INVALID_HANDLE_VALUE) return names;
  do names.push_back(d.cFileName);
  while (FindNextFileA(h, &d));
  FindClose(h);
  return names;
}

struct Outcome {
  DWORD status, pid;
  string err;
};

// start runs the subject in the test's folder; settings are pairs of a
// variable and its value.
static PROCESS_INFORMATION start(const string &arguments, const vector<string> &settings, HANDLE err) {
  static const char *const names[] = {"LOGREC", "LOGREC_FILE", "LOGREC_MIN", "LOGREC_INCLUDE", "LOGREC_EXCLUDE", "LOGREC_SITES"};
  for (const char *name : names) SetEnvironmentVariableA(name, nullptr);
  for (size_t i = 0; i + 1 < settings.size(); i += 2) SetEnvironmentVariableA(settings[i].c_str(), settings[i + 1].c_str());
  STARTUPINFOA s;
  memset(&s, 0, sizeof s);
  s.cb = sizeof s;
  s.dwFlags = STARTF_USESTDHANDLES;
  s.hStdError = s.hStdOutput = err;
  string line = subject + " " + arguments;
  PROCESS_INFORMATION p = {};
  CreateProcessA((home + "\\" + subject + ".exe").c_str(), &line[0], nullptr, nullptr, TRUE, 0, nullptr, folder.c_str(), &s, &p);
  return p;
}

static HANDLE errorFile() {
  SECURITY_ATTRIBUTES inherit = {sizeof inherit, nullptr, TRUE};
  return CreateFileA((folder + ".err").c_str(), GENERIC_WRITE, 3, &inherit, CREATE_ALWAYS, 0, nullptr);
}

static Outcome runOnce(const string &arguments, const vector<string> &settings) {
  Outcome o = {~0u, 0, ""};
  const HANDLE err = errorFile();
  const PROCESS_INFORMATION p = start(arguments, settings, err);
  if (p.hProcess) {
    if (WaitForSingleObject(p.hProcess, 60000) != WAIT_OBJECT_0) TerminateProcess(p.hProcess, 99);
    GetExitCodeProcess(p.hProcess, &o.status);
    o.pid = p.dwProcessId;
    CloseHandle(p.hProcess);
    CloseHandle(p.hThread);
  }
  CloseHandle(err);
  o.err = content(folder + ".err");
  return o;
}

// Wine 8 ends about one process in 4,000 with status 1 before it begins, any
// program: none of the cases ends with it.
static Outcome run(const string &arguments, const vector<string> &settings = {"LOGREC_FILE", "log.lptrace"}) {
  Outcome o = runOnce(arguments, settings);
  for (int again = 0; again < 2 && o.status == 1 && o.err.empty(); again++) o = runOnce(arguments, settings);
  return o;
}

static Trace load(const string &name = "log.lptrace") {
  Trace t(folder + "\\" + name);
  CHECK(t.ok(), "%s: %s", name.c_str(), t.error.c_str());
  return t;
}

static string baseName(const string &path) { return path.substr(path.find_last_of("/\\") + 1); }

// Everything that was entered was left, and the file was cut to its end.
static void complete(const Trace &t) {
  for (const auto &s : t.streams) {
    CHECK(s.second.lost == 0, "stream %u: %u lost", s.first, unsigned(s.second.lost));
    for (const auto &o : s.second.open) CHECK(o.second.empty(), "stream %u: %u open", s.first, unsigned(o.second.size()));
  }
  CHECK(t.state == 1 && t.count(15) == 1 && t.fileSize == t.end, "state %u, %u END, %u of %u bytes", t.state,
        unsigned(t.count(15)), unsigned(t.end), unsigned(t.fileSize));
}

static uint64_t countOf(const TraceStream &s, TraceEvent::Kind kind) {
  uint64_t n = 0;
  for (const TraceEvent &e : s.events) n += e.kind == kind;
  return n;
}

// What every run records: the object that lives longer than main, and what
// the compiler makes around it.
static uint64_t always;

static void testPairs() {
  for (uint64_t pairs : {uint64_t(0), uint64_t(1000)}) {
    const string name = std::to_string(pairs) + ".lptrace";
    const Outcome o = run("pairs " + std::to_string(pairs), {"LOGREC_FILE", name});
    CHECK(o.status == 0 && o.err.empty(), "%u %s", unsigned(o.status), o.err.c_str());
    const Trace t = load(name);
    complete(t);
    if (pairs == 0) always = t.events - 2;
    else CHECK(t.events == always + 2 + 2 * pairs && always >= 8, "%u events, %u without", unsigned(t.events), unsigned(always));
  }
}

static void testThreads() {
  const Outcome o = run("threads 4 20000");
  CHECK(o.status == 0 && o.err.empty(), "%u %s", unsigned(o.status), o.err.c_str());
  const Trace t = load();
  complete(t);
  // Each thread: body, branch and its leaves.
  CHECK(t.streams.size() == 5 && t.events == 4 * (2 * 20002) + always, "%u streams, %u events", unsigned(t.streams.size()), unsigned(t.events));
  CHECK(double(t.eventBytes) / double(t.events) < 4.2, "%.2f bytes an event", double(t.eventBytes) / double(t.events));
  CHECK(t.count(5) >= 5 && t.count(6) == 4, "%u THREAD, %u THREADEND", unsigned(t.count(5)), unsigned(t.count(6)));
  unsigned closed = 0;
  for (const auto &s : t.streams) closed += s.second.closed == s.second.chunks;
  CHECK(closed == 4, "%u streams have all chunks closed", closed);
  CHECK(t.pid == o.pid, "pid %u, want %u", t.pid, unsigned(o.pid));
  for (const auto &s : t.streams)
    for (const TraceEvent &e : s.second.events) {
      if (e.kind > TraceEvent::Leave) continue;
      const TraceModule *m = t.moduleOf(e.address, e.time);
      if (m && baseName(m->path) == subject + ".exe" && (m->flags & 1) && e.addressKind == 0) continue;
      CHECK(false, "%llx is in %s", (unsigned long long)e.address, m ? m->path.c_str() : "no module");
      return;
    }
}

static void testExceptions() {
  const Outcome o = run("exceptions");
  CHECK(o.status == 0, "%u", unsigned(o.status));
  const Trace t = load();
  complete(t);
  // catcher, four times thrower, two leaves.
  const uint64_t enters = countOf(t.streams.begin()->second, TraceEvent::Enter);
  CHECK(enters == always / 2 + 7, "%u enters", unsigned(enters));
}

// Two libraries at one address, one after the other, twice.
static void testLibraries() {
  const string one = home + "\\one.dll", two = home + "\\two.dll";
  const Outcome o = run("libraries " + one + " " + two + " " + one + " " + two, {"LOGREC_FILE", "."});
  CHECK(o.status == 0 && o.err.empty(), "%u %s", unsigned(o.status), o.err.c_str());
  const vector<string> files = listOf("*.lptrace");
  CHECK(files.size() == (shared ? 1u : 5u), "%u files", unsigned(files.size()));
  string order;
  for (const string &name : files) {
    const Trace t = load(name);
    complete(t);
    vector<std::pair<uint64_t, string>> found;
    for (const auto &s : t.streams)
      for (const TraceEvent &e : s.second.events) {
        if (e.kind > TraceEvent::Leave) continue;
        const TraceModule *m = t.moduleOf(e.address, e.time);
        CHECK(m != nullptr, "%llx is in no module", (unsigned long long)e.address);
        if (m && e.kind == TraceEvent::Enter) found.push_back({e.time, baseName(m->path)});
      }
    std::stable_sort(found.begin(), found.end(),
                     [](const std::pair<uint64_t, string> &a, const std::pair<uint64_t, string> &b) { return a.first < b.first; });
    for (const auto &f : found)
      if (f.second != subject + ".exe") order += f.second.substr(0, 1);
    unsigned unloaded = 0;
    for (const TraceModule &m : t.modules) {
      const string base = baseName(m.path);
      if (base != "one.dll" && base != "two.dll") continue;
      unloaded += m.end != ~uint64_t(0);
      CHECK(!m.identity.empty(), "%s has no identity", base.c_str());
    }
    if (shared) CHECK(unloaded == 4, "%u unloads", unloaded);
  }
  // plugin() is instrumented itself: constructor, plugin and its call,
  // destructor, and what the compiler makes around them.
  string collapsed;
  for (char c : order)
    if (collapsed.empty() || collapsed.back() != c) collapsed += c;
  if (shared) CHECK(collapsed == "otot", "%s", order.c_str());
  else CHECK(std::count(order.begin(), order.end(), 'o') == std::count(order.begin(), order.end(), 't') && order.size() >= 16, "%s", order.c_str());
}

static void testStress() {
  const Outcome o = run("stress " + home + "\\one.dll");
  CHECK(o.status == 0 && o.err.empty(), "%u %s", unsigned(o.status), o.err.c_str());
  const Trace t = load();
  complete(t);
  CHECK(t.count(6) >= 60, "%u threads ended", unsigned(t.count(6)));
}

// A completed event is never missing, whenever the program is ended.
static void testKill() {
  unsigned missing = 0, unlike = 0;
  uint64_t events = 0;
  srand(GetTickCount());
  for (int i = 0; i < kills; i++) {
    const string number = std::to_string(i), name = "log" + number + ".lptrace", counts = folder + "\\counts" + number;
    fclose(fopen(counts.c_str(), "wb"));
    const HANDLE err = errorFile();
    PROCESS_INFORMATION p = start("kill " + counts, {"LOGREC_FILE", name}, err);
    // Counting has begun when the first enters are there.
    for (int wait = 0, again = 0; wait < 5000; wait++) {
      const string c = content(counts);
      if (c.size() >= 48 && Trace::u64(c, 0) && Trace::u64(c, 24)) break;
      if (c.empty() && again < 2 && WaitForSingleObject(p.hProcess, 0) == WAIT_OBJECT_0) {
        // See run().
        CloseHandle(p.hProcess);
        CloseHandle(p.hThread);
        p = start("kill " + counts, {"LOGREC_FILE", name}, err);
        again++;
      }
      Sleep(1);
    }
    Sleep(DWORD(rand() % 8));
    TerminateProcess(p.hProcess, 1);
    WaitForSingleObject(p.hProcess, INFINITE);
    CloseHandle(p.hProcess);
    CloseHandle(p.hThread);
    CloseHandle(err);
    const string c = content(counts);
    const Trace t = load(name);
    CHECK(t.state == 0, "state %u", t.state);
    for (int k = 0; k < 2; k++) {
      const uint64_t enters = Trace::u64(c, size_t(24 * k)), leaves = Trace::u64(c, size_t(24 * k) + 8);
      const uint32_t thread = Trace::u32(c, size_t(24 * k) + 16);
      for (const auto &s : t.streams) {
        if (s.second.thread != thread) continue;
        events += s.second.events.size();
        // counted() and the leaf() in it.
        uint64_t e = 0, l = 0;
        for (const TraceEvent &x : s.second.events) {
          if (x.kind == TraceEvent::Mark) e = l = 0;
          e += x.kind == TraceEvent::Enter;
          l += x.kind == TraceEvent::Leave;
        }
        missing += e + 1 < 2 * enters || l < 2 * leaves;
        unlike += e > 2 * enters + 1 || l > 2 * leaves + 2 || s.second.open.begin()->second.size() > 2;
      }
    }
    DeleteFileA((folder + "\\" + name).c_str());
  }
  printf("  %d kills, %.1f million events\n", kills, double(events) / 1e6);
  CHECK(missing == 0 && unlike == 0, "%u streams lack events, %u have others", missing, unlike);
}

static void testError() {
  const Outcome here = run("error"), o = run("error", {"LOGREC_FILE", "missing\\x.lptrace"});
  CHECK(here.status == 0, "status %u: the last error changed", unsigned(here.status));
  CHECK(o.status == 0, "status %u: the last error changed where nothing can be written", unsigned(o.status));
  CHECK(o.err.find("no such folder") != string::npos && std::count(o.err.begin(), o.err.end(), '\n') == 1, "%s", o.err.c_str());
}

static void testMarks() {
  const Outcome o = run("marks");
  CHECK(o.status == 0, "%u", unsigned(o.status));
  const Trace t = load();
  complete(t);
  string seen;
  for (const TraceEvent &e : t.streams.begin()->second.events)
    if (e.kind == TraceEvent::Mark || e.kind == TraceEvent::Counter) seen += e.more->text + ";";
  CHECK(seen == "a mark;width;height;", "%s", seen.c_str());
}

static void testSwitch() {
  run("switch");
  const Trace t = load();
  complete(t);
  CHECK(t.events == always + 4 && t.count(9) == 2, "%u events, %u switches", unsigned(t.events), unsigned(t.count(9)));
  const Outcome o = run("pairs 10", {"LOGREC", "off", "LOGREC_FILE", "off.lptrace"});
  CHECK(o.status == 0 && listOf("off*").empty(), "a file though it is off");
}

static void testSettings() {
  const struct {
    const char *name;
    string value;
    const char *says;
    uint64_t ring;
    bool off;
  } cases[] = {{"LOGREC", "No", "", 0, true},
               {"LOGREC", "0", "", 0, true},
               {"LOGREC", "TRUE", "", 0, false},
               {"LOGREC", "offf", "LOGREC is off, on or ring", 0, false},
               {"LOGREC", "ring:0", "1 is taken", 1 << 20, false},
               {"LOGREC", "ring:100000", "4096 is taken", uint64_t(4) << 30, false},
               {"LOGREC_EXCLUDE", string(5000, 'x'), "LOGREC_EXCLUDE is longer than", 0, false}};
  for (const auto &c : cases) {
    const string name = string(1, char('a' + (&c - cases))) + "set.lptrace";
    const Outcome o = run("pairs 10", {"LOGREC_FILE", name, c.name, c.value});
    CHECK(o.status == 0 && o.err.find(c.says) != string::npos && o.err.empty() == !c.says[0], "%s=%.20s: %u %s", c.name, c.value.c_str(),
          unsigned(o.status), o.err.c_str());
    CHECK(listOf(name).empty() == c.off, "%s=%s: a file or none", c.name, c.value.c_str());
    if (c.off) continue;
    const Trace t = load(name);
    CHECK(t.ring == c.ring && t.events == always + 22, "%s=%.20s: ring %llu, %u events", c.name, c.value.c_str(),
          (unsigned long long)t.ring, unsigned(t.events));
  }
}

static void testFolder() {
  const Outcome o = run("folder");
  CHECK(o.status == 0, "%u %s", unsigned(o.status), o.err.c_str());
  complete(load());
  CHECK(listOf("log.snapshot1.lptrace").size() == 1, "the snapshot is not beside the log");
}

// MinGW's symbol table has all names; a stripped library what it exports.
static void testLists() {
  const struct {
    const char *exclude;
    uint64_t gone;
  } cases[] = {{"leaf", 2 * 100 + 4}, {"bran*", 2}, {"body", 0}, {"nobody.dll!", 0}};
  for (const auto &c : cases) {
    const string name = string(1, char('a' + (&c - cases))) + ".lptrace";
    const Outcome o = run("pairs 100", {"LOGREC_FILE", name, "LOGREC_EXCLUDE", c.exclude});
    CHECK(o.status == 0 && o.err.empty(), "%u %s", unsigned(o.status), o.err.c_str());
    const Trace t = load(name);
    complete(t);
    CHECK(t.events == always + 202 - c.gone, "%s: %u events", c.exclude, unsigned(t.events));
  }
  run("pairs 100", {"LOGREC_FILE", "m.lptrace", "LOGREC_INCLUDE", subject + ".exe!leaf,nobody.dll!"});
  const Trace t = load("m.lptrace");
  CHECK(t.events == 204, "%u events", unsigned(t.events));
  // A module's symbols are read once.
  const string before = subject;
  subject += "2";
  CHECK(CopyFileA((home + "\\" + before + ".exe").c_str(), (home + "\\" + subject + ".exe").c_str(), FALSE), "no copy");
  const Outcome moved = run("moves", {"LOGREC_FILE", "moves.lptrace", "LOGREC_EXCLUDE", "branch"});
  CHECK(moved.status == 0, "%u", unsigned(moved.status));
  const Trace n = load("moves.lptrace");
  CHECK(n.events == always + 2 + 6, "%u events", unsigned(n.events));
  subject = before;
  if (!shared) return;
  run("libraries " + home + "\\bare.dll", {"LOGREC_FILE", "bare.lptrace", "LOGREC_INCLUDE", "bare.dll!plugin"});
  const Trace b = load("bare.lptrace");
  complete(b);
  CHECK(b.events == 2, "%u events of one exported function", unsigned(b.events));
}

static void testRing() {
  const Outcome o = run("snapshot snap.lptrace", {"LOGREC", "ring:1", "LOGREC_FILE", "log.lptrace"});
  CHECK(o.status == 0 && o.err.empty(), "%u %s", unsigned(o.status), o.err.c_str());
  const Trace t = load(), s = load("snap.lptrace");
  CHECK((t.flags & 1) && t.fileSize < 1200000, "%u bytes", unsigned(t.fileSize));
  CHECK((s.flags & 9) == 9 && s.events > 100000, "flags %u, %u events", s.flags, unsigned(s.events));
}

// Names that the program's code page does not have, and long ones.
static void testNames() {
  const wchar_t *const parts[] = {L"\\gr\u00fc\u00df \u6f22\u5b57", L"\\12345678901234567890123456789012345678901234567890",
                                  L"\\12345678901234567890123456789012345678901234567890", L"\\12345678901234567890123456789012345678901234567890",
                                  L"\\12345678901234567890123456789012345678901234567890", L"\\12345678901234567890123456789012345678901234567890"};
  wchar_t path[600];
  MultiByteToWideChar(CP_ACP, 0, folder.c_str(), -1, path, 300);
  for (int i = 0; i < 6; i++) {
    wcscat(path, parts[i]);
    wchar_t prefixed[700] = L"\\\\?\\";
    wcscat(prefixed, path);
    CreateDirectoryW(prefixed, nullptr);
    if (i != 0 && i != 5) continue;
    SetEnvironmentVariableW(L"LOGREC_FILE", path);
    // start() would take it from the environment.
    const HANDLE err = errorFile();
    STARTUPINFOW s;
    memset(&s, 0, sizeof s);
    s.cb = sizeof s;
    wchar_t program[300], line[] = L"subject pairs 10 \"a b\" \"\" c\\\"d \\\\e\u00e9";
    MultiByteToWideChar(CP_ACP, 0, (home + "\\" + subject + ".exe").c_str(), -1, program, 300);
    PROCESS_INFORMATION p = {};
    SetEnvironmentVariableW(L"LOGREC", nullptr);
    DWORD status = 1;
    for (int again = 0; again < 3 && status == 1; again++) {
      CreateProcessW(program, line, nullptr, nullptr, FALSE, 0, nullptr, nullptr, &s, &p);
      WaitForSingleObject(p.hProcess, INFINITE);
      GetExitCodeProcess(p.hProcess, &status);
      CloseHandle(p.hProcess);
      CloseHandle(p.hThread);
    }
    CloseHandle(err);
    WIN32_FIND_DATAW d;
    wcscat(prefixed, L"\\*.lptrace");
    const HANDLE h = FindFirstFileW(prefixed, &d);
    CHECK(h != INVALID_HANDLE_VALUE, "no trace in folder %d", i);
    if (h == INVALID_HANDLE_VALUE) continue;
    FindClose(h);
    wcscpy(wcsrchr(prefixed, L'\\') + 1, d.cFileName);
    CHECK(MoveFileW(prefixed, (std::wstring(program, wcsrchr(program, L'\\')) + L"\\named.lptrace").c_str()), "not moved");
    const Trace t(home + "\\named.lptrace");
    CHECK(t.ok(), "%s", t.error.c_str());
    complete(t);
    const TraceRecord *r = t.find(1);
    if (r) {
      size_t at = 12;
      const string executable = Trace::text(r->body, &at), system = Trace::text(r->body, &at), version = Trace::text(r->body, &at);
      string arguments;
      for (uint32_t n = Trace::u32(r->body, 8); n > 0; n--) arguments += Trace::text(r->body, &at) + "|";
      CHECK(baseName(executable) == subject + ".exe", "%s", executable.c_str());
      CHECK(system.compare(0, 8, "Windows ") == 0, "%s", system.c_str());
      CHECK(arguments == "subject|pairs|10|a b||c\"d|\\\\e\xc3\xa9|", "%s", arguments.c_str());
    }
    DeleteFileA((home + "\\named.lptrace").c_str());
  }
}

// However a program ends while others record: what was recorded is there.
static void testEnds() {
  static const char *const ways[] = {"return", "exit", "ExitProcess"};
  for (const char *way : ways) {
    const string name = string(way) + ".lptrace";
    const Outcome o = run(string("ends ") + way, {"LOGREC_FILE", name});
    CHECK(o.status == 0 && o.err.empty(), "%s: %u %s", way, unsigned(o.status), o.err.c_str());
    const Trace t = load(name);
    CHECK(t.streams.size() == 3 && t.events > 400, "%s: %u streams, %u events", way, unsigned(t.streams.size()), unsigned(t.events));
    // Wine does not tell a program that is linked with the recorder of its
    // end, if it calls ExitProcess.
    if (shared) CHECK(t.state == 1 && t.fileSize == t.end, "%s: state %u, %u of %u bytes", way, t.state, unsigned(t.end), unsigned(t.fileSize));
  }
}

// The subject calls what MSVC would have made of its functions with /Gh /GH.
static void testPenter() {
  const Outcome o = run("");
  CHECK(o.status == 0 && o.err.empty(), "%u %s", unsigned(o.status), o.err.c_str());
  const Trace t = load();
  std::map<string, uint64_t> where;
  string seen;
  bool begun = false;
  for (const TraceEvent &e : t.streams.begin()->second.events) {
    if (e.kind == TraceEvent::Counter) where[e.more->text] = uint64_t(e.more->value);
    if (e.kind == TraceEvent::Mark) begun = e.more->text == "begin";
    if (!begun || e.kind > TraceEvent::Leave) continue;
    string name = "?";
    for (const auto &w : where)
      if (e.addressKind == 1 && e.address > w.second && e.address - w.second < 90 && (name == "?" || w.second > where[name])) name = w.first;
    seen += (e.kind == TraceEvent::Enter ? "+" : e.top ? "-" : "~") + name + " ";
  }
  const string want =
      "+framed -framed +doubles -doubles +frameless -frameless "
      "+moves +frameless -frameless -moves +calls -calls "
      // Calls that an exception has left end without a leave when the next is entered
      // where they were: outer and calls, then calls alone.
      "+outer +calls +frameless -frameless "
      "+outer +calls +frameless -frameless -outer "
      "+outer ~calls -outer ";
  CHECK(seen == want, "\n  %s\n  %s", seen.c_str(), want.c_str());
}

static void test(const char *name, void (*body)()) {
  folder = home + "\\" + subject + "-" + name;
  CreateDirectoryA(folder.c_str(), nullptr);
  caseFailed = false;
  const DWORD begun = GetTickCount();
  body();
  printf("%s %s: %s (%u ms)\n", subject.c_str(), name, caseFailed ? "failed" : "passed", unsigned(GetTickCount() - begun));
  fflush(stdout);
  (caseFailed ? failed : passed)++;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  char path[1024];
  GetModuleFileNameA(nullptr, path, sizeof path);
  home = path;
  home.resize(home.rfind('\\'));
  subject = argv[1];
  for (int i = 2; i < argc; i++) {
    if (!strcmp(argv[i], "shared")) shared = true;
    else kills = atoi(argv[i]);
  }
  if (subject.find("penter") != string::npos) {
    test("penter", testPenter);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
  }
  test("pairs", testPairs);
  test("threads", testThreads);
  test("exceptions", testExceptions);
  test("libraries", testLibraries);
  test("stress", testStress);
  if (kills) test("kill", testKill);
  test("error", testError);
  test("marks", testMarks);
  test("switch", testSwitch);
  test("settings", testSettings);
  test("folder", testFolder);
  test("lists", testLists);
  test("ring", testRing);
  test("names", testNames);
  test("ends", testEnds);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
