/* control.c: the environment, the interface of logrec.h, and the lists of what
 * is recorded. */

#include "core.h"
#include "demangle.h"
#include "logrec.h"

#include <string.h>

/* ---- settings ---- */

const char *const lr_setting_names[] = {"LOGREC",          "LOGREC_FILE",        "LOGREC_INCLUDE",      "LOGREC_EXCLUDE",
                                        "LOGREC_MIN",      "LOGREC_SITES",       "LOGREC_PERMISSIONS",  "LOGREC_COMMAND_LINE",
                                        "LOGREC_CHILDREN", "LOGREC_SNAPSHOT_SIGNAL", NULL};

/* tell says what is wrong with the settings; a program that this one started, and
 * that has inherited them, does not say so again. */
LR_OWN static void tell(const char *line) {
  static enum { NOT_ASKED, FIRST, NOT_FIRST } asked;
  if (asked == NOT_ASKED) asked = plat_told_before() ? NOT_FIRST : FIRST;
  if (asked == FIRST) plat_message(line);
}

LR_OWN static int equals(const char *s, size_t n, const char *word) { return strlen(word) == n && memcmp(s, word, n) == 0; }

LR_OWN static uint64_t number(const char **s) {
  uint64_t v = 0;
  while (**s >= '0' && **s <= '9' && v < (uint64_t)1 << 50) v = v * 10 + (uint64_t)(*(*s)++ - '0');
  return v;
}

/* duration understands 500, 500ns, 10us, 1.5ms, 1s; 0 for what it does not. */
LR_OWN static int duration(const char *s, uint64_t *ns) {
  const uint64_t second = 1000000000;
  if (*s < '0' || *s > '9') return 0;
  const uint64_t whole = number(&s);
  uint64_t part = 0, digit = second;
  if (*s == '.')
    for (s++; *s >= '0' && *s <= '9'; s++) part += (uint64_t)(*s - '0') * (digit /= 10);
  uint64_t unit;
  if (!*s || equals(s, strlen(s), "ns")) unit = 1;
  else if (equals(s, strlen(s), "us")) unit = 1000;
  else if (equals(s, strlen(s), "ms")) unit = 1000000;
  else if (equals(s, strlen(s), "s")) unit = second;
  else return 0;
  if (whole > ((uint64_t)1 << 62) / unit) return 0;
  *ns = whole * unit + part * unit / second;
  return 1;
}

/* permissions understands 600 and 0644; the owner may always read and write. */
LR_OWN static int permissions(const char *s, unsigned *mode) {
  unsigned v = 0;
  const size_t n = strlen(s);
  if (n < 3 || n > 4 || (n == 4 && s[0] != '0')) return 0;
  for (; *s; s++) {
    if (*s < '0' || *s > '7') return 0;
    v = v << 3 | (unsigned)(*s - '0');
  }
  if (v & ~0666u || (v & 0600) != 0600) return 0;
  *mode = v;
  return 1;
}

/* one_of tells whether s is one of the words, whatever its case. */
LR_OWN static int one_of(const char *s, size_t n, const char *const *words) {
  char small[8] = "";
  for (size_t i = 0; n < sizeof small && i < n; i++) small[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] + 32 : s[i]);
  for (; *words; words++)
    if (n && equals(*words, strlen(*words), small)) return 1;
  return 0;
}

/* item finds the first item of a list with commas between, without the blanks around
 * it, and returns where the next one begins. */
LR_OWN static const char *item(const char *list, const char **begin, size_t *n) {
  const char *end = list;
  while (*end && *end != ',') end++;
  const char *const next = *end ? end + 1 : end;
  while (list < end && (*list == ' ' || *list == '\t')) list++;
  while (end > list && (end[-1] == ' ' || end[-1] == '\t')) end--;
  *begin = list;
  *n = (size_t)(end - list);
  return next;
}

/* parse_mode reads LOGREC: words with commas between. */
LR_OWN static void parse_mode(const char *list) {
  static const char *const offs[] = {"off", "0", "no", "false", NULL}, *const ons[] = {"on", "1", "yes", "true", NULL};
  enum { MOST_MB = 4096 };
  while (*list) {
    const char *s;
    size_t n;
    list = item(list, &s, &n);
    if (one_of(s, n, offs)) {
      lr_settings.off = 1;
    } else if (n >= 4 && memcmp(s, "ring", 4) == 0 && (n == 4 || s[4] == ':')) {
      const char *end = s + 4;
      uint64_t mb = 1;
      if (n > 4) end++, mb = number(&end);
      lr_settings.ring = 1;
      if (end != s + n || mb == 0) {
        tell("logrec: LOGREC=ring:MB has a number of megabytes from 1 to 4096: 1 is taken");
        mb = 1;
      } else if (mb > MOST_MB) {
        tell("logrec: LOGREC=ring:MB has a number of megabytes from 1 to 4096: 4096 is taken");
        mb = MOST_MB;
      }
      lr_settings.ring_bytes = mb << 20;
    } else if (n && !one_of(s, n, ons)) {
      tell("logrec: LOGREC is off, on or ring[:MB]: the word that is none of them is left out");
    }
  }
}

/* setting returns the value of an environment variable until the next one is asked
 * for, or NULL. */
LR_OWN static const char *setting(const char *name) {
  static char value[sizeof lr_settings.file], line[128];
  int fits;
  const char *s = plat_environment(name, value, sizeof value, &fits);
  if (fits) return s;
  struct lr_body b = {(uint8_t *)line, 0, sizeof line - 1};
  lr_put(&b, "logrec: ", 8);
  lr_put(&b, name, strlen(name));
  lr_put(&b, " is longer than 4095 bytes: it is left out", 42);
  line[b.length] = 0;
  tell(line);
  return NULL;
}

/* tell_unknown tells of the first variable that looks like a setting and is none. */
LR_OWN static void tell_unknown(void) {
  static const char begin[] = "logrec: ", end[] = " is no setting of this recorder: it is left out";
  static char line[128];
  size_t at = 0;
  const char *s;
  int told = 0;
  while ((s = plat_variable(&at))) {
    if (told || strncmp(s, "LOGREC", 6) != 0 || !(s[6] == '=' || s[6] == '_')) continue;
    const char *const *name = lr_setting_names;
    const size_t n = strcspn(s, "=");
    while (*name && !equals(s, n, *name)) name++;
    if (*name || n > 64) continue;
    told = 1;
    struct lr_body b = {(uint8_t *)line, 0, sizeof line - 1};
    lr_put(&b, begin, sizeof begin - 1);
    /* It may hold anything. */
    for (size_t i = 0; i < n; i++) lr_put(&b, s[i] > ' ' && s[i] < 127 ? s + i : "?", 1);
    lr_put(&b, end, sizeof end - 1);
    line[b.length] = 0;
    tell(line);
  }
}

LR_OWN void lr_read_settings(void) {
  static int done;
  if (done || !plat_environment_known()) return;
  done = 1;
  const char *s = setting("LOGREC");
  if (s) parse_mode(s);
  s = setting("LOGREC_FILE");
  if (s) memcpy(lr_settings.file, s, strlen(s) + 1);
  s = setting("LOGREC_INCLUDE");
  if (s) memcpy(lr_settings.include, s, strlen(s) + 1);
  s = setting("LOGREC_EXCLUDE");
  if (s) memcpy(lr_settings.exclude, s, strlen(s) + 1);
  s = setting("LOGREC_MIN");
  if (s && *s && !duration(s, &lr_settings.minimum))
    tell("logrec: LOGREC_MIN is a time, such as 500ns, 10us, 1.5ms or 1s: no call is dropped");
  s = setting("LOGREC_SITES");
  lr_settings.sites = s && equals(s, strlen(s), "1");
  if (s && *s && !lr_settings.sites && !equals(s, strlen(s), "0")) tell("logrec: LOGREC_SITES is 0 or 1: call sites are left out");
  s = setting("LOGREC_CHILDREN");
  lr_settings.no_children = s && equals(s, strlen(s), "0");
  if (s && *s && !lr_settings.no_children && !equals(s, strlen(s), "1"))
    tell("logrec: LOGREC_CHILDREN is 0 or 1: programs that this one starts are recorded");
  s = setting("LOGREC_COMMAND_LINE");
  lr_settings.no_command_line = s && equals(s, strlen(s), "0");
  if (s && *s && !lr_settings.no_command_line && !equals(s, strlen(s), "1"))
    tell("logrec: LOGREC_COMMAND_LINE is 0 or 1: the command line is recorded");
  s = setting("LOGREC_PERMISSIONS");
  if (s && *s && !permissions(s, &lr_settings.permissions))
    tell("logrec: LOGREC_PERMISSIONS is three octal digits, such as 600 or 644, of reading and writing: 640 is taken");
  s = setting("LOGREC_SNAPSHOT_SIGNAL");
  if (s && *s) {
    lr_settings.snapshot_signal = plat_signal(s);
    if (!lr_settings.snapshot_signal)
      tell("logrec: LOGREC_SNAPSHOT_SIGNAL is a signal that a program may ignore, such as USR1 or 10, and that tells of no fault: none is taken");
  }
  if (!plat_raised_rights()) tell_unknown();
  lr_choose_mode();
}

/* ---- the lists ----
 *
 * A list is patterns with commas between: [MODULE!]FUNCTION, in which * and ?
 * stand for any characters. A function is recorded if the include list is
 * empty or a pattern of it fits, and none of the exclude list does. It is
 * decided once, when a function is first seen. */

LR_OWN int lr_lists(void) { return lr_settings.include[0] || lr_settings.exclude[0]; }

/* match compares s with the n characters of a pattern; star and resume are where
 * to go on when a * has to take one character more. */
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
    list = item(list, &whole, &n);
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

LR_OWN static int decide(const char *module, const char *symbol) {
  char plain[512] = "";
  if (!lr_plain_name(symbol, plain, sizeof plain)) plain[0] = 0;
  return (!lr_settings.include[0] || listed(lr_settings.include, module, symbol, plain)) &&
         !listed(lr_settings.exclude, module, symbol, plain);
}

/* What was decided: open addressing by the function's address; an entry is
 * address << 1 | wanted, 0 is free. It is written under the modules' lock and
 * read without. */
enum { DECISIONS = 1 << 20 };
static uint64_t *decisions;

LR_OWN static uint32_t hash(uintptr_t function) { return (uint32_t)((uint64_t)function * 0x9e3779b97f4a7c15u >> 44); }

LR_OWN static int known(const uint64_t *table, uintptr_t function) {
  for (uint32_t i = hash(function), n = 0; n < 64; i = (i + 1) % DECISIONS, n++) {
    const uint64_t e = lr_load(&table[i]);
    if (!e) return -1;
    if (e >> 1 == function) return (int)(e & 1);
  }
  return -1;
}

LR_OWN static void keep(uint64_t *table, uintptr_t function, int wanted) {
  for (uint32_t i = hash(function), n = 0; n < 64; i = (i + 1) % DECISIONS, n++) {
    if (table[i] && table[i] >> 1 != function) continue;
    lr_store(&table[i], (uint64_t)function << 1 | (unsigned)wanted);
    return;
  }
}

/* The function symbols of a module, read once, because its file may be large, or
 * another one by the time of the next look: in a block of memory an array of
 * address - base << 32 | where in the names the symbol's begins, ascending, and
 * the names. Guarded by the modules' lock. */
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

/* sort is a heap sort: it needs neither memory nor luck. */
LR_OWN static void sort(uint64_t *a, size_t n) {
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
    sort(s->sorted, s->count);
  }
  table_count++;
  return s;
}

/* name_of returns the name of the function at or before an address; exact: the
 * one that begins there. Of several names it is the file's last. */
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

/* decide_first looks the function up. Where the modules' lock is not to be had,
 * or nothing is known of the function, it is recorded, and a later call of it
 * comes here again. */
LR_COLD static int decide_first(uintptr_t function, unsigned kind) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  int wanted = 1;
  struct plat_module m;
  const struct symbols *s;
  if (plat_modules_lock()) {
    if (!decisions) lr_store(&decisions, plat_pages(DECISIONS * sizeof *decisions, 0));
    /* Another thread may have looked it up while this one waited. */
    const int decided = decisions ? known(decisions, function) : -1;
    if (decided >= 0) {
      wanted = decided;
    } else if (plat_module_of(function, !plat_in_handler(&saved), &m) && (s = symbols_of(&m))) {
      const char *module = m.path;
      for (const char *c = m.path; *c; c++)
        if (*c == '/' || *c == '\\') module = c + 1;
      wanted = decide(module, name_of(s, function - m.base, kind == 0));
      if (decisions) keep(decisions, function, wanted);
    }
    plat_modules_unlock();
  }
  plat_slow_end(&saved);
  return wanted;
}

LR_OWN int lr_wanted(uintptr_t function, unsigned kind) {
  if (!lr_lists()) return 1;
  const uint64_t *table = lr_load(&decisions);
  const int decided = table ? known(table, function) : -1;
  return decided >= 0 ? decided : decide_first(function, kind);
}

LR_OWN void lr_wanted_forget(uint32_t module, uintptr_t base, size_t size) {
  for (uint32_t i = 0; i < table_count; i++) {
    if (tables[i].module != module) continue;
    if (tables[i].memory) plat_pages_free(tables[i].sorted, tables[i].memory);
    tables[i] = tables[--table_count];
    break;
  }
  /* Behind a place that becomes free a function may not be found any more: it is
   * then looked up again. */
  for (uint32_t i = 0; decisions && i < DECISIONS; i++)
    if (decisions[i] && (uintptr_t)(decisions[i] >> 1) - base < size) lr_store(&decisions[i], 0);
}

LR_OWN void lr_modules_renumbered(void) { table_count = 0; }

/* ---- the interface ---- */

LR_COLD static void enter_slow(uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t pointer, uintptr_t site) {
  const struct lr_place at = {pointer, site, LR_BY_HAND, address | 1};
  lr_enter_slow(address, kind, frame, &at, LR_API);
}

LR_COLD static void leave_slow(uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t pointer, int exact) {
  const struct lr_place at = {pointer, 0, LR_BY_HAND, address | 1};
  lr_leave_slow(address, kind, frame, exact, &at, LR_API);
}

LR_INLINE void enter(const void *address, unsigned kind, uintptr_t frame, uintptr_t site) {
  const uintptr_t a = (uintptr_t)address;
  const int first = !lr_has_come_by(LR_API) && lr_relaxed(&lr_mode) != LR_OFF;
  if (LR_UNLIKELY(first || !lr_fast_enter(a, kind, frame, lr_frame(), LR_BY_HAND, (uint32_t)a | 1)))
    enter_slow(a, kind, frame, lr_frame(), site);
}

LR_INLINE void leave(const void *address, unsigned kind, uintptr_t frame, int exact) {
  if (LR_UNLIKELY(!lr_fast_leave((uintptr_t)address, kind, frame, exact))) leave_slow((uintptr_t)address, kind, frame, lr_frame(), exact);
}

LR_OWN void logrec_enter(const void *function) { enter(function, 0, lr_frame(), lr_return_address()); }
LR_OWN void logrec_leave(const void *function) { leave(function, 0, lr_frame(), 0); }
LR_OWN void logrec_enter_return(const void *address, const void *frame) { enter(address, 1, (uintptr_t)frame, 0); }
LR_OWN void logrec_leave_return(const void *address, const void *frame) { leave(address, 1, (uintptr_t)frame, 1); }

LR_OWN void logrec_mark(const char *text, size_t n) { lr_mark(text, n); }
LR_OWN void logrec_counter_i64(const char *name, int64_t value) { lr_counter(name, 0, &value); }
LR_OWN void logrec_counter_u64(const char *name, uint64_t value) { lr_counter(name, 1, &value); }
LR_OWN void logrec_counter_f64(const char *name, double value) { lr_counter(name, 2, &value); }

LR_OWN void logrec_thread_name(const char *name) { lr_thread_name(name); }

LR_OWN int logrec_switch(int on) {
  lr_read_settings();
  const int was = !lr_relaxed(&lr_settings.off);
  if (was == !!on) return was;
  if (!on) lr_switch(0, "logrec_switch");
  lr_store(&lr_settings.off, !on);
  if (on) lr_store(&lr_global.switched, lr_global.switched + LR_SWITCHED);
  lr_choose_mode();
  if (on) lr_switch(1, "logrec_switch");
  return was;
}

LR_OWN int logrec_snapshot(const char *path) { return lr_snapshot_to(path); }
LR_OWN const char *logrec_path(void) { return lr_global.state == LR_RUNNING ? lr_global.path : ""; }
