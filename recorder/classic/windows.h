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
