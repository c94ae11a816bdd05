/* stacks.c: which stack an event is on, and which calls were left without a leave.
 *
 * A thread has its own stack of calls, and those of the coroutines that run in it. One
 * of them is in effect: its numbers are in the thread's level 0, and the fast path takes
 * an event for one on it if its frame is near the innermost call's (LR_NEAR). Else the
 * frame is looked up here: in the bounds of the thread's own stack, and among those of the
 * coroutines, which are known by the frames that were seen.
 *
 * A coroutine's stack has an owner, the stream of the thread in which it is in effect. One
 * that goes on in another thread is taken away from the first, which may not have noticed
 * yet that it is not on it any more: nothing happens on a stack but in one thread at a
 * time, so its numbers stand still meanwhile. Memory of stacks is never given back, since
 * that thread may look at it once more.
 *
 * Whether a call was left is told by frames alone, so it has to be certain: see gone. */

#include "jumps.h"

enum { PAGE_SHIFT = 12, FIRST_ENTRIES = 64, FIRST_PAGES = 1024, MOST_PAGES = 1 << 22, MOST_NEW_PAGES = 256, SLAB = 1 << 20 };

/* A value of lr_stack.owner: the stack's thread is about to leave it. */
#define BUSY 0xffffffffu

/* A hash table (open addressing) from pages of memory to the coroutines' stacks that have frames in them. It is
 * written with the lock and read without. */
struct page {
  uintptr_t number; /* 0: free */
  struct lr_stack *stack;
};
struct table {
  size_t size, used;
  struct page pages[];
};
static struct table *table;
static struct lr_stack *newest;
static uint32_t numbers;

/* ---- memory ---- */

/* allocate gives zeroed memory for good; with the lock. */
LR_OWN static void *allocate(size_t size) {
  static uint8_t *slab;
  static size_t left;
  if (size > SLAB / 4) return plat_pages(size, 0);
  if (size > left) {
    slab = plat_pages(SLAB, 0);
    left = slab ? SLAB : 0;
    if (!slab) return NULL;
  }
  void *const p = slab;
  slab += size;
  left -= size;
  return p;
}

/* forget_outer drops the outer half of the open calls from memory. A reader of the log still has them, and they count
 * for the depth. Their leaves match no call here, so they are written with their addresses. */
LR_OWN static void forget_outer(struct lr_level *v) {
  struct lr_frame_entry *const bottom = v->stack + 2;
  const size_t depth = (size_t)(v->top - bottom), half = depth - depth / 2;
  for (const struct lr_frame_entry *f = bottom; f < bottom + half; f++) v->forgotten += !lr_hidden(f);
  memmove(bottom, bottom + half, (depth - half) * sizeof *bottom);
  if (v->extra) memmove(v->extra + 2, v->extra + 2 + half, (depth - half) * sizeof *v->extra);
  if (v->kept) memmove(v->kept + 2, v->kept + 2 + half, (depth - half) * sizeof *v->kept);
  v->top -= half;
}

/* grow doubles the room for entries. */
LR_OWN static int grow(struct lr_level *v) {
  const size_t size = v->stack_size, depth = (size_t)(v->top - v->stack), entries = size / sizeof *v->stack;
  const size_t larger = 2 * size < LR_STACK_MOST ? 2 * size : LR_STACK_MOST;
  if (size >= LR_STACK_MOST) return 0;
  const size_t extra_size = entries * sizeof *v->extra, extra_larger = larger / sizeof *v->stack * sizeof *v->extra;
  const size_t kept_size = entries * sizeof *v->kept, kept_larger = larger / sizeof *v->stack * sizeof *v->kept;
  struct lr_frame_entry *stack;
  if (v->on && v->on->number) {
    if (!plat_lock()) return 0;
    struct lr_frame_extra *extra = v->extra ? allocate(extra_larger) : NULL;
    struct lr_kept *kept = v->kept ? allocate(kept_larger) : NULL;
    stack = allocate(larger);
    plat_unlock();
    if (!stack || (v->extra && !extra) || (v->kept && !kept)) return 0;
    memcpy(stack, v->stack, size);
    if (extra) v->extra = memcpy(extra, v->extra, extra_size);
    if (kept) v->kept = memcpy(kept, v->kept, kept_size);
  } else {
    if (v->extra) {
      struct lr_frame_extra *extra = plat_pages_grow(v->extra, extra_size, extra_larger);
      if (!extra) return 0;
      v->extra = extra;
    }
    if (v->kept) {
      struct lr_kept *kept = plat_pages_grow(v->kept, kept_size, kept_larger);
      if (!kept) return 0;
      v->kept = kept;
    }
    stack = plat_pages_grow(v->stack, size, larger);
    if (!stack) return 0;
  }
  v->stack = stack;
  v->stack_size = larger;
  v->top = stack + depth;
  v->stack_end = stack + larger / sizeof *stack;
  return 1;
}

LR_COLD void lr_more_entries(struct lr_level *v) {
  if (!v->stack_size) return; /* forked away meanwhile */
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (!grow(v)) forget_outer(v);
  plat_slow_end(&saved);
}

/* ---- where stacks lie ---- */

LR_OWN static struct page *place_of(struct table *t, uintptr_t number) {
  size_t i = (size_t)((uint64_t)number * 0x9e3779b97f4a7c15u >> 20) & (t->size - 1);
  while (t->pages[i].number && t->pages[i].number != number) i = (i + 1) & (t->size - 1);
  return &t->pages[i];
}

/* owner_of returns the stack that has frames in a page. */
LR_OWN static struct lr_stack *owner_of(uintptr_t number) {
  struct table *const t = lr_load(&table);
  if (!t) return NULL;
  size_t i = (size_t)((uint64_t)number * 0x9e3779b97f4a7c15u >> 20) & (t->size - 1);
  for (;; i = (i + 1) & (t->size - 1)) {
    const uintptr_t n = lr_load(&t->pages[i].number);
    if (n == number) return lr_load(&t->pages[i].stack);
    if (!n) return NULL;
  }
}

LR_OWN static struct table *make_table(size_t size) {
  struct table *const t = plat_pages(sizeof *t + size * sizeof t->pages[0], 0);
  if (t) t->size = size;
  return t;
}

LR_OWN static int empty(const struct lr_stack *s) { return !lr_relaxed(&s->owner) && s->top == s->entries + 2 && !s->forgotten; }

/* note_page notes that a page belongs to a stack. With the lock. */
LR_OWN static void note_page(uintptr_t number, struct lr_stack *s) {
  if (!table || table->used >= table->size / 2) {
    struct table *const larger = make_table(table ? 4 * table->size : FIRST_PAGES);
    if (larger && table) {
      for (size_t i = 0; i < table->size; i++)
        if (table->pages[i].number) *place_of(larger, table->pages[i].number) = table->pages[i];
      larger->used = table->used;
    }
    if (larger && larger->size <= MOST_PAGES) lr_store(&table, larger);
    if (!table || table->used >= table->size - 1) return;
  }
  struct page *const p = place_of(table, number);
  if (p->number) {
    /* If two stacks have frames in the page, it belongs to the one that has open calls. */
    if (p->stack != s && empty(p->stack)) lr_store(&p->stack, s);
    return;
  }
  lr_store(&p->stack, s);
  lr_store(&p->number, number);
  table->used++;
}

/* seen notes that a frame, and the memory between it and the frames seen before, is of a coroutine's stack. */
LR_OWN static void seen(struct lr_stack *s, uintptr_t frame) {
  if (frame - s->low <= s->high - s->low) return;
  const uintptr_t low = frame < s->low ? frame : s->low, high = frame > s->high ? frame : s->high;
  const uintptr_t first = low >> PAGE_SHIFT, last = high >> PAGE_SHIFT;
  const uintptr_t known_first = s->low >> PAGE_SHIFT, known_last = s->high >> PAGE_SHIFT;
  if (first < known_first || last > known_last || s->low == s->high) {
    struct plat_saved saved;
    plat_slow_begin(&saved);
    if (plat_lock()) {
      uintptr_t n = 0;
      for (uintptr_t p = frame >> PAGE_SHIFT; n < MOST_NEW_PAGES && p >= first && p <= last; n++) {
        note_page(p, s);
        p = frame == low ? p + 1 : p - 1;
        if (p == known_first || p == known_last) break;
      }
      plat_unlock();
    }
    plat_slow_end(&saved);
  }
  lr_store(&s->low, low);
  lr_store(&s->high, high);
}

/* distance returns how far a frame lies from the frames of a stack, 0 if between them. */
LR_OWN static uintptr_t distance(const struct lr_stack *s, uintptr_t frame) {
  const uintptr_t low = lr_relaxed(&s->low), high = lr_relaxed(&s->high);
  return frame < low ? low - frame : frame > high ? frame - high : 0;
}

/* find returns the stack that a frame lies on or near; of several the nearest one. */
LR_OWN static struct lr_stack *find(struct lr_stack *current, uintptr_t frame) {
  struct lr_stack *best = current->number && distance(current, frame) <= LR_NEAR ? current : NULL;
  for (uintptr_t page = (frame >> PAGE_SHIFT) - 1, n = 0; n < 3; n++, page++) {
    struct lr_stack *const s = owner_of(page);
    if (s && distance(s, frame) <= LR_NEAR && (!best || distance(s, frame) < distance(best, frame))) best = s;
  }
  return best;
}

LR_OWN static struct lr_stack *make(uintptr_t low, uintptr_t high) {
  struct plat_saved saved;
  struct lr_stack *s = NULL;
  plat_slow_begin(&saved);
  if (plat_lock()) {
    s = allocate(sizeof *s);
    struct lr_frame_entry *const entries = s ? allocate(FIRST_ENTRIES * sizeof *entries) : NULL;
    if (entries) {
      lr_make_bottom(entries);
      s->number = ++numbers;
      s->entries = entries;
      s->top = entries + 2;
      s->size = FIRST_ENTRIES * sizeof *entries;
      s->switched = lr_global.switched;
      s->low = low;
      s->high = high;
      s->older = newest;
      newest = s;
      note_page(high >> PAGE_SHIFT, s);
    } else {
      s = NULL;
    }
    plat_unlock();
  }
  plat_slow_end(&saved);
  return s;
}

/* ---- signal handlers' stacks ---- */

LR_OWN static void look_at_signal_stack(struct lr_thread *t) {
  t->signal_low = t->signal_high = 0;
  plat_signal_stack(&t->signal_low, &t->signal_high);
  t->signal_known = 1;
}

LR_OWN void lr_know_signal_stack(struct lr_thread *t) {
  if (!t->signal_known) look_at_signal_stack(t);
}

LR_OWN static int on_signal_stack(const struct lr_thread *t, uintptr_t frame) {
  return frame - t->signal_low < t->signal_high - t->signal_low;
}

LR_OWN int lr_comparable(const struct lr_thread *t, const struct lr_frame_entry *f, uintptr_t frame) {
  /* Sanitizers move local variables into memory of their own (a fake stack), far from all stacks. */
  enum { FAR = 1 << 30 };
  const uintptr_t apart = f->frame < frame ? frame - f->frame : f->frame - frame;
  return apart < FAR && on_signal_stack(t, f->frame) == on_signal_stack(t, frame);
}

/* ---- changing stacks ---- */

/* park leaves the stack in effect, unless another thread has it by now. */
LR_OWN static void park(struct lr_thread *t, struct lr_level *v) {
  struct lr_stack *const s = v->on;
  if (!s) return; /* forked away meanwhile */
  if (s->number) {
    uint32_t mine = t->stream;
    if (!lr_exchange(&s->owner, &mine, BUSY)) return;
    if (v->top > v->stack + 2) seen(s, v->top[-1].frame);
  }
  s->entries = v->stack;
  s->top = v->top;
  s->size = v->stack_size;
  s->extra = v->extra;
  s->kept = v->kept;
  s->switched = v->switched;
  s->restated = v->restated;
  s->forgotten = v->forgotten;
  s->stream = v->sequence ? t->stream : 0;
  s->sequence = v->sequence - 1;
  if (s->number) lr_store(&s->owner, 0);
}

/* take makes a thread the owner of a coroutine's stack. If another thread owns it, that thread's level is read
 * without a lock: should it change meanwhile, that thread has just parked the stack and is no longer its
 * owner. */
#if defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
LR_OWN static void take(struct lr_thread *t, struct lr_stack *s) {
  for (;;) {
    uint32_t owner = lr_load(&s->owner);
    if (owner == BUSY) continue;
    const struct lr_level *const v = owner ? &s->in->level[0] : NULL;
    struct lr_stack was = *s;
    if (v && !v->stack) {
      /* The open calls are not known in this forked child. */
      was.top = was.entries + 2;
      was.forgotten = 0;
      was.stream = 0;
    } else if (v) {
      was.entries = v->stack;
      was.top = v->top;
      was.size = v->stack_size;
      was.extra = v->extra;
      was.kept = v->kept;
      was.switched = v->switched;
      was.restated = v->restated;
      was.forgotten = v->forgotten;
      was.stream = v->sequence ? owner : 0;
      was.sequence = v->sequence - 1;
    }
    if (!lr_exchange(&s->owner, &owner, t->stream)) continue;
    s->in = t;
    s->entries = was.entries;
    s->top = was.top;
    s->size = was.size;
    s->extra = was.extra;
    s->kept = was.kept;
    s->switched = was.switched;
    s->restated = was.restated;
    s->forgotten = was.forgotten;
    s->stream = was.stream;
    s->sequence = was.sequence;
    return;
  }
}

LR_OWN static void put_in_effect(struct lr_level *v, struct lr_stack *s) {
  v->on = s;
  v->stack = s->entries;
  v->top = s->top;
  v->stack_size = s->size;
  v->stack_end = v->stack + v->stack_size / sizeof *v->stack;
  v->extra = s->extra;
  v->kept = s->kept;
  v->switched = s->switched;
  v->restated = s->restated;
  v->forgotten = s->forgotten;
}

LR_OWN static uint8_t *put_switch(uint8_t *p, uint16_t delta, uint32_t number) {
  lr_store16(p, LRF_FIRST_WORD(LRF_STACK_SWITCH, 4));
  lr_store16(p + 2, delta);
  lr_store32(p + 4, number);
  return p + 8;
}

LR_OWN void lr_begin_on_stack(struct lr_level *v) {
  if (!v->on || !v->on->number) return;
  lr_commit(v, put_switch(lr_position(v), 0, v->on->number));
  /* The chunk must list all open calls of the stack for a reader. */
  const size_t most = (v->chunk->size - LRF_CHUNK_HEADER_SIZE - 2 * LR_RESERVE) / 16;
  while ((size_t)(v->top - v->stack) > most) forget_outer(v);
}

LR_COLD static void switch_to(struct lr_thread *t, struct lr_level *v, struct lr_stack *s) {
  const uint64_t now = lr_time_of(v);
  park(t, v);
  if (s->number) take(t, s);
  put_in_effect(v, s);
  const uint64_t depth = (uint64_t)(v->top - (v->stack + 2));
  /* Whether this chunk tells its calls, and whether another one of this stream may have. */
  const int told = s->stream == t->stream && s->sequence == v->sequence - 1;
  const int stack = v->restated || (!told && (depth || v->forgotten || (s->stream && s->stream != t->stream)));
  const size_t bytes = 8 + 8 + (stack ? 16 + 16 * depth : 0);
  if (v->chunk->used + bytes >= v->limit) {
    if (!lr_next_chunk(t, v, now)) v->lost++;
    return;
  }
  uint64_t delta = now - v->last;
  uint8_t *p = lr_put_time(lr_position(v), &delta, 0xffff);
  v->last = now;
  lr_commit(v, put_switch(p, (uint16_t)delta, s->number));
  if (!stack) return;
  lr_write_stack(v, v->restated != 0, depth);
  v->restated = 0;
}

/* is_own tells whether a frame is on the thread's own stack. */
LR_OWN static int is_own(struct lr_thread *t, uintptr_t frame) {
  if (t->own.high) return frame - t->own.low < t->own.high - t->own.low;
  struct plat_saved saved;
  uintptr_t low = 0, high = 0;
  plat_slow_begin(&saved);
  const int own = plat_own_stack(frame, &low, &high);
  plat_slow_end(&saved);
  t->own.low = low;
  t->own.high = high;
  return own;
}

/* near_call tells whether an event is on the stack in effect by where the call of its
 * function returns to: the innermost call has made it. */
LR_OWN static int near_call(const struct lr_level *v, const struct lr_event *e) {
  if (!lr_site_above(e) || e->leave || v->top == v->stack + 2) return 0;
  const uintptr_t slot = lr_return_slot(e);
  return slot && v->top[-1].frame + LR_BELOW_CALL - slot <= LR_NEAR;
}

/* stack_of returns the stack that an event is on; a new one where no other is known. */
LR_OWN static struct lr_stack *stack_of(struct lr_thread *t, struct lr_stack *on, const struct lr_level *v, const struct lr_event *e) {
  uintptr_t frame = e->at->frame, low, high;
  if (plat_current_stack(&low, &high) && frame - low < high - low) {
    if (high == t->own.high) return &t->own;
    struct lr_stack *const s = find(on, high - 1);
    return s && s->high == high - 1 ? s : make(low, high - 1);
  }
  if (is_own(t, frame)) return &t->own;
  struct lr_stack *s = find(on, frame);
  if (s) return s;
  if (near_call(v, e)) return on;
  look_at_signal_stack(t);
  return on_signal_stack(t, frame) ? on : make(frame, frame);
}

LR_COLD void lr_settle(struct lr_thread *t, struct lr_level *v, const struct lr_event *e) {
  const uintptr_t frame = e->at->frame;
  if (!v->stack || v->top[-1].frame - frame <= LR_NEAR) return;
  if (v->top > v->stack + 2 && e->leave && frame - v->top[-1].frame <= LR_NEAR) return;
  /* There is none in a forked child, nor while the recorder measures its own cost. */
  struct lr_stack *const on = v->on;
  if (on && lr_self_get() == t && t->stream) {
    lr_know_signal_stack(t);
    if (!on_signal_stack(t, frame)) {
      struct lr_stack *const s = stack_of(t, on, v, e);
      if (s && s != on) switch_to(t, v, s);
      if (s && s->number && !plat_current_stack(NULL, NULL)) seen(s, frame);
    }
  }
  /* So that calls near this one take the fast path. */
  if (v->top == v->stack + 2) v->top[-1].frame = frame + LR_NEAR / 2;
}

/* ---- calls that were left ---- */

/* gone tells whether an open call must have been left, because an enter happens where it does.
 *
 * A call whose frame lies below the stack pointer is gone. Two hooks may be called from one frame: that of
 * a function and that of a function inlined into it. Such a frame may shrink between the two calls, so that
 * calls which may share a frame, by their return addresses, prove nothing. If both hooks were called at the
 * same place of the same frame, by the hook's return address, the earlier call has ended. After a jump, a call
 * further out may have been left as well: the address to which the function returns tells. */
LR_OWN static int gone(struct lr_thread *t, const struct lr_frame_entry *f, const struct lr_event *e, int jumped) {
  const struct lr_place *const at = e->at;
  const int kind = lr_by_frame(f);
  /* An event on another stack shows that the handler on the signal stack was left. The reverse does not
   * hold: a handler on the signal stack only interrupts the calls of the other stack. */
  if (on_signal_stack(t, f->frame) && !on_signal_stack(t, at->frame)) return 1;
  if (!lr_comparable(t, f, at->frame) || kind != ((e->key & 1) || at->owner == LR_ONE_CALL)) return 0;
  /* The frame of an object of Log.h is its address, which may lie in the heap. */
  if (f->owner == LR_BY_HAND || at->owner == LR_BY_HAND)
    return kind && f->frame < at->frame && t->level[0].on == &t->own && is_own(t, f->frame);
  const int one_frame = !kind && f->owner == at->owner, one_place = f->pc == (uint32_t)at->pc;
  if (f->frame < at->frame) return !one_frame || one_place;
  if (f->frame == at->frame) return !one_frame || one_place;
  return jumped && !kind && !one_frame && lr_site_above(e) && lr_return_slot(e) >= f->frame + LR_BELOW_CALL;
}

LR_OWN void lr_drop_left(struct lr_thread *t, struct lr_level *v, const struct lr_event *e) {
  if (!v->stack) return;
  int jumped = (int)v->jumped;
  if (jumped) {
    v->jumped = 0;
    if (v == &t->level[0]) t->mode = LR_IDLE + v->switched;
  }
  struct lr_frame_entry *const bottom = v->stack + 2;
  if (v->top == bottom || (!jumped && v->top[-1].frame - e->at->frame - 1 < LR_NEAR)) return;
  lr_know_signal_stack(t);
  if (!gone(t, v->top - 1, e, jumped) || !lr_room(t, v, lr_time_of(v), 0)) return;
  uint32_t n = 1, shown = !lr_hidden(v->top - 1);
  for (; v->top - n > bottom && gone(t, v->top - n - 1, e, 1); n++) shown += !lr_hidden(v->top - n - 1);
  v->top -= n;
  if (shown) lr_put_left(v, shown);
}

LR_OWN void lr_put_left(struct lr_level *v, uint32_t n) {
  uint8_t *const p = lr_position(v);
  lr_store16(p, LRF_FIRST_WORD(LRF_LEFT, 3));
  lr_store32(p + 2, n);
  lr_commit(v, p + 6);
}

LR_OWN void lr_calls_are_left(void) {
  struct lr_thread *const t = lr_self_get();
  struct lr_level *const v = &t->level[0];
  /* A jump out of a hook is noticed by the next event (still_inside). */
  if (!lr_alive(t) || !lr_idle(v)) return;
  lr_forget_jump(t);
  v->jumped = 1;
  t->mode = LR_LEAVING;
  lr_barrier();
  v->inside = LR_LEAVING;
}

/* ---- threads and processes ---- */

LR_OWN void lr_stacks_reset(struct lr_thread *t) {
  memset(&t->own, 0, sizeof t->own);
  t->signal_known = 0;
  t->level[0].on = &t->own;
  t->own.switched = lr_global.switched;
  plat_current_stack(&t->own.low, &t->own.high);
}

LR_OWN void lr_stacks_end(struct lr_thread *t) {
  struct lr_level *const v = &t->level[0];
  if (v->on == &t->own) return;
  park(t, v);
  put_in_effect(v, &t->own);
}

/* What a forking thread has besides the stack in effect. */
static struct {
  struct lr_stack own, *on;
} forked;

LR_OWN void lr_stacks_before_fork(struct lr_thread *t) {
  forked.own = t->own;
  forked.on = t->level[0].on == &t->own ? NULL : t->level[0].on;
}

LR_OWN void lr_stacks_in_parent(void) { forked.on = NULL; }

LR_OWN void lr_stacks_in_child(void) {
  for (struct lr_stack *s = newest; s; s = s->older) {
    s->stream = 0;
    /* The open calls on stacks of other threads are not known in the child. */
    if (s->owner && s != forked.on) {
      s->top = s->entries + 2;
      s->forgotten = 0;
    }
    if (s != forked.on) s->owner = 0;
  }
}

LR_OWN void lr_stacks_inherit(struct lr_thread *t) {
  struct lr_stack *const s = forked.on;
  const uintptr_t low = forked.own.low, high = forked.own.high;
  if (s) {
    t->own = forked.own;
    t->own.stream = 0;
    t->level[0].on = s;
    s->in = t;
    s->owner = t->stream;
  } else {
    t->own.low = low;
    t->own.high = high;
  }
  forked.on = NULL;
}
