/* overhead.c: measures what the recorder's own calls cost, so that it can be taken off.
 *
 * Called with the lock, at the start, in whatever thread records first, perhaps in a signal
 * handler; that thread records nothing meanwhile. */

#include "hot.h"

/* lr_measure_overhead takes the hot path through a chunk in memory, and writes how long an
 * enter and a leave take before and after the moment that they note. */
LR_OWN void lr_measure_overhead(void) {
  enum { PAIRS = 64, ROUNDS = 5, MOST_ROUNDS = 100, CHUNK = 4096 };
  const size_t size = LR_THREAD_BYTES + CHUNK + 4096;
  uint8_t *memory = plat_pages(size, 0);
  if (!memory) return;
  struct lr_thread *t = (struct lr_thread *)memory, *mine = lr_self_get();
  struct lrf_chunk *c = (struct lrf_chunk *)(memory + LR_THREAD_BYTES);
  struct lr_level *v = &t->level[0];
  struct lr_frame_entry *stack = (struct lr_frame_entry *)(memory + LR_THREAD_BYTES + CHUNK);
  const uintptr_t function = (uintptr_t)&lr_measure_overhead;
  t->mode = LR_IDLE + lr_global.switched;
  for (int i = 1; i < LR_LEVELS; i++) t->level[i].inside = LR_IDLE;
  v->inside = t->mode;
  v->window[0][(uint32_t)function >> LRF_OFFSET_BITS] = lr_window_at(lr_window_base(function), 0);
  v->chunk = c;
  v->stack = stack;
  v->stack_size = 64 * sizeof *stack;
  v->stack_end = stack + 64;
  lr_make_bottom(stack);
  stack[1].frame = lr_frame() + LR_NEAR / 2;
  uint64_t whole = ~(uint64_t)0, inside = 0;
  const uintptr_t mode = lr_mode;
  lr_self_set(t);
  lr_store(&lr_mode, t->mode);
  /* Rounds that something interrupts do not count. */
  for (int round = 0; round < ROUNDS || (whole == ~(uint64_t)0 && round < MOST_ROUNDS); round++) {
    c->used = 0;
    v->limit = CHUNK - LRF_CHUNK_HEADER_SIZE - LR_RESERVE;
    v->top = stack + 2;
    v->last = lr_ticks();
    int missed = 0;
    const uint64_t begun = lr_ticks();
    for (int i = 0; i < PAIRS; i++) {
      const uintptr_t frame = lr_frame();
      missed |= !lr_fast_enter(function, 0, frame, frame, LR_BY_HAND, 1);
      missed |= !lr_fast_leave(function, 0, frame, 0);
    }
    const uint64_t ticks = lr_ticks() - begun;
    if (missed || c->used != PAIRS * 8) continue;
    if (ticks < whole) {
      whole = ticks;
      /* From an enter's moment to its leave's: the leaves' deltas. */
      inside = 0;
      for (int i = 0; i < PAIRS; i++) {
        uint16_t leave;
        memcpy(&leave, (uint8_t *)(c + 1) + 8 * i + 6, 2);
        inside += leave >> 1;
      }
    }
  }
  lr_self_set(mine);
  lr_store(&lr_mode, mode);
  plat_pages_free(memory, size);
  if (whole == ~(uint64_t)0) return;
  const double ps = 1e12 / (double)lr_global.rate; /* a unit */
  const double pair = (double)whole / PAIRS * ps;
  double in = (double)inside / PAIRS * ps;
  if (in > pair) in = pair;
  const double out = pair - in;
  lr_record.length = 0;
  lr_put32(&lr_record, 1);
  lr_put32(&lr_record, (uint32_t)(out / 2));
  lr_put32(&lr_record, (uint32_t)(in / 2));
  lr_put32(&lr_record, (uint32_t)(in / 2));
  lr_put32(&lr_record, (uint32_t)(out / 2));
  lr_write_record(LRF_OVERHEAD, lr_ticks());
}
