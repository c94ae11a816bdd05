/* platform_windows.c: platform.h for Windows, from Vista on.
 *
 * The loader's lock is held by whoever loads or unloads a library, and during
 * DllMain: threads begin and end in it, and the notices of modules come in it.
 * They take the recorder's locks. So a thread that has one of these calls
 * nothing that may want the loader's: no LoadLibrary, GetProcAddress,
 * GetModuleHandle, GetModuleFileName. Nor the heap: a program may lock it. What
 * such functions tell is asked once, in plat_start. */

#include "core.h"
#include "logrec.h"

#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>
#include <winioctl.h>
#include <stdlib.h>
#if !defined(_MSC_VER) || defined(__clang__)
#include <cpuid.h>
#endif

enum { PATH_CHARACTERS = 4096, DISK_QUOTA_EXCEEDED = 1295 /* of winerror.h */ };

static DWORD last_error;

/* 0 not begun, 1 under way, 2 done. */
static volatile LONG started;
/* The process ends and the other threads are gone. */
static int alone;
/* The recorder's own module goes. */
static int leaving;
static int under_wine;

typedef LONG(NTAPI *query_thread)(HANDLE, int, void *, ULONG, ULONG *);
typedef LONG(NTAPI *query_process)(HANDLE, int, void *, ULONG, ULONG *);
typedef void(WINAPI *precise_time)(FILETIME *);
static query_thread ntdll_query_thread;
static query_process ntdll_query_process;
static precise_time system_time;
static char system_description[128];

/* ---- strings ---- */

LR_OWN size_t lr_to_utf8(char *out, size_t size, const wchar_t *s, size_t n) {
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t c = s[i];
    if (c >= 0xd800 && c < 0xdc00 && i + 1 < n && s[i + 1] >= 0xdc00 && s[i + 1] < 0xe000)
      c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)s[++i] - 0xdc00);
    const int length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (k + (size_t)length >= size) break;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int j = length - 1; j > 0; j--) {
      out[k + (size_t)j] = (char)(0x80 | (c & 0x3f));
      c >>= 6;
    }
    out[k] = (char)(lead[length] | c);
    k += (size_t)length;
  }
  out[k] = 0;
  return k;
}

LR_OWN size_t lr_from_utf8(wchar_t *out, size_t size, const char *s) {
  size_t k = 0;
  while (*s && k + 2 < size) {
    uint32_t c = (uint8_t)*s++;
    int more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    c &= more == 0 ? 0xffu : more == 1 ? 0x1fu : more == 2 ? 0x0fu : 0x07u;
    while (more-- > 0 && ((uint8_t)*s & 0xc0) == 0x80) c = c << 6 | ((uint8_t)*s++ & 0x3f);
    if (c < 0x10000) {
      out[k++] = (wchar_t)c;
    } else {
      out[k++] = (wchar_t)(0xd800 + ((c - 0x10000) >> 10));
      out[k++] = (wchar_t)(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  out[k] = 0;
  return k;
}

LR_OWN static size_t wide_length(const wchar_t *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

/* system_path makes what the system opens of a path. Long ones are made
 * absolute and get the prefix that lets them be long. */
LR_OWN static int system_path(wchar_t *out, const char *path) {
  wchar_t plain[PATH_CHARACTERS];
  const size_t n = lr_from_utf8(plain, PATH_CHARACTERS, path);
  if (n < 240 || (plain[0] == '\\' && plain[1] == '\\' && plain[2] == '?')) {
    memcpy(out, plain, (n + 1) * sizeof *plain);
    return 1;
  }
  static const wchar_t local[] = L"\\\\?\\", remote[] = L"\\\\?\\UNC";
  wchar_t full[PATH_CHARACTERS];
  const DWORD length = GetFullPathNameW(plain, PATH_CHARACTERS - 16, full, NULL);
  if (!length || length >= PATH_CHARACTERS - 16) return 0;
  const int unc = full[0] == '\\' && full[1] == '\\';
  const wchar_t *prefix = unc ? remote : local, *rest = unc ? full + 1 : full;
  const size_t k = wide_length(prefix);
  memcpy(out, prefix, k * sizeof *out);
  memcpy(out + k, rest, (wide_length(rest) + 1) * sizeof *out);
  return 1;
}

LR_OWN void *lr_function(const char *module, const char *name) {
  const HMODULE m = GetModuleHandleA(module);
  const FARPROC p = m ? GetProcAddress(m, name) : NULL;
  void *f;
  memcpy(&f, &p, sizeof f);
  return f;
}

/* ---- this thread's state ---- */

uint32_t lr_tls;
static DWORD tls_index = TLS_OUT_OF_INDEXES;

LR_COLD struct lr_thread *lr_self_far(void) {
  if (lr_tls != LR_TLS_FAR) return &lr_nobody;
  const DWORD error = GetLastError();
  struct lr_thread *t = TlsGetValue(tls_index);
  SetLastError(error);
  return t ? t : &lr_nobody;
}

/* How many threads have an lr_thread; changes with plat_lock. */
static uint32_t recording;

LR_OWN void lr_self_set(struct lr_thread *t) {
  if (tls_index == TLS_OUT_OF_INDEXES) return;
  recording += (t != &lr_nobody) - (lr_self_get() != &lr_nobody);
  TlsSetValue(tls_index, t);
}

LR_OWN static void make_tls(void) {
  tls_index = TlsAlloc();
  if (tls_index == TLS_OUT_OF_INDEXES) return;
  lr_tls = LR_TLS_FAR;
#if defined(LR_TEB)
  /* Where the first 64 slots lie has never changed; it is looked at all the
   * same. */
  const uint32_t slots = sizeof(void *) == 8 ? 0x1480 : 0xe10;
  if (tls_index < 64) {
    const uint32_t offset = slots + tls_index * (uint32_t)sizeof(void *);
    TlsSetValue(tls_index, &lr_tls);
    if ((void *)LR_TEB(offset) == (void *)&lr_tls) lr_tls = offset;
    TlsSetValue(tls_index, NULL);
  }
#endif
}

/* ---- clock ---- */

uint32_t lr_no_tsc;
static uint64_t counter_rate;

LR_OWN uint64_t plat_counter(void) {
  LARGE_INTEGER n;
  QueryPerformanceCounter(&n);
  return (uint64_t)n.QuadPart;
}

LR_OWN static uint64_t nanoseconds(void) {
  const uint64_t n = plat_counter();
  return n / counter_rate * 1000000000u + n % counter_rate * 1000000000u / counter_rate;
}

#if LR_HAVE_COUNTER
LR_OWN static void cpuid(unsigned leaf, unsigned part, unsigned r[4]) {
#if defined(_MSC_VER) && !defined(__clang__)
  __cpuidex((int *)r, (int)leaf, (int)part);
#else
  __cpuid_count(leaf, part, r[0], r[1], r[2], r[3]);
#endif
}

/* invariant tells whether the counter runs at one rate whatever the processor
 * does. */
LR_OWN static int invariant(void) {
  unsigned r[4];
  cpuid(0x80000000u, 0, r);
  if (r[0] < 0x80000007u) return 0;
  cpuid(0x80000007u, 0, r);
  return r[3] >> 8 & 1;
}

/* told_rate is what processor or hypervisor say the counter's rate is, or 0. */
LR_OWN static uint64_t told_rate(void) {
  unsigned r[4];
  cpuid(0, 0, r);
  const unsigned most = r[0];
  cpuid(1, 0, r);
  if (r[2] >> 31 & 1) {
    cpuid(0x40000000, 0, r);
    if (r[0] >= 0x40000010 && r[0] < 0x40010000) {
      cpuid(0x40000010, 0, r);
      if (r[0] > 100000) return (uint64_t)r[0] * 1000;
    }
  }
  if (most < 0x15) return 0;
  cpuid(0x15, 0, r);
  return r[0] && r[1] && r[2] ? (uint64_t)r[2] * r[1] / r[0] : 0;
}
#endif

LR_OWN void plat_clock_init(struct plat_clock *c) {
  c->counter = LRF_QPC;
  c->rate = counter_rate;
#if LR_HAVE_COUNTER
  if (!lr_no_tsc) {
    c->counter = LRF_TSC;
    c->rate = told_rate();
    if (!c->rate) c->rate = lr_measured_rate();
  }
#endif
}

LR_OWN void plat_times(uint64_t *monotonic, int64_t *wall) {
  FILETIME t;
  *monotonic = nanoseconds();
  system_time(&t);
  const int64_t ticks = (int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime);
  *wall = (ticks - 116444736000000000) * 100;
}

static int32_t utc_offset;
LR_OWN int32_t plat_utc_offset(void) { return utc_offset; }

LR_OWN static void find_utc_offset(void) {
  TIME_ZONE_INFORMATION zone;
  const DWORD now = GetTimeZoneInformation(&zone);
  if (now == TIME_ZONE_ID_INVALID) return;
  LONG minutes = zone.Bias;
  if (now == TIME_ZONE_ID_DAYLIGHT) minutes += zone.DaylightBias;
  if (now == TIME_ZONE_ID_STANDARD) minutes += zone.StandardBias;
  utc_offset = (int32_t)(-60 * minutes);
}

/* ---- memory ---- */

LR_OWN void *plat_pages(size_t size, int lost_in_child) {
  (void)lost_in_child;
  return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}
LR_OWN void plat_pages_free(void *p, size_t size) {
  (void)size;
  VirtualFree(p, 0, MEM_RELEASE);
}
LR_OWN void *plat_pages_grow(void *p, size_t size, size_t larger) {
  void *q = plat_pages(larger, 0);
  if (!q) return NULL;
  memcpy(q, p, size);
  plat_pages_free(p, size);
  return q;
}

/* ---- the file ----
 * Mapped in views of up to PLAT_STEP that stay. Setting the file's end takes
 * the space on the disk, so that a full disk is an error there and no exception
 * at a store; NTFS compression, which would put that off, is switched off for
 * the file. Valid data is not set: pages beyond are zeros without being read,
 * and it would want a privilege. Wine makes holes: there zeros are written. */

struct view {
  uint64_t begin, end; /* of the file; ends ascend */
  uint8_t *base;
};
enum { VIEWS = 1 << 17, VIEWS_STEP = 65536 };

static struct {
  HANDLE handle;
  uint64_t size;
  struct view *views;
  uint32_t count, room;
} file = {INVALID_HANDLE_VALUE, 0, NULL, 0, 0};

LR_OWN static int failed(DWORD error) {
  last_error = error;
  switch (error) {
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return PLAT_EXISTS;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
    case DISK_QUOTA_EXCEEDED:
    case ERROR_FILE_TOO_LARGE: return PLAT_FULL;
    default: return PLAT_ERROR;
  }
}

LR_OWN int plat_file_create(const char *path) {
  wchar_t name[PATH_CHARACTERS];
  if (!system_path(name, path)) return failed(ERROR_FILENAME_EXCED_RANGE);
  /* Shared for everything: the log may be followed, renamed, deleted. */
  file.handle = CreateFileW(name, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                            NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
  if (file.handle == INVALID_HANDLE_VALUE) return failed(GetLastError());
  USHORT none = COMPRESSION_FORMAT_NONE;
  DWORD n;
  DeviceIoControl(file.handle, FSCTL_SET_COMPRESSION, &none, sizeof none, NULL, 0, &n, NULL);
  file.size = 0;
  file.count = 0;
  if (!file.views) file.views = VirtualAlloc(NULL, VIEWS * sizeof *file.views, MEM_RESERVE, PAGE_READWRITE);
  return file.views ? PLAT_OK : failed(ERROR_NOT_ENOUGH_MEMORY);
}

LR_OWN static DWORD set_size(uint64_t size) {
  LARGE_INTEGER to;
  to.QuadPart = (LONGLONG)size;
  if (!SetFilePointerEx(file.handle, to, NULL, FILE_BEGIN) || !SetEndOfFile(file.handle)) return GetLastError();
  return 0;
}

/* write_zeros makes the file as long as the disk lets it, up to size. */
LR_OWN static DWORD write_zeros(uint64_t size) {
  static const uint8_t zeros[65536];
  while (file.size < size) {
    OVERLAPPED at;
    memset(&at, 0, sizeof at);
    at.Offset = (DWORD)file.size;
    at.OffsetHigh = (DWORD)(file.size >> 32);
    DWORD done = 0;
    const DWORD n = size - file.size < sizeof zeros ? (DWORD)(size - file.size) : (DWORD)sizeof zeros;
    if (!WriteFile(file.handle, zeros, n, &done, &at)) return GetLastError();
    done &= ~(DWORD)(LRF_GRANULARITY - 1);
    if (!done) return ERROR_DISK_FULL;
    file.size += done;
  }
  return 0;
}

LR_OWN static DWORD grow(uint64_t size) {
  if (under_wine) return write_zeros(size);
  const DWORD error = set_size(size);
  if (!error) file.size = size;
  return error;
}

/* map maps [begin, end) of the file, at base if that is not NULL. */
LR_OWN static uint8_t *map(uint64_t begin, uint64_t end, void *base) {
  const HANDLE section =
      CreateFileMappingW(file.handle, NULL, PAGE_READWRITE, (DWORD)(file.size >> 32), (DWORD)file.size, NULL);
  if (!section) return NULL;
  uint8_t *p = MapViewOfFileEx(section, FILE_MAP_READ | FILE_MAP_WRITE, (DWORD)(begin >> 32), (DWORD)begin,
                               (SIZE_T)(end - begin), base);
  const DWORD error = GetLastError();
  CloseHandle(section);
  SetLastError(error);
  return p;
}

LR_OWN void *plat_file_extend(uint64_t offset, uint32_t size, int exact, int *why) {
  const uint64_t end = offset + size;
  const uint64_t step = (end + PLAT_STEP - 1) / PLAT_STEP * PLAT_STEP;
  if (file.count) {
    const struct view *v = &file.views[file.count - 1];
    if (v->begin <= offset && end <= v->end) return v->base + (offset - v->begin);
  }
  if (end > file.size) {
    DWORD error = grow(exact ? end : step);
    if (error && !exact && failed(error) == PLAT_FULL) error = grow(end);
    if (error) {
      *why = failed(error);
      return NULL;
    }
  }
  if (file.count == file.room) {
    if (file.count == VIEWS ||
        !VirtualAlloc(file.views + file.room, VIEWS_STEP, MEM_COMMIT, PAGE_READWRITE)) {
      *why = failed(ERROR_NOT_ENOUGH_MEMORY);
      return NULL;
    }
    file.room += VIEWS_STEP / sizeof(struct view);
    if (file.room > VIEWS) file.room = VIEWS;
  }
  struct view *v = &file.views[file.count];
  v->begin = offset & ~(uint64_t)0xffff;
  v->end = step < file.size ? step : file.size;
  v->base = map(v->begin, v->end, NULL);
  if (!v->base) {
    *why = failed(GetLastError());
    return NULL;
  }
  file.count++;
  return v->base + (offset - v->begin);
}

/* A file cannot be made shorter while any of it is mapped. That happens only
 * when there is no other thread that could take the views' places meanwhile,
 * so that they come back where they were; else the file is made shorter when
 * it is closed. */
LR_OWN void plat_file_trim(uint64_t size) {
  if (!alone || file.handle == INVALID_HANDLE_VALUE || size >= file.size) return;
  for (uint32_t i = 0; i < file.count; i++) UnmapViewOfFile(file.views[i].base);
  if (set_size(size) == 0) file.size = size;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < file.count; i++) {
    struct view v = file.views[i];
    if (v.begin >= file.size) continue;
    if (v.end > file.size) v.end = file.size;
    if (!map(v.begin, v.end, v.base)) {
      /* Stores to it must not be faults. */
      VirtualAlloc(v.base, (SIZE_T)(v.end - v.begin), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
      lr_store(&lr_mode, LR_OFF);
    }
    file.views[kept++] = v;
  }
  file.count = kept;
}

LR_OWN static void close_file(uint64_t size) {
  for (uint32_t i = 0; i < file.count; i++) UnmapViewOfFile(file.views[i].base);
  file.count = 0;
  if (file.handle != INVALID_HANDLE_VALUE) {
    if (size < file.size) set_size(size);
    CloseHandle(file.handle);
  }
  file.size = 0;
  file.handle = INVALID_HANDLE_VALUE;
}

LR_OWN void plat_file_forget(void) { close_file(~(uint64_t)0); }

/* Chunks do not cross the ends of views: the first view that ends behind offset
 * has the whole chunk. */
LR_OWN const void *plat_file_at(uint64_t offset) {
  uint32_t low = 0, high = file.count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (file.views[middle].end > offset) high = middle;
    else low = middle + 1;
  }
  return file.views[low].base + (offset - file.views[low].begin);
}

static HANDLE copy = INVALID_HANDLE_VALUE;
LR_OWN int plat_copy_begin(const char *path) {
  wchar_t name[PATH_CHARACTERS];
  if (!system_path(name, path)) return failed(ERROR_FILENAME_EXCED_RANGE);
  copy = CreateFileW(name, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
  return copy != INVALID_HANDLE_VALUE ? PLAT_OK : failed(GetLastError());
}
LR_OWN int plat_copy_write(const void *p, size_t n) {
  const uint8_t *b = p;
  while (n > 0) {
    DWORD done = 0;
    if (!WriteFile(copy, b, n < (1u << 20) ? (DWORD)n : 1u << 20, &done, NULL) || !done) {
      last_error = done ? GetLastError() : ERROR_DISK_FULL;
      return 0;
    }
    b += done;
    n -= done;
  }
  return 1;
}
LR_OWN int plat_copy_end(int ok) {
  const int closed = CloseHandle(copy) != 0;
  copy = INVALID_HANDLE_VALUE;
  return ok && closed;
}

LR_OWN const void *lr_map_for_reading(const char *path, size_t *size) {
  wchar_t name[PATH_CHARACTERS];
  if (!system_path(name, path)) return NULL;
  const HANDLE h = CreateFileW(name, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
  if (h == INVALID_HANDLE_VALUE) return NULL;
  LARGE_INTEGER n;
  void *p = NULL;
  if (GetFileSizeEx(h, &n) && n.QuadPart > 0 && n.QuadPart < (LONGLONG)1 << 30) {
    const HANDLE section = CreateFileMappingW(h, NULL, PAGE_READONLY, 0, 0, NULL);
    if (section) {
      p = MapViewOfFile(section, FILE_MAP_READ, 0, 0, 0);
      *size = (size_t)n.QuadPart;
      CloseHandle(section);
    }
  }
  CloseHandle(h);
  return p;
}
LR_OWN void lr_unmap(const void *p) { UnmapViewOfFile(p); }

/* ---- locks ----
 * A word: 0 free, else the owner's thread id. Waiting is rare and short. */

static volatile LONG lock_word, modules_word;

LR_OWN static int is_gone(DWORD thread) {
  const HANDLE h = OpenThread(SYNCHRONIZE, FALSE, thread);
  if (!h) return GetLastError() == ERROR_INVALID_PARAMETER;
  const int gone = WaitForSingleObject(h, 0) == WAIT_OBJECT_0;
  CloseHandle(h);
  return gone;
}

LR_OWN static int take(volatile LONG *word, int wait) {
  const LONG me = (LONG)GetCurrentThreadId();
  for (unsigned n = 1;; n++) {
    const LONG owner = InterlockedCompareExchange(word, me, 0);
    if (owner == 0) return 1;
    if (owner == me || !wait) return 0;
    /* Threads that are ended by force give nothing back: all but one at the
     * end of the process, and those of TerminateThread. */
    if (alone || (n % 256 == 0 && is_gone((DWORD)owner))) {
      if (InterlockedCompareExchange(word, me, owner) == owner) return 1;
    } else if (n > 64) {
      Sleep(n < 128 ? 0 : 1);
    } else {
      YieldProcessor();
    }
  }
}
LR_OWN static void give(volatile LONG *word) { InterlockedExchange(word, 0); }

LR_OWN int plat_lock(void) { return started == 2 && take(&lock_word, 1); }
LR_OWN void plat_unlock(void) { give(&lock_word); }
LR_OWN int plat_modules_trylock(void) { return take(&modules_word, 0); }
LR_OWN void plat_modules_unlock(void) { give(&modules_word); }
LR_OWN int lr_modules_lock(void) { return take(&modules_word, 1); }
LR_OWN void plat_locks_reset(void) { lock_word = modules_word = 0; }

LR_OWN void plat_slow_begin(struct plat_saved *s) {
  s->words[0] = GetLastError();
  /* Where nothing told us of the program's start. */
  if (LR_UNLIKELY(started == 0)) plat_start();
}
LR_OWN void plat_slow_end(const struct plat_saved *s) { SetLastError((DWORD)s->words[0]); }
LR_OWN int plat_in_handler(const struct plat_saved *s) {
  (void)s;
  return 0;
}

/* ---- threads ---- */

LR_OWN uint64_t plat_thread_id(void) { return GetCurrentThreadId(); }

/* Their end is told to on_notice. */
LR_OWN void plat_on_thread_exit(struct lr_thread *t) { (void)t; }

LR_OWN static void name_of(HANDLE thread, char *name, size_t size) {
  /* What GetThreadDescription asks, without its use of the heap. */
  enum { THREAD_NAME = 38 };
  struct {
    USHORT length, capacity;
    wchar_t *text;
    wchar_t room[512];
  } answer;
  name[0] = 0;
  if (!ntdll_query_thread) return;
  answer.length = 0;
  answer.text = NULL;
  if (ntdll_query_thread(thread, THREAD_NAME, &answer, sizeof answer, NULL) >= 0 && answer.text)
    lr_to_utf8(name, size, answer.text, answer.length / sizeof(wchar_t));
}

LR_OWN void plat_thread_name(char *name, size_t size) { name_of(GetCurrentThread(), name, size); }

LR_OWN void plat_name_of_thread(uint64_t id, char *name, size_t size) {
  const HANDLE thread = OpenThread(0x800 /* THREAD_QUERY_LIMITED_INFORMATION */, FALSE, (DWORD)id);
  name[0] = 0;
  if (!thread) return;
  name_of(thread, name, size);
  CloseHandle(thread);
}

LR_OWN int plat_signal(const char *text) {
  (void)text;
  return 0;
}
LR_OWN int plat_on_signal_stack(void) { return 0; }
LR_OWN void plat_signal_stack(uintptr_t *low, uintptr_t *high) {
  (void)low;
  (void)high;
}

/* Fibers have their own in the TEB while they run. */
LR_OWN int plat_current_stack(uintptr_t *low, uintptr_t *high) {
#if defined(LR_TEB) && defined(_WIN64)
  enum { STACK_BASE = 0x8, DEALLOCATION_STACK = 0x1478 };
#elif defined(LR_TEB)
  enum { STACK_BASE = 0x4, DEALLOCATION_STACK = 0xe0c };
#endif
#if defined(LR_TEB)
  if (low) *low = (uintptr_t)LR_TEB(DEALLOCATION_STACK);
  if (high) *high = (uintptr_t)LR_TEB(STACK_BASE);
  return 1;
#else
  (void)low;
  (void)high;
  return 0;
#endif
}
LR_OWN int plat_own_stack(uintptr_t frame, uintptr_t *low, uintptr_t *high) {
  (void)frame;
  (void)low;
  (void)high;
  return 1;
}
LR_OWN int plat_preloaded(void) { return 0; }

/* ---- process ---- */

LR_OWN uint32_t plat_pid(void) { return GetCurrentProcessId(); }

LR_OWN void plat_process(struct plat_process *p) {
  memset(p, 0, sizeof *p);
  p->pid = GetCurrentProcessId();
  /* PROCESS_BASIC_INFORMATION */
  struct {
    LONG status;
    void *peb;
    ULONG_PTR affinity;
    LONG priority;
    ULONG_PTR pid, parent;
  } basic;
  if (ntdll_query_process && ntdll_query_process(GetCurrentProcess(), 0, &basic, sizeof basic, NULL) >= 0)
    p->parent = (uint32_t)basic.parent;
  FILETIME begun, t[3];
  if (GetProcessTimes(GetCurrentProcess(), &begun, &t[0], &t[1], &t[2]))
    p->started = (uint64_t)begun.dwHighDateTime << 32 | begun.dwLowDateTime;
  wchar_t path[PATH_CHARACTERS];
  DWORD n = PATH_CHARACTERS;
  if (QueryFullProcessImageNameW(GetCurrentProcess(), 0, path, &n)) lr_to_utf8(p->path, sizeof p->path, path, n);
  memcpy(p->system, system_description, sizeof system_description);
}

/* plat_command_line divides the line as the C runtime does. */
LR_OWN size_t plat_command_line(char *buffer, size_t size) {
  const wchar_t *s = GetCommandLineW();
  static wchar_t argument[32768];
  const size_t room = sizeof argument / sizeof *argument;
  size_t used = 0;
  for (int first = 1; s && (*s || first); first = 0) {
    size_t n = 0;
    int quoted = 0;
    while (*s && (quoted || (*s != ' ' && *s != '\t')) && n + 1 < room) {
      size_t slashes = 0;
      while (!first && s[slashes] == '\\') slashes++;
      if (!slashes && *s != '"') {
        argument[n++] = *s++;
        continue;
      }
      const int quote = s[slashes] == '"';
      for (size_t i = quote ? slashes / 2 : slashes; i > 0 && n + 1 < room; i--) argument[n++] = '\\';
      s += slashes;
      if (!quote) continue;
      if (slashes % 2 || (!first && quoted && s[1] == '"')) {
        if (!(slashes % 2)) s++;
        argument[n++] = '"';
      } else {
        quoted = !quoted;
      }
      s++;
    }
    if (used + 2 > size) break;
    used += lr_to_utf8(buffer + used, size - used, argument, n) + 1;
    while (*s == ' ' || *s == '\t') s++;
  }
  return used;
}

LR_OWN int plat_environment_known(void) { return 1; }
LR_OWN int plat_raised_rights(void) { return 0; }
LR_OWN int plat_told_before(void) { return 0; }
LR_OWN int plat_is_null(const char *path) {
  const char *name = path;
  for (const char *c = path; *c; c++)
    if (*c == '/' || *c == '\\') name = c + 1;
  return strlen(name) == 3 && (name[0] | 32) == 'n' && (name[1] | 32) == 'u' && (name[2] | 32) == 'l';
}

LR_OWN const char *plat_variable(size_t *at) {
  static wchar_t *block;
  static char text[3 * 128];
  if (*at == 0) block = GetEnvironmentStringsW();
  if (!block) return NULL;
  const wchar_t *s = block + *at;
  const size_t n = wide_length(s);
  if (!n) {
    FreeEnvironmentStringsW(block);
    block = NULL;
    return NULL;
  }
  *at += n + 1;
  lr_to_utf8(text, sizeof text, s, n);
  return text;
}

LR_OWN const char *plat_environment(const char *name, char *buffer, size_t size, int *fits) {
  static wchar_t value[PATH_CHARACTERS];
  wchar_t wide[64];
  lr_from_utf8(wide, 64, name);
  const DWORD n = GetEnvironmentVariableW(wide, value, PATH_CHARACTERS);
  *fits = !n || (n < PATH_CHARACTERS && lr_to_utf8(buffer, size, value, n) + 4 < size);
  return n && *fits ? buffer : NULL;
}

LR_OWN void plat_make_absolute(char *path, size_t size) {
  static wchar_t relative[PATH_CHARACTERS], full[PATH_CHARACTERS];
  lr_from_utf8(relative, PATH_CHARACTERS, path);
  const DWORD n = GetFullPathNameW(relative, PATH_CHARACTERS, full, NULL);
  if (n && n < PATH_CHARACTERS && 3 * (size_t)n < size) lr_to_utf8(path, size, full, n);
}

LR_OWN int plat_is_folder(const char *path) {
  wchar_t name[PATH_CHARACTERS];
  if (!system_path(name, path)) return 0;
  const DWORD a = GetFileAttributesW(name);
  return a != INVALID_FILE_ATTRIBUTES && (a & FILE_ATTRIBUTE_DIRECTORY);
}

/* Nothing filters system calls. */
LR_OWN void plat_bar(void) {}
LR_OWN void plat_unbar(void) {}

LR_OWN void plat_message(const char *line) {
  static char text[4700];
  size_t n = strlen(line);
  if (n > sizeof text - 2) n = sizeof text - 2;
  memcpy(text, line, n);
  text[n++] = '\n';
  text[n] = 0;
  DWORD done;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)n, &done, NULL);
}

LR_OWN const char *plat_error(void) {
  switch (last_error) {
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return "no space left on the disk";
    case DISK_QUOTA_EXCEEDED: return "the disk quota is used up";
    case ERROR_FILE_TOO_LARGE: return "the file may not grow any more";
    case ERROR_ACCESS_DENIED: return "permission denied";
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return "no such folder";
    case ERROR_INVALID_NAME:
    case ERROR_FILENAME_EXCED_RANGE: return "the name cannot be used";
    case ERROR_WRITE_PROTECT: return "the disk is read-only";
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return "files of all names exist";
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_COMMITMENT_LIMIT: return "no address space for the mapping";
    default: return "it cannot be written";
  }
}

/* ---- start and end ---- */

LR_OWN static void describe_system(void) {
  struct {
    ULONG size, major, minor, build, platform;
    wchar_t service_pack[128];
  } version;
  typedef LONG(NTAPI *get_version)(void *);
  typedef const char *(__cdecl *get_wine)(void);
  get_version os;
  get_wine wine;
  void *f = lr_function("ntdll.dll", "RtlGetVersion");
  memcpy(&os, &f, sizeof os);
  f = lr_function("ntdll.dll", "wine_get_version");
  memcpy(&wine, &f, sizeof wine);
  under_wine = f != NULL;
  memset(&version, 0, sizeof version);
  version.size = sizeof version;
  if (os) os(&version);
  const ULONG numbers[] = {version.major, version.minor, version.build};
  char *out = system_description;
  char *const end = system_description + sizeof system_description - 1;
  for (const char *s = "Windows "; *s; s++) *out++ = *s;
  for (int i = 0; i < 3; i++) {
    char digits[12];
    int n = 0;
    ULONG v = numbers[i];
    do digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    if (i) *out++ = '.';
    while (n) *out++ = digits[--n];
  }
#if defined(_M_X64) || defined(__x86_64__)
  const char *more[] = {" x64", "", ""};
#elif defined(_M_IX86) || defined(__i386__)
  const char *more[] = {" x86", "", ""};
#else
  const char *more[] = {" arm64", "", ""};
#endif
  if (wine) more[1] = " (wine ", more[2] = wine();
  for (int i = 0; i < 3; i++)
    for (const char *s = more[i]; *s && out < end; s++) *out++ = *s;
  if (wine && out < end) *out++ = ')';
  *out = 0;
}

LR_OWN void plat_start(void) {
  if (InterlockedCompareExchange(&started, 1, 0) != 0) return;
  LARGE_INTEGER rate;
  QueryPerformanceFrequency(&rate);
  counter_rate = (uint64_t)rate.QuadPart;
#if LR_HAVE_COUNTER
  lr_no_tsc = !invariant();
#endif
  void *f = lr_function("ntdll.dll", "NtQueryInformationThread");
  memcpy(&ntdll_query_thread, &f, sizeof f);
  f = lr_function("ntdll.dll", "NtQueryInformationProcess");
  memcpy(&ntdll_query_process, &f, sizeof f);
  f = lr_function("kernel32.dll", "GetSystemTimePreciseAsFileTime");
  if (f) memcpy(&system_time, &f, sizeof f);
  else system_time = GetSystemTimeAsFileTime;
  describe_system();
  find_utc_offset();
  make_tls();
  lr_modules_watch();
  InterlockedExchange(&started, 2);
}

/* finish ends the log. */
LR_OWN static void finish(void) {
  if (!lr_global.ended) {
    lr_end();
  } else if (plat_lock()) {
    plat_file_trim(lr_global.end);
    plat_unlock();
  }
}

/* close_log closes the file for good, unless others record. */
LR_OWN static void close_log(void) {
  if (!plat_lock()) return;
  if (leaving || recording <= (lr_self_get() != &lr_nobody)) {
    lr_store(&lr_mode, LR_OFF);
    lr_global.state = LR_STOPPED;
    close_file(lr_global.end);
  }
  plat_unlock();
}

/* The recorder's code is about to be unmapped, the process goes on. */
LR_OWN static void leave(void) {
  close_log();
  lr_tls = 0;
  if (tls_index != TLS_OUT_OF_INDEXES) TlsFree(tls_index);
  tls_index = TLS_OUT_OF_INDEXES;
}

/* on_notice is told of the process's begin and end and of every thread's end,
 * by the loader, which holds its lock. */
LR_OWN static void on_notice(DWORD reason, int ending) {
  const DWORD error = GetLastError();
  struct lr_thread *t;
  switch (reason) {
    case DLL_PROCESS_ATTACH:
      lr_read_settings();
      plat_start();
      break;
    case DLL_THREAD_DETACH:
      t = lr_self_get();
      /* The core asks to be called again some times; here comes nothing
       * after us. */
      for (int i = 0; t != &lr_nobody && i < 8 && lr_self_get() == t; i++) lr_thread_exit(t);
      break;
    case DLL_PROCESS_DETACH:
      if (ending) alone = 1;
      else leaving = 1;
      finish();
      if (!ending) lr_modules_unwatch();
      break;
  }
  SetLastError(error);
}

#if defined(LOGREC_BUILD_SHARED)

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, LPVOID reserved);
LR_OWN BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, LPVOID reserved) {
  (void)self;
  on_notice(reason, reserved != NULL);
  if (reason == DLL_PROCESS_DETACH && !reserved) leave();
  return TRUE;
}

#else

/* In a program or library that is linked with the recorder there is somebody
 * else's DllMain: a TLS callback is told the same, before the constructors of
 * the module. */
LR_OWN static void NTAPI tls_callback(PVOID self, DWORD reason, PVOID reserved) {
  (void)self;
  on_notice(reason, reserved != NULL);
}

/* A library's is told of the end before the destructors run: what they record
 * goes to the file, which is closed behind them. A program's is told after
 * them, but not under wine. */
LR_OWN static void __cdecl after_destructors(void) {
  const DWORD error = GetLastError();
  if (leaving) {
    leave();
  } else {
    finish();
    if (under_wine) close_log();
  }
  SetLastError(error);
}

#if defined(_MSC_VER)
#if defined(_M_IX86)
#pragma comment(linker, "/INCLUDE:__tls_used /INCLUDE:_lr_tls_callback /INCLUDE:_lr_first_constructor")
#else
#pragma comment(linker, "/INCLUDE:_tls_used /INCLUDE:lr_tls_callback /INCLUDE:lr_first_constructor")
#endif
LR_OWN static void __cdecl first_constructor(void) { atexit(after_destructors); }
#pragma section(".CRT$XLB", long, read)
#pragma section(".CRT$XCB", long, read)
__declspec(allocate(".CRT$XLB")) const PIMAGE_TLS_CALLBACK lr_tls_callback = tls_callback;
__declspec(allocate(".CRT$XCB")) void(__cdecl *const lr_first_constructor)(void) = first_constructor;
#else
extern const PIMAGE_TLS_CALLBACK lr_tls_callback;
__attribute__((section(".CRT$XLB"), used)) const PIMAGE_TLS_CALLBACK lr_tls_callback = tls_callback;
/* MinGW calls destructors of this kind before those of C++ objects, which are
 * told by atexit: the first told is the last called. */
__attribute__((constructor(101))) LR_OWN static void first_constructor(void) { atexit(after_destructors); }
#endif

#endif
