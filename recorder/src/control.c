/* control.c: the environment, the interface of logrec.h, and the lists of what
 * is recorded. */

#include "core.h"
#include "demangle.h"
#include "logrec.h"

#include <string.h>

/* ---- settings ---- */

LR_OWN static int is(const char *s, size_t n, const char *word) { return strlen(word) == n && memcmp(s, word, n) == 0; }

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
  if (!*s || is(s, strlen(s), "ns")) unit = 1;
  else if (is(s, strlen(s), "us")) unit = 1000;
  else if (is(s, strlen(s), "ms")) unit = 1000000;
  else if (is(s, strlen(s), "s")) unit = second;
  else return 0;
  if (whole > ((uint64_t)1 << 62) / unit) return 0;
  *ns = whole * unit + part * unit / second;
  return 1;
}

/* what_to_do reads LOGREC: words with commas between. */
LR_OWN static int what_to_do(const char *s) {
  int understood = 1;
  while (*s) {
    size_t n = 0;
    while (s[n] && s[n] != ',') n++;
    if (is(s, n, "off")) {
      lr_settings.off = 1;
    } else if (n >= 4 && memcmp(s, "ring", 4) == 0 && (n == 4 || s[4] == ':')) {
      const char *end = s + 4;
      uint64_t mb = 0;
      if (n > 4) end++, mb = number(&end);
      lr_settings.ring = 1;
      if (end != s + n || n == 5 || mb > (uint64_t)1 << 20) understood = 0, mb = 0;
      lr_settings.ring_bytes = (mb ? mb : 1) << 20;
    } else if (n && !is(s, n, "on")) {
      understood = 0;
    }
    s += n;
    if (*s) s++;
  }
  return understood;
}

LR_OWN void lr_read_settings(void) {
  static int done;
  if (done) return;
  done = 1;
  static char value[4096];
  const char *s = plat_environment("LOGREC", value, sizeof value);
  if (s && !what_to_do(s)) plat_message("logrec: LOGREC is off, on or ring[:MB]");
  s = plat_environment("LOGREC_FILE", value, sizeof value);
  if (s) memcpy(lr_settings.file, s, strlen(s) + 1);
  s = plat_environment("LOGREC_INCLUDE", value, sizeof value);
  if (s) memcpy(lr_settings.include, s, strlen(s) + 1);
  s = plat_environment("LOGREC_EXCLUDE", value, sizeof value);
  if (s) memcpy(lr_settings.exclude, s, strlen(s) + 1);
  s = plat_environment("LOGREC_MIN", value, sizeof value);
  if (s && *s && !duration(s, &lr_settings.minimum))
    plat_message("logrec: LOGREC_MIN is a time, such as 500ns, 10us, 1.5ms or 1s: no call is dropped");
  s = plat_environment("LOGREC_SITES", value, sizeof value);
  lr_settings.sites = s && is(s, strlen(s), "1");
  if (s && *s && !lr_settings.sites && !is(s, strlen(s), "0")) plat_message("logrec: LOGREC_SITES is 0 or 1: call sites are left out");
  s = plat_environment("LOGREC_SNAPSHOT_SIGNAL", value, sizeof value);
  if (s && *s) {
    const char *end = s;
    const uint64_t n = number(&end);
    if (*end || n > 64) plat_message("logrec: LOGREC_SNAPSHOT_SIGNAL is a signal's number: there is none");
    else lr_settings.snapshot_signal = (int)n;
  }
  lr_choose_mode();
}

/* ---- the lists ----
 *
 * A list is patterns with commas between: [MODULE!]FUNCTION, in which * and ?
 * stand for any characters. A function is recorded if the include list is
 * empty or a pattern of it fits, and none of the exclude list does. It is
 * decided once, when a function is first seen. */

LR_OWN int lr_lists(void) { return lr_settings.include[0] || lr_settings.exclude[0]; }

/* fits matches s with the n characters of a pattern; star and resume are where
 * to go on when a * has to take one character more. */
LR_OWN static int fits(const char *pattern, size_t n, const char *s) {
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
    size_t n = 0;
    while (list[n] && list[n] != ',') n++;
    const char *pattern = list;
    size_t length = n;
    int of_module = 1;
    for (size_t i = 0; i < n; i++)
      if (list[i] == '!') {
        of_module = fits(list, i, module);
        pattern = list + i + 1;
        length = n - i - 1;
        break;
      }
    if (of_module && n &&
        ((!length && pattern != list) || fits(pattern, length, symbol) || (plain[0] && fits(pattern, length, plain))))
      return 1;
    list += n;
    if (*list) list++;
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

LR_OWN static uint32_t place(uintptr_t function) { return (uint32_t)((uint64_t)function * 0x9e3779b97f4a7c15u >> 44); }

LR_OWN static int known(const uint64_t *table, uintptr_t function) {
  for (uint32_t i = place(function), n = 0; n < 64; i = (i + 1) % DECISIONS, n++) {
    const uint64_t e = lr_load(&table[i]);
    if (!e) return -1;
    if (e >> 1 == function) return (int)(e & 1);
  }
  return -1;
}

LR_OWN static void keep(uint64_t *table, uintptr_t function, int wanted) {
  for (uint32_t i = place(function), n = 0; n < 64; i = (i + 1) % DECISIONS, n++) {
    if (table[i] && table[i] >> 1 != function) continue;
    lr_store(&table[i], (uint64_t)function << 1 | (unsigned)wanted);
    return;
  }
}

struct search {
  uintptr_t address;   /* looked for */
  uintptr_t best;      /* the symbol at or below it */
  char symbol[4096];
  int exact;           /* address is a function's first byte */
};

LR_OWN static void consider(void *p, uintptr_t address, const char *symbol) {
  struct search *s = p;
  if (address > s->address || (s->exact && address != s->address) || (s->best && address < s->best)) return;
  s->best = address;
  size_t n = strlen(symbol);
  if (n >= sizeof s->symbol) n = sizeof s->symbol - 1;
  memcpy(s->symbol, symbol, n);
  s->symbol[n] = 0;
}

/* decide_first looks the function up. Where the modules' lock is not to be had,
 * or nothing is known of the function, it is recorded, and a later call of it
 * comes here again. */
LR_COLD static int decide_first(uintptr_t function, unsigned kind) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  int wanted = 1;
  struct plat_module m;
  static struct search search;
  if (plat_modules_lock()) {
    if (!decisions) lr_store(&decisions, plat_pages(DECISIONS * sizeof *decisions, 0));
    /* Another thread may have looked it up while this one waited. */
    const int decided = decisions ? known(decisions, function) : -1;
    if (decided >= 0) {
      wanted = decided;
    } else if (plat_module_of(function, &m)) {
      search.address = function;
      search.best = 0;
      search.exact = kind == 0;
      search.symbol[0] = 0;
      plat_module_symbols(&m, consider, &search);
      const char *module = m.path;
      for (const char *s = m.path; *s; s++)
        if (*s == '/' || *s == '\\') module = s + 1;
      wanted = decide(module, search.symbol);
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

LR_OWN void lr_wanted_forget(void) {
  if (!decisions) return;
  for (uint32_t i = 0; i < DECISIONS; i++)
    if (decisions[i]) lr_store(&decisions[i], 0);
}

/* ---- the interface ---- */

LR_OWN void logrec_enter(const void *function) {
  lr_enter((uintptr_t)function, 0, lr_frame(), lr_return_address(), 0);
}
LR_OWN void logrec_leave(const void *function) { lr_leave((uintptr_t)function, 0, lr_frame(), 0, 0, 0); }

LR_OWN void logrec_enter_return(const void *address, const void *frame) {
  lr_enter((uintptr_t)address, 1, (uintptr_t)frame, 0, 0);
}
LR_OWN void logrec_leave_return(const void *address, const void *frame) {
  lr_leave((uintptr_t)address, 1, (uintptr_t)frame, 1, 0, 0);
}

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
