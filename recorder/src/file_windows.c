/* file_windows.c: pages of memory, the log's file, and copies for snapshots.
 *
 * Functions of the log's file are called with the recorder's lock. None here wants the loader's lock or the heap. */

#include "system_windows.h"

#if defined(_WIN32)

#include <winioctl.h>

enum { DISK_QUOTA_EXCEEDED = 1295 /* of winerror.h */ };

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

static DWORD last_error;

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

LR_OWN uint32_t plat_why(void) {
  switch (last_error) {
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return LRF_WHY_FULL;
    case DISK_QUOTA_EXCEEDED: return LRF_WHY_QUOTA;
    case ERROR_FILE_TOO_LARGE: return LRF_WHY_SIZE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_COMMITMENT_LIMIT: return LRF_WHY_MEMORY;
    default: return LRF_WHY_UNKNOWN;
  }
}

/* failed keeps what went wrong for plat_error and returns which of PLAT_... it is. */
LR_OWN static int failed(DWORD error) {
  last_error = error;
  switch (error) {
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return PLAT_EXISTS;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
    case DISK_QUOTA_EXCEEDED: return PLAT_FULL;
    default: return PLAT_ERROR;
  }
}

LR_OWN int plat_file_create(const char *path) {
  wchar_t name[PATH_CHARACTERS];
  if (!lr_system_path(name, path)) return failed(ERROR_FILENAME_EXCED_RANGE);
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
  if (lr_under_wine) return write_zeros(size);
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

/* A file cannot be made shorter while any of it is mapped. So all views are unmapped, and mapped again where they
 * were. That is done only when no other thread is left that could take these addresses meanwhile; else the file is
 * made shorter when it is closed. */
LR_OWN void plat_file_trim(uint64_t size) {
  if (!lr_alone || file.handle == INVALID_HANDLE_VALUE || size >= file.size) return;
  for (uint32_t i = 0; i < file.count; i++) UnmapViewOfFile(file.views[i].base);
  if (set_size(size) == 0) file.size = size;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < file.count; i++) {
    struct view v = file.views[i];
    if (v.begin >= file.size) continue;
    if (v.end > file.size) v.end = file.size;
    if (!map(v.begin, v.end, v.base)) {
      /* Stores to these addresses must not fault. */
      VirtualAlloc(v.base, (SIZE_T)(v.end - v.begin), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
      lr_store(&lr_mode, LR_OFF);
    }
    file.views[kept++] = v;
  }
  file.count = kept;
}

LR_OWN void lr_close_file(uint64_t size) {
  for (uint32_t i = 0; i < file.count; i++) UnmapViewOfFile(file.views[i].base);
  file.count = 0;
  if (file.handle != INVALID_HANDLE_VALUE) {
    if (size < file.size) set_size(size);
    CloseHandle(file.handle);
  }
  file.size = 0;
  file.handle = INVALID_HANDLE_VALUE;
}

LR_OWN void plat_file_forget(void) { lr_close_file(~(uint64_t)0); }

/* No chunk lies across the end of a view: the first view that ends behind offset has the whole chunk. */
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
  if (!lr_system_path(name, path)) return failed(ERROR_FILENAME_EXCED_RANGE);
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

LR_OWN static HANDLE open_for_reading(const char *path) {
  wchar_t name[PATH_CHARACTERS];
  if (!lr_system_path(name, path)) return INVALID_HANDLE_VALUE;
  return CreateFileW(name, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
}

LR_OWN const void *lr_map_for_reading(const char *path, size_t *size) {
  const HANDLE h = open_for_reading(path);
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

/* Read, not mapped: a page of a mapping that cannot be read would be a fault in the program. */
LR_OWN char *plat_read_whole(const char *path, size_t most, size_t *size) {
  const HANDLE h = open_for_reading(path);
  if (h == INVALID_HANDLE_VALUE) return NULL;
  LARGE_INTEGER n;
  DWORD done = 0;
  char *text = GetFileSizeEx(h, &n) && n.QuadPart > 0 && (uint64_t)n.QuadPart <= most ? plat_pages((size_t)n.QuadPart, 0) : NULL;
  if (text && (!ReadFile(h, text, (DWORD)n.QuadPart, &done, NULL) || done != (DWORD)n.QuadPart)) {
    plat_pages_free(text, (size_t)n.QuadPart);
    text = NULL;
  }
  CloseHandle(h);
  if (text) *size = (size_t)n.QuadPart;
  return text;
}

#endif
