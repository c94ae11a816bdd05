/* plan.h: the plan in memory, which plan_read.c makes of its text and in which plan.c looks functions up; and the words
 * of the text: numbers and places (plan_place.c). */

#ifndef LOGREC_PLAN_H
#define LOGREC_PLAN_H

#include "core.h"

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

enum { MOST_DIRECT = 64, MOST_STACK = 1 << 20, MOST_PARTS = 8 };

enum { LR_BUILD_ID = 64 };

/* A module of the plan. Its functions are count elements of lr_plan.functions from first on, and its hooks hook_count
 * elements of lr_plan.hooks from first_hook on. Both are sorted by RVA. */
struct lr_planned {
  const char *name; /* base name; it points into the plan's text */
  uint32_t name_length;
  uint32_t id_size;
  uint8_t id[LR_BUILD_ID];
  uint32_t first, count;
  uint32_t first_hook, hook_count;
  uint32_t told; /* 1: it was already reported that another build is loaded */
};

/* The plan. It does not change after it was read. */
struct lr_plan {
  char *text;
  size_t size;
  uint64_t hash;
  struct lr_planned *modules;
  uint32_t module_count;
  struct lr_valued *functions, *hooks;
  struct lr_valued *none; /* stands for all functions that the plan does not have; it has no steps */
  struct lr_take *steps;  /* the steps of all programs */
  int hooks_keep;         /* 1: some hooks of -finstrument-functions keep pointers */
};
extern struct lr_plan lr_plan;

/* ---- plan_read.c ---- */

/* Makes programs of the plan's text. 0: the text cannot be read, and the reason was reported. The caller holds the
 * lock. */
int lr_plan_understand(void);
/* Reports why no values are taken. line: the line of the plan, or 0 for none. */
void lr_plan_refuse(uint32_t line, const char *why);

/* ---- plan_place.c ---- */

struct token {
  const char *s;
  size_t n;
};

LR_INLINE int is(struct token w, const char *word) { return strlen(word) == w.n && memcmp(w.s, word, w.n) == 0; }
LR_INLINE int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reasons why a line cannot be read. */
extern const char lr_not_a_number[], lr_not_a_place[];

/* A part of a place: a register, 8 bytes of a number, or memory from an address on. */
struct part {
  int32_t source; /* of struct lr_take */
  uint32_t size;
  int is_st0, is_constant;
  uint64_t constant;
};

/* If a word cannot be read, both set *wrong, which is NULL before, to the reason; their result has no meaning then.
 * lr_plan_place divides a word into at most MOST_PARTS parts and returns their number. hook: the place is used where a
 * hook of -finstrument-functions is called. */
uint64_t lr_plan_number(struct token w, unsigned base, uint64_t least, uint64_t most, const char **wrong);
unsigned lr_plan_place(struct token w, int leave, int hook, struct part *parts, const char **wrong);

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
