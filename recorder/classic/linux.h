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
