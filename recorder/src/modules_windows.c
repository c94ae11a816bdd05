/* modules_windows.c: which modules are loaded.
 *
 * The loader calls on_notice for each library before its DllMain and constructors run, and after they ran at its end.
 * It holds its lock meanwhile. The table is filled then, with all that must be read from the module's memory: the
 * records can be written later without that lock, and without that memory. */

#include "system_windows.h"

#if defined(_WIN32)

enum { MODULES = 2048, PATH = 1024, IDENTITY = 64, GUID_AND_AGE = 20 };

struct module {
  uint32_t number;
  int written; /* there is a LOAD */
  int seen;
  uintptr_t base;
  size_t size;
  uint32_t timestamp, image_size;
  uint32_t id_size;
  uint8_t id[GUID_AND_AGE]; /* of struct plat_module */
  char path[PATH], identity[IDENTITY], pdb[PATH];
};

/* Guarded by the modules' lock. Of pages that are never used only address space and commit charge are taken. */
static struct module *known;
static uint32_t known_count, next_number;
/* 1 if a module may be missing in the table. */
static uint32_t missed;
static int watched;

/* What ntdll passes to on_notice. The SDK describes it, but no header declares it. */
struct ldr_string {
  USHORT length, capacity; /* bytes */
  const wchar_t *text;
};
struct ldr_notice {
  ULONG flags;
  const struct ldr_string *path, *name;
  void *base;
  ULONG size;
};
enum { LDR_LOADED = 1, LDR_UNLOADED = 2 };
typedef VOID(CALLBACK *ldr_callback)(ULONG, const struct ldr_notice *, void *);
typedef LONG(NTAPI *ldr_register)(ULONG, ldr_callback, void *, void **);
typedef LONG(NTAPI *ldr_unregister)(void *);
typedef LONG(NTAPI *ldr_lock)(ULONG, ULONG *, ULONG_PTR *);
typedef LONG(NTAPI *ldr_unlock)(ULONG, ULONG_PTR);
typedef BOOL(WINAPI *enumerate_modules)(HANDLE, HMODULE *, DWORD, DWORD *);
static ldr_lock lock_loader;
static ldr_unlock unlock_loader;
static enumerate_modules enumerate;
static void *cookie;

/* ---- images in memory ---- */

/* readable tells whether n bytes at p can be read: an image may have pages that
 * cannot. */
LR_OWN static int readable(const uint8_t *p, size_t n) {
  const uint8_t *const end = p + n;
  while (p < end) {
    MEMORY_BASIC_INFORMATION i;
    if (!VirtualQuery(p, &i, sizeof i) || i.State != MEM_COMMIT || (i.Protect & (PAGE_NOACCESS | PAGE_GUARD))) return 0;
    p = (const uint8_t *)i.BaseAddress + i.RegionSize;
  }
  return 1;
}

/* copy reads n bytes at rva, 0 where they are not there. */
LR_OWN static int copy(const struct module *m, uint32_t rva, void *to, size_t n) {
  if (rva > m->size || n > m->size - rva || !readable((const uint8_t *)m->base + rva, n)) return 0;
  memcpy(to, (const uint8_t *)m->base + rva, n);
  return 1;
}

LR_OWN static void put_hex(char **out, uint32_t v, int digits) {
  while (digits > 0) *(*out)++ = "0123456789ABCDEF"[v >> 4 * --digits & 15];
}

/* put_id adds a number to the module's id, its highest byte first. */
LR_OWN static void put_id(struct module *m, uint32_t v, int bytes) {
  while (bytes > 0) m->id[m->id_size++] = (uint8_t)(v >> 8 * --bytes);
}

/* CodeView 7: "RSDS", GUID, age, path. */
LR_OWN static void describe_pdb(struct module *m, uint32_t rva, uint32_t size) {
  uint8_t b[24];
  if (size < sizeof b || !copy(m, rva, b, sizeof b) || memcmp(b, "RSDS", 4) != 0) return;
  char *out = m->identity;
  for (const char *s = "pdb:"; *s; s++) *out++ = *s;
  /* The GUID's first three fields are little-endian. */
  put_hex(&out, (uint32_t)(b[4] | b[5] << 8 | b[6] << 16) | (uint32_t)b[7] << 24, 8);
  *out++ = '-';
  put_hex(&out, (uint32_t)(b[8] | b[9] << 8), 4);
  *out++ = '-';
  put_hex(&out, (uint32_t)(b[10] | b[11] << 8), 4);
  for (int i = 12; i < 20; i++) {
    if (i == 12 || i == 14) *out++ = '-';
    put_hex(&out, b[i], 2);
  }
  *out++ = ':';
  uint32_t age = (uint32_t)(b[20] | b[21] << 8 | b[22] << 16) | (uint32_t)b[23] << 24;
  m->id_size = 0;
  put_id(m, (uint32_t)(b[4] | b[5] << 8 | b[6] << 16) | (uint32_t)b[7] << 24, 4);
  put_id(m, (uint32_t)(b[8] | b[9] << 8), 2);
  put_id(m, (uint32_t)(b[10] | b[11] << 8), 2);
  for (int i = 12; i < 20; i++) put_id(m, b[i], 1);
  put_id(m, age, 4);
  char digits[12];
  int n = 0;
  do digits[n++] = (char)('0' + age % 10);
  while (age /= 10);
  while (n) *out++ = digits[--n];
  *out = 0;
  size -= (uint32_t)sizeof b;
  if (size > sizeof m->pdb - 1) size = sizeof m->pdb - 1;
  if (!copy(m, rva + (uint32_t)sizeof b, m->pdb, size)) size = 0;
  m->pdb[size] = 0;
}

LR_OWN static void describe(struct module *m) {
  IMAGE_DOS_HEADER dos;
  IMAGE_NT_HEADERS nt;
  if (!copy(m, 0, &dos, sizeof dos) || dos.e_magic != IMAGE_DOS_SIGNATURE || dos.e_lfanew < 0) return;
  if (!copy(m, (uint32_t)dos.e_lfanew, &nt, sizeof nt) || nt.Signature != IMAGE_NT_SIGNATURE) return;
  m->timestamp = nt.FileHeader.TimeDateStamp;
  m->image_size = nt.OptionalHeader.SizeOfImage;
  if (m->timestamp) {
    put_id(m, m->timestamp, 4);
    put_id(m, m->image_size, 4);
  }
  if (nt.OptionalHeader.NumberOfRvaAndSizes <= IMAGE_DIRECTORY_ENTRY_DEBUG) return;
  const IMAGE_DATA_DIRECTORY d = nt.OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_DEBUG];
  for (uint32_t at = 0; d.VirtualAddress && at + sizeof(IMAGE_DEBUG_DIRECTORY) <= d.Size && at < 4096;
       at += (uint32_t)sizeof(IMAGE_DEBUG_DIRECTORY)) {
    IMAGE_DEBUG_DIRECTORY e;
    if (!copy(m, d.VirtualAddress + at, &e, sizeof e)) return;
    if (e.Type == IMAGE_DEBUG_TYPE_CODEVIEW && e.AddressOfRawData && !m->identity[0])
      describe_pdb(m, e.AddressOfRawData, e.SizeOfData);
  }
}

/* image_size is the size that the headers of a module name. */
LR_OWN static size_t image_size(const void *base) {
  struct module m;
  m.base = (uintptr_t)base;
  m.size = 1u << 20;
  IMAGE_DOS_HEADER dos;
  IMAGE_NT_HEADERS nt;
  if (!copy(&m, 0, &dos, sizeof dos) || dos.e_magic != IMAGE_DOS_SIGNATURE || dos.e_lfanew < 0 ||
      !copy(&m, (uint32_t)dos.e_lfanew, &nt, sizeof nt) || nt.Signature != IMAGE_NT_SIGNATURE)
    return 0;
  return nt.OptionalHeader.SizeOfImage;
}

/* ---- records ---- */

/* file_times finds size and time of a module's file. */
LR_OWN static void file_times(const char *path, uint64_t *size, uint64_t *time) {
  wchar_t name[PATH];
  WIN32_FILE_ATTRIBUTE_DATA a;
  *size = *time = 0;
  lr_from_utf8(name, PATH, path);
  if (!path[0] || !GetFileAttributesExW(name, GetFileExInfoStandard, &a)) return;
  *size = (uint64_t)a.nFileSizeHigh << 32 | a.nFileSizeLow;
  const uint64_t t = (uint64_t)a.ftLastWriteTime.dwHighDateTime << 32 | a.ftLastWriteTime.dwLowDateTime;
  if (t > 116444736000000000u) *time = (t - 116444736000000000u) * 100;
}

LR_OWN static void write_load(struct module *m, uint64_t time) {
  uint64_t size, changed;
  file_times(m->path, &size, &changed);
  struct lr_body *b = lr_record_begin();
  if (!b) return;
  lr_put32(b, m->number);
  lr_put32(b, m->number == 1 ? LRF_MAIN_PROGRAM : 0);
  lr_put64(b, m->base);
  lr_put64(b, m->size);
  lr_put64(b, m->base);
  lr_put32(b, m->timestamp);
  lr_put32(b, m->image_size);
  lr_put64(b, size);
  lr_put64(b, changed);
  lr_put_string(b, m->path);
  lr_put_string(b, m->identity);
  lr_put_string(b, m->pdb);
  lr_record_end(LRF_LOAD, time ? time : lr_ticks());
  m->written = 1;
}

/* ---- the table; with the modules' lock ---- */

LR_OWN static struct module *add(const void *base, size_t size, const wchar_t *path, size_t n) {
  if (known_count == MODULES || !known) return NULL;
  struct module *m = &known[known_count++];
  memset(m, 0, sizeof *m);
  m->number = ++next_number;
  m->base = (uintptr_t)base;
  m->size = size;
  lr_to_utf8(m->path, sizeof m->path, path, n);
  describe(m);
  return m;
}

LR_OWN static void drop(uint32_t i) {
  if (known[i].written) {
    struct lr_body *b = lr_record_begin();
    if (b) {
      lr_put32(b, known[i].number);
      lr_put32(b, 0);
      lr_record_end(LRF_UNLOAD, lr_ticks());
    }
  }
  lr_wanted_forget(known[i].number, known[i].base, known[i].size);
  lr_plan_forget(known[i].base, known[i].size);
  known[i] = known[--known_count];
}

/* walk compares the table with what the loader has. The loader's lock is waited
 * for only in the beginning. */
LR_OWN static void walk(int wait) {
  static HMODULE list[MODULES];
  static wchar_t path[PATH];
  enum { TRY_ONLY = 2, LOCKED = 1 };
  ULONG state = 0;
  ULONG_PTR held = 0;
  DWORD bytes = 0;
  if (!enumerate) return;
  if (lock_loader && (lock_loader(wait ? 0 : TRY_ONLY, wait ? NULL : &state, &held) < 0 || (!wait && state != LOCKED))) return;
  if (enumerate(GetCurrentProcess(), list, sizeof list, &bytes)) {
    if (bytes > sizeof list) bytes = sizeof list;
    for (uint32_t i = 0; i < known_count; i++) known[i].seen = 0;
    const uint32_t before = known_count;
    for (DWORD i = 0; i < bytes / sizeof *list; i++) {
      const size_t size = image_size(list[i]);
      const DWORD n = GetModuleFileNameW(list[i], path, PATH);
      uint32_t k = 0;
      while (k < before && (known[k].base != (uintptr_t)list[i] || known[k].size != size)) k++;
      if (k < before) known[k].seen = 1;
      else if (size && n && n < PATH) {
        struct module *m = add(list[i], size, path, n);
        if (m) m->seen = 1;
      }
    }
    for (uint32_t i = known_count; i-- > 0;)
      if (!known[i].seen) drop(i);
    lr_store(&missed, 0);
  }
  if (unlock_loader) unlock_loader(0, held);
}

LR_OWN static VOID CALLBACK on_notice(ULONG reason, const struct ldr_notice *n, void *context) {
  (void)context;
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (plat_modules_lock()) {
    if (reason == LDR_LOADED) {
      struct module *m = add(n->base, n->size, n->path->text, n->path->length / sizeof(wchar_t));
      if (m) write_load(m, 0);
    } else if (reason == LDR_UNLOADED) {
      for (uint32_t i = 0; i < known_count; i++)
        if (known[i].base == (uintptr_t)n->base) {
          drop(i);
          break;
        }
    }
    plat_modules_unlock();
  } else {
    lr_store(&missed, 1);
  }
  plat_slow_end(&saved);
}

/* ---- platform.h ---- */

LR_OWN void lr_modules_watch(void) {
  void *f = lr_function("ntdll.dll", "LdrLockLoaderLock");
  memcpy(&lock_loader, &f, sizeof f);
  f = lr_function("ntdll.dll", "LdrUnlockLoaderLock");
  memcpy(&unlock_loader, &f, sizeof f);
  f = lr_function("kernel32.dll", "K32EnumProcessModules");
  memcpy(&enumerate, &f, sizeof f);
  ldr_register watch;
  f = lr_function("ntdll.dll", "LdrRegisterDllNotification");
  memcpy(&watch, &f, sizeof f);
  known = plat_pages(MODULES * sizeof *known, 0);
  if (!known) return;
  ULONG_PTR held = 0;
  if (lock_loader) lock_loader(0, NULL, &held);
  watched = watch && watch(0, on_notice, NULL, &cookie) >= 0;
  if (plat_modules_lock()) {
    /* The first is the program. */
    walk(1);
    plat_modules_unlock();
  }
  if (unlock_loader) unlock_loader(0, held);
}

LR_OWN void lr_modules_unwatch(void) {
  ldr_unregister unwatch;
  void *f = lr_function("ntdll.dll", "LdrUnregisterDllNotification");
  memcpy(&unwatch, &f, sizeof f);
  if (watched && unwatch) unwatch(cookie);
  watched = 0;
}

LR_OWN int plat_modules_changed(void) { return !watched || lr_load(&missed); }

LR_OWN void plat_modules_scan(void) {
  if (!plat_modules_lock()) return;
  if (plat_modules_changed()) walk(0);
  for (uint32_t i = 0; i < known_count; i++)
    if (!known[i].written) write_load(&known[i], watched ? lr_global.begin : 0);
  plat_modules_unlock();
}

LR_OWN void plat_modules_reset(void) {
  for (uint32_t i = 0; i < known_count; i++) known[i].written = 0;
}

/* look does not matter: whoever has the modules' lock does not wait for the loader's. */

LR_OWN int plat_module_of(uintptr_t address, int look, struct plat_module *m) {
  (void)look;
  for (uint32_t i = 0; i < known_count; i++) {
    if (address - known[i].base >= known[i].size) continue;
    m->number = known[i].number;
    m->base = m->bias = known[i].base;
    m->size = known[i].size;
    m->path = known[i].path;
    m->id = known[i].id;
    m->id_size = known[i].id_size;
    return 1;
  }
  return 0;
}

/* ---- symbols of a file ---- */

/* An image as it lies on the disk; nothing in it is trusted. */
struct image {
  const uint8_t *data;
  size_t size;
  const IMAGE_SECTION_HEADER *sections;
  uint32_t section_count;
};

LR_OWN static const void *at_offset(const struct image *m, uint64_t offset, uint64_t n) {
  return offset <= m->size && n <= m->size - offset ? m->data + offset : NULL;
}

LR_OWN static const void *at_rva(const struct image *m, uint32_t rva, uint64_t n) {
  for (uint32_t i = 0; i < m->section_count; i++) {
    const IMAGE_SECTION_HEADER *s = &m->sections[i];
    if (rva - s->VirtualAddress < s->SizeOfRawData && n <= s->SizeOfRawData - (rva - s->VirtualAddress))
      return at_offset(m, (uint64_t)s->PointerToRawData + (rva - s->VirtualAddress), n);
  }
  return NULL;
}

LR_OWN static int is_code(const struct image *m, uint32_t rva) {
  for (uint32_t i = 0; i < m->section_count; i++) {
    const IMAGE_SECTION_HEADER *s = &m->sections[i];
    if (rva - s->VirtualAddress < s->Misc.VirtualSize) return (s->Characteristics & IMAGE_SCN_MEM_EXECUTE) != 0;
  }
  return 0;
}

/* name_in copies a name that ends with 0 within limit bytes. On x86 C names
 * have an underscore in front. */
LR_OWN static int name_in(char *out, size_t size, const char *s, size_t limit) {
  size_t n = 0;
  if (!s) return 0;
#if defined(_M_IX86) || defined(__i386__)
  if (limit && *s == '_') s++, limit--;
#endif
  while (n < limit && s[n] && n + 1 < size) {
    out[n] = s[n];
    n++;
  }
  out[n] = 0;
  return n > 0;
}

typedef void (*each_symbol)(void *, uintptr_t, const char *);

/* nameless passes on where the functions of the exception directory begin, without names: a function whose name is
 * not known is not taken for a part of the one before it. x86 has no such table. */
LR_OWN static void nameless(const struct image *m, IMAGE_DATA_DIRECTORY where, uintptr_t base, each_symbol each, void *context) {
  enum { ENTRY = 12 };
  const uint8_t *table = at_rva(m, where.VirtualAddress, where.Size);
  for (uint32_t i = 0; table && i + ENTRY <= where.Size; i += ENTRY) {
    uint32_t begin;
    memcpy(&begin, table + i, 4);
    if (is_code(m, begin)) each(context, base + begin, "");
  }
}

LR_OWN static void exports(const struct image *m, IMAGE_DATA_DIRECTORY where, uintptr_t base, each_symbol each, void *context) {
  char name[1024];
  const IMAGE_EXPORT_DIRECTORY *d = at_rva(m, where.VirtualAddress, sizeof *d);
  if (!d || d->NumberOfNames > 1u << 20 || d->NumberOfFunctions > 1u << 20) return;
  const uint32_t *names = at_rva(m, d->AddressOfNames, 4ull * d->NumberOfNames);
  const uint16_t *ordinals = at_rva(m, d->AddressOfNameOrdinals, 2ull * d->NumberOfNames);
  const uint32_t *functions = at_rva(m, d->AddressOfFunctions, 4ull * d->NumberOfFunctions);
  if (!names || !ordinals || !functions) return;
  for (uint32_t i = 0; i < d->NumberOfNames; i++) {
    if (ordinals[i] >= d->NumberOfFunctions || !is_code(m, functions[ordinals[i]])) continue;
    const char *s = at_rva(m, names[i], 1);
    if (!s || !name_in(name, sizeof name, s, (size_t)(m->data + m->size - (const uint8_t *)s))) continue;
    each(context, base + functions[ordinals[i]], name);
    if (sizeof(void *) == 4) each(context, base + functions[ordinals[i]] + 1, "");
  }
}

/* coff walks the symbol table that MinGW's tools leave in images. */
LR_OWN static int coff(const struct image *m, uint32_t offset, uint32_t count, uintptr_t base, each_symbol each, void *context) {
  enum { SYMBOL = 18, FUNCTION = 0x20 };
  char name[1024];
  int any = 0;
  const uint8_t *table = offset && count < 1u << 26 ? at_offset(m, offset, (uint64_t)count * SYMBOL) : NULL;
  const uint64_t strings = (uint64_t)offset + (uint64_t)count * SYMBOL;
  if (!table) return 0;
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *s = table + (size_t)i * SYMBOL;
    uint32_t zero, at, value;
    int16_t section;
    uint16_t type;
    memcpy(&zero, s, 4);
    memcpy(&at, s + 4, 4);
    memcpy(&value, s + 8, 4);
    memcpy(&section, s + 12, 2);
    memcpy(&type, s + 14, 2);
    i += s[17];
    if (type != FUNCTION || section < 1 || (uint32_t)section > m->section_count) continue;
    const uint32_t rva = m->sections[section - 1].VirtualAddress + value;
    const char *text = zero ? (const char *)s : at_offset(m, strings + at, 1);
    const size_t limit = zero ? 8 : text ? (size_t)(m->data + m->size - (const uint8_t *)text) : 0;
    if (is_code(m, rva) && name_in(name, sizeof name, text, limit)) {
      each(context, base + rva, name);
      any = 1;
    }
  }
  return any;
}

LR_OWN void plat_module_symbols(const struct plat_module *m, each_symbol each, void *context) {
  struct image i;
  memset(&i, 0, sizeof i);
  i.data = lr_map_for_reading(m->path, &i.size);
  if (!i.data) return;
  const IMAGE_DOS_HEADER *dos = at_offset(&i, 0, sizeof *dos);
  const IMAGE_NT_HEADERS *nt = dos && dos->e_magic == IMAGE_DOS_SIGNATURE && dos->e_lfanew > 0
                                   ? at_offset(&i, (uint32_t)dos->e_lfanew, sizeof *nt)
                                   : NULL;
  if (nt && nt->Signature == IMAGE_NT_SIGNATURE) {
    const uint64_t at = (uint64_t)(uint32_t)dos->e_lfanew + 24 + nt->FileHeader.SizeOfOptionalHeader;
    i.section_count = nt->FileHeader.NumberOfSections;
    i.sections = at_offset(&i, at, (uint64_t)i.section_count * sizeof *i.sections);
    const IMAGE_DATA_DIRECTORY *d = nt->OptionalHeader.DataDirectory;
    if (i.sections && !coff(&i, nt->FileHeader.PointerToSymbolTable, nt->FileHeader.NumberOfSymbols, m->base, each, context) &&
        nt->OptionalHeader.NumberOfRvaAndSizes > IMAGE_DIRECTORY_ENTRY_EXCEPTION) {
      if (sizeof(void *) == 8) nameless(&i, d[IMAGE_DIRECTORY_ENTRY_EXCEPTION], m->base, each, context);
      exports(&i, d[IMAGE_DIRECTORY_ENTRY_EXPORT], m->base, each, context);
    }
  }
  lr_unmap(i.data);
}

#endif
