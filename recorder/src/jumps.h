/* jumps.h: calls that end with a jump to another function, so that its result is theirs (jumps.c). */

#ifndef LOGREC_JUMPS_H
#define LOGREC_JUMPS_H

#include "convention.h"
#include "core.h"

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

enum { LR_JUMP_BYTES = 4 };

#if LR_HAVE_JUMPS
/* Where the jump leads that a hook returns to: the first byte of a function, or the struct lr_libcall of a call that goes through
 * the recorder. 0: it is not known, or there is no jump. It does not change vector registers. */
uintptr_t lr_jumps_to(uintptr_t address, const struct lr_registers *r);
/* The leave that the thread's level 0 has just written is of a call that jumps there: the next event takes the slow path. */
void lr_left_by_jump(struct lr_thread *t, uintptr_t to, uintptr_t frame, const struct lr_registers *r);
/* 1 if the call that begins now is what the last one of the thread has jumped to. By its address, as hooks give it: kind 0 for what
 * lr_jumps_to returns, 1 for the address that the hook returns to. lr_comes_by_jump forgets the jump. */
int lr_is_jumped_to(const struct lr_thread *t, uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t site, const struct lr_registers *r);
int lr_comes_by_jump(uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t site, const struct lr_registers *r);
/* 1 if nothing was written since the jump, by the place where the next record goes. */
int lr_is_behind_jump(const struct lr_thread *t, const struct lr_level *v);
void lr_forget_jump(struct lr_thread *t);
/* Writes that the result of the call that has just ended is that of the next one. */
LR_INLINE uint8_t *lr_put_jump(uint8_t *p) {
  lr_store16(p, LRF_FIRST_WORD(LRF_RESULT, 2));
  lr_store16(p + 2, LRF_VALUES_JUMP);
  return p + LR_JUMP_BYTES;
}
#else
LR_INLINE uintptr_t lr_jumps_to(uintptr_t address, const struct lr_registers *r) { return (void)address, (void)r, (uintptr_t)0; }
LR_INLINE void lr_left_by_jump(struct lr_thread *t, uintptr_t to, uintptr_t frame, const struct lr_registers *r) {
  (void)t, (void)to, (void)frame, (void)r;
}
LR_INLINE int lr_comes_by_jump(uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t site, const struct lr_registers *r) {
  return (void)address, (void)kind, (void)frame, (void)site, (void)r, 0;
}
LR_INLINE int lr_is_behind_jump(const struct lr_thread *t, const struct lr_level *v) { return (void)t, (void)v, 0; }
LR_INLINE void lr_forget_jump(struct lr_thread *t) { (void)t; }
LR_INLINE uint8_t *lr_put_jump(uint8_t *p) { return p; }
LR_INLINE int lr_is_jumped_to(const struct lr_thread *t, uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t site,
                              const struct lr_registers *r) {
  return (void)t, (void)address, (void)kind, (void)frame, (void)site, (void)r, 0;
}
#endif

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
