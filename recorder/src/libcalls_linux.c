/* libcalls_linux.c: calls of the program into its libraries (LOGREC_LIBCALLS). The PLT of the program jumps through
 * slots (the GOT); these are made to point to the recorder, which then calls the library's function.
 *
 * To see the end of such a call, its return address on the stack is replaced by one of the recorder. The original
 * address is kept in a mirror of the stack: memory at a distance of LR_MIRROR bytes, at the same place. So
 * longjmp, exceptions, cancelled threads, forks and signal handlers need no repair, and unwinders find the address
 * by the rules of hooks_libcalls_x86_64.S. The mirror grows block by block as stacks are used.
 *
 * Two kinds of calls are left alone: those of functions that look at their return address, or return twice
 * (apart); and those through slots from which the program also takes the addresses of functions. For slots without
 * a PLT (-fno-plt) the program's text shows how they are used (collect).
 *
 * lr_libcalls_look is called by the constructor, without the lock. lr_mirror may be called in a signal handler. */

#include "lookup_linux.h"

#include "libcalls.h"

#if LR_HAVE_LIBCALLS && !defined(LOGREC_NO_INTERPOSE)

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(MAP_FIXED_NOREPLACE)
#define MAP_FIXED_NOREPLACE 0x100000
#endif

extern void lr_libcall_enter(void), lr_libcall_return(void);

/* ---- the mirror ---- */

/* The numbers of the blocks of memory that have a mirror: open addressing, 0 is free. */
enum { BLOCK_SHIFT = 16, BLOCKS = 1 << 16, MOST_PROBES = 64 };
static uintptr_t *blocks;

LR_OWN static size_t place_of(uintptr_t block) { return (size_t)((uint64_t)block * 0x9e3779b97f4a7c15u >> 48); }

LR_OWN int lr_mirrored(uintptr_t address) {
  const uintptr_t block = address >> BLOCK_SHIFT;
  for (size_t i = place_of(block), n = 0; n < MOST_PROBES; i = (i + 1) % BLOCKS, n++) {
    const uintptr_t b = lr_load(&blocks[i]);
    if (b == block) return 1;
    if (!b) return 0;
  }
  return 0;
}

LR_OWN uintptr_t lr_returns_to(uintptr_t slot, uintptr_t address) {
  uintptr_t to;
  if (address != (uintptr_t)lr_libcall_return || !lr_load(&blocks) || !lr_mirrored(slot)) return address;
  return plat_copy_memory(&to, (uintptr_t)((intptr_t)slot + LR_MIRROR), sizeof to) == sizeof to ? to : address;
}

LR_OWN static int keep_block(uintptr_t block) {
  for (size_t i = place_of(block), n = 0; n < MOST_PROBES; i = (i + 1) % BLOCKS, n++) {
    uintptr_t b = 0;
    if (__atomic_compare_exchange_n(&blocks[i], &b, block, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) || b == block) return 1;
  }
  return 0;
}

LR_OWN int lr_mirror(uintptr_t address) {
  enum { ROUNDS = 1000 };
  if (lr_mirrored(address)) return 1;
  const uintptr_t block = address >> BLOCK_SHIFT, size = (uintptr_t)1 << BLOCK_SHIFT;
  if (address < (uintptr_t)-LR_MIRROR + size || lr_load(&lr_barred)) return 0;
  struct plat_saved saved;
  plat_slow_begin(&saved);
  uint8_t *const at = (uint8_t *)(uintptr_t)((intptr_t)(block << BLOCK_SHIFT) + LR_MIRROR);
  uint8_t *const got = mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  int done = 0;
  if (got == at) {
    done = keep_block(block);
  } else {
    /* Before Linux 4.17 the place is a wish. */
    if (got != MAP_FAILED) munmap(got, size);
    /* Another thread, whose stack shares the block, may be mapping the mirror at this moment. */
    for (int i = 0; i < ROUNDS && !(done = lr_mirrored(address)); i++) sched_yield();
  }
  plat_slow_end(&saved);
  return done;
}

/* ---- what is loaded ---- */

/* The tables of a module's dynamic symbols. */
struct dynamic {
  uintptr_t bias, low, high;
  const char *path;
  const ElfW(Sym) * symbols;
  const char *names;
  const uint32_t *hash;
  const ElfW(Versym) * versions;
  const uint8_t *needed; /* versions of other modules */
  const ElfW(Rela) * jumps, *others;
  size_t jump_count, other_count;
  uintptr_t text_low, text_high;
  uintptr_t relro_low, relro_high;
};

LR_OWN static void read_dynamic(const struct dl_phdr_info *info, struct dynamic *d) {
  const ElfW(Dyn) *entry = NULL;
  memset(d, 0, sizeof *d);
  d->bias = info->dlpi_addr;
  d->path = info->dlpi_name ? info->dlpi_name : "";
  d->low = ~(uintptr_t)0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *const h = &info->dlpi_phdr[i];
    const uintptr_t at = d->bias + h->p_vaddr;
    if (h->p_type == PT_DYNAMIC) entry = (const ElfW(Dyn) *)at;
    if (h->p_type == PT_GNU_RELRO) d->relro_low = at, d->relro_high = at + h->p_memsz;
    if (h->p_type != PT_LOAD) continue;
    if ((h->p_flags & PF_X) && (h->p_flags & PF_R)) d->text_low = at, d->text_high = at + h->p_memsz;
    if (at < d->low) d->low = at;
    if (at + h->p_memsz > d->high) d->high = at + h->p_memsz;
  }
  for (; entry && entry->d_tag != DT_NULL; entry++) {
    /* The C library has added the bias to the address, except where it cannot write, as in the vdso. */
    const uintptr_t p = entry->d_un.d_ptr < d->low ? d->bias + entry->d_un.d_ptr : entry->d_un.d_ptr;
    switch (entry->d_tag) {
    case DT_SYMTAB: d->symbols = (const ElfW(Sym) *)p; break;
    case DT_STRTAB: d->names = (const char *)p; break;
    case DT_GNU_HASH: d->hash = (const uint32_t *)p; break;
    case DT_VERSYM: d->versions = (const ElfW(Versym) *)p; break;
    case DT_VERNEED: d->needed = (const uint8_t *)p; break;
    case DT_JMPREL: d->jumps = (const ElfW(Rela) *)p; break;
    case DT_RELA: d->others = (const ElfW(Rela) *)p; break;
    case DT_RELASZ: d->other_count = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
    case DT_PLTRELSZ: d->jump_count = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
    default: break;
    }
  }
}

LR_OWN static uint32_t gnu_hash(const char *s) {
  uint32_t h = 5381;
  for (; *s; s++) h = h * 33 + (uint8_t)*s;
  return h;
}

/* defined finds a function in a module's hash table. Of several versions it is the one at the given address, or
 * else one whose code the library chooses when it is loaded (IFUNC). */
LR_OWN static const ElfW(Sym) * defined(const struct dynamic *d, const char *name, uintptr_t address) {
  if (!d->hash || !d->symbols || !d->names) return NULL;
  const uint32_t count = d->hash[0], first = d->hash[1], bloom = d->hash[2];
  const uint32_t *const buckets = d->hash + 4 + bloom * (sizeof(ElfW(Addr)) / 4), *const chains = buckets + count;
  const uint32_t h = gnu_hash(name);
  uint32_t i = count ? buckets[h % count] : 0;
  const ElfW(Sym) *best = NULL;
  if (i < first) return NULL;
  for (;; i++) {
    const uint32_t other = chains[i - first];
    const ElfW(Sym) *const s = &d->symbols[i];
    const unsigned kind = s->st_info & 15;
    if ((other | 1) == (h | 1) && s->st_shndx != SHN_UNDEF && (kind == STT_FUNC || kind == STT_GNU_IFUNC) && strcmp(d->names + s->st_name, name) == 0) {
      if (d->bias + s->st_value == address) return s;
      if (!best || kind == STT_GNU_IFUNC) best = s;
    }
    if (other & 1) return best;
  }
}

/* A search for a function by its name, in all modules but the program and the recorder. */
struct search {
  const char *name;
  uintptr_t target; /* where the slot points to */
  int first;
  uintptr_t address; /* 0: not found */
  char file[256];    /* the library's base name */
};

LR_OWN static int each_library(struct dl_phdr_info *info, size_t size, void *p) {
  struct search *const s = p;
  struct dynamic d;
  (void)size;
  if (s->first) {
    s->first = 0;
    return 0;
  }
  read_dynamic(info, &d);
  if ((uintptr_t)lr_libcalls_look - d.low < d.high - d.low) return 0;
  const ElfW(Sym) *const found = defined(&d, s->name, s->target);
  if (!found) return 0;
  s->address = d.bias + found->st_value;
  const char *const slash = strrchr(d.path, '/'), *const base = slash ? slash + 1 : d.path;
  const size_t n = strlen(base) < sizeof s->file ? strlen(base) : sizeof s->file - 1;
  memcpy(s->file, base, n);
  s->file[n] = 0;
  return 1;
}

LR_OWN static int first_module(struct dl_phdr_info *info, size_t size, void *p) {
  (void)size;
  read_dynamic(info, p);
  return 1;
}

/* ---- the slots ---- */

/* apart tells whether a function's calls must go straight to the library. */
LR_OWN static int apart(const char *name) {
  static const char *const names[] = {
      /* They return twice, or somewhere else. */
      "setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "vfork", "__vfork", "getcontext", "setcontext", "swapcontext", "makecontext", "savectx",
      "clone", "__clone", "clone3",
      /* They look at their return address. */
      "dlopen", "dlmopen", "dlsym", "dlvsym", "dl_iterate_phdr", "__libc_start_main", "__gmon_start__", "mcount", "_mcount", "__fentry__",
      "__return__", "backtrace",
      /* The C runtime calls it at the end, not the program. */
      "__cxa_finalize",
      /* Compilers call it for each use of a thread's variable. */
      "__tls_get_addr", NULL};
  for (const char *const *n = names; *n; n++)
    if (strcmp(*n, name) == 0) return 1;
  return strncmp(name, "_Unwind_", 8) == 0 || strncmp(name, "__cyg_profile_", 14) == 0 || strncmp(name, "logrec_", 7) == 0;
}

/* version_of returns the version of a symbol that the program asks for; NULL: any. */
LR_OWN static const char *version_of(const struct dynamic *d, size_t symbol) {
  const unsigned wanted = d->versions ? d->versions[symbol] & 0x7fff : 0;
  if (wanted < 2 || !d->needed) return NULL;
  for (const uint8_t *p = d->needed;;) {
    const ElfW(Verneed) *const v = (const ElfW(Verneed) *)p;
    const uint8_t *a = p + v->vn_aux;
    for (unsigned i = 0; i < v->vn_cnt; i++) {
      const ElfW(Vernaux) *const x = (const ElfW(Vernaux) *)a;
      if (x->vna_other == wanted) return d->names + x->vna_name;
      a += x->vna_next;
    }
    if (!v->vn_next) return NULL;
    p += v->vn_next;
  }
}

/* replaced returns the recorder's own function of a name, which the loader takes instead of the library's; NULL if there is none.
 * It has no version. */
LR_OWN static void *replaced(const char *name) {
  void *const f = lr_own_definition(name);
  return f && f == lr_any_definition(name, NULL) ? f : NULL;
}

/* target_of returns where a slot points to, or will point to after its first use. */
LR_OWN static uintptr_t target_of(const struct dynamic *d, const ElfW(Rela) * r, const char *name) {
  const uintptr_t now = *(const uintptr_t *)(d->bias + r->r_offset);
  if (now - d->low >= d->high - d->low) return now;
  const char *const version = version_of(d, ELF64_R_SYM(r->r_info));
  void *const own = version ? replaced(name) : NULL;
  const uintptr_t found = (uintptr_t)(own ? own : lr_any_definition(name, version));
  return found - d->low < d->high - d->low ? 0 : found;
}

/* The program's calls of backtrace get the frames without those of the recorder. A signal handler on a small stack
 * may call it, so the frames are removed in the caller's own array. If too few are left, twice as many frames are
 * fetched into separate memory: at most every second frame is the recorder's. */
typedef int (*backtrace_function)(void **, int);
static backtrace_function real_backtrace;

/* drop_own_frames copies the frames that are not the recorder's. The first one is the recorder's. to may be from. */
LR_OWN static int drop_own_frames(void **to, int size, void *const *from, int n) {
  int kept = 0;
  for (int i = 1; i < n && kept < size; i++)
    if (from[i] != (void *)(uintptr_t)lr_libcall_return) to[kept++] = from[i];
  return kept;
}

__attribute__((noinline)) LR_OWN static int plain_backtrace(void **buffer, int size) {
  enum { MOST = 1 << 24 };
  const int n = real_backtrace(buffer, size);
  const int kept = drop_own_frames(buffer, size, buffer, n);
  if (n < size || size <= 0 || size > MOST) return kept;
  const int error = program_errno, more = 2 * size + 2;
  const size_t bytes = (size_t)more * sizeof(void *);
  void **const all = plat_pages(bytes, 0);
  const int whole = all ? drop_own_frames(buffer, size, all, real_backtrace(all, more)) : kept;
  if (all) plat_pages_free(all, bytes);
  program_errno = error;
  return whole;
}

/* put_stub writes the code that a slot will point to: endbr64; movabs $call,%r11; jmp *0(%rip); the address. */
enum { STUB = 32 };
LR_OWN static void put_stub(uint8_t *at, const struct lr_libcall *call) {
  static const uint8_t begin[6] = {0xf3, 0x0f, 0x1e, 0xfa, 0x49, 0xbb}, jump[6] = {0xff, 0x25, 0, 0, 0, 0};
  const uintptr_t to = (uintptr_t)lr_libcall_enter, c = (uintptr_t)call;
  memcpy(at, begin, sizeof begin);
  memcpy(at + 6, &c, 8);
  memcpy(at + 14, jump, sizeof jump);
  memcpy(at + 20, &to, 8);
}

/* shadow_stack tells whether the processor compares return addresses with copies of its own. */
LR_OWN static int shadow_stack(void) {
  uint64_t pointer = 0;
  __asm__ volatile("rdsspq %0" : "+r"(pointer));
  return pointer != 0;
}

LR_OWN static int protect(const struct dynamic *d, int protection) {
  enum { PAGE = 4096 };
  const uintptr_t low = d->relro_low & ~(uintptr_t)(PAGE - 1), high = d->relro_high & ~(uintptr_t)(PAGE - 1);
  return low >= high || mprotect((void *)low, high - low, protection) == 0;
}

/* A slot, and the call that goes through it. */
struct slot {
  const ElfW(Rela) * relocation;
  struct lr_libcall call;
};

/* collect finds the slots of the PLT, and those of the other slots that only calls and jumps use. */
enum { MOST_SLOTS = 1 << 16, MOST_BYTES = 1 << 20 };
LR_OWN static size_t collect(const struct dynamic *d, struct slot *slots) {
  size_t n = 0;
  uintptr_t low = ~(uintptr_t)0, high = 0;
  for (size_t i = 0; i < d->jump_count && n < MOST_SLOTS; i++)
    if (ELF64_R_TYPE(d->jumps[i].r_info) == R_X86_64_JUMP_SLOT) slots[n++].relocation = &d->jumps[i];
  const size_t plt = n;
  for (size_t i = 0; i < d->other_count && n < MOST_SLOTS; i++) {
    const ElfW(Rela) *const r = &d->others[i];
    const ElfW(Sym) *const s = &d->symbols[ELF64_R_SYM(r->r_info)];
    const uintptr_t at = d->bias + r->r_offset;
    if (ELF64_R_TYPE(r->r_info) != R_X86_64_GLOB_DAT || (s->st_info & 15) != STT_FUNC || s->st_shndx != SHN_UNDEF) continue;
    slots[n++].relocation = r;
    if (at < low) low = at;
    if (at + 8 > high) high = at + 8;
  }
  if (n == plt || high - low > MOST_BYTES) return plt;
  /* For each place: 1, there is a slot; 2, an instruction calls through it; 4, it is used in another way. */
  uint8_t *const uses = plat_pages(high - low, 0);
  if (!uses) return plt;
  for (size_t i = plt; i < n; i++) uses[d->bias + slots[i].relocation->r_offset - low] = 1;
  for (uintptr_t p = d->text_low + 2; p + 4 <= d->text_high; p++) {
    int32_t distance;
    memcpy(&distance, (const void *)p, 4);
    const uintptr_t to = p + 4 + (uintptr_t)(intptr_t)distance;
    if (to - low >= high - low || !uses[to - low]) continue;
    const uint8_t *const before = (const uint8_t *)(p - 2);
    uses[to - low] |= before[0] == 0xff && (before[1] == 0x15 || before[1] == 0x25) ? 2 : 4;
  }
  size_t kept = plt;
  for (size_t i = plt; i < n; i++)
    if (uses[d->bias + slots[i].relocation->r_offset - low] == 3) slots[kept++] = slots[i];
  plat_pages_free(uses, high - low);
  return kept;
}

/* choose fills in a slot's call: 0 if it is left alone. */
LR_OWN static int choose(const struct dynamic *d, const ElfW(Rela) * r, struct lr_libcall *call) {
  const char *const name = d->names + d->symbols[ELF64_R_SYM(r->r_info)].st_name;
  if (!*name || apart(name)) return 0;
  call->target = target_of(d, r, name);
  if (!call->target) return 0;
  struct search s = {name, call->target, 1, 0, ""};
  lr_each_module(each_library, &s);
  if (!s.address || !lr_fits(lr_settings.libcalls, s.file, name)) return 0;
  /* This differs from the target if the library chooses the code (IFUNC), or if the recorder replaces the function. */
  call->function = s.address;
  return 1;
}

LR_OWN static void redirect_slots(const struct dynamic *d, const struct slot *slots, size_t n, const uint8_t *stubs) {
  const int writable = protect(d, PROT_READ | PROT_WRITE);
  for (size_t i = 0; i < n; i++) {
    uintptr_t *const at = (uintptr_t *)(d->bias + slots[i].relocation->r_offset);
    if (!writable && (uintptr_t)at - d->relro_low < d->relro_high - d->relro_low) continue;
    if (slots[i].call.target) {
      lr_store(at, (uintptr_t)(stubs + i * STUB));
    } else if (strcmp(d->names + d->symbols[ELF64_R_SYM(slots[i].relocation->r_info)].st_name, "backtrace") == 0) {
      real_backtrace = (backtrace_function)target_of(d, slots[i].relocation, "backtrace");
      if (real_backtrace) lr_store(at, (uintptr_t)plain_backtrace);
    }
  }
  if (writable) protect(d, PROT_READ);
}

LR_OWN void lr_libcalls_look(void) {
  struct dynamic d;
  if (!lr_settings.libcalls[0] || !lr_preloaded() || lr_load(&lr_barred)) return;
  if (lr_may_have_sanitizer() || shadow_stack()) {
    lr_tell("logrec: LOGREC_LIBCALLS is not for programs with a sanitizer or a shadow stack: calls into libraries are left out");
    return;
  }
  lr_each_module(first_module, &d);
  if (!d.symbols || !d.names) return;
  struct slot *const slots = plat_pages(MOST_SLOTS * sizeof *slots, 0);
  const size_t n = slots ? collect(&d, slots) : 0;
  uint8_t *const stubs = n ? mmap(NULL, n * STUB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
  blocks = plat_pages(BLOCKS * sizeof *blocks, 0);
  if (stubs == MAP_FAILED || !blocks) return;
  size_t chosen = 0;
  for (size_t i = 0; i < n; i++) {
    if (!choose(&d, slots[i].relocation, &slots[i].call)) {
      slots[i].call.target = 0;
      continue;
    }
    put_stub(stubs + i * STUB, &slots[i].call);
    chosen++;
  }
  if (chosen && mprotect(stubs, n * STUB, PROT_READ | PROT_EXEC) == 0) redirect_slots(&d, slots, n, stubs);
}

#else

LR_OWN uintptr_t lr_returns_to(uintptr_t slot, uintptr_t address) {
  (void)slot;
  return address;
}

LR_OWN void lr_libcalls_look(void) {
  if (lr_settings.libcalls[0]) lr_tell("logrec: LOGREC_LIBCALLS is for x86-64 and the preloaded library: calls into libraries are left out");
}

#endif
