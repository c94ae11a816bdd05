/* plan_read.c: reads a plan (docs/formats.md, "Plans of values") and makes the programs that values.c runs.
 *
 * Nothing in the text is trusted. If a line cannot be understood, the whole plan is refused and the line is reported.
 * The text is read twice: the first pass counts how much memory is needed, the second one fills it. Both run once,
 * under the lock, when the recording begins. */

#include "plan.h"
#include "values.h"

#if LR_HAVE_PLANS

enum {
  MOST_FUNCTIONS = 1000000,
  MOST_MODULES = 4096,
  MOST_OF_FUNCTION = 255, /* values at the enter, and again at the leave */
  MOST_MEMORY = 256,
  MOST_TEXT = 1024,
  MOST_OFFSET = 1 << 30,
};

/* The state of a pass over the text. */
struct reading {
  const char *at, *end; /* the rest of the line */
  const char *wrong;    /* why the line cannot be read, or NULL */
  int fill;
  uint32_t modules, functions, hooks, steps; /* how many were read so far */
  int begun, machine, abi, identified, in_function, in_hook; /* 1: such a line was read */
  /* Of the function or hook that is being read. In arrays of two, element 0 is for its enter, and element 1 for its
   * leave. */
  uint64_t function; /* RVA of the function */
  uint32_t values[2];
  uint32_t bytes[2]; /* largest size of the values */
  uint8_t full[2];   /* 1: there is no room for more values */
  uint32_t leaving;  /* number of steps in leave_steps */
  uint32_t keeps;    /* number of pointers that are kept for the leave */
  int32_t keep[LR_MOST_KEPT];
  uint32_t kept_at_hooks; /* the largest number of pointers that a hook of the function keeps, so far */
};
/* The steps of a function's leave until its end is reached. Its enter and leave lines may alternate, but the steps of a
 * program must be contiguous. */
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

/* keep_pointer adds the pointer at a place to those that are kept from the enter to the leave, and returns its index. */
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
  else if (r->fill) lr_plan.steps[r->steps] = *step;
  if (!leave) r->steps++;
}

/* library_of returns the library (LR_LIBSTDCXX and so on) whose strings or, with string 0, views have this name in
 * plans. 0: none. */
LR_OWN static unsigned library_of(struct token name, int string) {
  if (is(name, "libstdc++")) return LR_LIBSTDCXX;
  if (is(name, "libc++")) return LR_LIBCXX;
  if (is(name, "msvc")) return LR_MSVC;
  if (string && is(name, "libc++-alternate")) return LR_LIBCXX_ALTERNATE;
  return string && is(name, "libstdc++-cow") ? LR_LIBSTDCXX_COW : 0;
}

/* operation reads the words that say what is done with a place. It returns the largest number of bytes that the value
 * takes in a record, and sets *size to the size of the value, or to the largest size of a text. It returns 0 for
 * "unknown", of which nothing is taken. */
LR_OWN static uint32_t operation(struct reading *r, struct token op, struct lr_take *s, uint32_t *size) {
  if (is(op, "unknown")) return 0;
  if (is(op, "value")) {
    s->op = LR_TAKE_PART;
    *size = (uint32_t)next_number(r, 10, 1, MOST_DIRECT);
    return *size;
  }
  if (is(op, "memory")) {
    s->op = LR_TAKE_MEMORY;
    s->offset = (uint32_t)next_number(r, 10, 0, MOST_OFFSET);
    *size = (uint32_t)next_number(r, 10, 1, MOST_MEMORY);
    return 1 + *size;
  }
  /* Texts. With "-at" the text is not at the place itself, but at an offset of what the pointer there leads to. */
  const int string = is(op, "string") || is(op, "string-at"), view = is(op, "view") || is(op, "view-at");
  if (!string && !view && !is(op, "text") && !is(op, "text-at")) {
    wrong(r, not_a_word);
    return 0;
  }
  s->at = op.n > 3 && memcmp(op.s + op.n - 3, "-at", 3) == 0;
  s->op = string ? LR_TAKE_STRING : view ? LR_TAKE_VIEW_AT : s->at ? LR_TAKE_TEXT_AT : LR_TAKE_TEXT;
  if (s->at) s->offset = (uint32_t)next_number(r, 10, 0, MOST_OFFSET);
  if (string || view) {
    s->library = library_of(next_word(r), string) & 7;
    if (!s->library) wrong(r, not_a_word);
  }
  *size = (uint32_t)next_number(r, 10, 1, MOST_TEXT);
  return 2 + *size;
}

/* add_parts adds the steps of a value that is copied unchanged: one step for each 8 bytes of a part, or for each 4
 * bytes of a number. */
LR_OWN static void add_parts(struct reading *r, int leave, struct lr_take *s, const struct part *parts, unsigned n, uint32_t size) {
  for (unsigned i = 0; i < n && size; i++) {
    const uint32_t part = parts[i].size < size ? parts[i].size : size;
    const uint32_t most = parts[i].is_st0 ? part : parts[i].is_constant ? 4 : 8;
    size -= part;
    s->op = parts[i].is_st0 ? LR_TAKE_ST0 : parts[i].is_constant ? LR_TAKE_CONSTANT : LR_TAKE_PART;
    for (uint32_t done = 0; done < part; done += most) {
      if (parts[i].is_constant) s->offset = (uint32_t)(parts[i].constant >> 8 * done);
      /* The next word of a register has the next index, whose complement is one less. */
      else s->source = parts[i].source + (parts[i].source < 0 ? -(int32_t)(done / 8) : (int32_t)done);
      s->size = (uint16_t)(part - done < most ? part - done : most);
      add_step(r, leave, s);
      s->begins = 0;
    }
  }
  if (size) wrong(r, too_small);
}

/* read_keep reads the place of a pointer that a hook at the function's enter keeps for the hooks at its leave. The
 * pointers are numbered in the order of the lines. */
LR_OWN static void read_keep(struct reading *r) {
  if (!r->in_hook || r->values[1]) return wrong(r, not_here);
  if (r->keeps == LR_MOST_KEPT) return wrong(r, too_many);
  struct part parts[MOST_PARTS];
  const unsigned n = lr_plan_place(next_word(r), 0, 1, parts, &r->wrong);
  if (r->wrong) return;
  if (n != 1 || parts[0].is_constant) return wrong(r, lr_not_a_place);
  r->keep[r->keeps++] = parts[0].source;
  if (r->keeps > r->kept_at_hooks) r->kept_at_hooks = r->keeps;
  lr_plan.hooks_keep = 1;
}

/* kept_source returns the index of the pointer that a value of a leave follows. A hook has the index in the plan, as it
 * counts the "keep" lines; without hooks, the plan has the place, and the function keeps the pointer there. */
LR_OWN static int32_t kept_source(struct reading *r, struct token at) {
  if (r->in_hook) {
    const uint64_t index = number_of(r, at, 10, 0, LR_MOST_KEPT);
    if (index >= r->kept_at_hooks) wrong(r, lr_not_a_place);
    return (int32_t)index;
  }
  struct part parts[MOST_PARTS];
  const unsigned n = lr_plan_place(at, 0, 0, parts, &r->wrong);
  if (n > 1) wrong(r, lr_not_a_place);
  return r->wrong ? 0 : keep_pointer(r, parts[0].source);
}

/* value reads a line PLACE OPERATION TYPE NAME. */
LR_OWN static void value(struct reading *r, int leave) {
  if (!r->in_function) return wrong(r, not_here);
  if (++r->values[leave] > MOST_OF_FUNCTION) return wrong(r, too_many);
  struct token at = next_word(r);
  const struct token op = next_word(r);
  /* @PLACE in a leave: what the pointer that was in PLACE at the enter leads to now. */
  const int kept = leave && at.n && at.s[0] == '@';
  if (kept) at.s++, at.n--;
  struct lr_take s;
  memset(&s, 0, sizeof s);
  uint32_t size = 0;
  const uint32_t most = operation(r, op, &s, &size);
  next_number(r, 10, 1, UINT32_MAX); /* the type */
  if (!most) return;
  const int pointer = s.op != LR_TAKE_PART;
  struct part parts[MOST_PARTS];
  unsigned n = 0;
  int no_pointer = kept && !pointer;
  if (kept) s.source = kept_source(r, at);
  else n = lr_plan_place(at, leave, r->in_hook, parts, &r->wrong);
  if (r->wrong) return;
  for (unsigned i = 0; i < n; i++) no_pointer |= pointer && (parts[i].is_st0 || parts[i].is_constant);
  if (no_pointer) return wrong(r, lr_not_a_place);
  /* A value for which there is no room is left out, and so are all values after it, so that a reader knows where the
   * record ends. A value of one byte always has room: in a record that ends with padding, the reader could not tell
   * that it is missing. */
  if (r->full[leave] || (most > 1 && r->bytes[leave] + most > LR_MOST_VALUES)) {
    r->full[leave] = 1;
    return;
  }
  r->bytes[leave] += most;
  s.size = (uint16_t)size;
  s.begins = 1;
  if (!pointer) return add_parts(r, leave, &s, parts, n, size);
  s.kept = kept & 1;
  if (!kept) s.source = parts[0].source;
  if (!kept && s.op == LR_TAKE_VIEW_AT && !s.at && (n > 1 || parts[0].size > sizeof(uintptr_t))) {
    /* The place holds the two words of the view itself. */
    s.op = LR_TAKE_VIEW;
    s.second = n > 1 ? parts[1].source : parts[0].source + (int32_t)sizeof(uintptr_t);
  }
  add_step(r, leave, &s);
}

#if LR_HAVE_ALL_PLANS
LR_OWN static uint8_t takes_vectors(const struct lr_program *program) {
  for (unsigned i = 0; i < program->count; i++)
    if ((program->steps[i].source < 0 && ~program->steps[i].source < 8) || (program->steps[i].second < 0 && ~program->steps[i].second < 8)) return 1;
  return 0;
}

/* find_quick determines whether a program takes only a few registers, so that its record always has the same length. */
LR_OWN static void find_quick(struct lr_program *program, int leave) {
  const unsigned most = leave ? 1 : 2, count = program->count;
  unsigned n = 0;
  if (count > LR_MOST_QUICK) return;
  for (unsigned i = 0; i < count; i++) {
    const struct lr_take *const s = &program->steps[i];
    if (s->op != LR_TAKE_PART || s->source >= 0) return;
    program->slot[i] = (uint8_t)~s->source;
    program->at[i] = (uint8_t)n;
    n += s->size;
  }
  for (unsigned i = count; i < LR_MOST_QUICK; i++) program->at[i] = (uint8_t)n;
  program->zero = (uint8_t)n; /* the padding byte, or the byte after the record */
  const unsigned last = count == most ? program->steps[most - 1].size : 0, bytes = 2 + n + (n & 1);
  program->quick = count <= most && !program->vectors && (last < 8 || n % 2 == 0) ? LR_QUICKEST : LR_QUICK;
  program->mask = last < 8 ? ((uint64_t)1 << 8 * last) - 1 : ~(uint64_t)0;
  program->grows = (uint16_t)((leave ? LR_LEAVE_BYTES : LR_ENTER_BYTES) + (count ? bytes : 0));
  const uint64_t first = count ? LRF_FIRST_WORD(leave ? LRF_PLAN_RESULT : LRF_PLAN_ARGUMENTS, bytes / 2) : 0;
  program->head = leave ? first << 8 * LR_LEAVE_BYTES | LRF_LEAVE_BIT : first << 8 * LR_ENTER_BYTES;
}

#else
/* The hooks of x86 and arm64 keep all registers, and only the slow path takes values. */
LR_OWN static uint8_t takes_vectors(const struct lr_program *program) { return (void)program, 0; }
LR_OWN static void find_quick(struct lr_program *program, int leave) { (void)program, (void)leave; }
#endif

/* end_of_function completes the programs of the function or hook that was being read. */
LR_OWN static void end_of_function(struct reading *r) {
  if (!r->in_function) return;
  r->in_function = 0;
  if (r->fill) {
    struct lr_valued *const f = r->in_hook ? &lr_plan.hooks[r->hooks - 1] : &lr_plan.functions[r->functions - 1];
    f->enter.count = (uint16_t)(lr_plan.steps + r->steps - f->enter.steps);
    f->leave.count = (uint16_t)r->leaving;
    f->leave.steps = lr_plan.steps + r->steps;
    memcpy(lr_plan.steps + r->steps, leave_steps, r->leaving * sizeof *leave_steps);
    f->enter.kind = f->leave.kind = LRF_VALUES_PLAN;
    f->keeps = r->keeps;
    memcpy(f->keep, r->keep, sizeof f->keep);
    f->enter.vectors = takes_vectors(&f->enter);
    f->leave.vectors = takes_vectors(&f->leave);
    if (!r->in_hook) {
      if (!r->keeps) find_quick(&f->enter, 0);
      find_quick(&f->leave, 1);
    }
    f->enter.most = (uint16_t)(8 + r->bytes[0] + 1);
    f->leave.most = (uint16_t)(8 + r->bytes[1] + 1);
  }
  r->steps += r->leaving;
  r->leaving = r->keeps = 0;
  r->in_hook = 0;
}

/* begin_function completes the function or hook before, and reads the RVA of the next one. */
LR_OWN static uint64_t begin_function(struct reading *r) {
  end_of_function(r);
  memset(r->values, 0, sizeof r->values);
  memset(r->bytes, 0, sizeof r->bytes);
  memset(r->full, 0, sizeof r->full);
  return next_number(r, 16, 0, (uint64_t)1 << 43);
}

LR_OWN static void read_function(struct reading *r) {
  if (!r->modules) return wrong(r, not_here);
  if (r->functions == MOST_FUNCTIONS) return wrong(r, too_many);
  const uint64_t rva = begin_function(r), size = next_number(r, 16, 0, (uint64_t)1 << 43);
  if (r->fill) {
    struct lr_valued *const f = &lr_plan.functions[r->functions];
    f->rva = rva;
    f->size = size;
    f->enter.steps = lr_plan.steps + r->steps;
    lr_plan.modules[r->modules - 1].count++;
  }
  r->functions++;
  r->function = rva;
  r->kept_at_hooks = 0;
  r->in_function = 1;
}

/* read_hook begins a hook of the current function. */
LR_OWN static void read_hook(struct reading *r) {
  if (!LR_HAVE_HOOK_PLANS || !r->in_function) return wrong(r, not_here);
  if (r->hooks == MOST_FUNCTIONS) return wrong(r, too_many);
  const uint64_t rva = begin_function(r);
  if (r->fill) {
    struct lr_valued *const f = &lr_plan.hooks[r->hooks];
    f->rva = rva;
    f->size = 1;
    f->function = r->function;
    f->enter.steps = lr_plan.steps + r->steps;
    lr_plan.modules[r->modules - 1].hook_count++;
  }
  r->hooks++;
  r->in_function = r->in_hook = 1;
}

LR_OWN static void read_module(struct reading *r) {
  if (r->modules == MOST_MODULES) return wrong(r, too_many);
  end_of_function(r);
  r->identified = 0;
  if (r->fill) {
    struct lr_planned *const m = &lr_plan.modules[r->modules];
    m->name = r->at;
    m->name_length = (uint32_t)(r->end - r->at);
    m->first = r->functions;
    m->first_hook = r->hooks;
  }
  r->modules++;
}

#if defined(_WIN32)
/* read_pdb reads GUID and age in the form of plat_module.id. */
LR_OWN static void read_pdb(struct reading *r) {
  enum { GUID = 16 };
  struct token id = {r->at, (size_t)(r->end - r->at)};
  if (id.n <= 2 * GUID || id.n > 2 * GUID + 8) return wrong(r, lr_not_a_number);
  struct lr_planned none, *const m = r->fill ? &lr_plan.modules[r->modules - 1] : &none;
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
  if (!id.n || id.n % 2 || id.n > 2 * LR_BUILD_ID) return wrong(r, lr_not_a_number);
  for (size_t i = 0; i < id.n; i++)
    if (hex_digit(id.s[i]) < 0) return wrong(r, lr_not_a_number);
  if (!r->fill) return;
  struct lr_planned *const m = &lr_plan.modules[r->modules - 1];
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
  if (is(word, "keep")) return read_keep(r);
  /* Only readers of the log need the meaning of values. */
  if (is(word, "type") || is(word, "member") || is(word, "enumerator")) return;
  if (is(word, "module")) return read_module(r);
  if (is(word, "identity")) return read_identity(r);
  if (is(word, "machine") && is(rest, LR_MACHINE)) r->machine = 1;
  else if (is(word, "abi") && is(rest, LR_CONVENTION)) r->abi = 1;
  else wrong(r, is(word, "machine") || is(word, "abi") ? "the plan is for another machine or calling convention" : not_a_word);
}

/* read_lines reads all lines. It returns the number of the line that cannot be read, or 0. */
LR_OWN static uint32_t read_lines(struct reading *r) {
  const char *const end = lr_plan.text + lr_plan.size;
  uint32_t n = 0;
  for (const char *line = lr_plan.text; line < end;) {
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

/* sort is a heap sort by RVA, which needs no memory. */
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

/* give_handles sets the handles of all functions, when each has its final place: count functions, and one that takes
 * nothing. */
LR_OWN static void give_handles(uint32_t count) {
  lr_plan.none = &lr_plan.functions[count];
  find_quick(&lr_plan.none->enter, 0);
  find_quick(&lr_plan.none->leave, 1);
  for (uint32_t i = 0; i <= count; i++) {
    struct lr_valued *const f = &lr_plan.functions[i];
    f->owner = f->leave.quick == LR_QUICKEST ? LR_QUICK_LEAVE : LR_ONE_CALL;
    f->pc = (uint32_t)((const char *)f - (const char *)lr_plan.functions);
  }
  lr_store(&lr_valued_base, (const char *)lr_plan.functions);
}

/* order sorts the functions or hooks of a module. 0: two of them overlap. */
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

LR_OWN void lr_plan_refuse(uint32_t line, const char *why) {
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

LR_OWN int lr_plan_understand(void) {
  struct reading r;
  for (int fill = 0; fill < 2; fill++) {
    memset(&r, 0, sizeof r);
    r.fill = fill;
    const uint32_t line = read_lines(&r);
    if (line) {
      lr_plan_refuse(line, r.wrong);
      return 0;
    }
    if (fill) break;
    lr_plan.modules = plat_pages((r.modules + 1) * sizeof *lr_plan.modules, 0);
    lr_plan.functions = plat_pages((r.functions + 1) * sizeof *lr_plan.functions, 0);
    lr_plan.hooks = plat_pages((r.hooks + 1) * sizeof *lr_plan.hooks, 0);
    lr_plan.steps = plat_pages((r.steps + 1) * sizeof *lr_plan.steps, 0);
    if (!lr_plan.modules || !lr_plan.functions || !lr_plan.hooks || !lr_plan.steps) {
      lr_plan_refuse(0, "there is no memory for the plan");
      return 0;
    }
  }
  lr_plan.module_count = r.modules;
  for (uint32_t i = 0; i < lr_plan.module_count; i++) {
    const struct lr_planned *const m = &lr_plan.modules[i];
    if (!order(lr_plan.functions + m->first, m->count) || !order(lr_plan.hooks + m->first_hook, m->hook_count)) {
      lr_plan_refuse(0, "functions of the plan overlap");
      return 0;
    }
  }
  give_handles(r.functions);
  return 1;
}

#else
typedef int lr_no_plan_is_read;
#endif
