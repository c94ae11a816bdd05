/* values.h: arguments and results of calls that hooks take by a plan (LOGREC_VALUES).
 *
 * plan.c reads the plan and makes a program of each function's values; values.c runs one,
 * on the registers that a hook has kept. Where hooks do not see arguments, both are empty. */

#ifndef LOGREC_VALUES_INTERNAL_H
#define LOGREC_VALUES_INTERNAL_H

#include "core.h"

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__)
#define LR_HAVE_PLANS 1
#else
#define LR_HAVE_PLANS 0
#endif

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

/* What hooks_fentry_x86_64.S keeps: the low halves of xmm0 to xmm7, a pointer to all, then what it
 * pushes. */
struct lr_registers {
  uint64_t vector[8];
  uint64_t own;
  uint64_t rbp, r10, r9, r8, rcx, rdx, rsi, rdi, rax;
};

/* Bytes of a record's values at most, in their largest form: a chunk of 4,096 has room for them. */
enum { LR_MOST_VALUES = 2048 };

/* A step of a program. */
enum { LR_TAKE_PART, LR_TAKE_ST0, LR_TAKE_CONSTANT, LR_TAKE_TEXT, LR_TAKE_MEMORY, LR_TAKE_STRING, LR_TAKE_VIEW, LR_TAKE_VIEW_AT };
enum { LR_LIBSTDCXX = 1, LR_LIBCXX, LR_MSVC };
struct lr_take {
  uint8_t op;
  uint8_t library : 7, begins : 1; /* begins: 0 for parts of a value but its first */
  uint16_t size; /* bytes taken; of texts at most */
  /* Where the value, or a pointer to it, is: from 0 on bytes of stack behind the return address, below
   * 0 the complement of an index of a register in struct lr_registers. */
  int32_t source, second; /* second: of a view */
  uint32_t offset;        /* added to the pointer; of LR_TAKE_CONSTANT the bytes */
};

struct lr_program {
  const struct lr_take *steps;
  uint16_t count, kind; /* kind: LRF_VALUES_... */
  uint16_t most;        /* bytes of the record */
  uint16_t vectors;     /* 1: it takes vector registers */
  uint16_t fixed;       /* bytes of the record, where all is in registers; else 0 */
  uint16_t fixed_head;  /* its first word, without the type */
};

/* A function whose values are taken. */
struct lr_valued {
  uint64_t rva;
  uint64_t size;
  struct lr_program enter, leave;
};

/* 1: nothing but values makes events take the longer way, so that lr_take_quick may be tried. */
extern uint32_t lr_quick_values;
/* 0: hooks need not keep registers. */
extern uint32_t lr_taking;

/* ---- plan.c ---- */

/* Finds the function that a hook's address lies in, among those that were asked for before; NULL:
 * nothing is taken of it. *known is 0 where nobody has asked yet. No lock. */
const struct lr_valued *lr_valued_known(uintptr_t address, int *known);
/* The same, and looks it up. */
const struct lr_valued *lr_valued_of(uintptr_t address);

/* ---- values.c ---- */

/* Writes a record of type, ARGUMENTS or RESULT, at p, and returns its end. There must be room for
 * program->most bytes. frame: where the call's return address lies. Vector registers are left alone. */
/* Where all is in integer registers lr_take_fixed does it. */
uint8_t *lr_take_values(uint8_t *p, unsigned type, const struct lr_program *program, const struct lr_registers *r, uintptr_t frame);
/* 1 if the instruction at address returns from a function: before a tail call it does not. */
int lr_returns(uintptr_t address);

LR_INLINE uint8_t *lr_take_fixed(uint8_t *p, unsigned type, const struct lr_program *program, const struct lr_registers *r) {
  uint8_t *const begin = p;
  lr_store32(p, LRF_FIRST_WORD(type, 0) | program->fixed_head | (uint32_t)program->kind << 16);
  p += 4;
  for (const struct lr_take *s = program->steps, *const end = s + program->count; s < end; s++) {
    lr_store64(p, ((const uint64_t *)r)[~s->source]);
    p += s->size;
  }
  *p = 0;
  return begin + program->fixed;
}

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
