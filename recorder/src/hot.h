/* hot.h: the hot path, inlined into the hooks: an event whose thread, chunk, window and
 * place on the stack need no second look, as nearly all, is written here; event.c writes the others.
 *
 * No lock, no atomic operation, no system call, no call at all. A signal handler may
 * interrupt it anywhere: lr_level.inside tells the handler's own events, which then take another
 * level. Each test that fails leaves the level as it was. */

#ifndef LOGREC_HOT_H
#define LOGREC_HOT_H

#include "values.h"

#if defined(__GNUC__)
#define LR_CONSTANT(x, value) (__builtin_constant_p(x) && (x) == (value))
#else
#define LR_CONSTANT(x, value) ((x) == (value))
#endif

/* lr_try_enter_with records the enter of a call that is further in than the innermost one and near it,
 * or inlined in the same frame; otherwise, and where the record needs more than its 6 bytes, it
 * returns 0 and nothing is changed. pointer, owner and pc are frame, owner and pc of struct
 * lr_place; where pc is 0 it is the address that the hook returns to.
 * values: the bytes of a record of values that was written behind the place of this one already, and that is valid together with it;
 * 0 for none. valued: where it is not NULL, the record is written from the registers instead, by a program that is as quick as
 * quick says, and owner is LR_ONE_CALL. */
LR_INLINE int lr_try_enter_with(struct lr_level *v, uintptr_t function, unsigned kind, uintptr_t frame, uintptr_t pointer, uint32_t owner,
                                uint32_t pc, size_t values, const struct lr_valued *valued, const struct lr_registers *registers, int quick) {
  const struct lr_program *const program = valued ? &valued->enter : NULL;
  /* Values first, and the first word: what they need of registers is free again before the counter is read. They mean nothing until
   * used covers them. */
  uint8_t *place = NULL;
  uint64_t first = 0;
  if (program) {
    struct lrf_chunk *const chunk = v->chunk;
    const size_t at = chunk->used;
    if (LR_UNLIKELY(at >= v->limit)) return 0;
    place = (uint8_t *)(chunk + 1) + at;
    if (quick == LR_QUICKEST) lr_take_quickest(place + LR_ENTER_BYTES + 2, program, registers);
    else lr_take_quick(place + LR_ENTER_BYTES + 2, program, registers, 0);
    lr_barrier();
    first = ((uint64_t)function << LRF_OFFSET_SHIFT) + v->window[kind][(uint32_t)function >> LRF_OFFSET_BITS];
    if (LR_UNLIKELY(first >> 32)) return 0;
    first |= program->head;
    lr_barrier();
  }
  /* Then the counter: it takes long, and wants registers of its own. Then one
   * thing after the other, with barriers between: so nothing has to be kept for
   * later, and the registers that a function may use freely are enough. */
  const uint64_t now = lr_ticks();
  lr_barrier();
  const uint64_t delta = now - v->last;
  if (LR_UNLIKELY(delta > 0xffff)) return 0;
  lr_barrier();
  if (!program) {
    first = ((uint64_t)function << LRF_OFFSET_SHIFT) + v->window[kind][(uint32_t)function >> LRF_OFFSET_BITS];
    if (LR_UNLIKELY(first >> 32)) return 0;
  }
  lr_barrier();
  struct lrf_chunk *c = NULL;
  size_t used = 0;
  if (!program) {
    c = v->chunk;
    used = c->used;
    lr_opaque(used);
    if (LR_UNLIKELY(used >= v->limit)) return 0;
    place = (uint8_t *)(c + 1) + used;
  }
  if (program || LR_CONSTANT(values, 0)) {
    lr_store64(place, first | delta << 32);
  } else {
    lr_store32(place, (uint32_t)first);
    lr_store16(place + 4, (uint16_t)delta);
  }
  lr_barrier();
  struct lr_frame_entry *const top = v->top;
  if (LR_UNLIKELY(top >= v->stack_end)) return 0;
  const uintptr_t further = top[-1].frame - pointer;
  if (LR_UNLIKELY(further - 1 >= LR_NEAR) &&
      (LR_CONSTANT(owner, LR_ONE_CALL) || further != 0 || top[-1].owner != owner || top[-1].pc == (pc ? pc : (uint32_t)lr_return_address())))
    return 0;
  lr_barrier();
  v->last = now;
  if (program) lr_grow(&v->chunk->used, program->grows);
  else lr_store(&c->used, (uint32_t)(used + LR_ENTER_BYTES + values));
  top->function = (uint64_t)function << 1 | kind;
  top->frame = frame;
  top->time = now;
  if (valued) {
    memcpy(&top->owner, &valued->owner, sizeof top->owner + sizeof top->pc);
  } else {
    top->owner = owner;
    lr_barrier(); /* Two stores are cheaper than one of both. */
    top->pc = pc ? pc : (uint32_t)lr_return_address();
  }
  v->top = top + 1;
  return 1;
}
LR_INLINE int lr_try_enter(struct lr_level *v, uintptr_t function, unsigned kind, uintptr_t frame, uintptr_t pointer, uint32_t owner,
                           uint32_t pc) {
  return lr_try_enter_with(v, function, kind, frame, pointer, owner, pc, 0, NULL, NULL, 0);
}

/* lr_try_leave is the same for a leave; key is function << 1 | kind. Two bytes
 * are enough where the top call is the one that ends: the function is the same
 * and no call further out can be the one, since its frame is no younger than
 * this one. exact: the frame is known to be the enter's; 2: the top call is known to be the one that ends. */
LR_INLINE int lr_try_leave_with(struct lr_level *v, uint64_t key, uintptr_t frame, int exact, const struct lr_program *program,
                                const struct lr_registers *registers, int quick) {
  const uint64_t now = lr_ticks();
  lr_barrier();
  const uint64_t delta = now - v->last;
  struct lr_frame_entry *const top = v->top - 1;
  if (LR_UNLIKELY(delta > 0x7fff || (exact < 2 && top->function != key) ||
                  (exact > 1 ? 0 : exact ? top->frame != frame : top[-1].frame < frame || frame - top->frame + LR_NEAR > 2 * LR_NEAR)))
    return 0;
  lr_barrier();
  struct lrf_chunk *const c = v->chunk;
  size_t used = c->used;
  lr_opaque(used);
  if (LR_UNLIKELY(used >= v->limit)) return 0;
  uint8_t *const place = (uint8_t *)(c + 1) + used;
  if (program) lr_store32(place, (uint32_t)(program->head | delta << 1));
  else lr_store16(place, (uint16_t)(LRF_LEAVE_BIT | delta << 1));
  v->last = now;
  v->top = top;
  if (program) {
    if (quick == LR_QUICKEST) lr_take_quickest_result(place + LR_LEAVE_BYTES + 2, program, registers);
    else lr_take_quick(place + LR_LEAVE_BYTES + 2, program, registers, 1);
    lr_barrier();
    lr_grow(&c->used, program->grows);
  } else {
    lr_store(&c->used, (uint32_t)(used + LR_LEAVE_BYTES));
  }
  return 1;
}
LR_INLINE int lr_try_leave(struct lr_level *v, uint64_t key, uintptr_t frame, int exact) { return lr_try_leave_with(v, key, frame, exact, NULL, NULL, 0); }

/* lr_fast_enter and lr_fast_leave are for hooks in C: 0 where the slow way is to be taken. */
LR_INLINE int lr_fast_enter(uintptr_t function, unsigned kind, uintptr_t frame, uintptr_t pointer, uint32_t owner, uint32_t pc) {
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t inside = lr_frame(), mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) return mode == LR_OFF;
  v->inside = inside;
  lr_barrier();
  const int done = lr_try_enter(v, function, kind, frame, pointer, owner, pc);
  lr_barrier();
  v->inside = mode;
  return done;
}

LR_INLINE int lr_fast_leave(uintptr_t function, unsigned kind, uintptr_t frame, int exact) {
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t inside = lr_frame(), mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) return mode == LR_OFF;
  v->inside = inside;
  lr_barrier();
  const int done = lr_try_leave(v, (uint64_t)function << 1 | kind, frame, exact);
  lr_barrier();
  v->inside = mode;
  return done;
}

/* lr_fast_call and lr_fast_return are for hooks that know frames exactly; 0 where all is done. */
LR_INLINE int lr_fast_call(uintptr_t address, unsigned kind, uintptr_t frame) {
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) return mode != LR_OFF;
  v->inside = frame;
  lr_barrier();
  const int done = lr_try_enter(v, address, kind, frame, frame, LR_ONE_CALL, LR_ONE_CALL);
  lr_barrier();
  v->inside = mode;
  return !done;
}

LR_INLINE int lr_fast_return(uintptr_t frame) {
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) return mode != LR_OFF;
  v->inside = frame;
  lr_barrier();
  const struct lr_frame_entry *const top = v->top - 1;
  const int done = LR_LIKELY(top->frame == frame && lr_by_frame(top)) && lr_try_leave(v, top->function, frame, 1);
  lr_barrier();
  v->inside = mode;
  return !done;
}

#endif
