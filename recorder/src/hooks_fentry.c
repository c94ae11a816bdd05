/* hooks_fentry.c: the C side of hooks_fentry_x86_64.S.
 *
 * gcc's -minstrument-return=call calls __return__ before every return of a
 * function. It does not say which function returns: the call that ends is found by its frame. clang has no such hook,
 * and gcc calls none without the option. Then the next enter shows that a call has ended, if its frame is not below
 * that of the call; the leave is recorded there. With it, such an enter shows that the call was left by an exception or longjmp, or by a
 * child of vfork that ended: gcc calls __return__ before the jump of a tail call, too. */

#include "convention.h"

#if LR_HAVE_ALL_PLANS

#if defined(_WIN32)

#include "hot.h"
#include "jumps.h"
#include "values.h"
#include "vectors_windows.h"

#define LR_CALLED LR_OWN
#define LR_APART __attribute__((noinline)) LR_OWN

/* hooks_fentry_windows.S saves the registers that the hot path may change. */
int lr_fentry_fast(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers);
void lr_fentry_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers);
int lr_freturn_fast(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers);
void lr_freturn_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers);

#else

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif

#include "system_linux.h"

#include "hot.h"
#include "jumps.h"
#include "libcalls.h"
#include "patch.h"
#include "values.h"
#include "xsave.h"

#define LR_CALLED __attribute__((visibility("hidden"), used)) LR_OWN
/* For functions that the hot path jumps to where values are taken. They are not inlined, so that the path without
 * values saves no registers for them, and keep arguments that they do not use, so that all are where the hook has put them. */
#if defined(__clang__)
#define LR_APART __attribute__((noinline)) LR_OWN
#else
#define LR_APART __attribute__((noinline, noclone)) LR_OWN
#endif

uint32_t lr_find_xsave_size(void);
int lr_fentry_fast(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers);
void lr_fentry_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers);
int lr_patched_fast(uintptr_t function, uintptr_t frame, uintptr_t site, struct lr_registers *registers);
void lr_patched_slow(uintptr_t function, uintptr_t frame, uintptr_t site, const struct lr_registers *registers);
int lr_freturn_fast(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers);
int lr_fjump_fast(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers);
void lr_freturn_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers);
int lr_libcall_fast(const struct lr_libcall *call, uintptr_t *slot, struct lr_registers *registers);
void lr_libcall_slow(const struct lr_libcall *call, uintptr_t *slot, const struct lr_registers *registers);
void lr_libcall_left_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers);

/* How many bytes xsave takes for x87, SSE, AVX and AVX-512 state. LR_NO_XSAVE: the processor has no xsave. 0: not
 * asked yet. */
uint32_t lr_xsave_size __attribute__((visibility("hidden")));

LR_CALLED uint32_t lr_find_xsave_size(void) {
  const uint32_t size = lr_xsave_size_of();
  lr_store(&lr_xsave_size, size);
  return size;
}

#endif

/* has_room tells whether any program's record fits behind an event of the hot path. */
LR_INLINE int has_room(const struct lr_level *v, const struct lr_program *program) {
  return v->chunk->used + program->most + LR_RESERVE < v->limit;
}

#if defined(_WIN32)
/* These may call the system, which changes the upper halves of vector registers. So here the slow functions take such
 * values. */
LR_INLINE int write_enter(struct lr_level *v, uintptr_t address, unsigned kind, uintptr_t frame, const struct lr_valued *f, struct lr_registers *r) {
  return (void)v, (void)address, (void)kind, (void)frame, (void)f, (void)r, 0;
}
LR_INLINE int write_leave(struct lr_level *v, uintptr_t frame, const struct lr_program *program, struct lr_registers *r) {
  return (void)v, (void)frame, (void)program, (void)r, 0;
}
LR_INLINE void keep_vectors(struct lr_registers *r, const struct lr_program *program) { (void)r, (void)program; /* they are kept */ }
#else
/* keep_vectors saves the vector registers if a program takes values from them. Nothing has changed them yet. */
LR_INLINE void keep_vectors(struct lr_registers *r, const struct lr_program *program) {
  if (LR_LIKELY(!program->vectors)) return;
  __asm__ volatile(
      "movq %%xmm0,%0\n\tmovq %%xmm1,%1\n\tmovq %%xmm2,%2\n\tmovq %%xmm3,%3\n\t"
      "movq %%xmm4,%4\n\tmovq %%xmm5,%5\n\tmovq %%xmm6,%6\n\tmovq %%xmm7,%7"
      : "=m"(r->vector[0]), "=m"(r->vector[1]), "=m"(r->vector[2]), "=m"(r->vector[3]), "=m"(r->vector[4]), "=m"(r->vector[5]),
        "=m"(r->vector[6]), "=m"(r->vector[7]));
}

/* take writes the values of a call at p and returns how many bytes they are. */
LR_COLD static size_t take(uint8_t *p, unsigned type, const struct lr_program *program, struct lr_registers *r, uintptr_t frame,
                           const struct lr_kept *kept) {
  keep_vectors(r, program);
  return program->count ? (size_t)(lr_take_values(p, type, program, r, frame, kept) - p) : 0;
}

/* write_enter and write_leave take what lr_take_quick cannot, such as texts. The time of an enter is read after
 * its values were taken, and that of a leave before: the duration of the call does not have in it what it took to
 * copy them. */
LR_COLD static int write_enter(struct lr_level *v, uintptr_t address, unsigned kind, uintptr_t frame, const struct lr_valued *f, struct lr_registers *r) {
  if (f->keeps && !v->kept) return 0; /* the slow function makes room for them */
  const size_t n = take(lr_position(v) + LR_ENTER_BYTES, LRF_ARGUMENTS, &f->enter, r, frame, NULL);
  if (!lr_try_enter_with(v, address, kind, frame, frame, LR_ONE_CALL, LR_ONE_CALL, n, NULL, NULL, 0)) return 0;
  if (f->keeps) lr_keep(v, f, r, frame);
  return 1;
}
LR_COLD static int write_leave(struct lr_level *v, uintptr_t frame, const struct lr_program *program, struct lr_registers *r) {
  const struct lr_frame_entry *const call = v->top - 1; /* the leave does not change the entry */
  if (!lr_try_leave(v, call->function, frame, 1)) return 0;
  lr_commit(v, lr_position(v) + take(lr_position(v), LRF_RESULT, program, r, frame, lr_kept_of(v, call)));
  return 1;
}

#endif

/* enter_by takes the level and writes an enter with what a program takes that is as quick as quick says. It calls nothing, so
 * that it has no registers to save. */
LR_INLINE int enter_by(const struct lr_valued *f, uintptr_t address, uintptr_t frame, uintptr_t idle, struct lr_registers *r, struct lr_level *v, unsigned kind,
                       int quick) {
  v->inside = frame;
  lr_barrier();
  const int done = lr_try_enter_with(v, address, kind, frame, frame, LR_ONE_CALL, LR_ONE_CALL, 0, f, r, quick);
  lr_barrier();
  v->inside = idle;
  return !done;
}

/* write_enter_of writes an enter with all that is taken. The level is taken. */
LR_INLINE int write_enter_of(struct lr_level *v, uintptr_t address, unsigned kind, uintptr_t frame, const struct lr_valued *f, struct lr_registers *r) {
  if (LR_UNLIKELY(!has_room(v, &f->enter) || !write_enter(v, address, kind, frame, f, r))) return 0;
  memcpy(&v->top[-1].owner, &f->owner, sizeof f->owner + sizeof f->pc);
  return 1;
}

/* enter_with_more is for what lr_take_quickest does not take, enter_with_all for what lr_take_quick does not. */
LR_APART static int enter_with_all(uintptr_t address, uintptr_t frame, uintptr_t idle, struct lr_registers *r, struct lr_thread *t, unsigned kind) {
  struct lr_level *const v = &t->level[0];
  const struct lr_valued *const f = lr_valued_quick(address);
  int done = 0;
  v->inside = frame;
  lr_barrier();
  if (LR_LIKELY(f != NULL)) done = write_enter_of(v, address, kind, frame, f, r);
  lr_barrier();
  v->inside = idle;
  return !done;
}
LR_INLINE int quick_enter(uintptr_t address, uintptr_t frame, uintptr_t idle, struct lr_registers *r, struct lr_thread *t, unsigned kind) {
  const struct lr_valued *const f = lr_valued_quick(address);
  if (LR_UNLIKELY(!f || !f->enter.quick)) return enter_with_all(address, frame, idle, r, t, kind);
  keep_vectors(r, &f->enter);
  return enter_by(f, address, frame, idle, r, &t->level[0], kind, LR_QUICK);
}
LR_APART static int enter_with_more(uintptr_t address, uintptr_t frame, uintptr_t idle, struct lr_registers *r, struct lr_thread *t) {
  return quick_enter(address, frame, idle, r, t, 1);
}
#if !defined(_WIN32)
LR_APART static int patched_with_more(uintptr_t address, uintptr_t frame, uintptr_t idle, struct lr_registers *r, struct lr_thread *t) {
  return quick_enter(address, frame, idle, r, t, 0);
}
#else
#define patched_with_more enter_with_more /* there are none */
#endif

#if defined(_WIN32)
LR_INLINE int write_after(struct lr_thread *t, uintptr_t address, unsigned kind, uintptr_t frame) {
  return (void)t, (void)address, (void)kind, (void)frame, 0;
}
#else
/* on_own_stack tells whether it is known, without a system call, that a frame is on the thread's own stack. If the
 * stack's bounds are not known yet, it is known of frames close to where the stack begins, in all threads but the
 * main one (plat_own_stack). */
LR_INLINE int on_own_stack(const struct lr_thread *t, uintptr_t frame) {
  /* On the signal stack; or that is not known, because the program may have set another one. */
  if (!t->signal_known || frame - t->signal_low < t->signal_high - t->signal_low) return 0;
  if (t->own.high) return frame - t->own.low < t->own.high - t->own.low;
  uintptr_t block; /* pthread_self, without a call */
  __asm__("mov %%fs:0,%0" : "=r"(block));
  return block != lr_main_block && block - frame <= LR_CLOSE_BY;
}

/* ends_are_late tells whether it is known that the next enter is what shows that a call has ended. */
LR_INLINE int ends_are_late(void) { return lr_has_come_by(LR_LATE) && !lr_sees_returns(); }

/* write_after is the hot path for an enter whose frame shows that calls before it have ended, in programs that have
 * hooks at enters only. It writes the leaves of these calls and the enter, all of one time. It
 * returns 0, and has changed nothing, where lr_ended has to look closer. The caller has taken t's level 0. */
LR_INLINE int write_after(struct lr_thread *t, uintptr_t address, unsigned kind, uintptr_t frame) {
  enum { MOST = 16 }; /* leaves: with an enter they fit into LR_RESERVE */
  struct lr_level *const v = &t->level[0];
  const uint64_t now = lr_ticks(), delta = now - v->last;
  const uint64_t first = ((uint64_t)address << LRF_OFFSET_SHIFT) + v->window[kind][(uint32_t)address >> LRF_OFFSET_BITS];
  struct lrf_chunk *const c = v->chunk;
  const size_t used = c->used;
  struct lr_frame_entry *top = v->top, *const bottom = v->stack + 2;
  if (delta > 0x7fff || first >> 32 || used >= v->limit || v->on != &t->own || !on_own_stack(t, frame)) return 0;
  if (!ends_are_late()) return 0;
  uint8_t *p = (uint8_t *)(c + 1) + used;
  unsigned n = 0;
  for (; top > bottom && top[-1].frame <= frame; top--, n++, p += LR_LEAVE_BYTES) {
    const struct lr_frame_entry *const f = top - 1;
    if (n == MOST || !lr_by_frame(f) || lr_hidden(f) || !on_own_stack(t, f->frame)) return 0;
    lr_store16(p, (uint16_t)(LRF_LEAVE_BIT | (n ? 0 : delta << 1)));
  }
  if (!n || top[-1].frame - frame - 1 >= LR_NEAR) return 0;
  lr_store32(p, (uint32_t)first);
  lr_store16(p + 4, 0);
  lr_barrier();
  v->last = now;
  lr_store(&c->used, (uint32_t)(used + n * LR_LEAVE_BYTES + LR_ENTER_BYTES));
  top->function = (uint64_t)address << 1 | kind;
  top->frame = frame;
  top->time = now;
  top->owner = LR_ONE_CALL;
  top->pc = LR_ONE_CALL;
  v->top = top + 1;
  return 1;
}

#endif

/* enter_after writes the event by write_after, and gives level 0 back. The hot path jumps to it, so that it has no registers to
 * save. */
LR_APART static int enter_after(uintptr_t address, uintptr_t frame, uintptr_t mode, struct lr_registers *r, struct lr_thread *t, unsigned kind) {
  (void)r;
  const int done = write_after(t, address, kind, frame);
  lr_barrier();
  t->level[0].inside = mode;
  return !done;
}

/* enter_behind_jump is the quick way for what a call has jumped to, which has to say so. The level is not taken. */
LR_APART static int enter_behind_jump(uintptr_t address, uintptr_t frame, uintptr_t idle, struct lr_registers *r, struct lr_thread *t, unsigned kind) {
  struct lr_level *const v = &t->level[0];
  if (t->jump.mode != idle || !lr_idle(v) || !lr_is_jumped_to(t, address, kind, frame, *(const uintptr_t *)frame, r)) return lr_relaxed(&lr_mode) != LR_OFF;
  const uintptr_t taken = v->inside;
  int done = 0;
  v->inside = frame;
  lr_barrier();
  const struct lr_valued *const f = lr_valued_quick(address);
  if (f && !v->jumped && v->chunk->used + LR_JUMP_BYTES < v->limit && lr_is_behind_jump(t, v)) {
    lr_commit(v, lr_put_jump(lr_position(v)));
    if (f->enter.quick) {
      keep_vectors(r, &f->enter);
      done = lr_try_enter_with(v, address, kind, frame, frame, LR_ONE_CALL, LR_ONE_CALL, 0, f, r, LR_QUICK);
    } else {
      done = write_enter_of(v, address, kind, frame, f, r);
    }
    if (LR_UNLIKELY(!done)) lr_commit(v, t->jump.behind);
  }
  if (done) lr_forget_jump(t);
  lr_barrier();
  v->inside = done ? t->mode : taken;
  return !done;
}

/* quickest_enter is the hot path where values are taken. */
LR_INLINE int quickest_enter(uintptr_t address, uintptr_t frame, struct lr_registers *r, struct lr_thread *t, unsigned kind) {
  struct lr_level *const v = &t->level[0];
  const uintptr_t idle = lr_relaxed(&lr_quick_idle);
  /* idle is no level's inside where recording is off. */
  if (LR_UNLIKELY(v->inside != idle)) return enter_behind_jump(address, frame, idle, r, t, kind);
  const struct lr_valued *const f = lr_valued_quickest(address);
  if (LR_UNLIKELY(!f)) return (kind ? enter_with_more : patched_with_more)(address, frame, idle, r, t);
  return enter_by(f, address, frame, idle, r, v, kind, LR_QUICKEST);
}
LR_APART static int enter_with(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *r, struct lr_thread *t) {
  (void)site;
  return quickest_enter(address, frame, r, t, 1);
}
#if !defined(_WIN32)
LR_APART static int patched_with(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *r, struct lr_thread *t) {
  (void)site;
  return quickest_enter(address, frame, r, t, 0);
}
#else
#define patched_with enter_with /* there are none */
#endif

/* kind: 0 if address is the function's first byte, 1 if it is a return address behind that. */
LR_INLINE int entry_fast(uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  struct lr_thread *const t = lr_self_get();
  struct lr_level *const v = &t->level[0];
  const uintptr_t mode = lr_relaxed(&lr_mode);
  /* A jump that leaves the arguments where they are. */
  if (LR_UNLIKELY(v->inside != mode)) return (kind ? enter_with : patched_with)(address, frame, site, registers, t);
  v->inside = frame;
  lr_barrier();
  const struct lr_frame_entry *const top = v->top;
  if (LR_UNLIKELY(top[-1].frame <= frame)) return enter_after(address, frame, mode, registers, t, kind);
  const int done = lr_try_enter(v, address, kind, frame, frame, LR_ONE_CALL, LR_ONE_CALL);
  lr_barrier();
  v->inside = mode;
  return !done;
}
LR_CALLED int lr_fentry_fast(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  return entry_fast(address, 1, frame, site, registers);
}
#if !defined(_WIN32)
LR_CALLED int lr_patched_fast(uintptr_t function, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  return entry_fast(function, 0, frame, site, registers);
}
#endif

/* is_libcall_return tells by where a call returns to whether a library's function that the recorder was called for has ended with a
 * jump to it (a tail call). */
#if defined(_WIN32)
LR_INLINE int is_libcall_return(uintptr_t site) { return (void)site, 0; }
#else
extern void lr_libcall_return(void) __attribute__((visibility("hidden")));
LR_INLINE int is_libcall_return(uintptr_t site) { return site == (uintptr_t)lr_libcall_return; }
#endif

LR_INLINE void fentry_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers, unsigned kind, enum lr_way way) {
  const uintptr_t jump = (uintptr_t)lr_comes_by_jump(address, kind, frame, site, registers);
  const struct lr_place at = {frame, site, LR_ONE_CALL, LR_ONE_CALL, registers, jump};
  lr_ended(&at, is_libcall_return(site));
  lr_enter_slow(address, kind, frame, &at, way);
}

#if defined(_WIN32)
LR_CALLED void lr_fentry_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers) {
  struct lr_vectors vectors;
  lr_vectors_save(&vectors);
  fentry_slow(address, frame, site, lr_load(&lr_taking) ? registers : NULL, 1, LR_FENTRY);
  lr_vectors_restore(&vectors);
}
#else
LR_CALLED void lr_fentry_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers) {
  fentry_slow(address, frame, site, registers, 1, LR_FENTRY);
}
/* A log names one of the two ways in, XRay or patched entries, when it begins: lr_patch_ways has it. */
LR_CALLED void lr_patched_slow(uintptr_t function, uintptr_t frame, uintptr_t site, const struct lr_registers *registers) {
  fentry_slow(function, frame, site, registers, 0, lr_patch_ways() >> LR_XRAY & 1 ? LR_XRAY : LR_PATCHED);
}
#endif

/* leave_with is the hot path for a leave where values are taken. leave_with_more is for what lr_take_quickest_result does not
 * take, and leave_with_all for what lr_take_quick does not; they find the level taken. */
LR_APART static int leave_with_all(uintptr_t address, uintptr_t frame, uintptr_t idle, struct lr_registers *r, struct lr_thread *t) {
  struct lr_level *const v = &t->level[0];
  const struct lr_frame_entry *const top = v->top - 1;
  int done = 0;
  if (LR_LIKELY(top->frame == frame && lr_by_frame(top))) {
    if (!r) {
      done = lr_try_leave(v, top->function, frame, 2);
    } else if (!lr_returns(address)) {
      const struct lr_valued *const f = lr_valued_quick((uintptr_t)(top->function >> 1));
      const uintptr_t to = f && f->leave.count ? lr_jumps_to(address, r) : 0;
      if (LR_LIKELY(f != NULL)) done = lr_try_leave(v, top->function, frame, 2);
      if (done && to) {
        lr_left_by_jump(t, to, frame, r);
        idle = t->mode;
      }
    } else {
      const struct lr_valued *const f = lr_valued_quick((uintptr_t)(top->function >> 1));
      if (LR_LIKELY(f && has_room(v, &f->leave))) {
        keep_vectors(r, &f->leave);
        if (f->leave.quick) done = lr_try_leave_with(v, top->function, frame, 2, &f->leave, r, LR_QUICK);
        else done = write_leave(v, frame, &f->leave, r);
      }
    }
  }
  lr_barrier();
  v->inside = idle;
  return !done;
}
LR_APART static int leave_with_more(uintptr_t address, uintptr_t frame, uintptr_t idle, struct lr_registers *r, struct lr_thread *t) {
  struct lr_level *const v = &t->level[0];
  const struct lr_frame_entry *const top = v->top - 1;
  if (LR_UNLIKELY(top->frame != frame || top->owner > LR_QUICK_LEAVE || top->pc == LR_ONE_CALL || *(const uint8_t *)address != LR_RET))
    return leave_with_all(address, frame, idle, r, t);
  const struct lr_program *const program = &lr_valued_by(top->pc)->leave;
  if (LR_UNLIKELY(!program->quick)) return leave_with_all(address, frame, idle, r, t);
  keep_vectors(r, program);
  const int done = lr_try_leave_with(v, 0, frame, 2, program, r, LR_QUICK);
  lr_barrier();
  v->inside = idle;
  return !done;
}
LR_APART static int leave_with(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *r, struct lr_thread *t) {
  (void)site;
  struct lr_level *const v = &t->level[0];
  const uintptr_t idle = lr_relaxed(&lr_quick_idle);
  if (LR_UNLIKELY(v->inside != idle)) return lr_relaxed(&lr_mode) != LR_OFF;
  v->inside = frame;
  lr_barrier();
  const struct lr_frame_entry *const top = v->top - 1;
  if (LR_UNLIKELY(*(const uint8_t *)address != LR_RET || top->frame != frame || top->owner != LR_QUICK_LEAVE))
    return leave_with_more(address, frame, idle, r, t);
  const int done = lr_try_leave_with(v, 0, frame, 2, &lr_valued_by(top->pc)->leave, r, LR_QUICKEST);
  lr_barrier();
  v->inside = idle;
  return !done;
}

LR_INLINE int leave_fast(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers,
                         int (*with)(uintptr_t, uintptr_t, uintptr_t, struct lr_registers *, struct lr_thread *)) {
  struct lr_thread *const t = lr_self_get();
  struct lr_level *const v = &t->level[0];
  const uintptr_t mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) return with(address, frame, site, registers, t); /* a jump */
  v->inside = frame;
  lr_barrier();
  const struct lr_frame_entry *top = v->top - 1;
  const int done = LR_LIKELY(top->frame == frame && lr_by_frame(top)) && lr_try_leave(v, top->function, frame, 1);
  lr_barrier();
  v->inside = mode;
  return !done;
}

LR_CALLED int lr_freturn_fast(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  return leave_fast(address, frame, site, registers, leave_with);
}

#if !defined(_WIN32)
/* Before the jump of a tail call the hook has no registers, and there is no result. */
LR_APART static int leave_by_jump(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *r, struct lr_thread *t) {
  (void)site;
  struct lr_level *const v = &t->level[0];
  const uintptr_t idle = lr_relaxed(&lr_quick_idle);
  if (LR_UNLIKELY(v->inside != idle)) return lr_relaxed(&lr_mode) != LR_OFF;
  v->inside = frame;
  lr_barrier();
  return leave_with_all(address, frame, idle, r, t);
}
LR_CALLED int lr_fjump_fast(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  return leave_fast(address, frame, site, registers, leave_by_jump);
}
#endif

LR_CALLED void lr_freturn_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers) {
  const int returns = registers && lr_returns(address);
  const uintptr_t jump = registers && !returns ? lr_jumps_to(address, registers) : 0;
  const struct lr_place at = {frame, site, LR_ONE_CALL, LR_ONE_CALL, returns || jump ? registers : NULL, jump};
#if defined(_WIN32)
  struct lr_vectors vectors;
  lr_vectors_save(&vectors);
  lr_returned(&at, LR_RETURN);
  lr_vectors_restore(&vectors);
#else
  lr_returned(&at, LR_RETURN);
#endif
}

#if !defined(_WIN32)
/* ---- calls into libraries ---- */

#if !defined(LOGREC_NO_INTERPOSE)
/* redirect makes a call return to the recorder. */
LR_INLINE void redirect(uintptr_t *slot) {
  *(uintptr_t *)((intptr_t)slot + LR_MIRROR) = *slot;
  lr_barrier();
  *slot = (uintptr_t)lr_libcall_return;
}

/* note_jump is for a call whose slot the recorder has: the slow function is told so. */
LR_APART static int note_jump(const uintptr_t *slot) {
  struct lr_thread *const t = lr_self_get();
  if (lr_alive(t)) t->jumped = (uintptr_t)slot;
  return 1;
}

LR_CALLED int lr_libcall_fast(const struct lr_libcall *call, uintptr_t *slot, struct lr_registers *registers) {
  if (lr_relaxed(&lr_mode) == LR_OFF) return 0;
  if (!lr_mirrored((uintptr_t)slot)) return 1;
  if (LR_UNLIKELY(is_libcall_return(*slot))) return note_jump(slot);
  redirect(slot);
  return entry_fast(call->function, 0, (uintptr_t)slot, 0, registers);
}

LR_CALLED void lr_libcall_slow(const struct lr_libcall *call, uintptr_t *slot, const struct lr_registers *registers) {
  if (lr_relaxed(&lr_mode) == LR_OFF || plat_busy() || !lr_mirror((uintptr_t)slot)) return;
  struct lr_thread *const t = lr_self_get();
  const int jumped = t->jumped == (uintptr_t)slot;
  if (jumped) t->jumped = 0;
  if (!is_libcall_return(*slot)) redirect(slot);
  const uintptr_t frame = (uintptr_t)slot, site = *(const uintptr_t *)((intptr_t)slot + LR_MIRROR);
  const struct lr_place at = {frame, site, LR_ONE_CALL, LR_ONE_CALL, registers, (uintptr_t)lr_comes_by_jump((uintptr_t)call, 0, frame, site, registers)};
  lr_ended(&at, jumped);
  lr_enter_slow(call->function, 0, (uintptr_t)slot, &at, LR_LIBCALLS);
}
#else
LR_CALLED int lr_libcall_fast(const struct lr_libcall *call, uintptr_t *slot, struct lr_registers *registers) {
  return (void)call, (void)slot, (void)registers, 0;
}
LR_CALLED void lr_libcall_slow(const struct lr_libcall *call, uintptr_t *slot, const struct lr_registers *registers) {
  (void)call, (void)slot, (void)registers;
}
#endif

LR_CALLED void lr_libcall_left_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers) {
  (void)address; /* a ret */
  const struct lr_place at = {frame, site, LR_ONE_CALL, LR_ONE_CALL, registers, 0};
  lr_returned(&at, LR_LIBCALLS);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

#else
typedef int lr_no_fentry;
#endif
