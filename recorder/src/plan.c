/* plan.c: what of which function is taken (LOGREC_VALUES): reads the plan, docs/formats.md, and finds
 * the function of a hook in it.
 *
 * The plan is read once, at the recording's begin, with the lock, and does not change then. Nothing in it
 * is trusted: what cannot be understood is said, and nothing is taken by it. Functions are looked up
 * as in lists.c: once, under the modules' lock; then without a lock. A signal handler may call it all. */

#include "plan.h"
#include "values.h"

#if !LR_HAVE_PLANS

LR_OWN void lr_plan_read(void) {
  if (lr_settings.values == LR_VALUES_PLAN || lr_settings.values == LR_VALUES_RAW) {
    lr_tell("logrec: LOGREC_VALUES takes arguments on Linux x86-64, x86 and arm64, and of MinGW on Windows x64, only: none are taken");
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

enum {
  MOST_FUNCTIONS = 1000000,
  MOST_MODULES = 4096,
  MOST_OF_FUNCTION = 255, /* values, entering and leaving each */
  MOST_MEMORY = 256,
  MOST_TEXT = 1024,
  MOST_OFFSET = 1 << 30,
  BUILD_ID = 64,
};
#define MOST_PLAN ((size_t)64 << 20)

struct planned {
  const char *name; /* base name, in the plan's text */
  uint32_t name_length;
  uint32_t id_size;
  uint8_t id[BUILD_ID];
  uint32_t first, count; /* functions */
  uint32_t first_hook, hook_count;
  uint32_t told;         /* 1: the log says that another build was loaded */
};

static struct {
  char *text;
  size_t size;
  uint64_t hash;
  struct planned *modules;
  uint32_t module_count;
  struct lr_valued *functions;
  uint32_t function_count;
  struct lr_valued *hooks;
  struct lr_take *steps;
} plan;

uintptr_t lr_quick_idle = LR_GENERAL;
uint32_t lr_taking = 1;

/* ---- the text ---- */

/* What is being read. The first round counts, the second fills in. */
struct reading {
  const char *at, *end; /* of the line */
  const char *wrong;    /* why it cannot be read */
  int fill;
  uint32_t modules, functions, hooks, steps;
  int begun, machine, abi, identified, in_function, in_hook;
  uint64_t function; /* its RVA */
  uint32_t values[2]; /* of the function, entering and leaving */
  uint32_t bytes[2];  /* that they take at most */
  uint8_t full[2];    /* 1: the others have no room */
  uint32_t leaving;   /* steps of the function's leave, kept in leave_steps */
  uint32_t keeps;     /* pointers that are kept for its leave */
  int32_t keep[LR_MOST_KEPT];
};
/* Lines of enter and leave may alternate. */
static struct lr_take leave_steps[MOST_OF_FUNCTION * MOST_PARTS];

LR_OWN static void wrong(struct reading *r, const char *why) {
  if (!r->wrong) r->wrong = why;
}
static const char not_a_word[] = "not a word that is known here",
                  not_here[] = "this line cannot stand here", too_many[] = "more than a plan can have",
                  too_small[] = "the place has fewer bytes than the value";

LR_OWN static struct token next_word(struct reading *r) {
  struct token w = {r->at, 0};
  while (r->at < r->end && *r->at != ' ') r->at++;
  w.n = (size_t)(r->at - w.s);
  if (r->at < r->end) r->at++;
  return w;
}

LR_OWN static uint64_t number_of(struct reading *r, struct token w, unsigned base, uint64_t least, uint64_t most) {
  return lr_plan_number(w, base, least, most, &r->wrong);
}
LR_OWN static uint64_t next_number(struct reading *r, unsigned base, uint64_t least, uint64_t most) {
  return number_of(r, next_word(r), base, least, most);
}

/* keep_pointer has a pointer kept from the enter to the leave; which one. */
LR_OWN static int32_t keep_pointer(struct reading *r, int32_t source) {
  uint32_t i = 0;
  while (i < r->keeps && r->keep[i] != source) i++;
  if (i == LR_MOST_KEPT) {
    wrong(r, too_many);
    return 0;
  }
  r->keep[i] = source;
  if (i == r->keeps) r->keeps++;
  return (int32_t)i;
}

LR_OWN static void add_step(struct reading *r, int leave, const struct lr_take *step) {
  if (leave) leave_steps[r->leaving++] = *step;
  else if (r->fill) plan.steps[r->steps] = *step;
  if (!leave) r->steps++;
}

/* library_of returns whose a text is; 0: nobody's. Of views there are fewer kinds. */
LR_OWN static unsigned library_of(struct token name, int string) {
  if (is(name, "libstdc++")) return LR_LIBSTDCXX;
  if (is(name, "libc++")) return LR_LIBCXX;
  if (is(name, "msvc")) return LR_MSVC;
  if (string && is(name, "libc++-alternate")) return LR_LIBCXX_ALTERNATE;
  return string && is(name, "libstdc++-cow") ? LR_LIBSTDCXX_COW : 0;
}

/* value reads what is taken: PLACE OP TYPE NAME. */
LR_OWN static void value(struct reading *r, int leave) {
  if (!r->in_function) return wrong(r, not_here);
  if (++r->values[leave] > MOST_OF_FUNCTION) return wrong(r, too_many);
  struct token at = next_word(r);
  const struct token op = next_word(r);
  /* @PLACE: what the pointer that is there at the enter leads to when the function returns */
  const int kept = leave && at.n && at.s[0] == '@';
  if (kept) at.s++, at.n--;
  struct lr_take s;
  memset(&s, 0, sizeof s);
  uint32_t size = 0, most = 0;
  int pointer = 1;
  if (is(op, "unknown")) {
    next_number(r, 10, 1, UINT32_MAX);
    return;
  }
  if (is(op, "value")) {
    pointer = 0;
    most = size = (uint32_t)next_number(r, 10, 1, MOST_DIRECT);
  } else if (is(op, "text")) {
    s.op = LR_TAKE_TEXT;
    size = (uint32_t)next_number(r, 10, 1, MOST_TEXT);
    most = 2 + size;
  } else if (is(op, "memory")) {
    s.op = LR_TAKE_MEMORY;
    s.offset = (uint32_t)next_number(r, 10, 0, MOST_OFFSET);
    size = (uint32_t)next_number(r, 10, 1, MOST_MEMORY);
    most = 1 + size;
  } else if (is(op, "text-at")) {
    s.op = LR_TAKE_TEXT_AT;
    s.at = 1;
    s.offset = (uint32_t)next_number(r, 10, 0, MOST_OFFSET);
    size = (uint32_t)next_number(r, 10, 1, MOST_TEXT);
    most = 2 + size;
  } else if (is(op, "string") || is(op, "view") || is(op, "string-at") || is(op, "view-at")) {
    s.at = op.n > 6;
    s.op = op.s[0] == 's' ? LR_TAKE_STRING : LR_TAKE_VIEW_AT;
    if (s.at) s.offset = (uint32_t)next_number(r, 10, 0, MOST_OFFSET);
    const struct token library = next_word(r);
    s.library = library_of(library, s.op == LR_TAKE_STRING) & 7;
    if (!s.library) wrong(r, not_a_word);
    size = (uint32_t)next_number(r, 10, 1, MOST_TEXT);
    most = 2 + size;
  } else {
    return wrong(r, not_a_word);
  }
  next_number(r, 10, 1, UINT32_MAX); /* its type */
  struct part parts[MOST_PARTS];
  const unsigned n = lr_plan_place(at, leave && !kept, r->in_hook, parts, &r->wrong);
  if (r->wrong) return;
  int no_pointer = 0;
  for (unsigned i = 0; i < n; i++) no_pointer |= parts[i].is_st0 || parts[i].is_constant;
  if ((pointer && no_pointer) || (kept && (!pointer || n > 1 || r->in_hook))) return wrong(r, lr_not_a_place);
  /* The first that has no room, and all behind it, are left out. One of a single byte is never the
   * first: the byte that a record may be padded with would look like it. */
  if (r->full[leave] || (most > 1 && r->bytes[leave] + most > LR_MOST_VALUES)) {
    r->full[leave] = 1;
    return;
  }
  r->bytes[leave] += most;
  s.size = (uint16_t)size;
  s.begins = 1;
  if (pointer) {
    s.source = kept ? keep_pointer(r, parts[0].source) : parts[0].source;
    s.kept = kept & 1;
    if (!kept && s.op == LR_TAKE_VIEW_AT && !s.at && (n > 1 || parts[0].size > sizeof(uintptr_t))) {
      s.op = LR_TAKE_VIEW;
      s.second = n > 1 ? parts[1].source : parts[0].source + (int32_t)sizeof(uintptr_t);
    }
    add_step(r, leave, &s);
    return;
  }
  for (unsigned i = 0; i < n && size; i++) {
    const uint32_t part = parts[i].size < size ? parts[i].size : size;
    size -= part;
    s.op = parts[i].is_st0 ? LR_TAKE_ST0 : LR_TAKE_PART;
    if (parts[i].is_st0) {
      s.size = (uint16_t)part;
      add_step(r, leave, &s);
      s.begins = 0;
      continue;
    }
    for (uint32_t done = 0; parts[i].is_constant && done < part; done += 4) {
      s.op = LR_TAKE_CONSTANT;
      s.offset = (uint32_t)(parts[i].constant >> 8 * done);
      s.size = (uint16_t)(part - done < 4 ? part - done : 4);
      add_step(r, leave, &s);
      s.begins = 0;
    }
    for (uint32_t done = 0; !parts[i].is_constant && done < part; done += 8) {
      /* The next one of a register's words has the next index, below 0 its complement. */
      s.source = parts[i].source + (parts[i].source < 0 ? -(int32_t)(done / 8) : (int32_t)done);
      s.size = (uint16_t)(part - done < 8 ? part - done : 8);
      add_step(r, leave, &s);
      s.begins = 0;
    }
  }
  if (size) wrong(r, too_small);
}

#if LR_HAVE_ALL_PLANS
LR_OWN static uint8_t takes_vectors(const struct lr_program *program) {
  for (unsigned i = 0; i < program->count; i++)
    if ((program->steps[i].source < 0 && ~program->steps[i].source < 8) || (program->steps[i].second < 0 && ~program->steps[i].second < 8)) return 1;
  return 0;
}

/* find_quick finds out whether a program takes integer registers only, so that its record is always as long. */
LR_OWN static void find_quick(struct lr_program *program, unsigned type) {
  enum { FIRST_INTEGER = 8 };
  unsigned n = 4;
  for (unsigned i = 0; i < program->count; i++) {
    const struct lr_take *const s = &program->steps[i];
    if (s->op != LR_TAKE_PART || s->source >= 0 || ~s->source < FIRST_INTEGER) return;
    if (i < 2) program->slot[i] = (uint8_t)~s->source;
    if (!i) program->size = (uint8_t)s->size;
    n += s->size;
  }
  program->zero = (uint16_t)n; /* if it is not padding, it is behind the record */
  n += n & 1;
  if (n / 2 > 255) return;
  program->quick = program->count <= 2 ? LR_QUICKEST : 1;
  program->fixed = (uint16_t)(program->count ? n : 0);
  program->head = LRF_FIRST_WORD(type, n / 2) | (uint32_t)program->kind << 16;
}

#else
/* The hooks of x86 and arm64 keep all registers, and take everything the longer way. */
LR_OWN static uint8_t takes_vectors(const struct lr_program *program) { return (void)program, 0; }
LR_OWN static void find_quick(struct lr_program *program, unsigned type) { (void)program, (void)type; }
#endif

/* end_of_function completes the programs of the function whose lines were read. */
LR_OWN static void end_of_function(struct reading *r) {
  if (!r->in_function) return;
  r->in_function = 0;
  if (r->fill) {
    struct lr_valued *const f = r->in_hook ? &plan.hooks[r->hooks - 1] : &plan.functions[r->functions - 1];
    f->enter.count = (uint16_t)(plan.steps + r->steps - f->enter.steps);
    f->leave.count = (uint16_t)r->leaving;
    f->leave.steps = plan.steps + r->steps;
    memcpy(plan.steps + r->steps, leave_steps, r->leaving * sizeof *leave_steps);
    f->enter.kind = f->leave.kind = LRF_VALUES_PLAN;
    f->keeps = r->keeps;
    memcpy(f->keep, r->keep, sizeof f->keep);
    if (!r->keeps) find_quick(&f->enter, LRF_ARGUMENTS);
    find_quick(&f->leave, LRF_RESULT);
    f->enter.vectors = takes_vectors(&f->enter);
    f->leave.vectors = takes_vectors(&f->leave);
    f->enter.most = (uint16_t)(8 + r->bytes[0] + 1);
    f->leave.most = (uint16_t)(8 + r->bytes[1] + 1);
  }
  r->steps += r->leaving;
  r->leaving = r->keeps = 0;
  r->in_hook = 0;
}

LR_OWN static void read_function(struct reading *r) {
  if (!r->modules) return wrong(r, not_here);
  if (r->functions == MOST_FUNCTIONS) return wrong(r, too_many);
  end_of_function(r);
  const uint64_t rva = next_number(r, 16, 0, (uint64_t)1 << 43), size = next_number(r, 16, 0, (uint64_t)1 << 43);
  memset(r->values, 0, sizeof r->values);
  memset(r->bytes, 0, sizeof r->bytes);
  memset(r->full, 0, sizeof r->full);
  if (r->fill) {
    struct lr_valued *const f = &plan.functions[r->functions];
    f->rva = rva;
    f->size = size;
    f->enter.steps = plan.steps + r->steps;
    plan.modules[r->modules - 1].count++;
  }
  r->functions++;
  r->function = rva;
  r->in_function = 1;
}

/* read_hook begins what a hook of the function takes. */
LR_OWN static void read_hook(struct reading *r) {
  if (!LR_HAVE_ALL_PLANS || !r->in_function) return wrong(r, not_here);
  if (r->hooks == MOST_FUNCTIONS) return wrong(r, too_many);
  end_of_function(r);
  const uint64_t rva = next_number(r, 16, 0, (uint64_t)1 << 43);
  memset(r->values, 0, sizeof r->values);
  memset(r->bytes, 0, sizeof r->bytes);
  memset(r->full, 0, sizeof r->full);
  if (r->fill) {
    struct lr_valued *const f = &plan.hooks[r->hooks];
    f->rva = rva;
    f->size = 1;
    f->function = r->function;
    f->enter.steps = plan.steps + r->steps;
    plan.modules[r->modules - 1].hook_count++;
  }
  r->hooks++;
  r->in_function = r->in_hook = 1;
}

LR_OWN static void read_module(struct reading *r) {
  if (r->modules == MOST_MODULES) return wrong(r, too_many);
  end_of_function(r);
  r->identified = 0;
  if (r->fill) {
    struct planned *const m = &plan.modules[r->modules];
    m->name = r->at;
    m->name_length = (uint32_t)(r->end - r->at);
    m->first = r->functions;
    m->first_hook = r->hooks;
  }
  r->modules++;
}

#if defined(_WIN32)
/* read_pdb reads GUID and age as plat_module.id has them. */
LR_OWN static void read_pdb(struct reading *r) {
  enum { GUID = 16 };
  struct token id = {r->at, (size_t)(r->end - r->at)};
  if (id.n <= 2 * GUID || id.n > 2 * GUID + 8) return wrong(r, lr_not_a_number);
  struct planned none, *const m = r->fill ? &plan.modules[r->modules - 1] : &none;
  m->id_size = GUID + 4;
  for (size_t i = 0; i < GUID; i++, id.s += 2, id.n -= 2) {
    if (hex_digit(id.s[0]) < 0 || hex_digit(id.s[1]) < 0) return wrong(r, lr_not_a_number);
    m->id[i] = (uint8_t)(hex_digit(id.s[0]) << 4 | hex_digit(id.s[1]));
  }
  uint32_t age = 0;
  for (; id.n; id.s++, id.n--) {
    if (hex_digit(*id.s) < 0) return wrong(r, lr_not_a_number);
    age = age << 4 | (uint32_t)hex_digit(*id.s);
  }
  for (int i = 0; i < 4; i++) m->id[GUID + i] = (uint8_t)(age >> (24 - 8 * i));
}
#endif

LR_OWN static void read_identity(struct reading *r) {
  if (!r->modules || r->identified++) return wrong(r, not_here);
  const struct token kind = next_word(r);
#if defined(_WIN32)
  if (is(kind, "pdb")) return read_pdb(r);
  if (!is(kind, "pe")) return;
#else
  if (!is(kind, "build-id")) return;
#endif
  const struct token id = {r->at, (size_t)(r->end - r->at)};
  if (!id.n || id.n % 2 || id.n > 2 * BUILD_ID) return wrong(r, lr_not_a_number);
  for (size_t i = 0; i < id.n; i++)
    if (hex_digit(id.s[i]) < 0) return wrong(r, lr_not_a_number);
  if (!r->fill) return;
  struct planned *const m = &plan.modules[r->modules - 1];
  m->id_size = (uint32_t)(id.n / 2);
  for (size_t i = 0; i < m->id_size; i++) m->id[i] = (uint8_t)(hex_digit(id.s[2 * i]) << 4 | hex_digit(id.s[2 * i + 1]));
}

LR_OWN static void read_line(struct reading *r) {
  if (!r->begun) {
    const struct token all = {r->at, (size_t)(r->end - r->at)};
    if (!is(all, "lpvalues 1")) wrong(r, "the first line is not \"lpvalues 1\"");
    r->begun = 1;
    return;
  }
  if (r->at == r->end || *r->at == '#') return;
  const struct token word = next_word(r), rest = {r->at, (size_t)(r->end - r->at)};
  if (is(word, "enter")) return value(r, 0);
  if (is(word, "leave")) return value(r, 1);
  if (is(word, "function")) return read_function(r);
  if (is(word, "hook")) return read_hook(r);
  /* What values mean is for readers. */
  if (is(word, "type") || is(word, "member") || is(word, "enumerator")) return;
  if (is(word, "module")) return read_module(r);
  if (is(word, "identity")) return read_identity(r);
  if (is(word, "machine") && is(rest, LR_MACHINE)) r->machine = 1;
  else if (is(word, "abi") && is(rest, LR_CONVENTION)) r->abi = 1;
  else wrong(r, is(word, "machine") || is(word, "abi") ? "the plan is for another machine or calling convention" : not_a_word);
}

/* read_lines goes through the text; the number of the line that cannot be read, or 0. */
LR_OWN static uint32_t read_lines(struct reading *r) {
  const char *const end = plan.text + plan.size;
  uint32_t n = 0;
  for (const char *line = plan.text; line < end;) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = end;
    r->at = line;
    r->end = stop > line && stop[-1] == '\r' ? stop - 1 : stop;
    n++;
    read_line(r);
    if (r->wrong) return n;
    line = stop + 1;
  }
  end_of_function(r);
  if (!r->begun || !r->machine || !r->abi) {
    r->wrong = "it does not say the machine and the calling convention";
    return n ? n : 1;
  }
  return 0;
}

/* sort is a heap sort, by RVA. */
LR_OWN static void sort(struct lr_valued *a, size_t n) {
  for (size_t i = n / 2, end = n; end > 1;) {
    struct lr_valued v;
    if (i > 0) {
      v = a[--i];
    } else {
      v = a[--end];
      a[end] = a[0];
    }
    size_t at = i;
    for (size_t child; (child = 2 * at + 1) < end; at = child) {
      if (child + 1 < end && a[child].rva < a[child + 1].rva) child++;
      if (a[child].rva <= v.rva) break;
      a[at] = a[child];
    }
    a[at] = v;
  }
}

/* order puts functions of a module in order, or hooks; 0 where two overlap. */
LR_OWN static int order(struct lr_valued *f, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    if (f[i].rva >= f[i - 1].rva) continue;
    sort(f, count);
    break;
  }
  for (uint32_t i = 1; i < count; i++)
    if (f[i].rva - f[i - 1].rva < f[i - 1].size) return 0;
  return 1;
}

/* refuse says why nothing is taken; line: 0 for none. */
LR_OWN static void refuse(uint32_t line, const char *why) {
  static char text[256];
  struct lr_text t = {text, 0, sizeof text};
  lr_text_add(&t, "logrec: LOGREC_VALUES: ");
  if (line) {
    lr_text_add(&t, "line ");
    lr_text_add_number(&t, line);
    lr_text_add(&t, " of the plan: ");
  }
  lr_text_add(&t, why);
  lr_text_add(&t, ": no values are taken");
  lr_tell(text);
}

/* understand makes programs of the text; 0 where it cannot be read. */
LR_OWN static int understand(void) {
  struct reading r;
  for (int fill = 0; fill < 2; fill++) {
    memset(&r, 0, sizeof r);
    r.fill = fill;
    const uint32_t line = read_lines(&r);
    if (line) {
      refuse(line, r.wrong);
      return 0;
    }
    if (fill) break;
    plan.modules = plat_pages((r.modules + 1) * sizeof *plan.modules, 0);
    plan.functions = plat_pages((r.functions + 1) * sizeof *plan.functions, 0);
    plan.hooks = plat_pages((r.hooks + 1) * sizeof *plan.hooks, 0);
    plan.steps = plat_pages((r.steps + 1) * sizeof *plan.steps, 0);
    if (!plan.modules || !plan.functions || !plan.hooks || !plan.steps) {
      refuse(0, "there is no memory for the plan");
      return 0;
    }
  }
  plan.module_count = r.modules;
  plan.function_count = r.functions;
  for (uint32_t i = 0; i < plan.module_count; i++) {
    const struct planned *const m = &plan.modules[i];
    if (!order(plan.functions + m->first, m->count) || !order(plan.hooks + m->first_hook, m->hook_count)) {
      refuse(0, "functions of the plan overlap");
      return 0;
    }
  }
  return 1;
}

/* ---- raw ---- */

#if LR_HAVE_ALL_PLANS
#define REGISTER(name) {LR_TAKE_PART, 0, 0, 0, 1, 8, ~(int32_t)(offsetof(struct lr_registers, name) / 8), 0, 0}
#define VECTOR(i) {LR_TAKE_PART, 0, 0, 0, 1, 8, ~(int32_t)(i), 0, 0}
/* Integer registers, vector registers, stack words, 0. */
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
#define RAW(steps, count) {steps, count, 4 + 4 + 8 * (count - 1), LRF_VALUES_RAW, 1, 0, 0, {0, 0}, 0, 0, 0}
static const struct lr_valued raw = {0, 0, 0, RAW(raw_enter, RAW_ENTER), RAW(raw_leave, RAW_LEAVE), {0}, 0};
#endif

/* ---- functions by the addresses of their hooks ---- */

enum { PROBES = 64 };
struct lr_valued_entry *lr_valued_entries;
static const struct lr_valued none = {0, 0, 0, {NULL, 0, 0, 0, 0, LR_QUICKEST, 0, {0, 0}, 0, 0, 0}, {NULL, 0, 0, 0, 0, LR_QUICKEST, 0, {0, 0}, 0, 0, 0}, {0}, 0};

/* known finds a function that was asked for before; NULL: nobody has. */
LR_OWN static const struct lr_valued *known(uintptr_t address) {
  const struct lr_valued_entry *const table = lr_load(&lr_valued_entries);
  for (uint32_t i = lr_valued_index(address), n = 0; table && n < PROBES; i = (i + 1) % LR_VALUED_ENTRIES, n++) {
    const uintptr_t a = lr_load(&table[i].address);
    if (a == address) return table[i].function;
    if (!a) break;
  }
  return NULL;
}

/* keep remembers a function, with the modules' lock. */
LR_OWN static void keep(uintptr_t address, const struct lr_valued *function) {
  struct lr_valued_entry *const table = lr_valued_entries;
  for (uint32_t i = lr_valued_index(address), n = 0; table && n < PROBES; i = (i + 1) % LR_VALUED_ENTRIES, n++) {
    if (table[i].address && table[i].address != address) continue;
    table[i].function = function ? function : &none;
    lr_store(&table[i].address, address);
    return;
  }
}

/* say_other_build writes down that a module is not the one that the plan was made for. */
LR_OWN static void say_other_build(struct planned *p, const struct plat_module *m) {
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
    for (uint32_t k = 0; k < n && k < BUILD_ID; k++) {
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

/* at looks up in a list what an RVA lies in. */
LR_OWN static const struct lr_valued *at(const struct lr_valued *f, uint32_t count, uint64_t rva) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (f[middle].rva <= rva) low = middle + 1;
    else high = middle;
  }
  return low && rva - f[low - 1].rva < f[low - 1].size ? &f[low - 1] : NULL;
}

/* find looks a function up in the plan, or what a hook takes; function is then what the hook tells of, else 0. */
LR_OWN static const struct lr_valued *find(uintptr_t address, uintptr_t function, const struct plat_module *m) {
  const char *name = m->path;
  for (const char *c = m->path; *c; c++)
    if (*c == '/' || (*c == '\\' && sizeof(wchar_t) == 2)) name = c + 1;
  struct planned *other = NULL;
  for (uint32_t i = 0; i < plan.module_count; i++) {
    struct planned *const p = &plan.modules[i];
    if (!p->id_size || p->id_size != m->id_size || memcmp(p->id, m->id, p->id_size) != 0) {
      if (strlen(name) == p->name_length && memcmp(name, p->name, p->name_length) == 0) other = p;
      continue;
    }
    const uint64_t rva = address - m->base;
    if (!function) return at(plan.functions + p->first, p->count, rva);
    /* A hook of a function that was inlined there tells of another one. */
    const struct lr_valued *const hook = at(plan.hooks + p->first_hook, p->hook_count, rva);
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
  /* Which registers have arguments where it is called only a plan says. */
  if (lr_settings.values != LR_VALUES_PLAN) return NULL;
  const struct lr_valued *const f = known(address);
  return f ? f : look_up(address, function);
}

/* ---- for other files ---- */

LR_OWN void lr_plan_read(void) {
  static int done;
  if (!LR_HAVE_ALL_PLANS && lr_settings.values == LR_VALUES_RAW) {
    refuse(0, "registers as they are are taken on x86-64 only");
    lr_settings.values = LR_VALUES_UNSET;
  }
  if (done || lr_settings.values != LR_VALUES_PLAN) return;
  done = 1;
  plan.text = plat_read_whole(lr_settings.plan, MOST_PLAN, &plan.size);
  if (!plan.text) refuse(0, "the plan is no file that can be read, or is longer than 64 MiB");
  if (plan.text && understand()) {
    plan.hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < plan.size; i++) plan.hash = (plan.hash ^ (uint8_t)plan.text[i]) * 0x100000001b3u;
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
    const char digit[2] = {"0123456789abcdef"[plan.hash >> i & 15], 0};
    lr_text_add(&t, digit);
  }
  lr_text_add(&t, " ");
  lr_text_add(&t, lr_settings.plan);
  lr_write_setting("values", value);
  for (size_t at = 0; at < plan.size && lr_global.state == LR_RUNNING; at += PIECE) {
    lr_record.length = 0;
    lr_put64(&lr_record, plan.hash);
    lr_put32(&lr_record, (uint32_t)plan.size);
    lr_put32(&lr_record, (uint32_t)at);
    lr_put(&lr_record, plan.text + at, plan.size - at < PIECE ? plan.size - at : PIECE);
    lr_write_record(LRF_PLAN, lr_ticks());
  }
  for (uint32_t i = 0; i < plan.module_count; i++) plan.modules[i].told = 0;
}

LR_OWN void lr_plan_forget(uintptr_t base, size_t size) {
  struct lr_valued_entry *const table = lr_valued_entries;
  for (uint32_t i = 0; table && i < LR_VALUED_ENTRIES; i++)
    if (table[i].address && table[i].address - base < size) lr_store(&table[i].address, 0);
}

LR_OWN void lr_plan_choose(int alone) {
  const int on = lr_settings.values == LR_VALUES_RAW || lr_settings.values == LR_VALUES_PLAN;
  lr_store(&lr_taking, (uint32_t)on);
  if (on && !lr_valued_entries) lr_store(&lr_valued_entries, plat_pages(LR_VALUED_ENTRIES * sizeof *lr_valued_entries, 0));
  lr_store(&lr_quick_idle, LR_HAVE_ALL_PLANS && on && alone && lr_valued_entries ? LR_IDLE + lr_load(&lr_global.switched) : LR_GENERAL);
}

#endif
