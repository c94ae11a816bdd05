/* plan_place.c reads the places in a plan (plan.c): a place is a register, or memory that a register points to. */

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

#if defined(_WIN32)
/* The number of the slot in struct lr_registers that has the high half of xmm0. */
enum { XMM0_HIGH = 4 };
#endif

#if defined(__aarch64__)
/* bytes_of returns how many bytes of a vector register a name stands for, and 0 for other names. */
LR_OWN static uint32_t bytes_of(struct token w) { return w.s[0] == 's' ? 4 : w.s[0] == 'd' ? 8 : w.s[0] == 'q' ? 16 : 0; }

/* register_slot returns a register's slot, -1 if there is none. The letter of a vector register says how many bytes: s 4, d 8, q 16. */
LR_OWN static int32_t register_slot(struct token w, int leave, int hook) {
  enum { RESULTS = 2, VECTOR_RESULTS = 4, VECTORS = 8, INTEGERS = 9 };
  if (hook || w.n != 2 || w.s[1] < '0' || w.s[1] > '9') return -1;
  const int n = w.s[1] - '0';
  if (w.s[0] == 'x' && n < (leave ? RESULTS : INTEGERS)) return (int32_t)(offsetof(struct lr_registers, x) / 8) + n;
  if (!bytes_of(w) || n >= (leave ? VECTOR_RESULTS : VECTORS)) return -1;
  return 2 * n;
}
#else
LR_OWN static int32_t register_slot(struct token w, int leave, int hook) {
  static const struct {
    const char *name;
    uint8_t slot, enter, leave;
#if defined(__i386__)
  } names[] = {{"eax", offsetof(struct lr_registers, eax) / 4, 1, 1},
       {"ecx", offsetof(struct lr_registers, ecx) / 4, 1, 0},
       {"edx", offsetof(struct lr_registers, edx) / 4, 1, 1}};
  enum { LAST_VECTOR = '0' - 1, LAST_RESULT = '0' - 1 }; /* this ABI uses no vector registers */
#elif defined(_WIN32)
  } names[] = {{"rcx", offsetof(struct lr_registers, rcx) / 8, 1, 0}, {"rdx", offsetof(struct lr_registers, rdx) / 8, 1, 0},
               {"r8", offsetof(struct lr_registers, r8) / 8, 1, 0},   {"r9", offsetof(struct lr_registers, r9) / 8, 1, 0},
               {"rax", offsetof(struct lr_registers, rax) / 8, 0, 1}, {"xmm0h", XMM0_HIGH, 0, 1}};
  enum { LAST_VECTOR = '3', LAST_RESULT = '0' };
#else
  } names[] = {{"rdi", offsetof(struct lr_registers, rdi) / 8, 1, 0}, {"rsi", offsetof(struct lr_registers, rsi) / 8, 1, 0},
               {"rdx", offsetof(struct lr_registers, rdx) / 8, 1, 1}, {"rcx", offsetof(struct lr_registers, rcx) / 8, 1, 0},
               {"r8", offsetof(struct lr_registers, r8) / 8, 1, 0},   {"r9", offsetof(struct lr_registers, r9) / 8, 1, 0},
               {"rax", offsetof(struct lr_registers, rax) / 8, 1, 1}, {"rbx", offsetof(struct lr_registers, rbx) / 8, 0, 0},
               {"rbp", offsetof(struct lr_registers, rbp) / 8, 0, 0}, {"r10", offsetof(struct lr_registers, r10) / 8, 0, 0},
               {"r11", offsetof(struct lr_registers, r11) / 8, 0, 0}, {"r12", offsetof(struct lr_registers, r12) / 8, 0, 0},
               {"r13", offsetof(struct lr_registers, r13) / 8, 0, 0}, {"r14", offsetof(struct lr_registers, r14) / 8, 0, 0},
               {"r15", offsetof(struct lr_registers, r15) / 8, 0, 0}};
  enum { LAST_VECTOR = '7', LAST_RESULT = '1' };
#endif
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if ((hook || (leave ? names[i].leave : names[i].enter)) && is(w, names[i].name)) return names[i].slot;
  if (w.n == 4 && memcmp(w.s, "xmm", 3) == 0 && w.s[3] >= '0' && w.s[3] <= (leave ? LAST_RESULT : LAST_VECTOR)) return w.s[3] - '0';
  return -1;
}
#endif

/* in_memory reads REGISTER:DISTANCE: memory at a distance from a register, when the code calls a hook of -finstrument-functions. */
LR_OWN static int32_t in_memory(struct token w, const char **wrong) {
  struct token name = {w.s, 0};
  while (name.n < w.n && w.s[name.n] != ':') name.n++;
  struct token number = {w.s + name.n + 1, w.n - name.n - 1};
  const int below = number.n && *number.s == '-';
  if (below) number.s++, number.n--;
  const int32_t distance = (int32_t)lr_plan_number(number, 10, 0, MOST_STACK, wrong);
  if (is(name, "rsp") && !below) return distance;
  const int32_t slot = register_slot(name, 0, 1);
  if (slot < 8) { /* there is no such register, or it is a vector register, which holds no address */
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
    } else if (is(name, "st0") && leave && !hook && sizeof(wchar_t) != 2) { /* Windows returns nothing in st0 */
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
