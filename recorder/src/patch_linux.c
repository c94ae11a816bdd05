/* patch_linux.c: which functions are patched (patch.h): finds the sleds of the loaded modules, by
 *
 *   xray_instr_map                clang's -fxray-instrument: entries, returns and tail calls
 *   __patchable_function_entries  -fpatchable-function-entry=N[,M]: entries
 *   __mcount_loc                  -pg -mfentry -mnop-mcount -mrecord-mcount: entries
 *   __return_loc                  -minstrument-return=nop5 -mrecord-return: returns
 *
 * and keeps the sleds of the functions that are to be recorded. The sections of a file are not trusted: an
 * entry counts only if the code at its address is what compilers leave there, and if .eh_frame_hdr says that
 * a function begins there. A module that calls hooks itself is left alone, because its calls would be recorded
 * twice.
 *
 * Only one thread at a time patches (patching); others go on without. */

#include "lookup_linux.h"

#include "patch.h"

#if LR_HAVE_PATCHES

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MODULES = 4096, PATH = 4096, MOST_SLEDS = 1 << 23 };

/* A module whose sleds were looked for. */
struct module {
  uintptr_t base, bias;
  size_t size;
  const ElfW(Phdr) * headers;
  struct lr_sled *sleds;
  size_t count, room; /* room: bytes of sleds */
  int seen;
};

static struct module *modules;
static uint32_t module_count;
static unsigned long long adds, subs;
static int looked, hooks_elsewhere;
static enum lr_sled_state state = LR_SLED_ON;
static uint32_t ways;
/* 1 while a thread patches. FORKED in a child that was forked meanwhile, which has no such thread. */
enum { FORKED = 2 };
static uint32_t patching;
/* How many threads are in dlclose, which may unmap text that is to be patched. */
static uint32_t closing;

LR_OWN static int begin_patching(void) {
  uint32_t free = 0;
  if (!lr_exchange(&patching, &free, 1)) return 0;
  if (!__atomic_load_n(&closing, __ATOMIC_SEQ_CST)) return 1;
  lr_store(&patching, 0);
  return 0;
}
LR_OWN static void end_patching(void) { lr_store(&patching, 0); }

LR_OWN void lr_patch_closing(int begins) {
  enum { MOST = 20000, PAUSE = 100000 /* ns */ };
  if (!lr_settings.patch) return;
  __atomic_fetch_add(&closing, begins ? 1u : ~0u, __ATOMIC_SEQ_CST);
  for (int i = 0; begins && i < MOST && !lr_load(&lr_barred) && __atomic_load_n(&patching, __ATOMIC_SEQ_CST) == 1; i++) {
    const struct timespec pause = {0, PAUSE};
    nanosleep(&pause, NULL);
  }
}

LR_OWN void lr_patch_forked(void) {
  if (lr_load(&patching)) lr_store(&patching, FORKED);
  closing = 0;
}

/* ---- a module's file ---- */

struct image {
  struct module *m;
  const struct dl_phdr_info *info;
  const char *path;
  const uint8_t *data; /* the file */
  size_t size;
  uintptr_t text_low, text_high;
  const int32_t *starts; /* of functions, from starts_base, ascending; every other number */
  size_t start_count;
  uintptr_t starts_base;
  struct lr_stubs stubs;
};

LR_OWN static const ElfW(Shdr) * sections(const struct image *im, size_t *n) {
  const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)im->data;
  if (im->size < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
      e->e_shentsize != sizeof(ElfW(Shdr)) || e->e_shoff > im->size || e->e_shoff % 8 ||
      e->e_shnum > (im->size - e->e_shoff) / sizeof(ElfW(Shdr)) || e->e_shstrndx >= e->e_shnum)
    return NULL;
  *n = e->e_shnum;
  return (const ElfW(Shdr) *)(im->data + e->e_shoff);
}

/* in_file tells whether a section's bytes lie in the file. */
LR_OWN static int in_file(const struct image *im, const ElfW(Shdr) * h) {
  return h->sh_offset <= im->size && h->sh_size <= im->size - h->sh_offset;
}

/* is_section compares a section's name. */
LR_OWN static int is_section(const struct image *im, const ElfW(Shdr) * names, const ElfW(Shdr) * h, const char *name) {
  const size_t n = strlen(name) + 1;
  return in_file(im, names) && h->sh_name < names->sh_size && names->sh_size - h->sh_name >= n &&
         memcmp(im->data + names->sh_offset + h->sh_name, name, n) == 0;
}

/* Hooks that a module imports. */
enum { ENTERS = 1, RETURNS = 2 };

LR_OWN static int hooks_of(const struct image *im, const ElfW(Shdr) * h, size_t n) {
  static const char *const enters[] = {"__cyg_profile_func_enter", "__fentry__", "logrec_enter", "logrec_enter_return"};
  int found = 0;
  for (size_t i = 0; i < n; i++) {
    if (h[i].sh_type != SHT_DYNSYM || h[i].sh_link >= n || h[i].sh_entsize != sizeof(ElfW(Sym)) || !in_file(im, &h[i]) || h[i].sh_offset % 8) continue;
    const ElfW(Shdr) *const text = &h[h[i].sh_link];
    if (!in_file(im, text) || !text->sh_size || im->data[text->sh_offset + text->sh_size - 1]) continue;
    const char *const names = (const char *)im->data + text->sh_offset;
    const ElfW(Sym) *s = (const ElfW(Sym) *)(im->data + h[i].sh_offset), *const end = s + h[i].sh_size / sizeof *s;
    for (; s < end; s++) {
      if (s->st_shndx != SHN_UNDEF || s->st_name >= text->sh_size) continue;
      const char *const name = names + s->st_name;
      for (size_t k = 0; k < sizeof enters / sizeof *enters; k++)
        if (strcmp(name, enters[k]) == 0) found |= ENTERS;
      if (strcmp(name, "__return__") == 0) found |= RETURNS;
    }
  }
  return found;
}

/* ---- where functions begin ---- */

/* loaded tells whether, by the file, bytes lie in a segment: between segments there may be holes. */
LR_OWN static int loaded(const struct image *im, uintptr_t at, size_t n) {
  for (int i = 0; i < im->info->dlpi_phnum; i++) {
    const ElfW(Phdr) *const h = &im->info->dlpi_phdr[i];
    const uintptr_t from = at - (im->m->bias + h->p_vaddr);
    if (h->p_type == PT_LOAD && (h->p_flags & PF_R) && from <= h->p_memsz && n <= h->p_memsz - from) return 1;
  }
  return 0;
}

/* find_starts finds the sorted table of functions behind the head of .eh_frame_hdr in memory. */
LR_OWN static void find_starts(struct image *im) {
  for (int i = 0; i < im->info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &im->info->dlpi_phdr[i];
    if (h->p_type != PT_GNU_EH_FRAME || h->p_memsz < 12) continue;
    const uint8_t *const p = (const uint8_t *)(im->m->bias + h->p_vaddr);
    if (!loaded(im, (uintptr_t)p, h->p_memsz)) return;
    /* Version 1, the number as u32, the table as signed 32 bits from its head on. */
    if (p[0] != 1 || p[2] != 3 || p[3] != 0x3b) return;
    uint32_t n;
    memcpy(&n, p + 8, 4);
    if (n > (h->p_memsz - 12) / 8) return;
    im->starts = (const int32_t *)(const void *)(p + 12);
    im->start_count = n;
    im->starts_base = (uintptr_t)p;
    return;
  }
}

/* start_before returns the start of the last function that begins at or before an address; 0: none. */
LR_OWN static uintptr_t start_before(const struct image *im, uintptr_t address) {
  size_t low = 0, high = im->start_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (im->starts_base + (uintptr_t)(intptr_t)im->starts[2 * middle] <= address) low = middle + 1;
    else high = middle;
  }
  return low ? im->starts_base + (uintptr_t)(intptr_t)im->starts[2 * low - 2] : 0;
}

LR_OWN static int in_text(const struct image *im, uintptr_t address, size_t n) {
  return address >= im->text_low && address < im->text_high && n <= im->text_high - address;
}

/* landing tells whether there is what may stand before the nops at an address. */
LR_OWN static int landing(const struct image *im, uintptr_t address) {
  static const uint8_t what[4] = LR_LANDING;
  return in_text(im, address, 4) && memcmp((const void *)address, what, 4) == 0;
}

/* entry_of returns the address of the nops inside a function. at is the address of the nops in the compiler's
 * table; some of them may lie before the function. 0: it is not known where the function begins. */
LR_OWN static uintptr_t entry_of(const struct image *im, uintptr_t at, uintptr_t *function) {
  enum { MOST = 256 };
  uintptr_t start = start_before(im, at), nops = at;
  if (start == at || (start && start + 4 == at && landing(im, start))) {
    *function = start;
    return at;
  }
  while (nops < at + MOST && in_text(im, nops, 16)) {
    const size_t n = lr_nop_length((const uint8_t *)nops, 16);
    if (!n) break;
    nops += n;
    start = start_before(im, nops);
    if (start == nops) {
      *function = start;
      return start + (landing(im, start) ? 4 : 0);
    }
  }
  return 0;
}

/* ---- the sleds of a module ---- */

LR_OWN static void add(struct image *im, uintptr_t address, uintptr_t function, unsigned kind) {
  struct module *const m = im->m;
  if (!in_text(im, address, LR_SLED_TEXT) || m->count == MOST_SLEDS) return;
  if ((m->count + 1) * sizeof *m->sleds > m->room) {
    const size_t room = m->room ? 2 * m->room : 1 << 16;
    struct lr_sled *const more = m->room ? plat_pages_grow(m->sleds, m->room, room) : plat_pages(room, 0);
    if (!more) return;
    m->sleds = more;
    m->room = room;
  }
  struct lr_sled *const s = &m->sleds[m->count];
  memset(s, 0, sizeof *s);
  s->address = address;
  s->function = (uint32_t)(function - m->base);
  s->kind = (uint8_t)kind;
  if (lr_sled_look(s, &im->stubs, function, (size_t)(im->text_high - address))) m->count++;
}

LR_OWN static void read_xray(struct image *im, const uint8_t *p, size_t size) {
  struct entry {
    uint64_t address, function;
    uint8_t kind, always, version, none[13];
  };
  enum { ENTRY, EXIT, TAIL, ENTRY_WITH_ARGUMENT };
  for (const uint8_t *const end = p + size / sizeof(struct entry) * sizeof(struct entry); p < end; p += sizeof(struct entry)) {
    struct entry e;
    memcpy(&e, p, sizeof e);
    uintptr_t address = (uintptr_t)e.address, function = (uintptr_t)e.function;
    if (e.version >= 2) {
      address += (uintptr_t)p;
      function += (uintptr_t)p + 8;
    }
    if (!in_text(im, function, 1)) continue;
    if (e.kind == ENTRY || e.kind == ENTRY_WITH_ARGUMENT) add(im, address, function, LR_SLED_XRAY);
    else if (e.kind == EXIT) add(im, address, function, LR_SLED_EXIT);
    else if (e.kind == TAIL) add(im, address, function, LR_SLED_XRAY_TAIL);
  }
}

LR_OWN static void read_addresses(struct image *im, const uint8_t *p, size_t size, int returns) {
  for (const uint8_t *const end = p + size / 8 * 8; p < end; p += 8) {
    uintptr_t at, function = 0;
    memcpy(&at, p, 8);
    if (!in_text(im, at, 16)) continue;
    if (returns) {
      if (!(function = start_before(im, at))) function = at;
      add(im, at, function, LR_SLED_RETURN);
    } else if ((at = entry_of(im, at, &function))) {
      add(im, at, function, LR_SLED_NOP);
    }
  }
}

/* ---- what is wanted ---- */

struct wanting {
  const struct module *m;
  const char *file;
  uint64_t *functions; /* from the module's base << 1 | wanted, ascending */
  size_t count;
};

LR_OWN static void decide(void *context, uintptr_t address, const char *symbol) {
  struct wanting *const w = context;
  const uint64_t key = (uint64_t)(address - w->m->base) << 1;
  size_t low = 0, high = w->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (w->functions[middle] < key) low = middle + 1;
    else high = middle;
  }
  if (low == w->count || w->functions[low] >> 1 != key >> 1) return;
  char whole[512];
  const char *const part = strstr(symbol, ".cold");
  if (part && (size_t)(part - symbol) < sizeof whole) {
    memcpy(whole, symbol, (size_t)(part - symbol));
    whole[part - symbol] = 0;
    symbol = whole;
  }
  w->functions[low] = key | (unsigned)(lr_listed(w->file, symbol) != 0);
}

/* keep_wanted removes the sleds of functions that are not to be recorded. */
LR_OWN static void keep_wanted(struct image *im) {
  struct module *const m = im->m;
  if (!lr_lists() || !m->count) return;
  const size_t memory = m->count * sizeof(uint64_t);
  struct wanting w = {m, im->path, plat_pages(memory, 0), 0};
  for (const char *c = im->path; *c; c++)
    if (*c == '/') w.file = c + 1;
  if (!w.functions) {
    m->count = 0;
    return;
  }
  /* For functions without a name the lists decide by the module. */
  const unsigned nameless = (unsigned)(lr_listed(w.file, "") != 0);
  for (size_t i = 0; i < m->count; i++) w.functions[i] = (uint64_t)m->sleds[i].function << 1 | nameless;
  lr_sort(w.functions, m->count);
  for (size_t i = 0; i < m->count; i++)
    if (!w.count || w.functions[w.count - 1] != w.functions[i]) w.functions[w.count++] = w.functions[i];
  struct plat_module of;
  memset(&of, 0, sizeof of);
  of.base = m->base;
  of.bias = m->bias;
  of.size = m->size;
  of.path = im->path;
  plat_module_symbols(&of, decide, &w);
  size_t kept = 0;
  for (size_t i = 0; i < m->count; i++) {
    const uint64_t key = (uint64_t)m->sleds[i].function << 1;
    size_t low = 0, high = w.count;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (w.functions[middle] < key) low = middle + 1;
      else high = middle;
    }
    if (low < w.count && w.functions[low] == (key | 1)) m->sleds[kept++] = m->sleds[i];
  }
  m->count = kept;
  plat_pages_free(w.functions, memory);
}

/* arrange sorts a module's sleds by address, and leaves out those that overlap the one before. */
LR_OWN static void arrange(struct module *m) {
  if (!m->count) return;
  const size_t memory = m->count * sizeof(uint64_t);
  uint64_t *const order = plat_pages(memory, 0);
  struct lr_sled *const sorted = order ? plat_pages(m->room, 0) : NULL;
  size_t kept = 0;
  if (sorted) {
    for (size_t i = 0; i < m->count; i++) order[i] = (uint64_t)(m->sleds[i].address - m->base) << 24 | i;
    lr_sort(order, m->count);
    for (size_t i = 0; i < m->count; i++) {
      const struct lr_sled *const s = &m->sleds[order[i] & 0xffffff];
      if (!kept || sorted[kept - 1].address + sorted[kept - 1].length <= s->address) sorted[kept++] = *s;
    }
    plat_pages_free(m->sleds, m->room);
    m->sleds = sorted;
  }
  m->count = kept;
  if (order) plat_pages_free(order, memory);
}

/* note writes the ways in of a module's events into the log. */
LR_OWN static void note(const struct module *m) {
  for (size_t i = 0; i < m->count; i++) {
    switch (m->sleds[i].kind) {
    case LR_SLED_XRAY: ways |= 1u << LR_XRAY; break;
    case LR_SLED_XRAY_TAIL:
    case LR_SLED_EXIT:
    case LR_SLED_RETURN: ways |= 1u << LR_PATCHED_RETURN; break;
    default: ways |= 1u << LR_PATCHED;
    }
  }
}

LR_OWN static void read_sections(struct image *im) {
  size_t n = 0;
  const ElfW(Shdr) *const h = sections(im, &n);
  if (!h) return;
  const int hooks = hooks_of(im, h, n);
  if (hooks) hooks_elsewhere = 1;
  const ElfW(Shdr) *const names = &h[((const ElfW(Ehdr) *)im->data)->e_shstrndx];
  int stubs = 0;
  for (size_t i = 0; i < n; i++) {
    const int xray = is_section(im, names, &h[i], "xray_instr_map"), returns = is_section(im, names, &h[i], "__return_loc");
    if (!xray && !returns && !is_section(im, names, &h[i], "__patchable_function_entries") && !is_section(im, names, &h[i], "__mcount_loc")) continue;
    if ((hooks & ENTERS && !returns) || (hooks & RETURNS && returns)) continue;
    const uintptr_t at = im->m->bias + h[i].sh_addr;
    if (!(h[i].sh_flags & SHF_ALLOC) || h[i].sh_type == SHT_NOBITS || h[i].sh_size == 0 || !loaded(im, at, h[i].sh_size)) continue;
    if (!stubs && !(stubs = lr_stubs_make(&im->stubs, im->m->base, im->m->base + im->m->size))) return;
    if (xray) read_xray(im, (const uint8_t *)at, h[i].sh_size);
    else read_addresses(im, (const uint8_t *)at, h[i].sh_size, returns);
  }
}

#if defined(__aarch64__)
/* leave_out_variants removes the sleds of functions that pass more in registers than the hooks keep: of SVE, or by the calling
 * convention for vectors. Their symbols say so. */
LR_OWN static void leave_out_variants(struct image *im) {
  enum { VARIANT_PCS = 0x80, LEFT_OUT = 1 };
  struct module *const m = im->m;
  size_t n = 0, kept = 0;
  const ElfW(Shdr) *const h = m->count ? sections(im, &n) : NULL;
  for (size_t i = 0; h && i < n; i++) {
    if ((h[i].sh_type != SHT_SYMTAB && h[i].sh_type != SHT_DYNSYM) || h[i].sh_entsize != sizeof(ElfW(Sym)) || !in_file(im, &h[i]) || h[i].sh_offset % 8) continue;
    const ElfW(Sym) *s = (const ElfW(Sym) *)(im->data + h[i].sh_offset), *const end = s + h[i].sh_size / sizeof *s;
    for (; s < end; s++) {
      if (!(s->st_other & VARIANT_PCS) || s->st_shndx == SHN_UNDEF) continue;
      for (size_t k = 0; k < m->count; k++)
        if (m->base + m->sleds[k].function == m->bias + s->st_value) m->sleds[k].spare = LEFT_OUT;
    }
  }
  for (size_t i = 0; i < m->count; i++)
    if (m->sleds[i].spare != LEFT_OUT) m->sleds[kept++] = m->sleds[i];
  m->count = kept;
}
#endif

/* find_text finds the executable segment. Compilers make one; of several the largest is taken. */
LR_OWN static int find_text(struct image *im) {
  uintptr_t low = ~(uintptr_t)0, high = 0;
  for (int i = 0; i < im->info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &im->info->dlpi_phdr[i];
    if (h->p_type != PT_LOAD) continue;
    if (h->p_vaddr < low) low = h->p_vaddr;
    if (h->p_vaddr + h->p_memsz > high) high = h->p_vaddr + h->p_memsz;
    if (!(h->p_flags & PF_X) || !(h->p_flags & PF_R) || h->p_memsz <= im->text_high - im->text_low) continue;
    im->text_low = im->info->dlpi_addr + h->p_vaddr;
    im->text_high = im->text_low + h->p_memsz;
  }
  im->m->bias = im->info->dlpi_addr;
  im->m->base = im->m->bias + (low & ~(uintptr_t)4095);
  im->m->size = high - (low & ~(uintptr_t)4095);
  return low < high && im->text_low < im->text_high && im->m->size <= UINT32_MAX;
}

/* open_module maps a module's file and finds its sleds. */
LR_OWN static void open_module(const struct dl_phdr_info *info, struct module *m, const char *path) {
  struct image im;
  memset(&im, 0, sizeof im);
  im.m = m;
  im.info = info;
  im.path = path;
  if (!find_text(&im)) return;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat s;
  if (fd < 0) return;
  void *data = MAP_FAILED;
  if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0) data = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (data == MAP_FAILED) return;
  im.data = data;
  im.size = (size_t)s.st_size;
  find_starts(&im);
  read_sections(&im);
#if defined(__aarch64__)
  leave_out_variants(&im);
#endif
  munmap(data, (size_t)s.st_size);
  keep_wanted(&im);
  arrange(m);
  note(m);
}

/* ---- what is loaded ---- */

LR_OWN static int each_module(struct dl_phdr_info *info, size_t size, void *p) {
  static char path[PATH];
  int *const first = p;
  const int program = *first;
  *first = 0;
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
    adds = info->dlpi_adds;
    subs = info->dlpi_subs;
  }
  for (uint32_t i = 0; i < module_count; i++)
    if (modules[i].headers == info->dlpi_phdr && modules[i].bias == info->dlpi_addr) {
      modules[i].seen = 1;
      return 0;
    }
  if (module_count == MODULES) return 1;
  struct module *const m = &modules[module_count++];
  memset(m, 0, sizeof *m);
  m->headers = info->dlpi_phdr;
  m->bias = info->dlpi_addr;
  m->seen = 1;
  const char *name = info->dlpi_name;
  if (program) {
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    name = path;
  }
  if (name && strchr(name, '/')) open_module(info, m, name);
  return 0;
}

LR_OWN static int count(struct dl_phdr_info *info, size_t size, void *p) {
  unsigned long long *const c = p;
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
    c[0] = info->dlpi_adds;
    c[1] = info->dlpi_subs;
  }
  return 1;
}

LR_OWN static void look(void) {
  const uint32_t before = module_count;
  int first = 1;
  for (uint32_t i = 0; i < module_count; i++) modules[i].seen = 0;
  lr_each_module(each_module, &first);
  for (uint32_t i = before; i < module_count; i++) lr_sleds_set(modules[i].sleds, modules[i].count, state, 0);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < module_count; i++) {
    if (!modules[i].seen) {
      /* The module was unmapped, and its text with it. */
      if (modules[i].room) plat_pages_free(modules[i].sleds, modules[i].room);
      continue;
    }
    if (kept != i) modules[kept] = modules[i];
    kept++;
  }
  module_count = kept;
  looked = 1;
}

LR_OWN void lr_patch_look(void) {
  unsigned long long now[2] = {0, 0};
  if (!lr_settings.patch || lr_load(&lr_barred) || lr_load(&lr_patch_refused)) return;
  lr_each_module(count, now);
  if ((looked && now[0] == lr_load(&adds) && now[1] == lr_load(&subs)) || !begin_patching()) return;
  if (!modules) modules = plat_pages(MODULES * sizeof *modules, 0);
  const uint32_t had = ways;
  /* Recording that is off from the beginning can be switched on by a signal. */
  if (!looked && lr_relaxed(&lr_settings.off)) state = LR_SLED_HELD;
  if (modules) look();
  end_patching();
  if (ways != had) lr_choose_mode();
}

LR_OWN int lr_patch_all(enum lr_sled_state to, int by_signal) {
  if (!lr_settings.patch || lr_load(&lr_barred) || lr_load(&lr_patch_refused) || !begin_patching()) return 0;
  size_t failed = 0;
  for (uint32_t i = 0; i < module_count; i++) failed += lr_sleds_set(modules[i].sleds, modules[i].count, to, by_signal);
  state = to;
  end_patching();
  return !failed;
}

LR_OWN int lr_patch_alone(void) { return lr_load(&ways) && !lr_load(&hooks_elsewhere); }
LR_OWN uint32_t lr_patch_ways(void) { return lr_load(&ways); }

#else

LR_OWN void lr_patch_look(void) {}
LR_OWN void lr_patch_closing(int begins) { (void)begins; }
LR_OWN void lr_patch_forked(void) {}
LR_OWN int lr_patch_all(enum lr_sled_state to, int by_signal) { return (void)to, (void)by_signal, 0; }
LR_OWN int lr_patch_alone(void) { return 0; }
LR_OWN uint32_t lr_patch_ways(void) { return 0; }

#endif
