// linux_test.cpp: runs the subject in folders of its own and reads what it
// wrote. linux_test SUBJECT PLUGIN [quick] [-CASE...] leaves cases out; prints
// "N passed, N failed".

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "elf_notes.h"

using std::string;
using std::vector;

static string subject, plugin, folder;
static int skipped;
static int scale = 1;  // divides the counts, for slow builds

struct Record {
  uintptr_t address;
  uint32_t thread, tick;
  uint8_t enter;
  uint8_t padding[sizeof(uintptr_t) == 8 ? 7 : 3];
};

static void write(const string &path, const string &content) {
  FILE *f = fopen(path.c_str(), "wb");
  fwrite(content.data(), 1, content.size(), f);
  fclose(f);
}

static vector<string> list(const string &path) {
  vector<string> names;
  if (DIR *d = opendir(path.c_str())) {
    while (dirent *e = readdir(d))
      if (e->d_name[0] != '.') names.push_back(e->d_name);
    closedir(d);
  }
  std::sort(names.begin(), names.end());
  return names;
}

static bool endsIn(const string &s, const char *end) {
  const size_t n = strlen(end);
  return s.size() >= n && s.compare(s.size() - n, n, end) == 0;
}

static vector<string> listOf(const char *extension, const string &path = folder) {
  vector<string> names;
  for (const string &n : list(path))
    if (endsIn(n, extension)) names.push_back(n);
  return names;
}

struct Outcome {
  int status;
  pid_t pid;
  string out, err;
};

typedef vector<string> Args;

static string outside() { return folder + ".run"; }

// spawn starts the subject in the case's folder.
static pid_t spawn(const Args &args, const std::function<void()> &before = nullptr, const string &log = "",
                   const string &tag = "") {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (chdir(folder.c_str()) != 0) _exit(99);
  unsetenv("LOGPARSER_LOG");
  if (!log.empty()) setenv("LOGPARSER_LOG", log.c_str(), 1);
  dup2(open((outside() + tag + ".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 1);
  dup2(open((outside() + tag + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
  for (int fd = 3; fd < 32; fd++) close(fd);
  if (before) before();
  vector<char *> argv;
  argv.push_back(const_cast<char *>(subject.c_str()));
  for (const string &a : args) argv.push_back(const_cast<char *>(a.c_str()));
  argv.push_back(nullptr);
  execv(subject.c_str(), argv.data());
  _exit(98);
}

static Outcome run(const Args &args, const std::function<void()> &before = nullptr, const string &log = "") {
  Outcome o;
  o.pid = spawn(args, before, log);
  waitpid(o.pid, &o.status, 0);
  o.out = content(outside() + ".out");
  o.err = content(outside() + ".err");
  return o;
}

static vector<Record> records(const string &name) {
  const string s = content(name[0] == '/' ? name : folder + "/" + name);
  vector<Record> r(s.size() / sizeof(Record));
  CHECK(s.size() % sizeof(Record) == 0, "%s: %zu bytes", name.c_str(), s.size());
  if (!r.empty()) memcpy(r.data(), s.data(), r.size() * sizeof(Record));
  return r;
}

// wellFormed checks each record, and that every thread's records are pairs in
// which the leave has its enter's address; open calls are allowed for.
static void wellFormed(const vector<Record> &all, bool mayBeOpen = false) {
  std::map<uint32_t, vector<uintptr_t>> stacks;
  std::map<uint32_t, uint32_t> ticks;
  size_t wrong = 0, stray = 0, late = 0, open = 0;
  static const uint8_t zero[sizeof all[0].padding] = {};
  for (const Record &r : all) {
    wrong += r.enter > 1 || memcmp(r.padding, zero, sizeof zero) != 0 || r.address == 0;
    late += ticks.count(r.thread) && int32_t(r.tick - ticks[r.thread]) < 0;
    ticks[r.thread] = r.tick;
    vector<uintptr_t> &s = stacks[r.thread];
    if (r.enter == 1) {
      s.push_back(r.address);
    } else if (s.empty() || s.back() != r.address) {
      stray++;
    } else {
      s.pop_back();
    }
  }
  for (const auto &s : stacks) open += s.second.size();
  CHECK(wrong == 0 && stray == 0 && late == 0, "%zu wrong, %zu stray, %zu late", wrong, stray, late);
  CHECK(mayBeOpen || open == 0, "%zu open", open);
}

static vector<string> lines(const string &s) {
  vector<string> l;
  size_t at = 0;
  while (at < s.size()) {
    size_t end = s.find('\n', at);
    if (end == string::npos) end = s.size();
    l.push_back(s.substr(at, end - at));
    at = end + 1;
  }
  return l;
}

static size_t count(const string &s, const string &part) {
  size_t n = 0;
  for (size_t at = 0; (at = s.find(part, at)) != string::npos; at += part.size()) n++;
  return n;
}

// covered checks the form of a modules file, and that every address of the
// log lies in one of its modules.
static void covered(const vector<Record> &all, const string &binName) {
  const string text = content(binName[0] == '/' ? binName : folder + "/" + binName);
  const vector<string> l = lines(text);
  CHECK(l.size() > 3 && endsIn(text, "\n"), "%s has %zu lines", binName.c_str(), l.size());
  if (l.size() < 4) return;
  CHECK(l[0] == "# LogParser modules file 1: base size pointer-size identity timestamp path", "%s", l[0].c_str());
  int y, mo, d, h, mi, s, ms;
  CHECK(sscanf(l[1].c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3d", &y, &mo, &d, &h, &mi, &s, &ms) == 7 && l[1].size() == 23,
        "%s", l[1].c_str());
  vector<std::pair<uintptr_t, uintptr_t>> ranges;
  for (size_t i = 3; i < l.size(); i++) {
    unsigned long long base, size;
    unsigned tick, pointer;
    char end;
    if (l[i][0] == '#') {
      CHECK(sscanf(l[i].c_str(), "# came %u %llu%c", &tick, &size, &end) == 2 ||
                sscanf(l[i].c_str(), "# gone %u %llu 0x%llx%c", &tick, &size, &base, &end) == 3 ||
                sscanf(l[i].c_str(), "# copied %u%c", &tick, &end) == 1,
            "%s", l[i].c_str());
      continue;
    }
    char identity[200], stamp[20], path[4096];
    const int n = sscanf(l[i].c_str(), "0x%llx 0x%llx %u %199s %19s %4095[^\n]", &base, &size, &pointer, identity, stamp, path);
    CHECK(n == 6 && pointer == sizeof(void *) && base % 4096 == 0 && size % 4096 == 0 && size > 0, "%s", l[i].c_str());
    CHECK(!strcmp(identity, "-") || !strncmp(identity, "build-id:", 9), "%s", l[i].c_str());
    ranges.push_back(std::make_pair(uintptr_t(base), uintptr_t(base + size)));
  }
  CHECK(std::set<string>(l.begin(), l.end()).size() == l.size(), "a module is there twice");
  const string needle = " - " + subject + "\n";
  CHECK(count(text, needle) == 1, "the program's path is missing:\n%s", text.c_str());
  size_t outsideAll = 0;
  for (const Record &r : all) {
    bool in = false;
    for (const auto &m : ranges) in |= r.address >= m.first && r.address < m.second;
    outsideAll += !in;
  }
  CHECK(outsideAll == 0, "%zu addresses in no module", outsideAll);
}

static void onePair() {
  const vector<string> all = list(folder);
  CHECK(all.size() == 2 && all[0] == "LogDetails.bin" && all[1] == "LogDetails.dat", "%zu files", all.size());
}

static void testThreads() {
  const int threads = 8, pairs = 20000 / scale;
  const Outcome o = run({"threads", std::to_string(threads), std::to_string(pairs)});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() == size_t(threads) * size_t(pairs) * 4, "%zu records", r.size());
  wellFormed(r);
  covered(r, "LogDetails.bin");
  std::map<uint32_t, size_t> each;
  for (const Record &x : r) each[x.thread]++;
  CHECK(each.size() == size_t(threads), "%zu threads", each.size());
  for (const auto &e : each) CHECK(e.second == size_t(pairs) * 4, "thread %u: %zu", e.first, e.second);
  onePair();
}

static void testPlugin() {
  const Outcome o = run({"plugin", plugin, "40"});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() == 2 * (2 + 40), "%zu records", r.size());
  wellFormed(r);
  covered(r, "LogDetails.bin");
  CHECK(content(folder + "/LogDetails.bin").find(plugin + "\n") != string::npos, "the plugin's line is missing");
  onePair();
}

static void testRename() {
  vector<string> contents;
  for (int i = 0; i < 4; i++) {
    const Outcome o = run({"pairs", std::to_string(10 + i)});
    CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
    contents.push_back(content(folder + "/LogDetails.dat") + content(folder + "/LogDetails.bin"));
  }
  const vector<string> dats = listOf(".dat"), bins = listOf(".bin");
  CHECK(dats.size() == 4 && bins.size() == 4, "%zu %zu", dats.size(), bins.size());
  std::set<string> found;
  for (const string &d : dats)
    found.insert(content(folder + "/" + d) + content(folder + "/" + d.substr(0, d.size() - 4) + ".bin"));
  CHECK(found == std::set<string>(contents.begin(), contents.end()), "an earlier pair changed");
}

static void testRenameParts() {
  write(folder + "/LogDetails.bin", "alone");
  run({"pairs", "1"});
  CHECK(listOf(".bin").size() == 2 && listOf(".dat").size() == 1, "a lone modules file");
  // Its name by the time it was last written.
  const string dat = folder + "/LogDetails.dat";
  const struct timespec at[2] = {{1000000000, 0}, {1000000000, 0}};
  utimensat(AT_FDCWD, dat.c_str(), at, 0);
  run({"pairs", "1"});
  const vector<string> dats = listOf(".dat");
  CHECK(dats.size() == 2 && dats[0] == "LogDetails.20010909T014640Z.dat", "%s", dats[0].c_str());
  CHECK(access((folder + "/LogDetails.20010909T014640Z.bin").c_str(), F_OK) == 0, "its modules file");
}

static void testNames() {
  mkdir((folder + "/sub").c_str(), 0777);
  const Outcome o = run({"pairs", "1"}, nullptr, "sub/a%p.dat");
  const string pid = std::to_string(o.pid);
  CHECK(access((folder + "/sub/a" + pid + ".dat").c_str(), F_OK) == 0, "%%p");
  CHECK(access((folder + "/sub/a" + pid + ".bin").c_str(), F_OK) == 0, "%%p");
  run({"pairs", "1"}, nullptr, folder + "/sub");
  CHECK(access((folder + "/sub/LogDetails.bin").c_str(), F_OK) == 0, "a folder");
  run({"pairs", "1"}, nullptr, "sub/");
  CHECK(listOf(".dat", folder + "/sub").size() == 3, "a folder with a slash");
  run({"pairs", "1"}, nullptr, "sub/plain");
  CHECK(access((folder + "/sub/plain.dat").c_str(), F_OK) == 0 && access((folder + "/sub/plain.bin").c_str(), F_OK) == 0,
        "no extension");
  run({"pairs", "1"}, nullptr, "sub/50%%.dat");
  CHECK(access((folder + "/sub/50%.dat").c_str(), F_OK) == 0, "%%%%");
  CHECK(list(folder).size() == 1, "files outside");
}

static void saidOnce(const Outcome &o, const char *reason) {
  CHECK(o.status == 0, "status %d", o.status);
  CHECK(lines(o.err).size() == 1 && o.err.compare(0, 11, "logparser: ") == 0 && o.err.find(reason) != string::npos,
        "stderr: %s", o.err.c_str());
}

static void testCannotWrite() {
  saidOnce(run({"threads", "4", "10"}, nullptr, "missing/x.dat"), "no such folder");
  CHECK(list(folder).empty(), "files");
  mkdir((folder + "/LogDetails.bin").c_str(), 0777);
  saidOnce(run({"threads", "4", "10"}), "no regular file");
  rmdir((folder + "/LogDetails.bin").c_str());
  CHECK(list(folder).empty(), "files");
  // Root may write everywhere, so another user has to try.
  chmod(folder.c_str(), 0555);
  saidOnce(run({"threads", "4", "10"}, [] {
             if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(97);
           }),
           "permission denied");
  chmod(folder.c_str(), 0777);
}

// A pair that cannot be renamed stays, and the log gets another name.
static void testCannotRename() {
  if (getuid() != 0) {
    skipped++;
    return;
  }
  write(folder + "/LogDetails.dat", "somebody's");
  chmod(folder.c_str(), 01777);
  const Outcome o = run({"pairs", "5"}, [] {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(97);
  });
  saidOnce(o, "recording to");
  CHECK(content(folder + "/LogDetails.dat") == "somebody's", "the old file");
  const vector<Record> r = records("LogDetails." + std::to_string(o.pid) + ".dat");
  CHECK(r.size() == 10, "%zu records", r.size());
}

static void testLimit() {
  const rlim_t limit = 64 * 1024 + 5;
  const Outcome o = run({"limited", "5000"}, [=] {
    const struct rlimit l = {limit, limit};
    setrlimit(RLIMIT_FSIZE, &l);
  });
  saidOnce(o, "file size limit exceeded");
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() == limit / sizeof(Record), "%zu records", r.size());
  wellFormed(r, true);
}

// The limit comes down while the program logs.
static void testLimitLowered() {
  saidOnce(run({"lowered", "5000"}), "file size limit exceeded");
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() == 20000 / sizeof(Record), "%zu records", r.size());
  wellFormed(r, true);
  const Outcome o = run({"lowered", "5000", "file"});
  CHECK(o.status == 0 && o.err.empty() && content(folder + "/mine.txt") == "HEADER", "%d %s", o.status, o.err.c_str());
}

static void testCancel() {
  const Outcome o = run({"cancel", "1000"});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  size_t all = 0;
  for (const string &d : listOf(".dat")) all += records(d).size();
  CHECK(all == 2002, "%zu records", all);
}

static void testNotes() {
  const string library = folder + "/libnotes.so";
  write(library, withoutNotes(content(plugin)));
  const Outcome o = run({"plugin", library, "2"});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  CHECK(content(folder + "/LogDetails.bin").find(" - - " + library + "\n") != string::npos, "the library's line");
}

static void testDiskFull() {
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=65536") != 0) {
    printf("  skipped: cannot mount (%s)\n", strerror(errno));
    skipped++;
    return;
  }
  const Outcome o = run({"threads", "4", "2000"});
  saidOnce(o, "no space left");
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() > 1000, "%zu records", r.size());
  std::map<uint32_t, bool> in;
  size_t wrong = 0;
  for (const Record &x : r) {
    wrong += x.enter > 1 || (x.enter == 1) == in[x.thread];
    in[x.thread] = x.enter == 1;
  }
  CHECK(wrong == 0, "%zu records out of order", wrong);
  umount2(folder.c_str(), MNT_DETACH);
}

static void testFork() {
  const int n = 2000;
  const Outcome o = run({"fork", std::to_string(n)});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  const vector<string> dats = listOf(".dat");
  CHECK(dats.size() == 3 && listOf(".bin").size() == 3, "%zu logs", dats.size());
  std::multiset<size_t> sizes;
  for (const string &d : dats) {
    const vector<Record> r = records(d);
    sizes.insert(r.size());
    wellFormed(r);
    covered(r, d.substr(0, d.size() - 4) + ".bin");
    std::set<uint32_t> threads;
    for (const Record &x : r) threads.insert(x.thread);
    CHECK(threads.size() == 1, "%zu threads in %s", threads.size(), d.c_str());
    const string own = d == "LogDetails.dat" ? std::to_string(o.pid) : d.substr(11, d.size() - 15);
    CHECK(std::to_string(*threads.begin()) == own, "%s is of %u", d.c_str(), *threads.begin());
  }
  CHECK(sizes == (std::multiset<size_t>{2, size_t(2 * n + 2), size_t(4 * n + 2)}), "sizes");
}

static void testForkPattern() {
  const Outcome o = run({"fork", "5"}, nullptr, "p%p.dat");
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  const vector<string> dats = listOf(".dat");
  CHECK(dats.size() == 3, "%zu logs", dats.size());
  for (const string &d : dats) {
    const vector<Record> r = records(d);
    CHECK(!r.empty() && "p" + std::to_string(r[0].thread) + ".dat" == d, "%s", d.c_str());
  }
}

static void testForkBusy() {
  const int n = 100 / scale + 5;
  const Outcome o = run({"fork-busy", std::to_string(n)});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  const vector<string> dats = listOf(".dat");
  CHECK(dats.size() == size_t(n + 1), "%zu logs", dats.size());
  for (const string &d : dats) {
    const vector<Record> r = records(d);
    wellFormed(r);
    CHECK(d == "LogDetails.dat" || r.size() == 4, "%s: %zu", d.c_str(), r.size());
  }
}

static void testVfork() {
  const Outcome o = run({"vfork"});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() == 8, "%zu records", r.size());
  wellFormed(r);
  onePair();
}

static void testExec() {
  const Outcome o = run({"exec", "300"});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  const vector<string> dats = listOf(".dat");
  CHECK(dats.size() == 2 && listOf(".bin").size() == 2, "%zu logs", dats.size());
  for (const string &d : dats) {
    const vector<Record> r = records(d);
    CHECK(r.size() == 600, "%s: %zu", d.c_str(), r.size());
    covered(r, d.substr(0, d.size() - 4) + ".bin");
  }
}

static void testErrno() {
  CHECK(run({"errno"}).status == 0, "errno changed");
  CHECK(run({"errno"}, nullptr, "missing/x.dat").status == 0, "errno changed where nothing can be written");
}

static void testKill() {
  const pid_t pid = spawn({"kill"});
  usleep(300000);
  kill(pid, SIGKILL);
  int status;
  waitpid(pid, &status, 0);
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() > 100, "%zu records", r.size());
  wellFormed(r, true);
  covered(r, "LogDetails.bin");
}

static void testSignals() {
  const int pairs = 50000 / scale;
  const Outcome o = run({"signals", std::to_string(pairs)});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  const size_t handled = size_t(atoi(o.out.c_str()));
  const vector<Record> r = records("LogDetails.dat");
  CHECK(handled > 10, "%zu signals", handled);
  CHECK(r.size() == 2 * size_t(pairs) + 4 * handled, "%zu records, %zu signals", r.size(), handled);
  size_t enters = 0;
  for (const Record &x : r) enters += x.enter;
  CHECK(enters * 2 == r.size(), "%zu enters", enters);
}

static void testClosedDescriptors() {
  const Outcome o = run({"close", "100"});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  size_t all = 0;
  for (const string &d : listOf(".dat")) {
    const vector<Record> r = records(d);
    all += r.size();
    covered(r, d.substr(0, d.size() - 4) + ".bin");
  }
  CHECK(all == 402, "%zu records", all);
}

// Programs that start at the same moment in the same folder.
static void testTogether() {
  const int n = 12;
  vector<pid_t> pids;
  for (int i = 0; i < n; i++) pids.push_back(spawn({"pairs", "200"}, nullptr, "", std::to_string(i)));
  for (pid_t p : pids) {
    int status;
    waitpid(p, &status, 0);
    CHECK(status == 0, "status %d", status);
  }
  const vector<string> dats = listOf(".dat");
  CHECK(dats.size() == size_t(n) && listOf(".bin").size() == size_t(n), "%zu logs", dats.size());
  std::set<uint32_t> seen;
  for (const string &d : dats) {
    const vector<Record> r = records(d);
    CHECK(r.size() == 400, "%s: %zu", d.c_str(), r.size());
    wellFormed(r);
    covered(r, d.substr(0, d.size() - 4) + ".bin");
    for (const Record &x : r) seen.insert(x.thread);
  }
  CHECK(seen.size() == size_t(n), "%zu processes", seen.size());
  for (int i = 0; i < n; i++) CHECK(content(outside() + std::to_string(i) + ".err").empty(), "stderr");
}

static void testTruncated() {
  const Outcome o = run({"truncated", "50"});
  CHECK(o.status == 0 && o.err.empty(), "%d %s", o.status, o.err.c_str());
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() == 102, "%zu records", r.size());
  wellFormed(r);
}

static void testAddresses() {
  const Outcome o = run({"section"});
  unsigned long low = 0, high = 0;
  sscanf(o.out.c_str(), "%lx %lx", &low, &high);
  const vector<Record> r = records("LogDetails.dat");
  CHECK(r.size() == 4 && low < high, "%zu records", r.size());
  wellFormed(r);
  for (const Record &x : r) CHECK(x.address > low && x.address < high, "%lx", long(x.address));
  CHECK(r.size() == 4 && r[0].address != r[2].address, "two functions");
}

static string temporary;
static std::set<string> leftOut;

static void test(const char *name, void (*body)()) {
  if (leftOut.count(name)) return;
  folder = temporary + "/" + name;
  mkdir(folder.c_str(), 0777);
  chmod(folder.c_str(), 0777);
  caseFailed = false;
  printf("%s\n", name);
  fflush(stdout);
  body();
  (caseFailed ? failed : passed)++;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  subject = argv[1];
  plugin = argv[2];
  for (int i = 3; i < argc; i++) {
    if (argv[i][0] == '-') leftOut.insert(argv[i] + 1);
    if (!strcmp(argv[i], "quick")) scale = 20;
  }
  umask(0);
  char name[] = "/tmp/recorderXXXXXX";
  temporary = mkdtemp(name);
  chmod(name, 0777);
  test("threads", testThreads);
  test("plugin", testPlugin);
  test("rename", testRename);
  test("rename-parts", testRenameParts);
  test("names", testNames);
  test("cannot-write", testCannotWrite);
  test("cannot-rename", testCannotRename);
  test("limit", testLimit);
  test("limit-lowered", testLimitLowered);
  test("cancel", testCancel);
  test("notes", testNotes);
  test("disk-full", testDiskFull);
  test("fork", testFork);
  test("fork-pattern", testForkPattern);
  test("fork-busy", testForkBusy);
  test("vfork", testVfork);
  test("exec", testExec);
  test("errno", testErrno);
  test("kill", testKill);
  test("signals", testSignals);
  test("closed-descriptors", testClosedDescriptors);
  test("truncated", testTruncated);
  test("together", testTogether);
  test("addresses", testAddresses);
  if (failed == 0) {
    const string remove = "rm -rf " + temporary;
    if (system(remove.c_str()) != 0) failed++;
  } else {
    printf("left in %s\n", temporary.c_str());
  }
  printf("%d passed, %d failed, %d with parts skipped\n", passed, failed, skipped);
  return failed != 0;
}
