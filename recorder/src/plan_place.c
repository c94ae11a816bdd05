/* plan_place.c: reads the places in a plan (plan.c). A place is a register, or memory that a register points to. */

#include "plan.h"
#include "values.h"

#if LR_HAVE_PLANS

const char lr_not_a_number[] = "a number is missing, or is none that can be", lr_not_a_place[] = "not a place that this recorder can take values from";

LR_OWN uint64_t lr_plan_number(struct token w, unsigned base, uint64_t least, uint64_t most, const char **wrong) {
  uint64_t v = 0;
  if (!*wrong && (!w.n || w.n > 16)) *wrong = lr_not_a_number;
  for (size_t i = 0; i < w.n && !*wrong; i++) {
    const int d = hex_digit(w.s[i]);
    if (d < 0 || d >= (int)base) *wrong = lr_not_a_number;
    v = v * base + (uint64_t)d;
  }
  if (!*wrong && (v < least || v > most)) *wrong = lr_not_a_number;
  return *wrong ? least : v;
}

#if defined(__aarch64__)
/* bytes_of returns how many bytes of a vector register a name stands for, or 0 for other names. */
LR_OWN static uint32_t bytes_of(struct token w) { return w.s[0] == 's' ? 4 : w.s[0] == 'd' ? 8 : w.s[0] == 'q' ? 16 : 0; }

/* register_slot returns the index of a register in struct lr_registers, or -1 if it is not there. The first letter of a
 * vector register tells how many of its bytes are used: s 4, d 8, q 16. */
LR_OWN static int32_t register_slot(struct token w, int leave, int hook) {
  enum { RESULTS = 2, VECTOR_RESULTS = 4, VECTORS = 8, INTEGERS = 9 };
  if (hook || w.n != 2 || w.s[1] < '0' || w.s[1] > '9') return -1;
  const int n = w.s[1] - '0';
  if (w.s[0] == 'x' && n < (leave ? RESULTS : INTEGERS)) return (int32_t)(offsetof(struct lr_registers, x) / 8) + n;
  if (!bytes_of(w) || n >= (leave ? VECTOR_RESULTS : VECTORS)) return -1;
  return 2 * n;
}
#else
#if defined(__i386__)
#define INTEGER(name) #name, offsetof(struct lr_registers, name) / 4
LR_OWN static int32_t vector_slot(struct token w, int leave, int hook) { return (void)w, (void)leave, (void)hook, -1; }
#else
#define INTEGER(name) #name, offsetof(struct lr_registers, name) / 8
/* vector_slot returns the index in struct lr_registers of a vector register that holds arguments or, with leave,
 * results; -1 for others. With hook, these may also be registers that functions on Windows preserve. A name with h at
 * its end is that of the upper half. */
LR_OWN static int32_t vector_slot(struct token w, int leave, int hook) {
  static const char *const names[] = {"xmm0", "xmm1", "xmm2",  "xmm3",  "xmm4",  "xmm5",  "xmm6",  "xmm7",
                                      "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"};
  enum { VECTORS = sizeof names / sizeof *names };
  int n = 0;
#if defined(_WIN32)
  enum { ARGUMENTS = 4, RESULTS = 1, PRESERVED = 6, HIGH_HALF = 4 };
  const int high = w.n && w.s[w.n - 1] == 'h';
  if (leave && !hook && is(w, "xmm0h")) return HIGH_HALF;
  if (high) w.n--;
  while (n < VECTORS && !is(w, names[n])) n++;
  if (hook && n >= PRESERVED && n < VECTORS) return (int32_t)(offsetof(struct lr_registers, preserved) / 8) + 2 * (n - PRESERVED) + high;
  if (high) return -1;
#else
  enum { ARGUMENTS = 8, RESULTS = 2 };
  (void)hook;
  while (n < VECTORS && !is(w, names[n])) n++;
#endif
  return n < (leave ? RESULTS : ARGUMENTS) ? n : -1;
}
#endif

LR_OWN static int32_t register_slot(struct token w, int leave, int hook) {
  /* enter, leave: 1 if the register holds arguments or results. Hooks of -finstrument-functions keep all registers. */
  static const struct {
    const char *name;
    uint8_t slot, enter, leave;
#if defined(__i386__)
  } names[] = {{INTEGER(eax), 1, 1}, {INTEGER(ecx), 1, 0}, {INTEGER(edx), 1, 1}, {INTEGER(ebx), 0, 0}, {INTEGER(ebp), 0, 0},
               {INTEGER(esi), 0, 0}, {INTEGER(edi), 0, 0}};
#else
  } names[] = {{INTEGER(rcx), 1, 0}, {INTEGER(r8), 1, 0},  {INTEGER(r9), 1, 0},  {INTEGER(rbx), 0, 0}, {INTEGER(rbp), 0, 0},
               {INTEGER(r10), 0, 0}, {INTEGER(r11), 0, 0}, {INTEGER(r12), 0, 0}, {INTEGER(r13), 0, 0}, {INTEGER(r14), 0, 0},
               {INTEGER(r15), 0, 0},
#if defined(_WIN32)
               {INTEGER(rdx), 1, 0}, {INTEGER(rax), 0, 1}, {INTEGER(rsi), 0, 0}, {INTEGER(rdi), 0, 0}};
#else
               {INTEGER(rdx), 1, 1}, {INTEGER(rax), 1, 1}, {INTEGER(rsi), 1, 0}, {INTEGER(rdi), 1, 0}};
#endif
#endif
#if defined(__i386__)
  const size_t first = hook ? 3 : 0; /* hooks_cyg_i386.S keeps those that calls preserve */
#else
  const size_t first = 0;
#endif
  for (size_t i = first; i < sizeof names / sizeof *names; i++)
    if ((hook || (leave ? names[i].leave : names[i].enter)) && is(w, names[i].name)) return names[i].slot;
  return vector_slot(w, leave, hook);
}
#endif

/* in_memory reads REGISTER:DISTANCE, memory at a distance from a register at the call of a hook of
 * -finstrument-functions. */
LR_OWN static int32_t in_memory(struct token w, const char **wrong) {
  struct token name = {w.s, 0};
  while (name.n < w.n && w.s[name.n] != ':') name.n++;
  struct token number = {w.s + name.n + 1, w.n - name.n - 1};
  const int below = number.n && *number.s == '-';
  if (below) number.s++, number.n--;
  const int32_t distance = (int32_t)lr_plan_number(number, 10, 0, MOST_STACK, wrong);
#if defined(__i386__)
  static const char stack_pointer[] = "esp";
#else
  static const char stack_pointer[] = "rsp";
#endif
  if (is(name, stack_pointer) && !below) return distance;
  const int32_t slot = register_slot(name, 0, 1);
  if (slot < 0 || *name.s != *stack_pointer) { /* not a register, or a vector register, which cannot hold an address */
    if (!*wrong) *wrong = lr_not_a_place;
    return 0;
  }
  return LR_AT_REGISTER | slot << LR_REGISTER_SHIFT | (LR_MIDDLE + (below ? -distance : distance));
}

LR_OWN static int has_colon(struct token w) {
  for (size_t i = 0; i < w.n; i++)
    if (w.s[i] == ':') return 1;
  return 0;
}

LR_OWN unsigned lr_plan_place(struct token w, int leave, int hook, struct part *parts, const char **wrong) {
  unsigned n = 0;
  for (size_t at = 0; at <= w.n && !*wrong;) {
    struct token name = {w.s + at, 0};
    while (at < w.n && w.s[at] != '+') at++;
    name.n = (size_t)(w.s + at - name.s);
    at++;
    if (n == MOST_PARTS) {
      *wrong = lr_not_a_place;
      break;
    }
    struct part *p = &parts[n++];
    p->size = sizeof(uintptr_t);
    p->is_st0 = p->is_constant = 0;
    if (hook && name.n > 1 && *name.s == '=') {
      const struct token number = {name.s + 1, name.n - 1};
      p->constant = lr_plan_number(number, 16, 0, UINT64_MAX, wrong);
      p->source = 0;
      p->is_constant = 1;
    } else if (hook && has_colon(name)) {
      p->source = in_memory(name, wrong);
      if (at > w.n) p->size = MOST_DIRECT;
    } else if (is(name, "stack") && !leave && !hook && at <= w.n) {
      name.s = w.s + at;
      while (at < w.n && w.s[at] != '+') at++;
      name.n = (size_t)(w.s + at - name.s);
      at++;
      p->source = (int32_t)lr_plan_number(name, 10, 0, MOST_STACK, wrong);
      /* The last part holds all remaining bytes of the value. */
      if (at > w.n) p->size = MOST_DIRECT;
#if !defined(__aarch64__)
    } else if (is(name, "st0") && leave && !hook && (sizeof(wchar_t) != 2 || sizeof(void *) == 4)) { /* Windows x64 returns nothing in st0 */
      p->source = 0;
      p->size = 16;
      p->is_st0 = 1;
#endif
    } else {
      const int32_t slot = register_slot(name, leave, hook);
      if (slot < 0 && !*wrong) *wrong = lr_not_a_place;
      p->source = ~slot;
#if defined(__aarch64__)
      if (slot >= 0 && bytes_of(name)) p->size = bytes_of(name);
#endif
    }
  }
  return n;
}

#else
typedef int lr_no_places;
#endif
