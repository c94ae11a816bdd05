// windows_test.cpp: the recorder's tests for Windows. The program runs itself
// in folders of its own, as the subject, and reads what it wrote. module.dll is
// linked to it, plugin.dll is loaded.

#include "Logger.h"

#include <stdio.h>
#include <stdlib.h>

#include <map>
#include <set>
#include <string>
#include <vector>

using logparser_recorder::Record;
#include "check.h"

using std::string;
using std::vector;

extern "C" __declspec(dllimport) void linkedLeaf(void);

static __attribute__((noinline)) void leaf() { LogEnterLeave LogObj; }

static DWORD WINAPI threadBody(void *pairs) {
  for (intptr_t i = reinterpret_cast<intptr_t>(pairs); i > 0; i--) {
    leaf();
    linkedLeaf();
  }
  return 0;
}

static int threads(int count, int pairs) {
  HANDLE t[64];
  for (int i = 0; i < count; i++)
    t[i] = CreateThread(nullptr, 0, threadBody, reinterpret_cast<void *>(intptr_t(pairs)), 0, nullptr);
  WaitForMultipleObjects(DWORD(count), t, TRUE, INFINITE);
  return 0;
}

static int loads(const char *path, int times) {
  leaf();
  SetCurrentDirectoryA("C:\\");
  SetEnvironmentVariableA("LOGPARSER_LOG", "C:\\nowhere\\x.dat");
  for (int i = 0; i < times; i++) {
    const HMODULE m = LoadLibraryA(path);
    if (!m) return 9;
    void (*plugin)(void);
    const FARPROC p = GetProcAddress(m, "pluginLeaf");
    memcpy(&plugin, &p, sizeof plugin);
    plugin();
    FreeLibrary(m);
  }
  return 0;
}

static DWORD WINAPI sameId(void *) { return logparser_recorder::threadId() == GetCurrentThreadId() ? 0 : 1; }

// The thread's id is read from the TEB; the system's function says whether that is right.
static int threadIds() {
  HANDLE t[16];
  DWORD result = sameId(nullptr);
  for (HANDLE &h : t) h = CreateThread(nullptr, 0, sameId, nullptr, 0, nullptr);
  for (HANDLE h : t) {
    DWORD one = 1;
    WaitForSingleObject(h, INFINITE);
    GetExitCodeThread(h, &one);
    result |= one;
  }
  return int(result);
}

static int keepsError() {
  SetLastError(4711);
  leaf();
  if (GetLastError() != 4711) return 61;
  linkedLeaf();
  return GetLastError() == 4711 ? 0 : 62;
}

static int subjectMain(int argc, char **argv) {
  const string c = argv[1];
  if (c == "threads" && argc > 3) return threads(atoi(argv[2]), atoi(argv[3]));
  if (c == "loads" && argc > 3) return loads(argv[2], atoi(argv[3]));
  if (c == "error") return keepsError();
  if (c == "ids") return threadIds();
  return 2;
}

static string folder, home;

static vector<string> listOf(const char *pattern, const string &in = folder) {
  vector<string> names;
  WIN32_FIND_DATAA d;
  const HANDLE h = FindFirstFileA((in + "\\" + pattern).c_str(), &d);
  if (h == INVALID_HANDLE_VALUE) return names;
  do names.push_back(d.cFileName);
  while (FindNextFileA(h, &d));
  FindClose(h);
  return names;
}

static bool exists(const string &name) {
  return GetFileAttributesA((folder + "\\" + name).c_str()) != INVALID_FILE_ATTRIBUTES;
}

struct Outcome {
  DWORD status, pid;
  string err;
};

static Outcome runOnce(const string &arguments, const char *log) {
  Outcome o = {~0u, 0, ""};
  SetEnvironmentVariableA("LOGPARSER_LOG", log);
  SECURITY_ATTRIBUTES inherit = {sizeof inherit, nullptr, TRUE};
  const string errors = folder + ".err";
  const HANDLE err = CreateFileA(errors.c_str(), GENERIC_WRITE, 3, &inherit, CREATE_ALWAYS, 0, nullptr);
  STARTUPINFOA start;
  memset(&start, 0, sizeof start);
  start.cb = sizeof start;
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdError = start.hStdOutput = err;
  string line = "windows_test.exe " + arguments;
  PROCESS_INFORMATION p;
  if (CreateProcessA((home + "\\windows_test.exe").c_str(), &line[0], nullptr, nullptr, TRUE, 0, nullptr, folder.c_str(),
                     &start, &p)) {
    WaitForSingleObject(p.hProcess, INFINITE);
    GetExitCodeProcess(p.hProcess, &o.status);
    o.pid = p.dwProcessId;
    CloseHandle(p.hProcess);
    CloseHandle(p.hThread);
  }
  CloseHandle(err);
  o.err = content(errors);
  return o;
}

// Wine 8 ends about one process in 4,000 with status 1 before it begins, any
// program: none of the cases ends with it.
static Outcome run(const string &arguments, const char *log = nullptr) {
  Outcome o = runOnce(arguments, log);
  for (int again = 0; again < 2 && o.status == 1 && o.err.empty(); again++) o = runOnce(arguments, log);
  return o;
}

static vector<Record> records(const string &name) {
  const string s = content(folder + "\\" + name);
  vector<Record> r(s.size() / sizeof(Record));
  CHECK(s.size() % sizeof(Record) == 0, "%u bytes", unsigned(s.size()));
  if (!r.empty()) memcpy(r.data(), s.data(), r.size() * sizeof(Record));
  return r;
}

static void pairsOf(const vector<Record> &all) {
  std::map<uint32_t, uintptr_t> open;
  unsigned wrong = 0;
  static const uint8_t zero[sizeof all[0].padding] = {};
  for (const Record &r : all) {
    wrong += r.enter > 1 || memcmp(r.padding, zero, sizeof zero) != 0;
    wrong += r.enter == 1 ? open[r.thread] != 0 : open[r.thread] != r.address;
    open[r.thread] = r.enter == 1 ? r.address : 0;
  }
  CHECK(wrong == 0, "%u", wrong);
}

static unsigned count(const string &s, const string &part) {
  unsigned n = 0;
  for (size_t at = 0; (at = s.find(part, at)) != string::npos; at += part.size()) n++;
  return n;
}

static void testThreads() {
  const Outcome o = run("threads 4 4000");
  CHECK(o.status == 0 && o.err.empty(), "%u %s", unsigned(o.status), o.err.c_str());
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() == 4 * 4000 * 4, "%u records", unsigned(r.size()));
  pairsOf(r);
  CHECK(listOf("*").size() == 4, "files");  // with . and ..
  const string bin = content(folder + "\\LogDetails.bin");
  CHECK(bin.compare(0, 26, "# LogParser modules file 1") == 0, "%s", bin.c_str());
  CHECK(count(bin, "\\windows_test.exe\n") == 1 && count(bin, "\\module.dll\n") == 1, "%s", bin.c_str());
  std::set<uint32_t> threads;
  for (const Record &x : r) threads.insert(x.thread);
  CHECK(threads.size() == 4, "%u threads", unsigned(threads.size()));
}

static void testLoads() {
  const Outcome o = run("loads " + home + "\\plugin.dll 30");
  CHECK(o.status == 0 && o.err.empty(), "%u %s", unsigned(o.status), o.err.c_str());
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() == 62, "%u records", unsigned(r.size()));
  pairsOf(r);
  const string bin = content(folder + "\\LogDetails.bin");
  CHECK(count(bin, "\\plugin.dll\n") == 1, "%s", bin.c_str());
  CHECK(listOf("*").size() == 4, "files");
}

static void testRename() {
  std::multiset<string> contents;
  for (int i = 1; i < 5; i++) {
    run("threads 1 " + std::to_string(i));
    contents.insert(content(folder + "\\LogDetails.dat") + content(folder + "\\LogDetails.bin"));
  }
  std::multiset<string> found;
  for (const string &d : listOf("*.dat"))
    found.insert(content(folder + "\\" + d) + content(folder + "\\" + d.substr(0, d.size() - 4) + ".bin"));
  CHECK(found == contents && found.size() == 4, "%u pairs", unsigned(found.size()));
}

// A pair that a program without FILE_SHARE_DELETE has open cannot be renamed.
static void testCannotRename() {
  run("threads 1 1");
  const HANDLE h = CreateFileA((folder + "\\LogDetails.dat").c_str(), GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING, 0, nullptr);
  const Outcome o = run("threads 1 3");
  CloseHandle(h);
  CHECK(o.status == 0 && o.err.find("recording to") != string::npos, "%s", o.err.c_str());
  CHECK(records("LogDetails.dat").size() == 4, "the old log");
  CHECK(records("LogDetails." + std::to_string(o.pid) + ".dat").size() == 12, "the new log");
}

static void testNames() {
  CreateDirectoryA((folder + "\\sub").c_str(), nullptr);
  const Outcome o = run("threads 1 1", "sub\\a%p.dat");
  CHECK(exists("sub\\a" + std::to_string(o.pid) + ".dat") && exists("sub\\a" + std::to_string(o.pid) + ".bin"), "%%p");
  run("threads 1 1", "sub");
  CHECK(exists("sub\\LogDetails.dat"), "a folder");
  run("threads 1 1", "sub/plain");
  CHECK(exists("sub\\plain.dat") && exists("sub\\plain.bin"), "no extension");
  CHECK(!exists("LogDetails.dat"), "files outside");
}

static void testCannotWrite() {
  const Outcome o = run("threads 2 10", "missing\\x.dat");
  CHECK(o.status == 0 && count(o.err, "\n") == 1 && count(o.err, "no such folder") == 1, "%s", o.err.c_str());
}

static void testThreadIds() { CHECK(run("ids").status == 0, "a thread has another id than the system says"); }

static void testError() {
  CHECK(run("error").status == 0, "the last error changed");
  CHECK(run("error", "missing\\x.dat").status == 0, "the last error changed where nothing can be written");
}

static void test(const char *name, void (*body)()) {
  folder = home + "\\" + name;
  CreateDirectoryA(folder.c_str(), nullptr);
  caseFailed = false;
  printf("%s\n", name);
  body();
  (caseFailed ? failed : passed)++;
}

int main(int argc, char **argv) {
  if (argc > 1) return subjectMain(argc, argv);
  char path[1024];
  GetModuleFileNameA(nullptr, path, sizeof path);
  home = path;
  home.resize(home.rfind('\\'));
  test("threads", testThreads);
  test("loads", testLoads);
  test("rename", testRename);
  test("cannot-rename", testCannotRename);
  test("names", testNames);
  test("cannot-write", testCannotWrite);
  test("error", testError);
  test("thread ids", testThreadIds);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
