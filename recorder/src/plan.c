/* plan.c: which values are taken of which function (LOGREC_VALUES). It looks up the function that contains the address
 * of a hook, in the plan that plan_read.c has read.
 *
 * The plan is read once, under the lock, when the recording begins. A function is looked up in it once, under the
 * modules' lock, as in lists.c; the answer is kept in a table that is read without a lock. A signal handler may call
 * all of it. */

#include "plan.h"
#include "values.h"

#if !LR_HAVE_PLANS

LR_OWN void lr_plan_read(void) {
  if (lr_settings.values == LR_VALUES_PLAN || lr_settings.values == LR_VALUES_RAW) {
    lr_tell("logrec: LOGREC_VALUES takes arguments on Linux x86-64, x86 and arm64, and on Windows x64 and x86 where gcc or clang of MinGW built the recorder, or clang-cl for x64 with LOGREC_ASSEMBLED, only: none are taken");
    lr_settings.values = LR_VALUES_UNSET;
  }
}
LR_OWN void lr_plan_write(void) {}
LR_OWN void lr_plan_forget(uintptr_t base, size_t size) {
  (void)base;
  (void)size;
}
LR_OWN void lr_plan_choose(int alone) { (void)alone; }

#else

#define MOST_PLAN ((size_t)64 << 20)

struct lr_plan lr_plan;

uintptr_t lr_quick_idle = LR_GENERAL;
uint32_t lr_taking = 1;

/* ---- LOGREC_VALUES=raw: the same program for every function ---- */

#if LR_HAVE_ALL_PLANS
#define REGISTER(name) {LR_TAKE_PART, 0, 0, 0, 1, 8, ~(int32_t)(offsetof(struct lr_registers, name) / 8), 0, 0}
#define VECTOR(i) {LR_TAKE_PART, 0, 0, 0, 1, 8, ~(int32_t)(i), 0, 0}
/* The head of such a record: the numbers of integer registers, vector registers and stack words that follow, and 0. */
#define COUNTS(integer, vector) {LR_TAKE_CONSTANT, 0, 0, 0, 1, 4, 0, 0, (integer) | (vector) << 8}
#if defined(_WIN32)
static const struct lr_take raw_enter[] = {COUNTS(4, 4), REGISTER(rcx), REGISTER(rdx), REGISTER(r8), REGISTER(r9), VECTOR(0), VECTOR(1), VECTOR(2), VECTOR(3)},
                            raw_leave[] = {COUNTS(1, 1), REGISTER(rax), VECTOR(0)};
#else
static const struct lr_take raw_enter[] = {COUNTS(6, 8), REGISTER(rdi), REGISTER(rsi), REGISTER(rdx), REGISTER(rcx), REGISTER(r8), REGISTER(r9), VECTOR(0),
                                           VECTOR(1),    VECTOR(2),     VECTOR(3),     VECTOR(4),     VECTOR(5),     VECTOR(6),    VECTOR(7)},
                            raw_leave[] = {COUNTS(2, 2), REGISTER(rax), REGISTER(rdx), VECTOR(0), VECTOR(1)};
#endif
enum { RAW_ENTER = sizeof raw_enter / sizeof *raw_enter, RAW_LEAVE = sizeof raw_leave / sizeof *raw_leave };
#define RAW(steps, count) {steps, count, 4 + 4 + 8 * (count - 1), LRF_VALUES_RAW, 1, 0, 0, 0, 0, 0, {0}, {0}}
static const struct lr_valued raw = {0, 0, 0, RAW(raw_enter, RAW_ENTER), RAW(raw_leave, RAW_LEAVE), LR_ONE_CALL, LR_ONE_CALL, {0}, 0};
#endif

/* ---- functions by the addresses of their hooks ---- */

enum { PROBES = 64 };
struct lr_valued_entry *lr_valued_entries;
const char *lr_valued_base;

/* known returns the entry of an address in the table, or NULL if there is none. */
LR_OWN static const struct lr_valued *known(uintptr_t address) {
  const struct lr_valued_entry *const table = lr_load(&lr_valued_entries);
  for (uint32_t i = lr_valued_index(address), n = 0; table && n < PROBES; i = (i + 1) % LR_VALUED_ENTRIES, n++) {
    const uintptr_t a = lr_load(&table[i].address);
    if ((a & ~LR_NOT_QUICKEST) == address) return table[i].function;
    if (!a) break;
  }
  return NULL;
}

/* keep adds the answer for an address to the table. function: NULL if nothing is taken. The caller holds the modules'
 * lock. */
LR_OWN static void keep(uintptr_t address, const struct lr_valued *function) {
  struct lr_valued_entry *const table = lr_valued_entries;
  if (!function) function = lr_plan.none;
  for (uint32_t i = lr_valued_index(address), n = 0; table && n < PROBES; i = (i + 1) % LR_VALUED_ENTRIES, n++) {
    if (table[i].address && (table[i].address & ~LR_NOT_QUICKEST) != address) continue;
    table[i].function = function;
    lr_store(&table[i].address, address | (function->enter.quick == LR_QUICKEST ? 0 : LR_NOT_QUICKEST));
    return;
  }
}

/* say_other_build reports in the log that a loaded module is not the build of which the plan was made. */
LR_OWN static void say_other_build(struct lr_planned *p, const struct plat_module *m) {
  if (p->told) return;
  p->told = 1;
  lr_tell("logrec: LOGREC_VALUES: the plan is of another build of a module: no values are taken of it; the log says of which");
  char text[1024];
  struct lr_text t = {text, 0, sizeof text};
  for (int i = 0; i < 2; i++) {
    const uint8_t *const id = i ? m->id : p->id;
    const uint32_t n = i ? m->id_size : p->id_size;
    lr_text_add(&t, i ? " loaded " : "plan ");
    if (!n) lr_text_add(&t, "none");
    for (uint32_t k = 0; k < n && k < LR_BUILD_ID; k++) {
      const char digits[3] = {"0123456789abcdef"[id[k] >> 4], "0123456789abcdef"[id[k] & 15], 0};
      lr_text_add(&t, digits);
    }
  }
  lr_text_add(&t, " ");
  lr_text_add(&t, m->path);
  if (!lr_record_begin()) return;
  lr_put_string(&lr_record, "values-mismatch");
  lr_put_string(&lr_record, text);
  lr_record_end(LRF_SETTING, lr_ticks());
}

/* at returns the element of a sorted list of functions or hooks that contains an RVA, or NULL. */
LR_OWN static const struct lr_valued *at(const struct lr_valued *f, uint32_t count, uint64_t rva) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (f[middle].rva <= rva) low = middle + 1;
    else high = middle;
  }
  return low && rva - f[low - 1].rva < f[low - 1].size ? &f[low - 1] : NULL;
}

/* find looks up in the plan what is taken at an address in module m. NULL: nothing. function is 0, or, if a call of a
 * hook of -finstrument-functions returns to the address, the function that was passed to the hook. */
LR_OWN static const struct lr_valued *find(uintptr_t address, uintptr_t function, const struct plat_module *m) {
  const char *name = m->path;
  for (const char *c = m->path; *c; c++)
    if (*c == '/' || (*c == '\\' && sizeof(wchar_t) == 2)) name = c + 1;
  struct lr_planned *other = NULL;
  for (uint32_t i = 0; i < lr_plan.module_count; i++) {
    struct lr_planned *const p = &lr_plan.modules[i];
    if (!p->id_size || p->id_size != m->id_size || memcmp(p->id, m->id, p->id_size) != 0) {
      if (strlen(name) == p->name_length && memcmp(name, p->name, p->name_length) == 0) other = p;
      continue;
    }
    const uint64_t rva = address - m->base;
    if (!function) return at(lr_plan.functions + p->first, p->count, rva);
    /* A hook of the plan belongs to the function whose code contains it. If the hook is called with another function,
     * that one was inlined there, and the places of its values are not known. */
    const struct lr_valued *const hook = at(lr_plan.hooks + p->first_hook, p->hook_count, rva);
    return hook && hook->function == function - m->base ? hook : NULL;
  }
  if (other) say_other_build(other, m);
  return NULL;
}

LR_COLD static const struct lr_valued *look_up(uintptr_t address, uintptr_t function) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  const struct lr_valued *f = NULL;
  struct plat_module m;
  if (plat_modules_lock()) {
#if LR_HAVE_ALL_PLANS
    if (lr_settings.values == LR_VALUES_RAW) {
      f = &raw;
      keep(address, f);
    } else
#endif
    if (plat_module_of(address, !plat_in_handler(&saved), &m)) {
      f = find(address, function, &m);
      keep(address, f);
    }
    plat_modules_unlock();
  }
  plat_slow_end(&saved);
  return f;
}

LR_OWN const struct lr_valued *lr_valued_of(uintptr_t address) {
  if (lr_settings.values != LR_VALUES_RAW && lr_settings.values != LR_VALUES_PLAN) return NULL;
  const struct lr_valued *const f = known(address);
  return f ? f : look_up(address, 0);
}

LR_OWN const struct lr_valued *lr_valued_hook(uintptr_t address, uintptr_t function) {
  /* LOGREC_VALUES=raw takes nothing here: only a plan tells which registers have arguments in the middle of a function. */
  if (lr_settings.values != LR_VALUES_PLAN) return NULL;
  const struct lr_valued *const f = known(address);
  return f ? f : look_up(address, function);
}

/* ---- for other files ---- */

LR_OWN void lr_plan_read(void) {
  static int done;
  if (!LR_HAVE_ALL_PLANS && lr_settings.values == LR_VALUES_RAW) {
    lr_plan_refuse(0, "registers as they are are taken on x86-64 only");
    lr_settings.values = LR_VALUES_UNSET;
  }
  if (done || lr_settings.values != LR_VALUES_PLAN) return;
  done = 1;
  lr_plan.text = plat_read_whole(lr_settings.plan, MOST_PLAN, &lr_plan.size);
  if (!lr_plan.text) lr_plan_refuse(0, "the plan is no file that can be read, or is longer than 64 MiB");
  if (lr_plan.text && lr_plan_understand()) {
    lr_plan.hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < lr_plan.size; i++) lr_plan.hash = (lr_plan.hash ^ (uint8_t)lr_plan.text[i]) * 0x100000001b3u;
    return;
  }
  lr_settings.values = LR_VALUES_UNSET;
}

LR_OWN void lr_plan_write(void) {
  enum { PIECE = 1 << 15 };
  if (lr_settings.values == LR_VALUES_RAW) lr_write_setting("values", "raw");
  if (lr_settings.values != LR_VALUES_PLAN) return;
  static char value[sizeof lr_settings.plan + 32];
  struct lr_text t = {value, 0, sizeof value};
  lr_text_add(&t, "plan ");
  for (int i = 60; i >= 0; i -= 4) {
    const char digit[2] = {"0123456789abcdef"[lr_plan.hash >> i & 15], 0};
    lr_text_add(&t, digit);
  }
  lr_text_add(&t, " ");
  lr_text_add(&t, lr_settings.plan);
  lr_write_setting("values", value);
  for (size_t at = 0; at < lr_plan.size && lr_global.state == LR_RUNNING; at += PIECE) {
    lr_record.length = 0;
    lr_put64(&lr_record, lr_plan.hash);
    lr_put32(&lr_record, (uint32_t)lr_plan.size);
    lr_put32(&lr_record, (uint32_t)at);
    lr_put(&lr_record, lr_plan.text + at, lr_plan.size - at < PIECE ? lr_plan.size - at : PIECE);
    lr_write_record(LRF_PLAN, lr_ticks());
  }
  for (uint32_t i = 0; i < lr_plan.module_count; i++) lr_plan.modules[i].told = 0;
}

LR_OWN void lr_plan_forget(uintptr_t base, size_t size) {
  struct lr_valued_entry *const table = lr_valued_entries;
  for (uint32_t i = 0; table && i < LR_VALUED_ENTRIES; i++)
    if (table[i].address && (table[i].address & ~LR_NOT_QUICKEST) - base < size) lr_store(&table[i].address, 0);
}

LR_OWN void lr_plan_choose(int alone) {
  const int on = lr_settings.values == LR_VALUES_RAW || lr_settings.values == LR_VALUES_PLAN;
  lr_store(&lr_taking, (uint32_t)on);
  if (on && !lr_valued_entries) lr_store(&lr_valued_entries, plat_pages(LR_VALUED_ENTRIES * sizeof *lr_valued_entries, 0));
  lr_store(&lr_quick_idle, LR_HAVE_ALL_PLANS && on && alone && lr_valued_entries ? LR_IDLE + lr_load(&lr_global.switched) : LR_GENERAL);
}

#endif
