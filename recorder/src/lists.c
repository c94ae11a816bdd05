/* lists.c: which functions are recorded (LOGREC_INCLUDE, LOGREC_EXCLUDE), and which ones the other settings name
 * (triggers.c).
 *
 * A list is patterns with commas between: [MODULE!]FUNCTION, in which * and ?
 * stand for any characters. A function is recorded if the include list is
 * empty or a pattern of it fits, and none of the exclude list does. It is
 * decided once, when a function is first seen.
 *
 * lr_traits reads what was decided without a lock, and decides under the modules' lock. A signal
 * handler may call it; there nobody looks for modules that are not known yet. */

#include "core.h"
#include "demangle.h"

LR_OWN int lr_lists(void) { return lr_settings.include[0] || lr_settings.exclude[0]; }

/* any_list tells whether functions have to be looked up at all. */
LR_OWN static int any_list(void) { return lr_lists() || lr_settings.from[0] || lr_settings.until[0] || lr_settings.inside[0]; }

/* match compares s with the n characters of a pattern. star and resume are where to continue in both when a *
 * has to stand for one more character. */
LR_OWN static int match(const char *pattern, size_t n, const char *s) {
  const char *const end = pattern + n;
  const char *star = NULL, *resume = NULL;
  while (*s) {
    if (pattern < end && *pattern == '*') {
      star = ++pattern;
      resume = s;
    } else if (pattern < end && (*pattern == '?' || *pattern == *s)) {
      pattern++;
      s++;
    } else if (star) {
      pattern = star;
      s = ++resume;
    } else {
      return 0;
    }
  }
  while (pattern < end && *pattern == '*') pattern++;
  return pattern == end;
}

/* listed tells whether a pattern of the list fits a function: its module's
 * base name, its symbol, "" where it has none, and its plain name. */
LR_OWN static int listed(const char *list, const char *module, const char *symbol, const char *plain) {
  while (*list) {
    const char *whole;
    size_t n;
    list = lr_next_item(list, &whole, &n);
    const char *pattern = whole;
    size_t length = n;
    int of_module = 1;
    for (size_t i = 0; i < n; i++)
      if (whole[i] == '!') {
        of_module = match(whole, i, module);
        pattern = whole + i + 1;
        length = n - i - 1;
        break;
      }
    if (of_module && n &&
        ((!length && pattern != whole) || match(pattern, length, symbol) || (plain[0] && match(pattern, length, plain))))
      return 1;
  }
  return 0;
}

LR_OWN int lr_fits(const char *list, const char *module, const char *symbol) {
  char plain[512] = "";
  if (!lr_plain_name(symbol, plain, sizeof plain)) plain[0] = 0;
  return listed(list, module, symbol, plain);
}

LR_OWN unsigned lr_listed(const char *module, const char *symbol) {
  char plain[512] = "";
  if (!lr_plain_name(symbol, plain, sizeof plain)) plain[0] = 0;
  unsigned traits = 0;
  if ((!lr_settings.include[0] || listed(lr_settings.include, module, symbol, plain)) && !listed(lr_settings.exclude, module, symbol, plain))
    traits = LR_WANTED;
  if (listed(lr_settings.from, module, symbol, plain)) traits |= LR_STARTS;
  if (listed(lr_settings.until, module, symbol, plain)) traits |= LR_STOPS;
  if (listed(lr_settings.inside, module, symbol, plain)) traits |= LR_ROOT;
  return traits;
}

/* The decisions of the lists: a hash table (open addressing) by the function's address. An entry is
 * address << TRAIT_BITS | decision, 0 is free. It is written with the modules' lock and read without. */
enum { DECISIONS = 1 << 20, TRAIT_BITS = 4 };
static uint64_t *decisions;

LR_OWN static uint32_t hash(uintptr_t function) { return (uint32_t)((uint64_t)function * 0x9e3779b97f4a7c15u >> 44); }

LR_OWN static int known(const uint64_t *table, uintptr_t function) {
  for (uint32_t i = hash(function), n = 0; n < 64; i = (i + 1) % DECISIONS, n++) {
    const uint64_t e = lr_load(&table[i]);
    if (!e) return -1;
    if (e >> TRAIT_BITS == function) return (int)(e & ((1 << TRAIT_BITS) - 1));
  }
  return -1;
}

LR_OWN static void keep(uint64_t *table, uintptr_t function, unsigned traits) {
  for (uint32_t i = hash(function), n = 0; n < 64; i = (i + 1) % DECISIONS, n++) {
    if (table[i] && table[i] >> TRAIT_BITS != function) continue;
    lr_store(&table[i], (uint64_t)function << TRAIT_BITS | traits);
    return;
  }
}

/* The function symbols of a module. They are read once, because the file may be large, and may be replaced later. A
 * block of memory has an ascending array of (address - base) << 32 | offset of the name, and then the names.
 * Guarded by the modules' lock. */
struct symbols {
  uint32_t module;
  uint64_t *sorted;
  const char *names;
  size_t count, memory; /* memory: bytes of the block */
};
enum { TABLES = 4096 /* as many as there are modules */, LONGEST_SYMBOL = 4095, MOST_NAMES = 1 << 28 /* bytes */ };
static struct symbols *tables;
static uint32_t table_count;

struct reading {
  uintptr_t base;
  size_t size;
  size_t count, bytes;           /* that there are: symbols, their names */
  uint64_t *sorted;              /* NULL while they are counted */
  char *names;
  size_t count_room, bytes_room;
};

LR_OWN static void read_symbol(void *p, uintptr_t address, const char *name) {
  struct reading *r = p;
  size_t n = 0;
  while (n < LONGEST_SYMBOL && name[n]) n++;
  if (address - r->base >= r->size || r->bytes + n + 1 > MOST_NAMES) return;
  if (r->sorted) {
    if (r->count == r->count_room || r->bytes + n + 1 > r->bytes_room) return;
    r->sorted[r->count] = (uint64_t)(address - r->base) << 32 | r->bytes;
    memcpy(r->names + r->bytes, name, n);
    r->names[r->bytes + n] = 0;
  }
  r->count++;
  r->bytes += n + 1;
}

/* A heap sort. */
LR_OWN void lr_sort(uint64_t *a, size_t n) {
  for (size_t i = n / 2, end = n; end > 1;) {
    uint64_t v;
    if (i > 0) {
      v = a[--i];
    } else {
      v = a[--end];
      a[end] = a[0];
    }
    size_t at = i;
    for (size_t child; (child = 2 * at + 1) < end; at = child) {
      if (child + 1 < end && a[child] < a[child + 1]) child++;
      if (a[child] <= v) break;
      a[at] = a[child];
    }
    a[at] = v;
  }
}

/* symbols_of finds a module's symbols, or NULL where there is no memory for
 * them. With the modules' lock. */
LR_COLD static const struct symbols *symbols_of(const struct plat_module *m) {
  for (uint32_t i = 0; i < table_count; i++)
    if (tables[i].module == m->number) return &tables[i];
  if (!tables) tables = plat_pages(TABLES * sizeof *tables, 0);
  if (!tables || table_count == TABLES) return NULL;
  struct reading r;
  memset(&r, 0, sizeof r);
  r.base = m->base;
  r.size = (uint64_t)m->size >> 32 ? UINT32_MAX : m->size;
  plat_module_symbols(m, read_symbol, &r);
  struct symbols *s = &tables[table_count];
  s->module = m->number;
  s->memory = r.count * sizeof *s->sorted + r.bytes;
  s->count = 0;
  if (r.count) {
    s->sorted = plat_pages(s->memory, 0);
    if (!s->sorted) return NULL;
    r.count_room = r.count;
    r.bytes_room = r.bytes;
    r.sorted = s->sorted;
    s->names = r.names = (char *)(s->sorted + r.count);
    r.count = r.bytes = 0;
    plat_module_symbols(m, read_symbol, &r);
    s->count = r.count;
    lr_sort(s->sorted, s->count);
  }
  table_count++;
  return s;
}

/* name_of returns the name of the function that begins at an address or, unless exact, before it. Of several names
 * it is the last one in the file. */
LR_OWN static const char *name_of(const struct symbols *s, uintptr_t rva, int exact) {
  size_t low = 0, high = s->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (s->sorted[middle] >> 32 <= rva) low = middle + 1;
    else high = middle;
  }
  if (!low || (exact && s->sorted[low - 1] >> 32 != rva)) return "";
  return s->names + (uint32_t)s->sorted[low - 1];
}

/* decide_first looks a function up for the first time. If the modules' lock cannot be had, or the function's module
 * is not known yet, the call is recorded, and a later call is decided here again. */
LR_COLD static unsigned decide_first(uintptr_t function, unsigned kind) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  unsigned traits = LR_WANTED;
  struct plat_module m;
  const struct symbols *s;
  if (plat_modules_lock()) {
    if (!decisions) lr_store(&decisions, plat_pages(DECISIONS * sizeof *decisions, 0));
    /* Another thread may have looked it up while this one waited. */
    const int decided = decisions ? known(decisions, function) : -1;
    if (decided >= 0) {
      traits = (unsigned)decided;
    } else if (plat_module_of(function, !plat_in_handler(&saved), &m) && (s = symbols_of(&m))) {
      const char *module = m.path;
      for (const char *c = m.path; *c; c++)
        if (*c == '/' || *c == '\\') module = c + 1;
      traits = lr_listed(module, name_of(s, function - m.base, kind == 0));
      if (decisions) keep(decisions, function, traits);
    }
    plat_modules_unlock();
  }
  plat_slow_end(&saved);
  return traits;
}

LR_OWN unsigned lr_traits(uintptr_t function, unsigned kind) {
  if (!any_list()) return LR_WANTED;
  const uint64_t *table = lr_load(&decisions);
  const int decided = table ? known(table, function) : -1;
  return decided >= 0 ? (unsigned)decided : decide_first(function, kind);
}

LR_OWN void lr_wanted_forget(uint32_t module, uintptr_t base, size_t size) {
  for (uint32_t i = 0; i < table_count; i++) {
    if (tables[i].module != module) continue;
    if (tables[i].memory) plat_pages_free(tables[i].sorted, tables[i].memory);
    tables[i] = tables[--table_count];
    break;
  }
  /* Functions behind a freed entry may not be found any more. They are then looked up again. */
  for (uint32_t i = 0; decisions && i < DECISIONS; i++)
    if (decisions[i] && (uintptr_t)(decisions[i] >> TRAIT_BITS) - base < size) lr_store(&decisions[i], 0);
}

LR_OWN void lr_modules_renumbered(void) { table_count = 0; }
