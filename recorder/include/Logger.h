// Made of the files in recorder/classic by
// go test ./recorder -run TestLoggerHeader -update; edit those.
//
// Logger.h: the classic recorder behind Log.h.
//
// Include it in exactly one source file of every module (the program, each
// DLL or shared library) that logs functions. It writes
//
//     LogDetails.dat   one record an enter or leave, appended in call order
//     LogDetails.bin   the modules: text, for turning addresses into names
//
// into the current folder, or where the environment variable LOGPARSER_LOG
// says: a folder or the name of the .dat file; %p stands for the process id.
// All modules of a process write into the same two files. A pair that is
// already there is renamed. README.md beside this folder says the rest.
//
// With LOGPARSER_TRACE defined the functions are recorded by the trace recorder
// instead, a library that the module is linked with (logrec.h).
//
// C++11; Windows (x86, x64, arm64) and Linux (x86, x64, arm64).

#ifndef LOGPARSER_LOGGER_H
#define LOGPARSER_LOGGER_H

#include "Log.h"

#include <stddef.h>
#include <string.h>

#if defined(_MSC_VER)
extern "C" void *_ReturnAddress(void);
#pragma intrinsic(_ReturnAddress)
#define LOGPARSER_RETURN_ADDRESS() _ReturnAddress()
#else
#define LOGPARSER_RETURN_ADDRESS() __builtin_return_address(0)
#endif

// Link-time optimization may change the signature of a function it sees all
// the callers of; one that is used from elsewhere stays as it is.
#if defined(__GNUC__) || defined(__clang__)
#define LOGPARSER_USED __attribute__((used))
#else
#define LOGPARSER_USED
#endif

#if defined(LOGPARSER_TRACE)

#include "logrec.h"

LOGPARSER_USED LogEnterLeave::LogEnterLeave() noexcept : address_(uintptr_t(LOGPARSER_RETURN_ADDRESS())) {
  logrec_enter_return(reinterpret_cast<const void *>(address_), this);
}

LOGPARSER_USED LogEnterLeave::~LogEnterLeave() {
  logrec_leave_return(reinterpret_cast<const void *>(address_), this);
}

#else

// The record of the classic log, and text for its modules file.

namespace logparser_recorder {

// A Record is what LogDetails.dat consists of, in the program's byte order.
struct Record {
  uintptr_t address;
  uint32_t thread;
  uint32_t tick;  // milliseconds, modulo 2^32
  uint8_t enter;  // 1 enter, 0 leave
  uint8_t padding[sizeof(uintptr_t) == 8 ? 7 : 3];
};
static_assert(sizeof(Record) == (sizeof(uintptr_t) == 8 ? 24 : 16), "the record has no other size");

static const char kFirstLine[] = "# LogParser modules file 1: base size pointer-size identity timestamp path\n";

// A Text is a string under construction in somebody else's buffer. What does
// not fit is left out. It allocates nothing: the recorder may be running
// below the program's own malloc.
struct Text {
  char *data;
  size_t length, capacity;

  Text(char *buffer, size_t size) : data(buffer), length(0), capacity(size - 1) { data[0] = 0; }
  void add(char c) {
    if (length < capacity) {
      data[length++] = c;
      data[length] = 0;
    }
  }
  void add(const char *s) {
    while (*s) add(*s++);
  }
  void decimal(uint64_t n, int digits = 1) {
    char b[20];
    int i = 0;
    do {
      b[i++] = char('0' + n % 10);
      n /= 10;
    } while (n || i < digits);
    while (i) add(b[--i]);
  }
  void hex(uint64_t n, int digits, bool upper = false) {
    const char *names = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    while (digits > 0) add(names[n >> 4 * --digits & 15]);
  }
  // A module's line up to its identity.
  void range(uint64_t base, uint64_t size) {
    add("0x");
    hex(base, int(2 * sizeof(void *)));
    add(" 0x");
    hex(size, size >> 32 ? 16 : 8);
    add(' ');
    decimal(sizeof(void *));
    add(' ');
  }
  void dateAndTime(unsigned year, unsigned month, unsigned day, unsigned hour, unsigned minute, unsigned second,
                   unsigned milliseconds) {
    decimal(year, 4);
    add('-');
    decimal(month, 2);
    add('-');
    decimal(day, 2);
    add('T');
    decimal(hour, 2);
    add(':');
    decimal(minute, 2);
    add(':');
    decimal(second, 2);
    add('.');
    decimal(milliseconds, 3);
    add('\n');
  }
  // What an older pair is renamed with: ".20261121T112233Z", ".20261121T112233Z-2".
  void pairSuffix(unsigned year, unsigned month, unsigned day, unsigned hour, unsigned minute, unsigned second,
                  int attempt) {
    add('.');
    decimal(year, 4);
    decimal(month, 2);
    decimal(day, 2);
    add('T');
    decimal(hour, 2);
    decimal(minute, 2);
    decimal(second, 2);
    add('Z');
    if (attempt > 1) {
      add('-');
      decimal(unsigned(attempt));
    }
  }
};

// How a modules file mentions a module last.
enum Mention { kNever, kListed, kGone };

// lastMention looks for a module's line, which ends in '\n', in a part of a modules file.
static Mention lastMention(const char *part, size_t size, const char *line, size_t length) {
  const size_t base = size_t(static_cast<const char *>(memchr(line, ' ', length)) - line);
  Mention last = kNever;
  while (size > 0) {
    const void *end = memchr(part, '\n', size);
    const size_t n = end ? size_t(static_cast<const char *>(end) - part) + 1 : size;
    if (n == length && memcmp(part, line, n) == 0) {
      last = kListed;
    } else if (n > 8 + base && memcmp(part, "# gone ", 7) == 0 && memcmp(part + n - 1 - base, line, base) == 0) {
      last = kGone;
    }
    part += n;
    size -= n;
  }
  return last;
}

// addChanges writes into a modules file what is different in `now`, the lines of the modules that
// are loaded: which came, and which of those listed are gone. bytes is how long the log is.
// write(data, n) appends to the file, of which `file` has the contents.
template <class Write>
static void addChanges(const char *file, size_t size, const char *now, size_t nowSize, uint32_t tick, uint64_t bytes,
                       Write write) {
  char buffer[96];
  for (size_t at = 0, n; at < size; at += n) {
    const char *line = file + at;
    const void *end = memchr(line, '\n', size - at);
    n = end ? size_t(static_cast<const char *>(end) - line) + 1 : size - at;
    if (!end || n < 3 || line[0] != '0' || line[1] != 'x' || !memchr(line, ' ', n)) continue;
    if (lastMention(line + n, size - at - n, line, n) != kNever || lastMention(now, nowSize, line, n) != kNever) continue;
    Text t(buffer, sizeof buffer);
    t.add("# gone ");
    t.decimal(tick);
    t.add(' ');
    t.decimal(bytes);
    t.add(' ');
    for (size_t i = 0; line[i] != ' '; i++) t.add(line[i]);
    t.add('\n');
    write(t.data, t.length);
  }
  bool came = size == 0;  // those that were there at the start need no word
  for (size_t at = 0, n; at < nowSize; at += n) {
    const char *line = now + at;
    n = size_t(static_cast<const char *>(memchr(line, '\n', nowSize - at)) - line) + 1;
    if (lastMention(file, size, line, n) == kListed) continue;
    if (!came) {
      Text t(buffer, sizeof buffer);
      t.add("# came ");
      t.decimal(tick);
      t.add(' ');
      t.decimal(bytes);
      t.add('\n');
      write(t.data, t.length);
      came = true;
    }
    write(line, n);
  }
}

}  // namespace logparser_recorder

#if defined(__linux__)

// The classic recorder on Linux.

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace logparser_recorder {

static const size_t kPath = 4096;

// The state that all modules of the process share lies in memory of its own,
// which is never freed: modules come and go, and functions are left after
// every destructor ran. Its first part becomes zero in a forked child, by
// which the child knows that it is one.
struct State {
  int ready;    // 1: dat may be written to
  int busy;     // the thread that is opening or describing, 0 none
  int stopped;  // 1: writing failed, nothing more is recorded
  int told;     // 1: the failure was reported
};

// Kept is the part that a forked child inherits. All of it but dat is guarded
// by State::busy.
struct Kept {
  uint64_t magic;
  int pid;       // of the process that opened the files
  int checkPid;  // 1: the kernel cannot clear State, compare pid at each record
  int dat, bin;
  // What descriptor 2 was at the first record, 0 nothing. A file that the program
  // puts in its place gets no message.
  dev_t errorDevice;
  ino_t errorInode;
  bool perProcess;  // the pattern contains %p
  char pattern[kPath];
  // Room to work in: not on the stack, which may be a small one.
  char datPath[kPath], binPath[kPath], datMoved[kPath], binMoved[kPath], link[kPath], line[kPath + 256];
};

static const uint64_t kMagic = 0x31726f6472636572;
static const size_t kKeptAt = 65536;  // the largest page size
static const size_t kMapped = kKeptAt + sizeof(Kept);
// Descriptors are moved up here, out of the way of programs that close all
// they find and open others in their place.
static const int kLowestDescriptor = 700;

static State *theState;  // this module's pointer to the shared state

static Kept *keptOf(State *s) { return reinterpret_cast<Kept *>(reinterpret_cast<char *>(s) + kKeptAt); }

template <class T>
static T load(T *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
template <class T>
static void store(T *p, T v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }

// cancelling lets this thread be cancelled or not, and returns what it was.
static int cancelling(int state) {
  pthread_setcancelstate(state, &state);
  return state;
}

static int threadId() { return int(syscall(SYS_gettid)); }

static int moveUp(int fd) {
  if (fd < 0) return fd;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (high < 0) return fd;
  close(fd);
  return high;
}

// A Lock is an flock of a folder, released when it goes. It is waited for two
// seconds at most: a program is not held up for its log.
class Lock {
 public:
  explicit Lock(const char *folder) : fd_(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ < 0) return;
    for (int i = 0; i < 200 && flock(fd_, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++) {
      struct timespec pause = {0, 10000000};
      nanosleep(&pause, nullptr);
    }
  }
  ~Lock() {
    if (fd_ >= 0) close(fd_);
  }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

 private:
  int fd_;
};

// Modules find each other's state through a descriptor: a memory file of this
// name, which holds the state's address. Symbols would not do (hidden
// visibility, RTLD_LOCAL), nor would the environment (it is inherited).
static const char kRegistry[] = "logparser-recorder-1";

struct Registration {
  uint64_t magic;
  uint64_t state;
};

static State *registeredState(int fd) {
  Registration r;
  if (pread(fd, &r, sizeof r, 0) != ssize_t(sizeof r) || r.magic != kMagic) return nullptr;
  State *s = reinterpret_cast<State *>(uintptr_t(r.state));
  unsigned char resident[kMapped / 4096 + 2];
  if (mincore(s, kMapped, resident) != 0 || keptOf(s)->magic != kMagic) return nullptr;
  return s;
}

static State *findState() {
  int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return nullptr;
  State *found = nullptr;
  alignas(8) char entries[2048];
  long n;
  while (!found && (n = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
    // struct linux_dirent64: inode and offset of 8 bytes, record length of 2,
    // type of 1, name.
    for (long at = 0; at < n && !found;) {
      unsigned short length;
      memcpy(&length, entries + at + 16, sizeof length);
      const char *name = entries + at + 19;
      char target[64];
      ssize_t size = readlinkat(folder, name, target, sizeof target - 1);
      if (size > 0) {
        target[size] = 0;
        if (strncmp(target, "/memfd:", 7) == 0 && strncmp(target + 7, kRegistry, sizeof kRegistry - 1) == 0)
          found = registeredState(atoi(name));
      }
      at += length;
    }
  }
  close(folder);
  return found;
}

static State *makeState() {
  void *p = mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  State *s = static_cast<State *>(p);
  Kept *k = keptOf(s);
  k->magic = kMagic;
  k->dat = k->bin = -1;
  struct stat st;
  if (fstat(2, &st) == 0) {
    k->errorDevice = st.st_dev;
    k->errorInode = st.st_ino;
  }
#if !defined(MADV_WIPEONFORK)
#define MADV_WIPEONFORK 18
#endif
  k->checkPid = madvise(s, kKeptAt, MADV_WIPEONFORK) != 0;
#if defined(LOGPARSER_TEST_CHECK_PID)
  madvise(s, kKeptAt, 19);
  k->checkPid = 1;
#endif
#if defined(SYS_memfd_create)
  int fd = moveUp(int(syscall(SYS_memfd_create, kRegistry, 1u)));
  if (fd >= 0) {
    Registration r = {kMagic, uintptr_t(s)};
    if (write(fd, &r, sizeof r) != ssize_t(sizeof r)) close(fd);
  }
#endif
  return s;
}

static const char *reasonOf(int error) {
  switch (error) {
    case ENOSPC: return "no space left on the device";
    case EDQUOT: return "disk quota exceeded";
    case EFBIG: return "file size limit exceeded";
    case EACCES:
    case EPERM: return "permission denied";
    case EROFS: return "read-only file system";
    case ENOENT: return "no such folder";
    case ENOTDIR: return "not a folder";
    case EISDIR: return "is a folder";
    case EEXIST: return "something that is no regular file has this name";
    case EMFILE:
    case ENFILE: return "too many open files";
    case EIO: return "input/output error";
    case ENAMETOOLONG: return "name too long";
  }
  return nullptr;
}

static void say(const Kept *k, const char *what, const char *path, int error, const char *end, const char *other = "") {
  struct stat st;
  if (fstat(2, &st) != 0 || st.st_dev != k->errorDevice || st.st_ino != k->errorInode) return;
  char buffer[1024];
  Text t(buffer, sizeof buffer);
  t.add("logparser: ");
  t.add(what);
  t.add(path);
  t.add(": ");
  if (reasonOf(error)) {
    t.add(reasonOf(error));
  } else {
    t.add("error ");
    t.decimal(unsigned(error));
  }
  t.add(end);
  t.add(other);
  t.add('\n');
  if (syscall(SYS_write, 2, t.data, t.length) < 0) return;
}

// stop ends the recording of this process. A log that goes on after a hole
// would name wrong callers; one that ends does not.
static void stop(State *s, const char *path, int error) {
  store(&s->stopped, 1);
  if (__atomic_exchange_n(&s->told, 1, __ATOMIC_ACQ_REL) == 0)
    say(keptOf(s), "cannot write ", path, error, "; the program goes on, nothing more is recorded");
}

// append adds n bytes to a file opened with O_APPEND and returns 0 or an
// error number. It does without the C library's write, in which the thread may
// be cancelled: the object's constructor must not end so.
static int append(int fd, const void *data, size_t n) {
  const char *p = static_cast<const char *>(data);
  while (n > 0) {
    ssize_t done;
    int error;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
      done = ssize_t(syscall(SYS_write, fd, p, n));
      error = errno;
    } else {
      // Beyond the limit write raises SIGXFSZ, which ends programs that do
      // not expect it.
      sigset_t tooBig, old;
      sigemptyset(&tooBig);
      sigaddset(&tooBig, SIGXFSZ);
      sigprocmask(SIG_BLOCK, &tooBig, &old);
      const int cancelled = cancelling(PTHREAD_CANCEL_DISABLE);
      done = ssize_t(syscall(SYS_write, fd, p, n));
      error = errno;
      if (done < 0 && error == EFBIG) {
        struct timespec now = {0, 0};
        sigtimedwait(&tooBig, nullptr, &now);
      }
      cancelling(cancelled);
      sigprocmask(SIG_SETMASK, &old, nullptr);
    }
    if (done < 0) {
      if (error == EINTR) continue;
      return error;
    }
    p += done;
    n -= size_t(done);
  }
  return 0;
}

// notePattern keeps what the files are to be called, absolute, before the
// program changes its folder.
static void notePattern(Kept *k) {
  const char *given = getauxval(AT_SECURE) ? nullptr : getenv("LOGPARSER_LOG");
  if (!given || !*given) given = "LogDetails.dat";
  Text t(k->pattern, sizeof k->pattern);
  if (given[0] != '/' && getcwd(k->link, sizeof k->link)) {
    for (const char *c = k->link; *c; c++) {
      if (*c == '%') t.add('%');
      t.add(*c);
    }
    t.add('/');
  }
  t.add(given);
}

static bool endsInDat(const Text &t) {
  if (t.length < 4) return false;
  const char *e = t.data + t.length - 4;
  return e[0] == '.' && (e[1] | 32) == 'd' && (e[2] | 32) == 'a' && (e[3] | 32) == 't';
}

// expandPattern makes the path of the .dat file for a process.
static void expandPattern(Kept *k, int pid) {
  Text t(k->datPath, sizeof k->datPath);
  k->perProcess = false;
  for (const char *c = k->pattern; *c; c++) {
    if (c[0] == '%' && c[1] == 'p') {
      k->perProcess = true;
      t.decimal(unsigned(pid));
      c++;
    } else {
      if (c[0] == '%' && c[1] == '%') c++;
      t.add(*c);
    }
  }
  struct stat st;
  if (t.length && t.data[t.length - 1] == '/') {
    t.add("LogDetails.dat");
  } else if (stat(t.data, &st) == 0 && S_ISDIR(st.st_mode)) {
    t.add("/LogDetails.dat");
  } else if (!endsInDat(t)) {
    t.add(".dat");
  }
}

// withSuffix writes path with the suffix put before its extension, and its
// extension replaced where another is given.
static void withSuffix(char *out, const char *path, const char *suffix, const char *extension) {
  size_t n = strlen(path);
  Text t(out, kPath);
  for (size_t i = 0; i + 4 < n; i++) t.add(path[i]);
  t.add(suffix);
  t.add(extension ? extension : path + (n > 4 ? n - 4 : 0));
}

static void addProcessId(Kept *k, int pid) {
  char suffix[16];
  Text t(suffix, sizeof suffix);
  t.add('.');
  t.decimal(unsigned(pid));
  memcpy(k->link, k->datPath, sizeof k->link);
  withSuffix(k->datPath, k->link, suffix, nullptr);
}

static int renameToNew(const char *from, const char *to) {
#if defined(SYS_renameat2)
  if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1u) == 0) return 0;
  if (errno != ENOSYS && errno != EINVAL) return errno;
#endif
  struct stat st;
  if (lstat(to, &st) == 0) return EEXIST;
  return rename(from, to) == 0 ? 0 : errno;
}

// moveAway renames the files of an earlier run after the time they were last
// written (UTC, computed here: the C library would read time zone files).
static int moveAway(Kept *k) {
  struct stat dat, bin;
  bool haveDat = lstat(k->datPath, &dat) == 0;
  bool haveBin = lstat(k->binPath, &bin) == 0;
  if (!haveDat && !haveBin) return 0;
  if ((haveDat && !S_ISREG(dat.st_mode) && !S_ISLNK(dat.st_mode)) ||
      (haveBin && !S_ISREG(bin.st_mode) && !S_ISLNK(bin.st_mode)))
    return EEXIST;
  int64_t seconds = haveDat ? int64_t(dat.st_mtime) : int64_t(bin.st_mtime);
  if (seconds < 0) seconds = 0;
  unsigned inDay = unsigned(seconds % 86400);
  // Days since 1970 to a civil date, in years that begin in March.
  int64_t days = seconds / 86400 + 719468;
  int64_t era = days / 146097;
  unsigned ofEra = unsigned(days - era * 146097);
  unsigned yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146096) / 365;
  unsigned ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  unsigned march = (5 * ofYear + 2) / 153;
  unsigned day = ofYear - (153 * march + 2) / 5 + 1;
  unsigned month = march < 10 ? march + 3 : march - 9;
  unsigned year = unsigned(era * 400) + yearOfEra + (month <= 2);
  for (int attempt = 1; attempt < 10000; attempt++) {
    char suffix[40];
    Text t(suffix, sizeof suffix);
    t.pairSuffix(year, month, day, inDay / 3600, inDay / 60 % 60, inDay % 60, attempt);
    withSuffix(k->datMoved, k->datPath, suffix, nullptr);
    withSuffix(k->binMoved, k->datPath, suffix, ".bin");
    struct stat st;
    if (lstat(k->datMoved, &st) == 0 || lstat(k->binMoved, &st) == 0) continue;
    int error = haveDat ? renameToNew(k->datPath, k->datMoved) : 0;
    if (error == 0 && haveBin) {
      error = renameToNew(k->binPath, k->binMoved);
      if (error != 0 && haveDat) renameToNew(k->datMoved, k->datPath);
    }
    if (error != EEXIST) return error == ENOENT ? 0 : error;
  }
  return EEXIST;
}

// tickNow returns what the records have as their time: milliseconds, modulo 2^32.
static uint32_t tickNow() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint32_t(uint64_t(now.tv_sec) * 1000 + uint64_t(now.tv_nsec) / 1000000);
}

// openFiles opens the pair for this process.
static void openFiles(State *s, Kept *k) {
  int pid = int(getpid());
  bool child = k->pid != 0 && k->pid != pid;
  if (k->pid == 0) notePattern(k);
  if (k->pid != pid) k->pid = pid;
  expandPattern(k, pid);
  if (child && !k->perProcess) addProcessId(k, pid);
  const int parentsDat = child ? k->dat : -1, parentsBin = child ? k->bin : -1;
  k->bin = -1;

  Text folder(k->link, sizeof k->link);
  for (size_t i = 0, n = size_t(strrchr(k->datPath, '/') ? strrchr(k->datPath, '/') - k->datPath + 1 : 0); i < n; i++)
    folder.add(k->datPath[i]);
  int dat = -1, error = 0;
  {
    Lock lock(folder.length ? folder.data : ".");
    bool renamed = false;
    for (int attempt = 0; attempt < 8; attempt++) {
      withSuffix(k->binPath, k->datPath, "", ".bin");
      error = moveAway(k);
      if (error == EEXIST) break;
      if (error != 0 && !renamed) {
        // The old pair belongs to somebody else: it stays, we take another name.
        renamed = true;
        memcpy(k->datMoved, k->datPath, sizeof k->datMoved);
        addProcessId(k, pid);
        say(k, "cannot rename ", k->datMoved, error, "; recording to ", k->datPath);
        continue;
      }
      if (error != 0) break;
      dat = open(k->datPath, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      error = dat < 0 ? errno : 0;
      if (error != EEXIST) break;
    }
    if (dat >= 0) {
      k->bin = moveUp(open(k->binPath, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (k->bin < 0) say(k, "cannot write ", k->binPath, errno, "; the functions of this log will have no names");
    }
  }
  if (parentsBin >= 0 && k->bin >= 0) {
    // A child has the modules and the clock of its parent. It copies them:
    // in a child of several threads the loader's lock may be held for ever.
    ssize_t n;
    for (off_t at = 0; (n = pread(parentsBin, k->line, sizeof k->line, at)) > 0; at += n)
      if (append(k->bin, k->line, size_t(n)) != 0) break;
    // Where modules came is told in bytes of the parent's log.
    Text t(k->line, sizeof k->line);
    t.add("# copied ");
    t.decimal(tickNow());
    t.add('\n');
    append(k->bin, t.data, t.length);
  }
  if (parentsDat >= 0) close(parentsDat);
  if (parentsBin >= 0) close(parentsBin);
  if (dat < 0) stop(s, k->datPath, error);
  store(&k->dat, moveUp(dat));
  store(&s->ready, 1);
}

static void describeStart(Kept *k) {
  struct timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  const uint32_t tick = tickNow();
  struct tm local;
  memset(&local, 0, sizeof local);
  localtime_r(&wall.tv_sec, &local);
  Text t(k->line, sizeof k->line);
  t.add(kFirstLine);
  t.dateAndTime(unsigned(local.tm_year + 1900), unsigned(local.tm_mon + 1), unsigned(local.tm_mday),
                unsigned(local.tm_hour), unsigned(local.tm_min), unsigned(local.tm_sec),
                unsigned(wall.tv_nsec / 1000000));
  t.decimal(tick);
  t.add('\n');
  append(k->bin, t.data, t.length);
}

// isLoaded tells whether a segment lies in one that is mapped and can be read.
static bool isLoaded(const struct dl_phdr_info *info, const ElfW(Phdr) *part) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
    if (ph->p_type == PT_LOAD && (ph->p_flags & PF_R) && part->p_vaddr >= ph->p_vaddr &&
        part->p_vaddr - ph->p_vaddr <= ph->p_memsz && part->p_memsz <= ph->p_memsz - (part->p_vaddr - ph->p_vaddr))
      return true;
  }
  return false;
}

static void addBuildId(Text *t, const struct dl_phdr_info *info) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
    if (ph->p_type != PT_NOTE || !isLoaded(info, ph)) continue;
    const size_t align = ph->p_align == 8 ? 8 : 4;
    const char *p = reinterpret_cast<const char *>(info->dlpi_addr + ph->p_vaddr);
    size_t left = ph->p_memsz;
    ElfW(Nhdr) note;
    while (left >= sizeof note) {
      memcpy(&note, p, sizeof note);
      const size_t desc = (sizeof note + note.n_namesz + align - 1) & ~(align - 1);
      if (note.n_namesz > left || note.n_descsz > left || desc + note.n_descsz > left) break;
      if (note.n_type == 3 && note.n_namesz == 4 && memcmp(p + sizeof note, "GNU", 4) == 0 && note.n_descsz > 0 &&
          note.n_descsz <= 64) {
        t->add("build-id:");
        for (size_t b = 0; b < note.n_descsz; b++) t->hex(static_cast<unsigned char>(p[desc + b]), 2);
        return;
      }
      const size_t next = (desc + note.n_descsz + align - 1) & ~(align - 1);
      if (next >= left) break;
      p += next;
      left -= next;
    }
  }
  t->add('-');
}

static void addPath(Kept *k, Text *t, const char *name) {
  const char *path = name;
  if (!*name) {
    ssize_t n = readlink("/proc/self/exe", k->link, sizeof k->link - 1);
    k->link[n > 0 ? n : 0] = 0;
    path = n > 0 ? k->link : "-";
  } else if (strchr(name, '/') && (name[0] != '/' || strstr(name, "/./") || strstr(name, "/../"))) {
    if (realpath(name, k->link)) path = k->link;
  }
  for (; *path; path++) t->add(*path == '\n' || *path == '\r' ? '?' : *path);
}

// Lines is a text in a mapping of its own that grows.
struct Lines {
  Kept *kept;
  char *data;
  size_t length, capacity;

  void add(const Text &t) {
    if (length + t.length > capacity) {
      const size_t room = (2 * capacity + t.length + 65535) & ~size_t(65535);
      void *p = data ? mremap(data, capacity, room, MREMAP_MAYMOVE)
                     : mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (p == MAP_FAILED) return;
      data = static_cast<char *>(p);
      capacity = room;
    }
    memcpy(data + length, t.data, t.length);
    length += t.length;
  }
};

static int describeModule(struct dl_phdr_info *info, size_t, void *data) {
  Lines *now = static_cast<Lines *>(data);
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  uintptr_t low = ~uintptr_t(0), high = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
    if (ph->p_type != PT_LOAD) continue;
    if (ph->p_vaddr < low) low = ph->p_vaddr;
    if (ph->p_vaddr + ph->p_memsz > high) high = ph->p_vaddr + ph->p_memsz;
  }
  if (low > high) return 0;
  low = (low + info->dlpi_addr) & ~(page - 1);
  high = (high + info->dlpi_addr + page - 1) & ~(page - 1);
  Text t(now->kept->line, sizeof now->kept->line);
  t.range(low, high - low);
  addBuildId(&t, info);
  t.add(" - ");
  addPath(now->kept, &t, info->dlpi_name ? info->dlpi_name : "");
  t.add('\n');
  now->add(t);
  return 0;
}

// Append appends to the modules file.
struct Append {
  int file;
  void operator()(const char *data, size_t n) const { append(file, data, n); }
};

// describe writes the modules file, or adds to it which modules came and went since.
static void describe(Kept *k) {
  if (k->bin < 0) return;
  struct stat st;
  if (fstat(k->bin, &st) != 0) return;
  const size_t size = size_t(st.st_size);
  void *written = nullptr;
  if (size > 0) {
    written = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, k->bin, 0);
    if (written == MAP_FAILED) return;
  } else {
    describeStart(k);
  }
  Lines now = {k, nullptr, 0, 0};
  dl_iterate_phdr(describeModule, &now);
  if (now.data) {
    const Append append = {k->bin};
    addChanges(static_cast<const char *>(written), size, now.data, now.length, tickNow(),
               fstat(load(&k->dat), &st) == 0 ? uint64_t(st.st_size) : 0, append);
    munmap(now.data, now.capacity);
  }
  if (written) munmap(written, size);
}

// start makes the shared state usable for this module and this process; bad
// is a descriptor that turned out to be closed, or -1.
static State *start(int bad) {
  // A handler that logs must not find this thread in the middle, nor may the
  // thread be cancelled there.
  sigset_t all, old;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &old);
  const int cancelled = cancelling(PTHREAD_CANCEL_DISABLE);
  State *s = load(&theState);
  const bool joining = !s;
  if (!s) {
    Lock lock("/proc/self");
    s = findState();
    if (!s) s = makeState();
  }
  if (s) {
    Kept *k = keptOf(s);
    if (k->checkPid && k->pid != 0 && k->pid != int(getpid())) memset(s, 0, sizeof *s);
    const int me = threadId();
    int nobody = 0;
    // Busy already by this thread: the C library called into a logged
    // function (a malloc of the program's own) while describe was at work.
    bool nested = load(&s->busy) == me;
    while (!nested && !__atomic_compare_exchange_n(&s->busy, &nobody, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      nobody = 0;
      sched_yield();
    }
    bool opened = false;
    if (!nested && (!load(&s->ready) || (bad >= 0 && k->dat == bad))) {
      opened = true;
      openFiles(s, k);
    }
    store(&theState, s);
    if (!nested) {
      const bool inherited = opened && k->bin >= 0 && lseek(k->bin, 0, SEEK_END) > 0;
      if (!load(&s->stopped) && ((opened && !inherited) || (joining && !opened))) describe(k);
      store(&s->busy, 0);
    }
  }
  cancelling(cancelled);
  sigprocmask(SIG_SETMASK, &old, nullptr);
  return s;
}

// cutTorn removes the part of a record that a full disk left at the end.
static void cutTorn(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0) return;
  const off_t torn = st.st_size % off_t(sizeof(Record));
  if (torn != 0 && ftruncate(fd, st.st_size - torn) != 0) return;
}

static void record(uintptr_t address, bool enter) {
  const int savedErrno = errno;
  State *s = load(&theState);
  if (!s || !load(&s->ready) || (keptOf(s)->checkPid && keptOf(s)->pid != int(getpid()))) s = start(-1);
  if (s && !load(&s->stopped)) {
    Kept *k = keptOf(s);
    Record r;
    memset(&r, 0, sizeof r);
    r.address = address;
    r.thread = uint32_t(threadId());
    r.tick = tickNow();
    r.enter = enter;
    for (int attempt = 0; attempt < 2; attempt++) {
      const int fd = load(&k->dat);
      const int error = append(fd, &r, sizeof r);
      if (error == 0) break;
      if (error == EBADF && attempt == 0) {
        start(fd);
        if (load(&s->stopped)) break;
        continue;
      }
      stop(s, k->datPath, error);
      cutTorn(fd);
    }
  }
  errno = savedErrno;
}

static void begin() { start(-1); }

}  // namespace logparser_recorder

#elif defined(_WIN32)

// The classic recorder on Windows.

#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace logparser_recorder {

static const DWORD kPath = 2048;

// The state that all modules of the process share lies in a mapping named
// after the process, which lasts as long as the process does.
struct State {
  State *self;
  volatile LONG stopped;    // 1: writing failed, nothing more is recorded
  volatile LONG told;       // 1: the failure was reported
  volatile LONG appending;  // see append
  LONG wine;
  HANDLE dat, bin;
  // Room to work in, guarded by the mutex.
  wchar_t pattern[kPath], full[kPath], datPath[kPath], binPath[kPath], datMoved[kPath], binMoved[kPath];
  char line[4 * kPath];
};

static PVOID volatile theState;  // this module's pointer to the shared state

static State *load(PVOID volatile *p) {
  return static_cast<State *>(InterlockedCompareExchangePointer(p, nullptr, nullptr));
}
static LONG load(volatile LONG *p) { return InterlockedCompareExchange(p, 0, 0); }

struct WideText {
  wchar_t *data;
  size_t length, capacity;

  WideText(wchar_t *buffer, size_t size) : data(buffer), length(0), capacity(size - 1) { data[0] = 0; }
  void add(wchar_t c) {
    if (length < capacity) {
      data[length++] = c;
      data[length] = 0;
    }
  }
  void add(const wchar_t *s) {
    while (*s) add(*s++);
  }
  void add(const Text &t) {
    for (size_t i = 0; i < t.length; i++) add(wchar_t(t.data[i]));
  }
};

static void addUTF8(Text *t, const wchar_t *s) {
  for (; *s; s++) {
    uint32_t c = *s;
    if (c >= 0xd800 && c < 0xdc00 && s[1] >= 0xdc00 && s[1] < 0xe000) {
      c = 0x10000 + ((c - 0xd800) << 10) + (*++s - 0xdc00u);
    } else if (c >= 0xd800 && c < 0xe000) {
      c = 0xfffd;
    } else if (c == '\n' || c == '\r') {
      c = '?';
    }
    if (c < 0x80) {
      t->add(char(c));
      continue;
    }
    if (c < 0x800) {
      t->add(char(0xc0 | c >> 6));
    } else {
      if (c < 0x10000) {
        t->add(char(0xe0 | c >> 12));
      } else {
        t->add(char(0xf0 | c >> 18));
        t->add(char(0x80 | (c >> 12 & 63)));
      }
      t->add(char(0x80 | (c >> 6 & 63)));
    }
    t->add(char(0x80 | (c & 63)));
  }
}

static const char *reasonOf(DWORD error) {
  switch (error) {
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return "no space left on the device";
    case ERROR_ACCESS_DENIED: return "access denied";
    case ERROR_WRITE_PROTECT: return "write-protected";
    case ERROR_PATH_NOT_FOUND: return "no such folder";
    case ERROR_SHARING_VIOLATION: return "used by another process";
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return "a folder has this name";
    case ERROR_INVALID_NAME: return "not a valid name";
  }
  return nullptr;
}

static void say(const char *what, const wchar_t *path, DWORD error, const char *end, const wchar_t *other = L"") {
  char buffer[1024];
  Text t(buffer, sizeof buffer);
  t.add("logparser: ");
  t.add(what);
  addUTF8(&t, path);
  t.add(": ");
  if (reasonOf(error)) {
    t.add(reasonOf(error));
  } else {
    t.add("error ");
    t.decimal(error);
  }
  t.add(end);
  addUTF8(&t, other);
  t.add('\n');
  DWORD done;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), t.data, DWORD(t.length), &done, nullptr);
  OutputDebugStringA(t.data);
}

// stop ends the recording of this process. A log that goes on after a hole
// would name wrong callers; one that ends does not.
static void stop(State *s, const wchar_t *path, DWORD error) {
  InterlockedExchange(&s->stopped, 1);
  if (InterlockedExchange(&s->told, 1) == 0)
    say("cannot write ", path, error, "; the program goes on, nothing more is recorded");
}

// append adds n bytes to a file opened with FILE_APPEND_DATA only and returns
// 0 or an error number. Windows appends in one step. Wine looks for the end
// and writes in two, so there threads take turns; a thread that was ended or
// suspended in its turn is waited for one second, no longer.
static DWORD append(State *s, HANDLE file, const void *data, size_t n) {
  const char *p = static_cast<const char *>(data);
  bool turn = false;
  if (s->wine) {
    const DWORD since = GetTickCount();
    while (!(turn = InterlockedCompareExchange(&s->appending, 1, 0) == 0) && GetTickCount() - since < 1000) Sleep(0);
  }
  DWORD error = 0;
  while (n > 0 && error == 0) {
    DWORD done = 0;
    if (!WriteFile(file, p, DWORD(n), &done, nullptr)) {
      error = GetLastError();
    } else if (done == 0) {
      error = ERROR_DISK_FULL;
    }
    p += done;
    n -= done;
  }
  if (turn) InterlockedExchange(&s->appending, 0);
  return error;
}

static bool endsInDat(const WideText &t) {
  if (t.length < 4) return false;
  const wchar_t *e = t.data + t.length - 4;
  return e[0] == '.' && (e[1] | 32) == 'd' && (e[2] | 32) == 'a' && (e[3] | 32) == 't';
}

static bool isFolder(const wchar_t *path) {
  const DWORD a = GetFileAttributesW(path);
  return a != INVALID_FILE_ATTRIBUTES && (a & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

// namePair makes the path of the .dat file.
static DWORD namePair(State *s) {
  DWORD n = GetEnvironmentVariableW(L"LOGPARSER_LOG", s->pattern, kPath);
  if (n >= kPath) return ERROR_FILENAME_EXCED_RANGE;
  const wchar_t *given = n > 0 ? s->pattern : L"LogDetails.dat";
  WideText t(s->full, kPath);
  for (const wchar_t *c = given; *c; c++) {
    if (c[0] == '%' && c[1] == 'p') {
      char digits[16];
      Text d(digits, sizeof digits);
      d.decimal(GetCurrentProcessId());
      t.add(d);
      c++;
    } else {
      if (c[0] == '%' && c[1] == '%') c++;
      t.add(*c);
    }
  }
  if (t.data[t.length - 1] == '\\' || t.data[t.length - 1] == '/') {
    t.add(L"LogDetails.dat");
  } else if (isFolder(t.data)) {
    t.add(L"\\LogDetails.dat");
  } else if (!endsInDat(t)) {
    t.add(L".dat");
  }
  n = GetFullPathNameW(s->full, kPath, s->datPath, nullptr);
  if (n == 0) return GetLastError();
  return n >= kPath ? ERROR_FILENAME_EXCED_RANGE : 0;
}

// withSuffix writes path with the suffix put before its extension, and its
// extension replaced where another is given.
static void withSuffix(wchar_t *out, const wchar_t *path, const Text *suffix, const wchar_t *extension) {
  size_t n = 0;
  while (path[n]) n++;
  WideText t(out, kPath);
  for (size_t i = 0; i + 4 < n; i++) t.add(path[i]);
  if (suffix) t.add(*suffix);
  t.add(extension ? extension : path + (n > 4 ? n - 4 : 0));
}

// moveAway renames the files of an earlier run after the time they were last
// written (UTC).
static DWORD moveAway(State *s) {
  WIN32_FILE_ATTRIBUTE_DATA dat, bin;
  const bool haveDat = GetFileAttributesExW(s->datPath, GetFileExInfoStandard, &dat) != 0;
  const bool haveBin = GetFileAttributesExW(s->binPath, GetFileExInfoStandard, &bin) != 0;
  if (!haveDat && !haveBin) return 0;
  if ((haveDat && (dat.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)) ||
      (haveBin && (bin.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)))
    return ERROR_ALREADY_EXISTS;
  SYSTEMTIME at;
  FileTimeToSystemTime(haveDat ? &dat.ftLastWriteTime : &bin.ftLastWriteTime, &at);
  for (int attempt = 1; attempt < 10000; attempt++) {
    char buffer[40];
    Text suffix(buffer, sizeof buffer);
    suffix.pairSuffix(at.wYear, at.wMonth, at.wDay, at.wHour, at.wMinute, at.wSecond, attempt);
    withSuffix(s->datMoved, s->datPath, &suffix, nullptr);
    withSuffix(s->binMoved, s->datPath, &suffix, L".bin");
    if (GetFileAttributesW(s->datMoved) != INVALID_FILE_ATTRIBUTES ||
        GetFileAttributesW(s->binMoved) != INVALID_FILE_ATTRIBUTES)
      continue;
    DWORD error = 0;
    if (haveDat && !MoveFileExW(s->datPath, s->datMoved, 0)) error = GetLastError();
    if (error == 0 && haveBin && !MoveFileExW(s->binPath, s->binMoved, 0)) {
      error = GetLastError();
      if (haveDat) MoveFileExW(s->datMoved, s->datPath, 0);
    }
    if (error != ERROR_ALREADY_EXISTS && error != ERROR_FILE_EXISTS)
      return error == ERROR_FILE_NOT_FOUND ? 0 : error;
  }
  return ERROR_ALREADY_EXISTS;
}

static HANDLE createNew(const wchar_t *path, DWORD access, DWORD *error) {
  // Shared for everything, deletion included: LogParser may follow the log,
  // and a later run may rename it.
  HANDLE h = CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, CREATE_NEW,
                         FILE_ATTRIBUTE_NORMAL, nullptr);
  *error = h == INVALID_HANDLE_VALUE ? GetLastError() : 0;
  return h;
}

static void openFiles(State *s) {
  s->dat = s->bin = INVALID_HANDLE_VALUE;
  DWORD error = namePair(s);
  bool renamed = false;
  for (int attempt = 0; error == 0 && attempt < 8; attempt++) {
    withSuffix(s->binPath, s->datPath, nullptr, L".bin");
    error = moveAway(s);
    if (error == ERROR_ALREADY_EXISTS) break;
    if (error != 0 && !renamed) {
      // The old pair is held by somebody: it stays, we take another name.
      renamed = true;
      char buffer[16];
      Text suffix(buffer, sizeof buffer);
      suffix.add('.');
      suffix.decimal(GetCurrentProcessId());
      WideText old(s->full, kPath);
      old.add(s->datPath);
      withSuffix(s->datPath, s->full, &suffix, nullptr);
      say("cannot rename ", s->full, error, "; recording to ", s->datPath);
      error = 0;
      continue;
    }
    if (error != 0) break;
    s->dat = createNew(s->datPath, FILE_APPEND_DATA, &error);
    if (error == 0) break;
    if (error == ERROR_FILE_EXISTS) error = 0;
  }
  if (s->dat == INVALID_HANDLE_VALUE) {
    stop(s, s->datPath, error ? error : DWORD(ERROR_FILE_EXISTS));
    return;
  }
  s->bin = createNew(s->binPath, FILE_APPEND_DATA | GENERIC_READ, &error);
  if (error != 0) say("cannot write ", s->binPath, error, "; the functions of this log will have no names");
}

static void describeStart(State *s) {
  SYSTEMTIME now;
  GetLocalTime(&now);
  const DWORD tick = GetTickCount();
  Text t(s->line, sizeof s->line);
  t.add(kFirstLine);
  t.dateAndTime(now.wYear, now.wMonth, now.wDay, now.wHour, now.wMinute, now.wSecond, now.wMilliseconds);
  t.decimal(tick);
  t.add('\n');
  append(s, s->bin, t.data, t.length);
}

static void addIdentity(Text *t, const char *base, const IMAGE_NT_HEADERS *nt) {
  const DWORD size = nt->OptionalHeader.SizeOfImage;
  if (nt->OptionalHeader.NumberOfRvaAndSizes > IMAGE_DIRECTORY_ENTRY_DEBUG) {
    const IMAGE_DATA_DIRECTORY dir = nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_DEBUG];
    for (DWORD at = 0; dir.VirtualAddress != 0 && at + sizeof(IMAGE_DEBUG_DIRECTORY) <= dir.Size;
         at += sizeof(IMAGE_DEBUG_DIRECTORY)) {
      if (dir.VirtualAddress > size || size - dir.VirtualAddress < at + sizeof(IMAGE_DEBUG_DIRECTORY)) break;
      IMAGE_DEBUG_DIRECTORY entry;
      memcpy(&entry, base + dir.VirtualAddress + at, sizeof entry);
      // CodeView 7: "RSDS", GUID, age, path.
      if (entry.Type != IMAGE_DEBUG_TYPE_CODEVIEW || entry.AddressOfRawData == 0 || entry.SizeOfData < 24) continue;
      if (entry.AddressOfRawData > size || size - entry.AddressOfRawData < 24) continue;
      unsigned char cv[24];
      memcpy(cv, base + entry.AddressOfRawData, sizeof cv);
      if (memcmp(cv, "RSDS", 4) != 0) continue;
      // The GUID's first three fields are little-endian.
      static const signed char order[] = {3, 2, 1, 0, -1, 5, 4, -1, 7, 6, -1, 8, 9, -1, 10, 11, 12, 13, 14, 15};
      t->add("pdb:");
      for (size_t i = 0; i < sizeof order; i++) {
        if (order[i] < 0) {
          t->add('-');
        } else {
          t->hex(cv[4 + order[i]], 2, true);
        }
      }
      t->add(':');
      t->decimal(cv[20] | cv[21] << 8 | cv[22] << 16 | uint32_t(cv[23]) << 24);
      return;
    }
  }
  t->add('-');
}

// Lines is a text on the process's heap that grows.
struct Lines {
  char *data;
  size_t length, capacity;

  void add(const Text &t) {
    if (length + t.length > capacity) {
      const size_t room = 2 * capacity + t.length + 16384;
      void *p = data ? HeapReAlloc(GetProcessHeap(), 0, data, room) : HeapAlloc(GetProcessHeap(), 0, room);
      if (!p) return;
      data = static_cast<char *>(p);
      capacity = room;
    }
    memcpy(data + length, t.data, t.length);
    length += t.length;
  }
};

static void describeModule(State *s, HMODULE module, Lines *now) {
  // Held, so that no other thread unloads it meanwhile.
  HMODULE held;
  if (!GetModuleHandleExW(4 /* GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS */, reinterpret_cast<LPCWSTR>(module), &held))
    return;
  const char *base = reinterpret_cast<const char *>(held);
  const IMAGE_DOS_HEADER *dos = reinterpret_cast<const IMAGE_DOS_HEADER *>(base);
  const IMAGE_NT_HEADERS *nt = reinterpret_cast<const IMAGE_NT_HEADERS *>(base + dos->e_lfanew);
  const DWORD n = GetModuleFileNameW(held, s->full, kPath);
  if (dos->e_magic == IMAGE_DOS_SIGNATURE && nt->Signature == IMAGE_NT_SIGNATURE && n > 0) {
    s->full[kPath - 1] = 0;
    Text t(s->line, sizeof s->line);
    t.range(uintptr_t(base), nt->OptionalHeader.SizeOfImage);
    addIdentity(&t, base, nt);
    if (nt->FileHeader.TimeDateStamp != 0) {
      t.add(" 0x");
      t.hex(nt->FileHeader.TimeDateStamp, 8);
      t.add(' ');
    } else {
      t.add(" - ");
    }
    addUTF8(&t, s->full);
    t.add('\n');
    now->add(t);
  }
  FreeLibrary(held);
}

// Append appends to the modules file.
struct Append {
  State *s;
  void operator()(const char *data, size_t n) const { append(s, s->bin, data, n); }
};

// describe writes the modules file, or adds to it which modules came and went since.
static void describe(State *s) {
  if (s->bin == INVALID_HANDLE_VALUE) return;
  const HANDLE heap = GetProcessHeap();
  const DWORD size = GetFileSize(s->bin, nullptr);
  char *written = nullptr;
  DWORD read = 0;
  if (size > 0) {
    OVERLAPPED from;
    memset(&from, 0, sizeof from);
    written = static_cast<char *>(HeapAlloc(heap, 0, size));
    if (!written || !ReadFile(s->bin, written, size, &read, &from)) read = 0;
  } else {
    describeStart(s);
  }

  // K32EnumProcessModules needs no library beside kernel32; before Windows 7
  // the function has its old name and home.
  typedef BOOL(WINAPI * Enumerate)(HANDLE, HMODULE *, DWORD, LPDWORD);
  FARPROC found = GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "K32EnumProcessModules");
  const HMODULE psapi = GetModuleHandleW(L"psapi.dll");
  if (!found && psapi) found = GetProcAddress(psapi, "EnumProcessModules");
  Enumerate enumerate;
  memcpy(&enumerate, &found, sizeof enumerate);
  HMODULE *list = nullptr;
  DWORD bytes = 0, room = 256 * sizeof(HMODULE);
  for (int attempt = 0; enumerate && attempt < 8; attempt++) {
    list = static_cast<HMODULE *>(HeapAlloc(heap, 0, room));
    if (!list || !enumerate(GetCurrentProcess(), list, room, &bytes)) bytes = 0;
    if (!list || bytes <= room) break;
    HeapFree(heap, 0, list);
    list = nullptr;
    room = bytes + 64 * sizeof(HMODULE);
    bytes = 0;
  }
  Lines now = {nullptr, 0, 0};
  if (list && bytes > 0) {
    for (DWORD i = 0; i < bytes / sizeof(HMODULE); i++) describeModule(s, list[i], &now);
  } else {
    describeModule(s, GetModuleHandleW(nullptr), &now);
  }
  LARGE_INTEGER length;
  if (!GetFileSizeEx(s->dat, &length)) length.QuadPart = 0;
  const Append append = {s};
  if (now.data) addChanges(written, read, now.data, now.length, GetTickCount(), uint64_t(length.QuadPart), append);
  if (now.data) HeapFree(heap, 0, now.data);
  if (list) HeapFree(heap, 0, list);
  if (written) HeapFree(heap, 0, written);
}

static State *sharedState(bool *first) {
  wchar_t name[64];
  WideText t(name, 64);
  char digits[16];
  Text d(digits, sizeof digits);
  d.decimal(GetCurrentProcessId());
  t.add(L"Local\\LogParserRecorder1-");
  t.add(d);
  *first = true;
  const HANDLE mapping =
      CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE, 0, DWORD(sizeof(State)), name);
  const bool existed = GetLastError() == ERROR_ALREADY_EXISTS;
  State *view =
      mapping ? static_cast<State *>(MapViewOfFile(mapping, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, 0)) : nullptr;
  if (!view) {
    // Not to be had, in a sandbox perhaps: this module keeps to itself.
    if (mapping) CloseHandle(mapping);
    return static_cast<State *>(HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, sizeof(State)));
  }
  MEMORY_BASIC_INFORMATION info;
  State *self = view->self;
  if (existed && self && VirtualQuery(self, &info, sizeof info) && info.State == MEM_COMMIT &&
      info.Type == MEM_MAPPED && info.AllocationBase == self && self->self == self) {
    UnmapViewOfFile(view);
    CloseHandle(mapping);
    *first = false;
    return self;
  }
  view->self = view;
  return view;  // the handle stays open, it keeps the name
}

static State *start() {
  // One mutex for all processes of the session: they may be after the same
  // pair of files. It is waited for two seconds at most: a program is not
  // held up for its log.
  const HANDLE mutex = CreateMutexW(nullptr, FALSE, L"Local\\LogParserRecorder");
  const DWORD waited = mutex ? WaitForSingleObject(mutex, 2000) : DWORD(WAIT_FAILED);
  State *s = load(&theState);
  if (!s) {
    bool first;
    s = sharedState(&first);
    if (s) {
      if (first) {
        const HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
        s->wine = ntdll && GetProcAddress(ntdll, "wine_get_version") ? 1 : 0;
        openFiles(s);
      }
      if (!load(&s->stopped)) describe(s);
      InterlockedExchangePointer(&theState, s);
    }
  }
  if (waited == WAIT_OBJECT_0 || waited == WAIT_ABANDONED) ReleaseMutex(mutex);
  if (mutex) CloseHandle(mutex);
  return s;
}

// threadId reads the thread's id from where Windows keeps it, the TEB, which takes no call. It is
// what GetCurrentThreadId returns.
static uint32_t threadId() {
#if defined(_MSC_VER) && !defined(__clang__) && defined(_M_IX86)
  return __readfsdword(0x24);
#elif defined(_MSC_VER) && !defined(__clang__) && defined(_M_X64)
  return __readgsdword(0x48);
#elif (defined(__GNUC__) || defined(__clang__)) && defined(__i386__)
  uint32_t id;
  __asm__("movl %%fs:0x24, %0" : "=r"(id));
  return id;
#elif (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
  uint32_t id;
  __asm__("movl %%gs:0x48, %0" : "=r"(id));
  return id;
#else
  return GetCurrentThreadId();
#endif
}

static void record(uintptr_t address, bool enter) {
  const DWORD savedError = GetLastError();
  State *s = load(&theState);
  if (!s) s = start();
  if (s && !load(&s->stopped)) {
    Record r;
    memset(&r, 0, sizeof r);
    r.address = address;
    r.thread = threadId();
    r.tick = GetTickCount();
    r.enter = enter;
    const DWORD error = append(s, s->dat, &r, sizeof r);
    if (error != 0) stop(s, s->datPath, error);
  }
  SetLastError(savedError);
}

static void begin() { start(); }

}  // namespace logparser_recorder

#else
#error "LogParser's recorder knows Windows and Linux"
#endif

namespace logparser_recorder {

// Starter writes the modules file when the module is initialized; a function
// that is logged earlier does so itself.
struct Starter {
  Starter() { begin(); }
};
static Starter starter;

}  // namespace logparser_recorder

LOGPARSER_USED LogEnterLeave::LogEnterLeave() noexcept : address_(uintptr_t(LOGPARSER_RETURN_ADDRESS())) {
  logparser_recorder::record(address_, true);
}

LOGPARSER_USED LogEnterLeave::~LogEnterLeave() { logparser_recorder::record(address_, false); }

#endif  // LOGPARSER_TRACE

#endif
