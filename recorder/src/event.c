/* event.c: events that the hot path (hot.h) does not write: the first event of a chunk or of a
 * window, a leave that does not end the innermost call, events after a jump, events while there are
 * lists, events of a signal handler that interrupted a hook, annotations and counters.
 *
 * An event takes one of the thread's levels (level_begin). That is no lock: a signal handler
 * finds the level taken and takes the next one. So all of this may run in a handler. The lock is
 * taken only if an event needs more than its chunk: another chunk (chunk.c), the state of a thread
 * (thread.c), a new way in (process.c), room for stacks (stacks.c), or the decision of the lists on an
 * address (lists.c). */

#include "jumps.h"
#include "plan.h"
#include "values.h"

/* lr_put_time writes TIME if delta is larger than most, so that the rest of delta fits. It returns the
 * place behind what it wrote. */
LR_OWN uint8_t *lr_put_time(uint8_t *p, uint64_t *delta, uint64_t most) {
  if (*delta <= most) return p;
  const uint64_t v = *delta >> LRF_TIME_SHIFT;
  *delta -= v << LRF_TIME_SHIFT;
  if (v <= 0xffff) {
    lr_store16(p, LRF_FIRST_WORD(LRF_TIME, 2));
    lr_store16(p + 2, (uint16_t)v);
    return p + 4;
  }
  lr_store16(p, LRF_FIRST_WORD(LRF_TIME, 4));
  lr_store16(p + 2, (uint16_t)v);
  lr_store32(p + 4, (uint32_t)(v >> 16));
  return p + 8;
}

/* put_window writes WINDOW if address is in no window yet. *first becomes the first word of an enter at
 * address. */
LR_OWN static uint8_t *put_window(struct lr_level *v, uint8_t *p, uintptr_t address, unsigned kind, uint32_t *first) {
  uint64_t w = v->window[kind][(uint32_t)address >> LRF_OFFSET_BITS] + ((uint64_t)address << LRF_OFFSET_SHIFT);
  *first = (uint32_t)w;
  if (w >> 32 == 0) return p;
  const uint64_t base = lr_window_base(address);
  uint32_t i = 0;
  while (i < v->windows && v->window_base[i] != (base | kind)) i++;
  if (i == v->windows) {
    if (v->windows < LRF_WINDOWS) {
      v->windows++;
    } else {
      i = v->window_next++ % LRF_WINDOWS;
      const uint64_t old = v->window_base[i];
      v->window[old & 1][(uint32_t)old >> LRF_OFFSET_BITS] = LR_NO_WINDOW((uint32_t)old >> LRF_OFFSET_BITS);
    }
    v->window_base[i] = base | kind;
    lr_store16(p, LRF_FIRST_WORD(LRF_WINDOW, 6));
    lr_store16(p + 2, (uint16_t)(i | kind << 3));
    lr_store64(p + 4, base);
    p += 12;
  }
  w = lr_window_at(base, i);
  v->window[kind][(uint32_t)address >> LRF_OFFSET_BITS] = w;
  *first = (uint32_t)(((uint64_t)address << LRF_OFFSET_SHIFT) + w);
  return p;
}

/* windowed returns an address in the form of records other than enters: the first word of an enter
 * without the bits that mark it as an enter. */
LR_OWN static uint32_t windowed(uint32_t first) { return (first & ~31u) | (first & 31u) >> LRF_WINDOW_SHIFT; }

/* still_inside tells whether the hook that has the level is only interrupted. If a longjmp out of the
 * handler has left the hook for good, the code that runs now is not deeper on the stack than the hook
 * was. */
LR_OWN static int still_inside(const struct lr_level *v, uintptr_t frame) {
  return !lr_idle(v) && (frame < v->inside || plat_on_signal_stack());
}

LR_OWN struct lr_level *lr_level_of(struct lr_thread *t, uintptr_t frame) {
  int n = LR_LEVELS;
  /* Levels above 0 are only in use while a hook of level 0 is interrupted. */
  if (lr_idle(&t->level[0])) n = 0;
  while (n > 0 && !still_inside(&t->level[n - 1], frame)) n--;
  return n < LR_LEVELS ? &t->level[n] : NULL;
}

/* restate makes the level's next chunk begin with the list of open calls. */
LR_OWN static void restate(struct lr_level *v) {
  v->restated = 1;
  v->limit = 0;
}

/* abandon gives up the chunk in which an interrupted hook was writing: nobody knows how far it came. A new
 * chunk begins with the list of open calls, as far as the next event tells which they are. */
LR_OWN static void abandon(struct lr_level *v) {
  v->lost++;
  v->switched = LR_JUMPED;
  restate(v);
}

/* level_begin finds the level that this event belongs to and takes it. */
LR_OWN static struct lr_level *level_begin(struct lr_thread *t, uintptr_t frame) {
  struct lr_level *v = lr_level_of(t, frame);
  if (!v) {
    t->dropped++;
    return NULL;
  }
  if (v == &t->level[0]) lr_forget_jump(t);
  const int left = !lr_idle(v);
  v->inside = frame & ~(uintptr_t)1; /* even: the program itself may give any number as a frame */
  lr_barrier();
  if (left) abandon(v);
  for (struct lr_level *above = v + 1; above < t->level + LR_LEVELS; above++) {
    if (lr_idle(above)) continue;
    abandon(above);
    lr_barrier();
    above->inside = LR_IDLE;
  }
  return v;
}

LR_OWN static void level_end(struct lr_thread *t, struct lr_level *v) {
  lr_barrier();
  v->inside = v == &t->level[0] ? t->mode : LR_IDLE;
}

LR_OWN struct lr_level *lr_level_begin(struct lr_thread *t, uintptr_t frame) { return level_begin(t, frame); }
LR_OWN void lr_level_end(struct lr_thread *t, struct lr_level *v) { level_end(t, v); }

/* lr_return_slot searches the stack for the return address of the event's function, upwards from the
 * event's frame. The address is there, so the search ends. */
#if defined(__x86_64__) || defined(_M_X64)
#if defined(__GNUC__)
__attribute__((no_sanitize("address", "thread", "undefined")))
#endif
LR_OWN uintptr_t lr_return_slot(const struct lr_event *e) {
  const uintptr_t frame = e->at->frame;
  const volatile uintptr_t *p = (const volatile uintptr_t *)((frame + sizeof *p - 1) & ~(uintptr_t)(sizeof *p - 1));
  while (*p != e->at->site) p++;
  return (uintptr_t)p;
}
#else
LR_OWN uintptr_t lr_return_slot(const struct lr_event *e) {
  (void)e;
  return 0;
}
#endif

/* returns_above tells whether the event's function was called by a function whose stack pointer was
 * outer when it called its hook, or from further in. Then the return address of the event's function
 * lies below outer, and the call of outer is still open. */
LR_OWN static int returns_above(const struct lr_event *e, uintptr_t outer) {
  return lr_return_slot(e) < outer + LR_BELOW_CALL;
}

/* ended tells whether an open call has ended without a leave, because the event e is not inside it. */
LR_OWN static int ended(const struct lr_frame_entry *f, const struct lr_event *e) {
  const uintptr_t frame = e->at->frame, pc = lr_site_above(e) ? e->at->pc : 0;
  if (f->frame < frame) return 1;
  if (f->frame > frame) return pc && !lr_by_frame(f) && !returns_above(e, f->frame);
  /* The same frame: one call is inlined into the other, or one came after the other. */
  if ((e->key & 1) || e->at->owner == LR_ONE_CALL || lr_by_frame(f)) return 1;
  if (f->function == e->key) return 1;
  if (!pc) return e->leave;
  const uintptr_t his = (uintptr_t)(f->function >> 1), mine = (uintptr_t)(e->key >> 1);
  return !(his <= pc && (mine > pc || mine < his));
}

/* drop_ended removes the calls from the stack that have ended without a leave. */
LR_COLD static void drop_ended(struct lr_level *v, const struct lr_event *e) {
  struct lr_frame_entry *const bottom = v->stack + 2;
  int shown = 0;
  for (; v->top > bottom && ended(v->top - 1, e); v->top--) shown |= !lr_hidden(v->top - 1);
  if (shown) restate(v);
}

/* catch_up is for the first event after recording was switched on again, or after a longjmp: calls that
 * were open before may have ended without a leave. */
LR_COLD static void catch_up(struct lr_thread *t, struct lr_level *v, const struct lr_event *e) {
  if (plat_on_signal_stack()) return;
  v->switched = lr_load(&lr_global.switched);
  if (v == &t->level[0]) t->mode = LR_IDLE + v->switched;
  if (!v->stack) return;
  if (lr_settings.from[0]) {
    /* Recording begins anew without open calls: it is not certain which of the earlier ones have ended. */
    int shown = 0;
    for (; v->top > v->stack + 2; v->top--) shown |= !lr_hidden(v->top - 1);
    if (shown || v->forgotten) restate(v);
    v->forgotten = 0;
    return;
  }
  /* A leave of an open call shows by itself which calls have ended. leave_level handles a leave whose
   * enter is missing. */
  if (!e->leave) drop_ended(v, e);
}

LR_INLINE int behind(const struct lr_level *v) { return LR_UNLIKELY(v->switched != lr_load(&lr_global.switched)); }

/* lr_time_of reads the counter; a level's time never goes back. */
LR_OWN uint64_t lr_time_of(const struct lr_level *v) {
  const uint64_t now = lr_ticks();
  return now < v->last ? v->last : now;
}

/* orphaned tells whether the thread has another lr_thread by now, because a signal handler that interrupted
 * this hook has forked. */
LR_INLINE int orphaned(const struct lr_thread *t) { return LR_UNLIKELY(lr_self_get() != t); }

LR_OWN int lr_room(struct lr_thread *t, struct lr_level *v, uint64_t now, size_t more) {
  if (v->chunk->used + more < v->limit) return 1;
  if (orphaned(t)) return 0;
  if (!lr_next_chunk(t, v, now)) {
    v->lost++;
    return 0;
  }
  return v->chunk->used + more < v->limit;
}

#if LR_HAVE_PLANS
/* by_hook tells whether a hook of -finstrument-functions was called, which sees the registers of the middle
 * of a function. */
LR_INLINE int by_hook(const struct lr_place *at) { return at->owner > LR_BY_HAND; }
LR_INLINE const struct lr_valued *valued_of(uintptr_t function, const struct lr_place *at) {
  if (!by_hook(at)) return lr_valued_of(function);
  /* A function that ends by a jump to the hook has it return to its caller. In the plan such a hook has the address behind
   * the function's first byte, to which no call returns. */
  return lr_valued_hook(at->pc == at->site ? function + 1 : at->pc, function);
}
LR_COLD static const struct lr_program *look_up_values(uintptr_t function, const struct lr_place *at, int leave) {
  const struct lr_valued *const f = valued_of(function, at);
  const struct lr_program *const program = !f ? NULL : leave ? &f->leave : &f->enter;
  return program && program->count ? program : NULL;
}
LR_INLINE const struct lr_program *values_of(uintptr_t function, const struct lr_place *at, int leave) {
  /* Before a jump there is no result yet. */
  return LR_UNLIKELY(at->registers != NULL) && !(leave && at->jump) ? look_up_values(function, at, leave) : NULL;
}
LR_INLINE int returns_something(uintptr_t function, const struct lr_place *at) { return look_up_values(function, at, 1) != NULL; }
LR_INLINE size_t room_for(const struct lr_program *program) { return program ? program->most : 0; }
/* The stack of the function that called a hook begins behind the hook's return address. */
LR_INLINE uintptr_t stack_of(const struct lr_place *at) { return by_hook(at) ? at->frame + LR_BELOW_CALL - sizeof(uintptr_t) : at->frame; }
/* take_arguments and take_results write the values that a program takes. take_results leaves the innermost
 * call on the stack. */
LR_INLINE uint8_t *take_arguments(uint8_t *p, const struct lr_program *program, const struct lr_place *at) {
  return LR_UNLIKELY(program != NULL) ? lr_take_values(p, LRF_ARGUMENTS, program, at->registers, stack_of(at), NULL) : p;
}
LR_INLINE uint8_t *take_results(uint8_t *p, const struct lr_program *program, const struct lr_place *at, const struct lr_level *v,
                                const struct lr_frame_entry *call) {
  return LR_UNLIKELY(program != NULL) ? lr_take_values(p, LRF_RESULT, program, at->registers, stack_of(at), lr_kept_of(v, call)) : p;
}
/* look_up_kept keeps the pointers that the leave of the innermost call will need. */
LR_COLD static void look_up_kept(struct lr_level *v, uintptr_t function, const struct lr_place *at) {
  const struct lr_valued *const f = valued_of(function, at);
  if (!f || !f->keeps) return;
  if (!v->kept) {
    struct plat_saved saved;
    plat_slow_begin(&saved);
    v->kept = plat_pages(v->stack_size / sizeof *v->stack * sizeof *v->kept, 0);
    plat_slow_end(&saved);
  }
  lr_keep(v, f, at->registers, stack_of(at));
}
LR_INLINE void keep_pointers(struct lr_level *v, uintptr_t function, const struct lr_place *at) {
  if (LR_UNLIKELY(at->registers != NULL) && (!by_hook(at) || lr_plan.hooks_keep)) look_up_kept(v, function, at);
}
#else
struct lr_program;
LR_INLINE const struct lr_program *values_of(uintptr_t function, const struct lr_place *at, int leave) {
  return (void)function, (void)at, (void)leave, NULL;
}
LR_INLINE int returns_something(uintptr_t function, const struct lr_place *at) { return (void)function, (void)at, 0; }
LR_INLINE size_t room_for(const struct lr_program *program) { return (void)program, (size_t)0; }
LR_INLINE uint8_t *take_arguments(uint8_t *p, const struct lr_program *program, const struct lr_place *at) { return (void)program, (void)at, p; }
LR_INLINE uint8_t *take_results(uint8_t *p, const struct lr_program *program, const struct lr_place *at, const struct lr_level *v,
                                const struct lr_frame_entry *call) {
  return (void)program, (void)at, (void)v, (void)call, p;
}
LR_INLINE void keep_pointers(struct lr_level *v, uintptr_t function, const struct lr_place *at) { (void)v, (void)function, (void)at; }
#endif

/* room_with makes room for an event with its values. If there is only room for the event, *program becomes
 * NULL. */
LR_INLINE int room_with(struct lr_thread *t, struct lr_level *v, uint64_t now, const struct lr_program **program) {
  if (LR_UNLIKELY(*program != NULL) && lr_room(t, v, now, room_for(*program))) return 1;
  *program = NULL;
  return lr_room(t, v, now, 0);
}

LR_OWN static int have_extra(struct lr_level *v) {
  if (!v->extra) {
    struct plat_saved saved;
    plat_slow_begin(&saved);
    v->extra = plat_pages(v->stack_size / sizeof *v->stack * sizeof *v->extra, 0);
    plat_slow_end(&saved);
  }
  return v->extra != NULL;
}

/* inside_root tells whether a call of a function of LOGREC_INSIDE is open. Only such calls are put on an
 * empty stack, so that it suffices to see whether the stack is empty. A signal handler's calls lie inside
 * those that it interrupted. */
LR_OWN static int inside_root(const struct lr_thread *t, const struct lr_level *v) {
  for (; v >= t->level; v--)
    if (v->stack && (v->top > v->stack + 2 || v->forgotten)) return 1;
  return 0;
}

/* depth_of counts the open calls that are in the log. */
LR_OWN static uint32_t depth_of(const struct lr_thread *t, const struct lr_level *v) {
  uint32_t depth = 0;
  for (; v >= t->level; v--)
    if (v->extra && v->top > v->stack + 2) depth += v->extra[v->top - 1 - v->stack].depth;
  return depth;
}

/* push_hidden puts a call on the stack that is not written into the log, so that its leave is recognised. */
LR_OWN static void push_hidden(struct lr_level *v, uintptr_t function, unsigned kind, uintptr_t frame, const struct lr_place *at) {
  if (!v->stack && !lr_make_stack(v)) return;
  if (v->top >= v->stack_end) lr_more_entries(v);
  if (v->top >= v->stack_end) return;
  if (lr_settings.depth && have_extra(v)) v->extra[v->top - v->stack].depth = v->extra[v->top - 1 - v->stack].depth;
  v->top->function = (uint64_t)function << 1 | kind;
  v->top->frame = frame;
  v->top->owner = at->owner;
  v->top->pc = (uint32_t)at->pc;
  v->top->time = 0;
  v->top++;
}

/* put_jump_early writes that a jump leads to the call that begins into the chunk with the leave, if the enter will begin another chunk: 1. An enter that may be taken back
 * later has to be in one chunk with it, so that both are. */
LR_OWN static int put_jump_early(const struct lr_thread *t, struct lr_level *v, const struct lr_program *program) {
  const struct lrf_chunk *const c = v->chunk;
  if (!lr_is_behind_jump(t, v) || c->used + room_for(program) < v->limit || lr_global.minimum) return 0;
  if (v->top >= v->stack_end || c->used + LR_JUMP_BYTES > c->size - LRF_CHUNK_HEADER_SIZE) return 0;
  lr_commit(v, lr_put_jump(lr_position(v)));
  return 1;
}

/* take_back_jump removes it, because the enter was not written. */
LR_OWN static void take_back_jump(const struct lr_thread *t, struct lr_level *v) {
  if (v->sequence == t->jump.sequence && lr_position(v) == t->jump.behind + LR_JUMP_BYTES) lr_commit(v, t->jump.behind);
}

LR_OWN static void enter_level(struct lr_thread *t, struct lr_level *v, uintptr_t function, unsigned kind,
                               uintptr_t frame, const struct lr_place *at) {
  const int general = lr_relaxed(&lr_mode) == LR_GENERAL;
  const unsigned traits = general ? lr_traits(function, kind) : LR_WANTED;
  const int followed = (traits & (LR_WANTED | LR_ROOT)) != 0;
  /* An enter that is not recorded still shows whether the call of LOGREC_INSIDE was left. */
  if (!followed && !lr_settings.inside[0]) return;
  const struct lr_event e = {(uint64_t)function << 1 | kind, 0, at};
  lr_settle(t, v, &e);
  if (behind(v)) catch_up(t, v, &e);
  lr_drop_left(t, v, &e);
  if (!followed) return;
  if (general) {
    if (lr_settings.inside[0] && !(traits & LR_ROOT) && !inside_root(t, v)) return;
    if (!(traits & LR_WANTED) || (lr_settings.depth && depth_of(t, v) >= lr_settings.depth)) {
      push_hidden(v, function, kind, frame, at);
      return;
    }
  }
  const struct lr_program *program = values_of(function, at, 0);
  uint64_t now = lr_time_of(v);
  const int early = LR_UNLIKELY(at->jump != 0) && put_jump_early(t, v, program);
  if (!room_with(t, v, now, &program)) {
    if (early) take_back_jump(t, v);
    return;
  }
  if (v->top >= v->stack_end) lr_more_entries(v);
  if (v->top >= v->stack_end) return;
  uint8_t *p = lr_position(v);
  uint32_t first, from = 0;
  const uintptr_t site = lr_settings.sites ? at->site : 0;
  const int follows = LR_UNLIKELY(at->jump != 0) && lr_is_behind_jump(t, v);
  p = put_window(v, p, function, kind, &first);
  if (site) {
    p = put_window(v, p, site, 1, &from);
    /* The window of the call site may have replaced the function's window. */
    p = put_window(v, p, function, kind, &first);
  }
  uint8_t *before = p;
  const uint64_t last = v->last;
  if (follows) p = lr_put_jump(p);
  if (site) {
    lr_store16(p, LRF_FIRST_WORD(LRF_SITE, 3));
    lr_store32(p + 2, windowed(from));
    p += 6;
  }
  uint64_t delta = now - v->last;
  p = lr_put_time(p, &delta, 0xffff);
  lr_store32(p, first);
  lr_store16(p + 4, (uint16_t)delta);
  p = take_arguments(p + 6, program, at);
  v->last = now;
  v->top->function = (uint64_t)function << 1 | kind;
  v->top->frame = frame;
  v->top->owner = at->owner;
  v->top->pc = (uint32_t)at->pc;
  v->top->time = now;
  if ((lr_global.minimum || lr_settings.depth) && have_extra(v)) {
    struct lr_frame_extra *x = &v->extra[v->top - v->stack];
    x->before = before;
    x->after = p;
    x->last = last;
    x->sequence = v->sequence;
    x->depth = x[-1].depth + 1;
  }
  v->top++;
  lr_commit(v, p);
  keep_pointers(v, function, at);
}

LR_COLD void lr_enter_slow(uintptr_t function, unsigned kind, uintptr_t frame, const struct lr_place *at, enum lr_way way) {
  struct lr_thread *t = lr_thread_get();
  if (!t || lr_relaxed(&lr_mode) == LR_OFF) return;
  unsigned triggered = 1;
  if (LR_UNLIKELY(lr_settings.triggers) && !(triggered = lr_trigger_enter(function, kind))) return;
  if (LR_UNLIKELY(!lr_has_come_by(way))) lr_came_by(way);
  struct lr_level *v = level_begin(t, at->frame);
  if (!v) return;
  enter_level(t, v, function, kind, frame, at);
  level_end(t, v);
  if (LR_UNLIKELY(triggered & LR_STOPS)) lr_trigger_entered(triggered);
}

/* put_leave writes a leave that names its function. */
LR_OWN static int put_leave(struct lr_thread *t, struct lr_level *v, uint64_t now, uintptr_t function, unsigned kind) {
  if (!lr_room(t, v, now, 0)) return 0;
  uint8_t *p = lr_position(v);
  uint32_t first;
  p = put_window(v, p, function, kind, &first);
  uint64_t delta = now - v->last;
  p = lr_put_time(p, &delta, 0xffff);
  lr_store16(p, LRF_FIRST_WORD(LRF_LEAVE_WINDOWED, 4));
  lr_store16(p + 2, (uint16_t)delta);
  lr_store32(p + 4, windowed(first));
  v->last = now;
  lr_commit(v, p + 8);
  return 1;
}

/* leave_forgotten is for a leave of no call that is known here: if none of these is open any more it ended the innermost of those
 * that were forgotten. Whether others of them were left before it, without a leave, nobody knows here. */
LR_OWN static void leave_forgotten(struct lr_level *v, const struct lr_event *e) {
  if (!v->forgotten || plat_on_signal_stack()) return;
  drop_ended(v, e);
  if (v->top == v->stack + 2) v->forgotten--;
}

LR_OWN static void leave_level(struct lr_thread *t, struct lr_level *v, uintptr_t function, unsigned kind,
                               uintptr_t frame, int exact, const struct lr_place *at) {
  const uint64_t key = (uint64_t)function << 1 | kind;
  const struct lr_event e = {key, 1, at};
  if (!v->stack && !lr_make_stack(v)) return;
  lr_settle(t, v, &e);
  if (behind(v) && (lr_relaxed(&lr_mode) != LR_GENERAL || lr_followed(function, kind))) catch_up(t, v, &e);
  struct lr_frame_entry *top = v->top - 1;
  const int matches = top->function == key && (exact ? top->frame == frame : top[-1].frame >= frame);
  if (!matches && lr_relaxed(&lr_mode) == LR_GENERAL && !lr_followed(function, kind)) return;
  if (matches && lr_hidden(top)) {
    v->top = top;
    return;
  }
  uint64_t now = lr_time_of(v);
  if (matches) {
    if (lr_global.minimum && v->extra && now - top->time < lr_global.minimum) {
      const struct lr_frame_extra *x = &v->extra[top - v->stack];
      if (x->after == lr_position(v) && x->sequence == v->sequence) {
        v->last = x->last;
        v->top = top;
        lr_commit(v, x->before);
        return;
      }
    }
    const struct lr_program *program = values_of(function, at, 1);
    if (!room_with(t, v, now, &program)) {
      v->top = top;
      return;
    }
    uint64_t delta = now - v->last;
    uint8_t *p = lr_put_time(lr_position(v), &delta, 0x7fff);
    lr_store16(p, (uint16_t)(LRF_LEAVE_BIT | delta << 1));
    p = take_results(p + 2, program, at, v, top);
    v->last = now;
    v->top = top;
    lr_commit(v, p);
    if (LR_UNLIKELY(at->jump != 0) && v == &t->level[0] && returns_something(function, at)) lr_left_by_jump(t, at->jump, at->frame, at->registers);
    return;
  }
  /* Calls were left without a leave, or this one was entered while nothing was recorded. The call that
   * ends is the outermost open call of this address whose frame is not further out than this one. If
   * frames cannot be compared (another stack) it is the innermost call of this address. */
  struct lr_frame_entry *const bottom = v->stack + 2, *found = NULL;
  for (struct lr_frame_entry *f = top; f >= bottom && f->frame <= frame; f--)
    if (f->function == key && (!exact || f->frame == frame)) found = f;
  for (struct lr_frame_entry *f = top; f >= bottom && !found; f--)
    if (f->function == key && !exact) found = f;
  if (found && lr_hidden(found)) {
    int shown = 0;
    for (; v->top > found; v->top--) shown |= !lr_hidden(v->top - 1);
    if (shown) restate(v);
    return;
  }
  if (!found && !v->forgotten && (lr_settings.triggers || lr_settings.inside[0])) {
    /* It began while nothing was recorded. */
    drop_ended(v, &e);
    return;
  }
  /* A reader matches a leave with the innermost call of its address. Those further in have no leave. */
  if (found && found < top) {
    uint32_t shown = 0;
    for (const struct lr_frame_entry *f = top; f > found; f--) shown += !lr_hidden(f);
    if (shown && !lr_room(t, v, now, 0)) {
      v->top = found;
      return;
    }
    v->top = found + 1;
    if (shown) lr_put_left(v, shown);
  }
  put_leave(t, v, now, function, kind);
  if (found) {
    v->top = found;
    const struct lr_program *const program = values_of(function, at, 1);
    if (program && v->chunk->used + room_for(program) < v->limit) lr_commit(v, take_results(lr_position(v), program, at, v, found));
  } else if (lr_load(&lr_global.switched) && !plat_on_signal_stack()) {
    /* Entered while recording was switched off. */
    drop_ended(v, &e);
  }
  if (!found) leave_forgotten(v, &e);
}

LR_COLD void lr_leave_slow(uintptr_t function, unsigned kind, uintptr_t frame, int exact, const struct lr_place *at, enum lr_way way) {
  struct lr_thread *t = lr_thread_get();
  if (!t || lr_relaxed(&lr_mode) == LR_OFF) return;
  if (LR_UNLIKELY(lr_settings.triggers) && !lr_trigger_event()) return;
  if (LR_UNLIKELY(!lr_has_come_by(way))) lr_came_by(way);
  struct lr_level *v = level_begin(t, at->frame);
  if (!v) return;
  leave_level(t, v, function, kind, frame, exact, at);
  level_end(t, v);
}

/* thread_of_event gives the thread's state if its events are recorded now. */
LR_INLINE struct lr_thread *thread_of_event(void) {
  struct lr_thread *const t = lr_relaxed(&lr_mode) == LR_OFF ? NULL : lr_thread_get();
  return t && LR_UNLIKELY(lr_settings.triggers) && !lr_trigger_event() ? NULL : t;
}

LR_COLD void lr_arrived(const struct lr_place *at) {
  struct lr_thread *t = thread_of_event();
  struct lr_level *v = t ? level_begin(t, at->frame) : NULL;
  if (!v) return;
  const struct lr_event e = {1, 1, at};
  lr_settle(t, v, &e);
  level_end(t, v);
}

/* ends tells whether the innermost call must have ended because a call with this frame begins: its own
 * frame is the same or further in. Frames that different kinds of hooks tell cannot be compared. */
LR_OWN static int ends(const struct lr_thread *t, const struct lr_level *v, uintptr_t frame) {
  const struct lr_frame_entry *f = v->top - 1;
  return f > v->stack + 1 && lr_by_frame(f) && f->frame <= frame && lr_comparable(t, f, frame);
}

/* compiled returns where __fentry__ was called from last, of the calls that are open; 0: from nowhere. */
LR_OWN static uintptr_t compiled(const struct lr_level *v) {
  const struct lr_frame_entry *f = v->top - 1;
  while (f > v->stack + 1 && !(f->function & 1)) f--;
  return f > v->stack + 1 ? (uintptr_t)(f->function >> 1) : 0;
}

LR_COLD void lr_ended(const struct lr_place *at, int jumped) {
  struct lr_thread *t = thread_of_event();
  if (!t) return;
  struct lr_level *v = level_begin(t, at->frame);
  if (!v) return;
  /* Without that the quick way of such enters leaves every one of them to this function. */
  if (lr_self_get() == t && t->stream) lr_know_signal_stack(t);
  const struct lr_event e = {1, 0, at};
  lr_settle(t, v, &e);
  if (behind(v)) catch_up(t, v, &e);
  /* Of a call that has ended nobody knows when, so that its leave is written late. */
  if (v->stack && ends(t, v, at->frame) && !(jumped && v->top[-1].frame == at->frame) && !lr_sees_returns() && !lr_has_come_by(LR_LATE)) {
    const uintptr_t code = compiled(v);
    level_end(t, v);
    lr_came_by(code && lr_code_has_returns(code) ? LR_RETURN : LR_LATE);
    v = level_begin(t, at->frame);
    if (!v) return;
  }
  while (v->stack && ends(t, v, at->frame)) {
    const struct lr_frame_entry *f = v->top - 1;
    /* A return would have been seen, also before a jump to another function: the call was left by longjmp or an exception. */
    if (lr_sees_returns() && !(jumped && f->frame == at->frame)) break;
    const struct lr_frame_entry *const before = v->top;
    /* The registers belong to the call that begins, not to the one that ends. */
    struct lr_place plain = *at;
    plain.registers = NULL;
    plain.jump = 0;
    leave_level(t, v, (uintptr_t)(f->function >> 1), f->function & 1, f->frame, 1, &plain);
    if (v->top == before) break;
  }
  level_end(t, v);
}

LR_COLD void lr_returned(const struct lr_place *at, enum lr_way way) {
  struct lr_thread *t = thread_of_event();
  if (!t) return;
  if (LR_UNLIKELY(!lr_sees_returns()) && way == LR_RETURN) lr_came_by(LR_RETURN);
  struct lr_level *v = level_begin(t, at->frame);
  if (!v) return;
  const struct lr_event arrives = {1, 1, at};
  lr_settle(t, v, &arrives);
  if (behind(v)) {
    /* Only calls further in than the one that returns may be dropped. */
    struct lr_place below = *at;
    below.frame--;
    const struct lr_event e = {0, 0, &below};
    catch_up(t, v, &e);
  }
  if (v->stack) {
    const struct lr_frame_entry *f = v->top - 1;
    while (f->frame < at->frame) f--;
    /* Else it was entered while nothing was recorded. */
    if (f->frame == at->frame && lr_by_frame(f)) leave_level(t, v, (uintptr_t)(f->function >> 1), f->function & 1, at->frame, 1, at);
  }
  level_end(t, v);
}

/* record writes a record other than an enter or leave: type and length, the time since the last record,
 * then head and text. time is when it was, 0 for now. */
LR_OWN static void record(uint64_t time, unsigned type, const uint8_t *head, size_t head_size, const char *text, size_t n) {
  struct lr_thread *t = thread_of_event();
  if (!t || lr_relaxed(&lr_mode) == LR_OFF) return;
  const struct lr_place at = {lr_frame(), 0, LR_BY_HAND, 0, NULL, 0};
  struct lr_level *v = level_begin(t, at.frame);
  if (!v) return;
  const struct lr_event e = {0, 1, &at};
  lr_settle(t, v, &e);
  const uint64_t now = !time ? lr_time_of(v) : time < v->last ? v->last : time;
  size_t length = 2 + 2 + head_size + n;
  length += length & 1;
  const int longer = length / 2 > 255;
  if (longer) length += 4;
  if (lr_room(t, v, now, length)) {
    uint64_t delta = now - v->last;
    uint8_t *p = lr_put_time(lr_position(v), &delta, 0xffff);
    uint8_t *const end = p + length;
    lr_store16(p, LRF_FIRST_WORD(type, longer ? 0 : (unsigned)(length / 2)));
    p += 2;
    if (longer) {
      lr_store32(p, (uint32_t)length);
      p += 4;
    }
    lr_store16(p, (uint16_t)delta);
    p += 2;
    end[-1] = 0;
    memcpy(p, head, head_size);
    memcpy(p + head_size, text, n);
    v->last = now;
    lr_commit(v, end);
  }
  level_end(t, v);
}

/* The first chunk of a level has room for it. */
enum { LONGEST_TEXT = 2048 };

LR_OWN void lr_mark_at(uint64_t time, const char *text, size_t n) {
  if (n > LONGEST_TEXT) n = LONGEST_TEXT;
  uint8_t head[2];
  lr_store16(head, (uint16_t)n);
  record(time, LRF_MARK, head, sizeof head, text, n);
}

LR_OWN void lr_mark(const char *text, size_t n) { lr_mark_at(0, text, n); }

LR_OWN void lr_counter(const char *name, unsigned type, const void *value) {
  size_t n = strlen(name);
  if (n > 255) n = 255;
  uint8_t head[10] = {(uint8_t)type, (uint8_t)n};
  memcpy(head + 2, value, 8);
  record(0, LRF_COUNTER, head, sizeof head, name, n);
}
