/* values.h: arguments and results of calls that hooks take by a plan (LOGREC_VALUES).
 *
 * plan_read.c makes a program of each function's values, plan.c finds it, and values.c runs it on the registers that a
 * hook has kept. All three are empty where hooks cannot see arguments (LR_HAVE_PLANS). */

#ifndef LOGREC_VALUES_INTERNAL_H
#define LOGREC_VALUES_INTERNAL_H

#include "convention.h"
#include "core.h"

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

#if defined(__i386__) || defined(_M_IX86)
/* What hooks_fentry_i386.S and hooks_i386_windows.S keep. st0: points to the 10 bytes of that register. The rest is what
 * hooks_cyg_i386.S keeps, and nothing else. */
struct lr_registers {
  uint32_t eax, ecx, edx;
  const uint8_t *st0;
  uint32_t ebx, ebp, esi, edi;
};
#elif defined(__aarch64__)
/* What hooks_patched_aarch64.S keeps: v0 to v7, each as two words with the lower one first, and x0 to x8. */
struct lr_registers {
  uint64_t vector[16];
  uint64_t x[9];
};
#else
/* What hooks_fentry_x86_64.S keeps: the lower halves of xmm0 to xmm7, a pointer to all, and then what it pushes.
 * hooks_cyg_x86_64.S keeps all of the struct. hooks_fentry_windows.S keeps the lower halves of xmm0 to xmm3, the upper
 * half of xmm0 as the fifth word, and rax, rcx, rdx, r8 to r11. hooks_cyg_windows.S keeps the lower halves of xmm0 to
 * xmm3, all of xmm6 to xmm15, and the rest. */
struct lr_registers {
  uint64_t vector[8];
  uint64_t own;
  uint64_t rbp, r10, r9, r8, rcx, rdx, rsi, rdi, rax, r11;
  uint64_t rbx, r12, r13, r14, r15; /* these and what follows: only for -finstrument-functions */
#if defined(_WIN32)
  uint64_t preserved[20]; /* xmm6 to xmm15, each with its lower half first */
#endif
};
#endif

/* The largest size of the values of a record, in bytes. The smallest chunk, of 4,096 bytes, has room for them. */
enum { LR_MOST_VALUES = 2048 };

/* A step of a program. */
enum { LR_TAKE_PART, LR_TAKE_ST0, LR_TAKE_CONSTANT, LR_TAKE_TEXT, LR_TAKE_MEMORY, LR_TAKE_STRING, LR_TAKE_VIEW, LR_TAKE_VIEW_AT, LR_TAKE_TEXT_AT };
enum { LR_LIBSTDCXX = 1, LR_LIBCXX, LR_MSVC, LR_LIBCXX_ALTERNATE, LR_LIBSTDCXX_COW };
struct lr_take {
  uint8_t op;
  /* begins: 1 for the first step of a value. at: 1 if the text lies at an offset of what the pointer leads to. kept: 1
   * if source is the index of a pointer that was kept at the function's enter (struct lr_kept). */
  uint8_t library : 5, kept : 1, at : 1, begins : 1;
  uint16_t size; /* how many bytes are taken; for a text, the largest number */
  /* Where the value, or the pointer to it, is. Negative: the complement of a register's index in struct lr_registers.
   * Otherwise the distance in bytes from the stack word after the return address, or, with LR_AT_REGISTER, memory that
   * a register points to. */
  int32_t source, second; /* second: the second word of a view */
  uint32_t offset;        /* is added to the pointer; for LR_TAKE_CONSTANT it is the bytes themselves */
};

/* With LR_AT_REGISTER, a source has the register's index in the bits from LR_REGISTER_SHIFT on. The bits below are the
 * distance, which may be negative, plus LR_MIDDLE. */
enum { LR_AT_REGISTER = 1 << 30, LR_REGISTER_SHIFT = 24, LR_MIDDLE = 1 << 23 };

enum { LR_MOST_QUICK = 6 }; /* the largest number of integer registers that hold arguments */
struct lr_program {
  const struct lr_take *steps;
  uint16_t count;
  uint16_t most;   /* largest size of the record, in bytes */
  uint8_t kind;    /* LRF_VALUES_... */
  uint8_t vectors; /* 1: it takes vector registers */
  /* LR_QUICK: the program takes only a few registers, so that lr_take_quick can run it, and event and record fit into
   * LR_RESERVE. LR_QUICKEST: it takes at most two integer registers at the enter, or one at the leave; lr_take_quickest
   * and lr_take_quickest_result run it. The fields below are set only in these two cases. */
  uint8_t quick;
  /* The offset, from the first value, at which a 0 is written: that of the padding byte, or the end of a record that has none. */
  uint8_t zero;
  uint16_t grows; /* bytes of the event together with the record after it, if there is one */
  uint64_t head;  /* the first word of the record, shifted to its position after the event */
  uint64_t mask;  /* LR_QUICKEST: the bits that belong to the last value; at the enter 0 if there is no second value */
  /* Of each value: the index in struct lr_registers, and the offset in the record. Unused elements of at have the end of the
   * values. */
  uint8_t slot[LR_MOST_QUICK], at[LR_MOST_QUICK];
};
enum { LR_QUICK = 1, LR_QUICKEST = 2 };

/* A function whose values are taken; or a call of a hook of -finstrument-functions. For the latter, rva is the return
 * address of that call, size is 1, and function is the RVA of the function that must be passed to the hook. */
struct lr_valued {
  uint64_t rva;
  uint64_t size;
  uint64_t function;
  struct lr_program enter, leave;
  /* For the entries of its calls (lr_frame_entry): owner is LR_QUICK_LEAVE if the leave program is LR_QUICKEST, else
   * LR_ONE_CALL. pc is the handle of this function, or LR_ONE_CALL if it has none. */
  uint32_t owner, pc;
  /* Pointers that are kept from the enter to the leave: their places, in the form of lr_take.source. */
  int32_t keep[LR_MOST_KEPT];
  uint32_t keeps;
};

/* The value of lr_level.inside in a free level if only values keep events from the hot path. Otherwise LR_GENERAL,
 * which no level has. */
extern uintptr_t lr_quick_idle;
/* 0: hooks need not keep registers. */
extern uint32_t lr_taking;

/* ---- plan.c ---- */

/* A hash table from the addresses of hooks to functions, for those that were looked up. It uses open addressing, and
 * the index is the address itself, so that neighbouring functions are neighbours in the table, too. It is written under
 * the modules' lock, an entry's address last, and read without a lock. It exists whenever lr_quick_idle is not
 * LR_GENERAL. */
struct lr_valued_entry {
  uintptr_t address;                /* 0: free. LR_NOT_QUICKEST is added if the enter program of the function is not LR_QUICKEST */
  const struct lr_valued *function; /* if it has no steps, nothing is taken */
};
enum { LR_VALUED_ENTRIES = 1 << 20 };
#if LR_HAVE_ALL_PLANS
#define LR_NOT_QUICKEST ((uintptr_t)1 << 63) /* no address of a program has this bit */
#else
#define LR_NOT_QUICKEST ((uintptr_t)0)
#endif
extern struct lr_valued_entry *lr_valued_entries;
/* The address that handles are relative to, in bytes: the functions of the plan. */
extern const char *lr_valued_base;
LR_INLINE const struct lr_valued *lr_valued_by(uint32_t handle) {
  return (const struct lr_valued *)(const void *)lr_behind(&lr_valued_base, handle);
}
LR_INLINE uint32_t lr_valued_index(uintptr_t address) { return (uint32_t)(address >> 4) % LR_VALUED_ENTRIES; }
/* The first entry to examine for an address. Where this is used, an entry has 16 bytes, so no shift is needed. */
LR_INLINE const struct lr_valued_entry *lr_valued_first(uintptr_t address) {
  typedef char fits[sizeof(struct lr_valued_entry) == 16 || sizeof(void *) < 8 ? 1 : -1];
  (void)sizeof(fits);
  return (const struct lr_valued_entry *)(const void *)lr_behind(&lr_valued_entries, (uint32_t)address & (LR_VALUED_ENTRIES - 1) * 16u);
}
/* Returns the function that contains a hook's address if it is in the first entry for the address, else NULL. */
LR_INLINE const struct lr_valued *lr_valued_quick(uintptr_t address) {
  const struct lr_valued_entry *const e = lr_valued_first(address);
  if (LR_UNLIKELY((lr_load(&e->address) & ~LR_NOT_QUICKEST) != address)) return NULL;
  const struct lr_valued *const f = e->function;
  if (!f) __builtin_unreachable(); /* the function is written before the address */
  return f;
}
/* The same for functions whose enter program is LR_QUICKEST. */
LR_INLINE const struct lr_valued *lr_valued_quickest(uintptr_t address) {
  const struct lr_valued_entry *const e = lr_valued_first(address);
  if (LR_UNLIKELY(lr_differs(&e->address, address))) return NULL;
  const struct lr_valued *const f = e->function;
  if (!f) __builtin_unreachable();
  return f;
}
/* The same from any entry, or from the plan if it was not looked up before. */
const struct lr_valued *lr_valued_of(uintptr_t address);
/* Finds what a call of a hook of -finstrument-functions takes, by the return address of the call. NULL: nothing. */
const struct lr_valued *lr_valued_hook(uintptr_t address, uintptr_t function);

/* ---- values.c ---- */

/* Copies n bytes of memory, fewer than a page, or those up to the first that cannot be read, and returns how many. It does not
 * change vector registers. */
size_t lr_copy(uint8_t *to, uintptr_t from, size_t n);

/* Writes a record of type ARGUMENTS or RESULT at p, and returns its end. There must be room for program->most bytes.
 * frame: where the call's return address lies. kept: the pointers kept for the call, may be NULL. It does not change
 * vector registers. */
uint8_t *lr_take_values(uint8_t *p, unsigned type, const struct lr_program *program, const struct lr_registers *r, uintptr_t frame,
                        const struct lr_kept *kept);
/* Keeps the pointers that the leave of the innermost call needs, if there is memory for them. */
void lr_keep(struct lr_level *v, const struct lr_valued *f, const struct lr_registers *r, uintptr_t frame);
/* The pointers that were kept for an open call, or NULL if there are none. */
LR_INLINE const struct lr_kept *lr_kept_of(const struct lr_level *v, const struct lr_frame_entry *call) {
  const struct lr_kept *const k = v->kept ? &v->kept[call - v->stack] : NULL;
  return k && k->time == call->time ? k : NULL;
}
enum { LR_RET = 0xc3 };
/* 1 if the instruction at address returns from a function. At a tail call it does not. */
LR_INLINE int lr_returns(uintptr_t address) {
  const uint8_t *const code = (const uint8_t *)address;
  /* ret, ret n; rep ret and bnd ret */
  return LR_LIKELY(code[0] == LR_RET) || code[0] == 0xc2 || ((code[0] == 0xf2 || code[0] == 0xf3) && code[1] == LR_RET);
}

/* The next functions write at p the values of a program that is as quick as their names say; the first word of the
 * record is written with the event. They may write beyond the end of the record, where there is room that is not used
 * yet. */
LR_INLINE void lr_take_quickest(uint8_t *const p, const struct lr_program *program, const struct lr_registers *r) {
  const uint64_t *const values = (const uint64_t *)r;
  lr_store64(p, values[program->slot[0]]);
  lr_store64(p + program->at[1], values[program->slot[1]] & program->mask); /* the mask makes the padding byte 0 */
}
LR_INLINE void lr_take_quickest_result(uint8_t *const p, const struct lr_program *program, const struct lr_registers *r) {
  lr_store64(p, ((const uint64_t *)r)[program->slot[0]] & program->mask);
}
LR_INLINE void lr_take_one(uint8_t *const p, const struct lr_program *program, const struct lr_registers *r, unsigned i) {
  lr_store64(p + program->at[i], ((const uint64_t *)r)[program->slot[i]]);
}
LR_INLINE void lr_take_quick(uint8_t *const p, const struct lr_program *program, const struct lr_registers *r, int leave) {
  typedef char fits[LR_RESERVE >= LR_ENTER_BYTES + 2 + 8 * (LR_MOST_QUICK + 1) ? 1 : -1];
  (void)sizeof(fits);
  /* Eight bytes are written for each value; the next one overwrites those that are too many. */
  lr_take_one(p, program, r, 0);
  lr_take_one(p, program, r, 1);
  if (!leave) {
    lr_take_one(p, program, r, 2);
    lr_take_one(p, program, r, 3);
  }
  for (unsigned i = leave ? 2 : 4; LR_UNLIKELY(i < program->count); i++) lr_take_one(p, program, r, i);
  p[program->zero] = 0;
}

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
