/* modules_linux.c: which modules are loaded, as the C library tells. */

#include "lookup_linux.h"

#if !defined(_WIN32)

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODULES = 4096, PATH = 1024, BUILD_ID = 64 };

struct module {
  uint32_t number;
  int program, seen;
  uintptr_t base, bias;
  size_t size;
  uint32_t id_size;
  uint8_t id[BUILD_ID];
  char path[PATH];
};

/* Guarded by plat_modules_trylock. Both have room for as many; the crash handler may be reading an earlier known. */
static struct module *known, *found;
static uint32_t room, known_count, found_count, next_number;
/* How many of known are those of the process that this one was forked from: their paths are known, too, where the
 * child cannot ask for them. */
static uint32_t inherited;
static uint64_t last_look;
static unsigned long long adds, subs;

struct counts {
  unsigned long long adds, subs;
};

LR_OWN static int count(struct dl_phdr_info *info, size_t size, void *p) {
  struct counts *c = p;
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
    c->adds = info->dlpi_adds;
    c->subs = info->dlpi_subs;
  }
  return 1;
}

LR_OWN int plat_modules_changed(void) {
  struct counts c = {0, 0};
  lr_each_module(count, &c);
  return c.adds != lr_load(&adds) || c.subs != lr_load(&subs);
}

LR_OWN const uint8_t *lr_build_id(const uint8_t *notes, size_t size, size_t align, uint32_t *length) {
  align = align == 8 ? 8 : 4;
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)(notes + at);
    const size_t name = at + sizeof *n, description = (name + n->n_namesz + align - 1) & ~(align - 1);
    if (n->n_namesz > size || n->n_descsz > size || description + n->n_descsz > size) return NULL;
    if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
      *length = n->n_descsz;
      return notes + description;
    }
    at = (description + n->n_descsz + align - 1) & ~(align - 1);
  }
  return NULL;
}

/* find_id looks for the build-id among the notes in memory. */
LR_OWN static void find_id(struct module *m, const ElfW(Phdr) * h) {
  uint32_t length;
  const uint8_t *const id = lr_build_id((const uint8_t *)(m->bias + h->p_vaddr), h->p_memsz, h->p_align, &length);
  if (!id) return;
  m->id_size = length < BUILD_ID ? length : BUILD_ID;
  memcpy(m->id, id, m->id_size);
}

LR_OWN int lr_module_is_known(uintptr_t base) {
  const struct module *const list = lr_load(&known);
  const uint32_t n = lr_load(&known_count);
  for (uint32_t i = 0; list && i < n && i < MODULES; i++)
    if (list[i].base == base) return 1;
  return 0;
}

/* make_room makes room for more modules. */
LR_OWN static int make_room(uint32_t wanted) {
  enum { LEAST = 16 };
  uint32_t larger = room ? room : LEAST;
  while (larger < wanted) larger *= 2;
  if (larger <= room) return 1;
  const size_t size = larger * sizeof(struct module);
  struct module *const both = plat_pages(2 * size, 0);
  if (!both) return 0;
  const uint32_t kept = known_count > inherited ? known_count : inherited;
  if (kept) memcpy(both, known, kept * sizeof *known);
  found = both + larger;
  room = larger;
  lr_store(&known, both);
  return 1;
}

/* is_loaded tells whether a segment lies in one that is mapped and can be read. */
LR_OWN static int is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * n) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type == PT_LOAD && (h->p_flags & PF_R) && n->p_vaddr >= h->p_vaddr && n->p_vaddr - h->p_vaddr <= h->p_memsz &&
        n->p_memsz <= h->p_memsz - (n->p_vaddr - h->p_vaddr))
      return 1;
  }
  return 0;
}

LR_OWN static int collect(struct dl_phdr_info *info, size_t size, void *p) {
  if (found_count == 0) count(info, size, p);
  if (found_count == room) {
    /* Only counted: there will be another look. */
    found_count++;
    return 1;
  }
  struct module *m = &found[found_count];
  memset(m, 0, offsetof(struct module, path));
  m->program = found_count == 0;
  m->bias = info->dlpi_addr;
  uintptr_t low = ~(uintptr_t)0, high = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type == PT_LOAD) {
      if (h->p_vaddr < low) low = h->p_vaddr;
      if (h->p_vaddr + h->p_memsz > high) high = h->p_vaddr + h->p_memsz;
    }
  }
  if (low >= high) return 0;
  low &= ~(uintptr_t)4095;
  m->base = m->bias + low;
  m->size = (high - low + 4095) & ~(size_t)4095;
  for (int i = 0; i < info->dlpi_phnum && !m->id_size; i++)
    if (info->dlpi_phdr[i].p_type == PT_NOTE && is_loaded(info, &info->dlpi_phdr[i])) find_id(m, &info->dlpi_phdr[i]);
  const char *name = info->dlpi_name ? info->dlpi_name : "";
  size_t n = strlen(name);
  if (n >= PATH) n = PATH - 1;
  memcpy(m->path, name, n);
  m->path[n] = 0;
  found_count++;
  return 0;
}

/* make_absolute completes the loader's name: "" is the program, and a relative
 * name was looked up from the working folder. */
LR_OWN static void make_absolute(struct module *m) {
  static char whole[2 * PATH];
  if (!m->path[0] && m->program) {
    const ssize_t n = readlink("/proc/self/exe", whole, PATH - 1);
    whole[n > 0 ? n : 0] = 0;
  } else if (m->path[0] && m->path[0] != '/' && strchr(m->path, '/') && getcwd(whole, PATH - 1)) {
    const size_t n = strlen(whole), k = strlen(m->path);
    whole[n] = '/';
    if (n + 1 + k >= PATH) return;
    memcpy(whole + n + 1, m->path, k + 1);
  } else {
    return;
  }
  memcpy(m->path, whole, strlen(whole) + 1);
}

LR_OWN static void write_load(const struct module *m, uint64_t time) {
  struct stat s;
  const int has_file = m->path[0] == '/' && stat(m->path, &s) == 0;
  const uintptr_t vdso = lr_auxiliary(AT_SYSINFO_EHDR);
  const int system = !has_file && vdso && m->base == vdso;
  struct lr_body *b = lr_record_begin();
  if (!b) return;
  char id[2 * BUILD_ID + 1];
  for (uint32_t i = 0; i < m->id_size; i++) {
    id[2 * i] = "0123456789abcdef"[m->id[i] >> 4];
    id[2 * i + 1] = "0123456789abcdef"[m->id[i] & 15];
  }
  id[2 * m->id_size] = 0;
  lr_put32(b, m->number);
  lr_put32(b, (m->program ? LRF_MAIN_PROGRAM : 0) | (system ? LRF_NO_FILE : 0));
  lr_put64(b, m->base);
  lr_put64(b, m->size);
  lr_put64(b, m->bias);
  lr_put32(b, 0);
  lr_put32(b, 0);
  lr_put64(b, has_file ? (uint64_t)s.st_size : 0);
  lr_put64(b, has_file ? (uint64_t)s.st_mtim.tv_sec * 1000000000u + (uint64_t)s.st_mtim.tv_nsec : 0);
  lr_put_string(b, m->path);
  lr_put_string(b, id);
  lr_put_string(b, "");
  lr_record_end(LRF_LOAD, time);
  if (!system) return;
  b = lr_record_begin();
  if (!b) return;
  lr_put32(b, m->number);
  lr_put32(b, 0);
  lr_put64(b, m->base);
  lr_put32(b, (uint32_t)m->size);
  lr_put(b, (const void *)m->base, m->size);
  lr_record_end(LRF_IMAGE, time);
}

/* same compares a module as the loader has it with one that has its whole path,
 * which a file that was moved or another working folder does not change. */
LR_OWN static int same(const struct module *a, const struct module *b) {
  const size_t n = strlen(a->path), k = strlen(b->path);
  return a->base == b->base && a->bias == b->bias && a->size == b->size && a->id_size == b->id_size &&
         memcmp(a->id, b->id, a->id_size) == 0 && n <= k && (a->path[0] != '/' || n == k) &&
         strcmp(a->path, b->path + (k - n)) == 0;
}

/* scan compares found with known. With the modules' lock. */
LR_OWN static void scan(void) {
  if (!make_room(1)) return;
  const uint64_t begun = last_look ? last_look : lr_global.begin, now = lr_ticks();
  struct counts c = {0, 0};
  int some = 0; /* of them were found: there is no room for all */
  for (;;) {
    found_count = 0;
    lr_each_module(collect, &c);
    if (found_count <= room) break;
    if (room < MODULES && make_room(found_count)) continue;
    found_count = room;
    some = 1;
    break;
  }
  for (uint32_t i = 0; i < known_count; i++) known[i].seen = some;
  for (uint32_t i = 0; i < found_count; i++) {
    for (uint32_t k = 0; k < known_count && !found[i].seen; k++)
      if (same(&found[i], &known[k])) found[i].seen = known[k].seen = 1;
    uint32_t k = 0;
    while (k < inherited && !same(&found[i], &known[k])) k++;
    if (k < inherited) memcpy(found[i].path, known[k].path, PATH);
    else if (!found[i].seen) make_absolute(&found[i]);
  }
  inherited = 0;
  uint32_t kept = 0;
  int gone = 0;
  for (uint32_t k = 0; k < known_count; k++) {
    if (known[k].seen) {
      if (kept != k) known[kept] = known[k];
      kept++;
      continue;
    }
    gone = 1;
    lr_wanted_forget(known[k].number, known[k].base, known[k].size);
    lr_plan_forget(known[k].base, known[k].size);
    struct lr_body *b = lr_record_begin();
    if (!b) continue;
    lr_put32(b, known[k].number);
    lr_put32(b, 0);
    lr_record_end(LRF_UNLOAD, now);
  }
  known_count = kept;
  for (uint32_t i = 0; i < found_count && known_count < room; i++) {
    if (found[i].seen) continue;
    found[i].number = ++next_number;
    known[known_count++] = found[i];
    /* Where another module went in the same time, its place may be this one's:
     * two owners at a time there must not be. */
    write_load(&found[i], gone ? now : begun);
  }
  last_look = now;
  lr_store(&adds, c.adds);
  lr_store(&subs, c.subs);
}

LR_OWN void plat_modules_scan(void) {
  if (!plat_modules_trylock()) return;
  scan();
  plat_modules_unlock();
}

LR_OWN void plat_modules_reset(void) {
  if (known_count) inherited = known_count;
  known_count = next_number = 0;
  last_look = 0;
  adds = subs = 0;
  lr_modules_renumbered();
}

LR_OWN int plat_module_of(uintptr_t address, int look, struct plat_module *m) {
  for (int round = 0; round < 1 + look; round++) {
    if (round && plat_modules_changed()) scan();
    for (uint32_t i = 0; i < known_count; i++) {
      if (address - known[i].base >= known[i].size) continue;
      m->number = known[i].number;
      m->base = known[i].base;
      m->bias = known[i].bias;
      m->size = known[i].size;
      m->path = known[i].path;
      m->id = known[i].id;
      m->id_size = known[i].id_size;
      return 1;
    }
  }
  return 0;
}

/* symbols walks one symbol table of a mapped file; nothing in it is trusted. */
LR_OWN static int symbols(const uint8_t *data, size_t size, uint32_t type, uintptr_t bias,
                          void (*each)(void *, uintptr_t, const char *), void *context) {
  const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)data;
  if (size < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_shentsize != sizeof(ElfW(Shdr)) ||
      e->e_shoff > size || e->e_shnum > (size - e->e_shoff) / sizeof(ElfW(Shdr)) || e->e_shoff % sizeof(uintptr_t))
    return 0;
  const ElfW(Shdr) *h = (const ElfW(Shdr) *)(data + e->e_shoff);
  for (int i = 0; i < e->e_shnum; i++) {
    if (h[i].sh_type != type || h[i].sh_link >= e->e_shnum || h[i].sh_entsize != sizeof(ElfW(Sym))) continue;
    const ElfW(Shdr) *names = &h[h[i].sh_link];
    if (h[i].sh_offset > size || h[i].sh_size > size - h[i].sh_offset || names->sh_offset > size ||
        names->sh_size > size - names->sh_offset || !names->sh_size || h[i].sh_offset % sizeof(uintptr_t))
      continue;
    const char *text = (const char *)data + names->sh_offset;
    if (text[names->sh_size - 1]) continue;
    const ElfW(Sym) *s = (const ElfW(Sym) *)(data + h[i].sh_offset);
    const size_t n = h[i].sh_size / sizeof *s;
    for (size_t k = 0; k < n; k++) {
      const unsigned kind = s[k].st_info & 15;
      if ((kind == STT_FUNC || kind == STT_GNU_IFUNC) && s[k].st_shndx != SHN_UNDEF && s[k].st_name < names->sh_size)
        each(context, bias + s[k].st_value, text + s[k].st_name);
    }
    return 1;
  }
  return 0;
}

LR_OWN void plat_module_symbols(const struct plat_module *m, void (*each)(void *, uintptr_t, const char *),
                                void *context) {
  if (m->path[0] != '/') return;
  const int fd = open(m->path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat s;
  void *data = MAP_FAILED;
  if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0)
    data = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (data == MAP_FAILED) return;
  if (!symbols(data, (size_t)s.st_size, SHT_SYMTAB, m->bias, each, context))
    symbols(data, (size_t)s.st_size, SHT_DYNSYM, m->bias, each, context);
  munmap(data, (size_t)s.st_size);
}

#endif
