/* plan.h: words of plans (plan.c), and the places that they name (plan_place.c). */

#ifndef LOGREC_PLAN_H
#define LOGREC_PLAN_H

#include "core.h"

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

enum { MOST_DIRECT = 64, MOST_STACK = 1 << 20, MOST_PARTS = 8 };

struct token {
  const char *s;
  size_t n;
};

LR_INLINE int is(struct token w, const char *word) { return strlen(word) == w.n && memcmp(w.s, word, w.n) == 0; }
LR_INLINE int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Why a line cannot be read. */
extern const char lr_not_a_number[], lr_not_a_place[];

/* A part of a place: a register, 8 bytes of a number, or what there is from a place in memory on. */
struct part {
  int32_t source; /* of struct lr_take */
  uint32_t size;
  int is_st0, is_constant;
  uint64_t constant;
};

/* Both say in wrong, which is NULL before, why they cannot; what they return then is nothing. lr_plan_place takes a word
 * apart into at most MOST_PARTS; how many. hook: it is a place where a hook of -finstrument-functions is called. */
uint64_t lr_plan_number(struct token w, unsigned base, uint64_t least, uint64_t most, const char **wrong);
unsigned lr_plan_place(struct token w, int leave, int hook, struct part *parts, const char **wrong);

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
