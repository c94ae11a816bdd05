/* lookup_linux.c: what modules define, read from the loader's own list and their tables.
 *
 * The loader's functions for that (dlsym, dlvsym, dladdr) keep texts of errors, which the program's allocator has to free; so
 * none of them is called. A function of the C library's that the recorder needs is the library's own, whatever the program
 * calls by the same name. No locks and no memory; what is found is kept by the callers. The list is read at the start, and
 * later only for what was not known then. */

#include "lookup_linux.h"

#if defined(__linux__)

struct tables {
  uintptr_t bias;
  const ElfW(Sym) * symbols;
  const char *names;
  const uint32_t *gnu, *plain; /* hash tables, of which there is one at least */
  const ElfW(Versym) * versions;
  const uint8_t *defined;
};

LR_PLAIN static struct tables tables_of(uintptr_t bias, const ElfW(Dyn) * d) {
  struct tables t = {bias, NULL, NULL, NULL, NULL, NULL, NULL};
  for (; d && d->d_tag != DT_NULL; d++) {
    /* glibc has added the bias, except where it cannot write, as in the vdso; musl has not. */
    const uintptr_t p = d->d_un.d_ptr < t.bias ? t.bias + d->d_un.d_ptr : d->d_un.d_ptr;
    switch (d->d_tag) {
    case DT_SYMTAB: t.symbols = (const ElfW(Sym) *)p; break;
    case DT_STRTAB: t.names = (const char *)p; break;
    case DT_GNU_HASH: t.gnu = (const uint32_t *)p; break;
    case DT_HASH: t.plain = (const uint32_t *)p; break;
    case DT_VERSYM: t.versions = (const ElfW(Versym) *)p; break;
    case DT_VERDEF: t.defined = (const uint8_t *)p; break;
    default: break;
    }
  }
  return t;
}

/* version_number returns the number that a module has given a version; 0: it has none of that name. */
LR_PLAIN static unsigned version_number(const struct tables *t, const char *version) {
  for (const uint8_t *p = t->defined; p;) {
    const ElfW(Verdef) *const v = (const ElfW(Verdef) *)p;
    const ElfW(Verdaux) *const name = (const ElfW(Verdaux) *)(p + v->vd_aux);
    if (strcmp(t->names + name->vda_name, version) == 0) return v->vd_ndx;
    p = v->vd_next ? p + v->vd_next : NULL;
  }
  return 0;
}

/* fits: how well symbol i is what is looked for: 0 not at all, 2 best. Without a version it is best the default one. */
LR_PLAIN static int fits(const struct tables *t, uint32_t i, const char *name, const char *version) {
  enum { OLD = 0x8000 };
  const ElfW(Sym) *const s = &t->symbols[i];
  const unsigned kind = s->st_info & 15, binding = s->st_info >> 4;
  if (s->st_shndx == SHN_UNDEF || (binding != STB_GLOBAL && binding != STB_WEAK && binding != STB_GNU_UNIQUE)) return 0;
  if ((kind != STT_FUNC && kind != STT_GNU_IFUNC && kind != STT_OBJECT && kind != STT_NOTYPE) || strcmp(t->names + s->st_name, name) != 0) return 0;
  if (!t->versions) return 2;
  const unsigned is = t->versions[i];
  if (version && t->defined) return (is & ~(unsigned)OLD) == version_number(t, version) ? 2 : 0;
  return is & OLD ? 1 : 2;
}

LR_PLAIN static const ElfW(Sym) * symbol(const struct tables *t, const char *name, const char *version) {
  uint32_t found = 0;
  int best = 0;
  if (!t->symbols || !t->names) return NULL;
  if (t->gnu) {
    const uint32_t count = t->gnu[0], first = t->gnu[1], bloom = t->gnu[2];
    const uint32_t *const buckets = t->gnu + 4 + bloom * (sizeof(ElfW(Addr)) / 4), *const chains = buckets + count;
    uint32_t h = 5381;
    for (const char *s = name; *s; s++) h = h * 33 + (uint8_t)*s;
    uint32_t i = count ? buckets[h % count] : 0;
    for (int more = i >= first && i; more && best < 2; i++) {
      const uint32_t here = chains[i - first];
      const int fit = (here | 1) == (h | 1) ? fits(t, i, name, version) : 0;
      if (fit > best) best = fit, found = i;
      more = !(here & 1);
    }
  } else if (t->plain) {
    const uint32_t count = t->plain[0], *const buckets = t->plain + 2, *const chains = buckets + count;
    uint32_t h = 0;
    for (const char *s = name; *s; s++) {
      h = (h << 4) + (uint8_t)*s;
      h = (h ^ (h >> 24 & 0xf0)) & 0xfffffff;
    }
    for (uint32_t i = count ? buckets[h % count] : 0; i && best < 2; i = chains[i]) {
      const int fit = fits(t, i, name, version);
      if (fit > best) best = fit, found = i;
    }
  }
  return best ? &t->symbols[found] : NULL;
}

LR_PLAIN void *lr_kernel_function(const char *name) {
  const uintptr_t at = lr_auxiliary(AT_SYSINFO_EHDR);
  const ElfW(Ehdr) *const e = (const ElfW(Ehdr) *)at;
  if (!at) return NULL;
  const ElfW(Phdr) *const h = (const ElfW(Phdr) *)(at + e->e_phoff);
  uintptr_t bias = at;
  for (int i = 0; i < e->e_phnum; i++)
    if (h[i].p_type == PT_LOAD) bias = at + h[i].p_offset - h[i].p_vaddr;
  for (int i = 0; i < e->e_phnum; i++)
    if (h[i].p_type == PT_DYNAMIC) {
      const struct tables t = tables_of(bias, (const ElfW(Dyn) *)(bias + h[i].p_vaddr));
      const ElfW(Sym) *const s = symbol(&t, name, NULL);
      return s ? (void *)(bias + s->st_value) : NULL;
    }
  return NULL;
}

#if !defined(LOGREC_NO_INTERPOSE)

/* glibc and musl have the list under these names. */
extern struct r_debug _r_debug __attribute__((weak));
extern struct r_debug *_dl_debug_addr __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

/* definition returns the address of what a module defines; of a function whose code the module chooses, that of the code. */
LR_PLAIN static void *definition(const struct link_map *m, const char *name, const char *version) {
  const struct tables t = tables_of(m->l_addr, m->l_ld);
  const ElfW(Sym) *const s = symbol(&t, name, version);
  if (!s) return NULL;
  union {
    uintptr_t address;
    void *object;
    uintptr_t (*choose)(unsigned long);
  } u = {(s->st_shndx == SHN_ABS ? 0 : t.bias) + s->st_value};
  if ((s->st_info & 15) == STT_GNU_IFUNC) u.address = u.choose(lr_auxiliary(AT_HWCAP));
  return u.object;
}

/* The list that the recorder is in: with dlmopen there are several. */
LR_PLAIN static const struct link_map *list(const struct link_map **own) {
  const struct r_debug *d = &_r_debug ? &_r_debug : &_dl_debug_addr ? _dl_debug_addr : NULL;
  const struct link_map *const first = d ? d->r_map : NULL;
  enum { EXTENDED = 2 };
  for (int more = d != NULL; more;) {
    for (const struct link_map *m = d->r_map; m; m = m->l_next)
      if (m->l_ld == _DYNAMIC) {
        *own = m;
        return d->r_map;
      }
    /* From glibc 2.35 on another list follows behind the structure. */
    d = d->r_version >= EXTENDED ? *(const struct r_debug *const *)(d + 1) : NULL;
    more = d != NULL;
  }
  *own = NULL;
  return first;
}

LR_PLAIN void *lr_next_definition(const char *name) {
  const struct link_map *own, *const first = list(&own);
  void *f = NULL;
  for (const struct link_map *m = own ? own->l_next : first; m && !f; m = m->l_next) f = definition(m, name, NULL);
  /* The recorder was loaded after the C library. */
  return f ? f : lr_library_function(name);
}

LR_PLAIN void *lr_any_definition(const char *name, const char *version) {
  const struct link_map *own;
  void *f = NULL;
  for (const struct link_map *m = list(&own); m && !f; m = m->l_next) f = definition(m, name, version);
  return f;
}

LR_PLAIN void *lr_own_definition(const char *name) {
  const struct link_map *own;
  list(&own);
  return own ? definition(own, name, NULL) : NULL;
}

LR_PLAIN void *lr_library_function(const char *name) {
  /* What only the C library defines: programs and other libraries have no reason to. Before glibc 2.34 it was two files. */
  static const char *const marks[] = {"__libc_current_sigrtmin", "__pthread_key_create"};
  const struct link_map *own, *const first = list(&own);
  void *f = NULL;
  for (size_t i = 0; i < sizeof marks / sizeof *marks && !f; i++)
    for (const struct link_map *m = first; m && !f; m = m->l_next)
      if (m != own && definition(m, marks[i], NULL)) f = definition(m, name, NULL);
  return f;
}

LR_PLAIN const char *lr_own_path(void) {
  const struct link_map *own;
  list(&own);
  return own ? own->l_name : NULL;
}

#endif

LR_PLAIN unsigned long lr_auxiliary(unsigned long type) {
#if defined(LOGREC_NO_INTERPOSE)
  return getauxval(type);
#else
  static unsigned long (*ask)(unsigned long);
  LR_LIBRARY(ask, getauxval);
  return ask ? ask(type) : 0;
#endif
}

LR_PLAIN size_t lr_page_size(void) {
  const size_t n = lr_auxiliary(AT_PAGESZ);
  return n ? n : 4096;
}

LR_PLAIN int lr_each_module(int (*see)(struct dl_phdr_info *, size_t, void *), void *context) {
#if defined(LOGREC_NO_INTERPOSE)
  return dl_iterate_phdr(see, context);
#else
  static int (*each)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
  LR_LIBRARY(each, dl_iterate_phdr);
  return each ? each(see, context) : 0;
#endif
}

#else
typedef int lr_no_lookup;
#endif
