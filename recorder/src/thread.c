/* thread.c: the state of a thread: made at its first event, given back when it ends.
 *
 * lr_make_thread, lr_thread_exit and lr_thread_name take the lock. A
 * signal handler may call them: the thread's own making of its state has signals blocked. */

#include "core.h"

LR_OWN void lr_make_bottom(struct lr_frame_entry *entries) {
  memset(entries, 0, 2 * sizeof *entries);
  entries[0].frame = entries[1].frame = ~(uintptr_t)0;
  entries[0].owner = entries[1].owner = LR_BY_HAND;
}

LR_OWN int lr_make_stack(struct lr_level *v) {
  enum { LEAST = 4096 };
  /* Where there is little memory it begins small, and grows later (lr_more_entries). */
  for (size_t size = LR_STACK_BYTES; !v->stack && size >= LEAST; size /= 4) {
    v->stack = plat_pages(size, 0);
    v->stack_size = size;
  }
  if (!v->stack) return 0;
  lr_make_bottom(v->stack);
  v->top = v->stack + 2;
  v->forgotten = 0;
  v->stack_end = v->stack + v->stack_size / sizeof *v->stack;
  return 1;
}

/* Rings of ended threads that are kept before one is reused. */
enum { DEAD_RINGS = 16 };

/* reset_thread makes t fit for a new stream; memory that it has is kept. */
LR_OWN static int reset_thread(struct lr_thread *t) {
  if (!t->level[0].stack && !lr_make_stack(&t->level[0])) return 0;
  for (int i = 0; i < LR_LEVELS; i++) {
    struct lr_level *v = &t->level[i];
    v->chunk = &lr_no_chunk;
    v->limit = 0;
    v->last = 0;
    v->sequence = v->lost = v->restated = v->jumped = 0;
    v->switched = lr_global.switched;
    if (i > 0) v->inside = LR_IDLE;
    v->next_size = LR_FIRST_CHUNK;
    lr_clear_windows(v);
  }
  t->mode = LR_IDLE + lr_global.switched;
  t->dropped = t->ending = t->named = 0;
  t->jump.to = 0;
  t->id = plat_thread_id();
  t->stream = ++lr_global.streams;
  lr_stacks_reset(t);
  return 1;
}

/* take_free gives the state of a thread that ended. The rings of the last
 * DEAD_RINGS ended threads are kept as they are. */
LR_OWN static struct lr_thread *take_free(void) {
  struct lr_thread **link = &lr_global.free_threads, **last = NULL;
  int count = 0;
  for (; *link; link = &(*link)->next) {
    last = link;
    count++;
  }
  if (!last || (lr_settings.ring && count <= DEAD_RINGS)) return NULL;
  struct lr_thread *t = *last;
  *last = NULL;
  for (int i = 0; i < LR_LEVELS; i++)
    if (t->level[i].stack) lr_make_stack(&t->level[i]);
  return t;
}

/* lose counts an event of a thread whose state has no memory. The record that says so is written once; its number of
 * events is counted up where it stands, so that it is right however the program ends. With the lock. */
LR_OWN static void lose(void) {
  if (!lr_global.lost_events) {
    lr_record.length = 0;
    lr_put32(&lr_record, 0);
    lr_put32(&lr_record, 0);
    const size_t at = lr_record.length;
    lr_put64(&lr_record, 0);
    lr_put_string(&lr_record, "there was no memory for what is kept of a thread");
    const size_t behind = lr_record.length - at;
    lr_write_record(LRF_PROCESS_LOST, lr_ticks());
    if (lr_global.state != LR_RUNNING) return;
    const struct lrf_chunk *const c = lr_global.process;
    lr_global.lost_events = (uint64_t *)(void *)((uint8_t *)(c + 1) + c->used - ((behind + 7) & ~(size_t)7));
  }
  lr_store(lr_global.lost_events, *lr_global.lost_events + 1);
}

/* Threads for which there was no memory, and how many of their events are lost before it is asked for again: that takes
 * much longer than to count an event. */
enum { REFUSED = 64, ASK_AGAIN = 256 };
static struct {
  uint64_t id;
  uint32_t left;
} refused[REFUSED];

/* still_refused counts an event of such a thread. With the lock. */
LR_OWN static int still_refused(uint64_t id) {
  if (refused[id % REFUSED].id != id || !refused[id % REFUSED].left) return 0;
  refused[id % REFUSED].left--;
  lose();
  return 1;
}

LR_OWN static void refuse(uint64_t id) {
  refused[id % REFUSED].id = id;
  refused[id % REFUSED].left = ASK_AGAIN;
  lose();
}

LR_COLD struct lr_thread *lr_make_thread(struct lr_thread *old) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (!plat_lock()) {
    plat_slow_end(&saved);
    return NULL;
  }
  const int first = lr_global.state == LR_NOT_STARTED;
  if (first) {
    lr_read_settings();
    if (lr_relaxed(&lr_settings.off)) lr_choose_mode();
    else if (plat_environment_known()) lr_start();
  }
  struct lr_thread *t = NULL;
  if (lr_global.state == LR_RUNNING && !lr_relaxed(&lr_settings.off) && !still_refused(plat_thread_id())) {
    struct lr_thread *fresh = old != &lr_nobody ? old : NULL;
    t = fresh ? fresh : take_free();
    if (!t) t = fresh = plat_pages(LR_THREAD_BYTES, 1);
    const int has_forked = lr_inherit_calls(t);
    if (t && reset_thread(t)) {
      if (has_forked) lr_stacks_inherit(t);
      if (fresh) {
        t->older = lr_global.newest_thread;
        lr_global.newest_thread = t;
      }
      lr_barrier();
      t->level[0].inside = t->mode;
      lr_self_set(t);
      plat_thread_name(t->name, sizeof t->name);
      lr_write_thread(t);
    } else {
      if (fresh && fresh != old) plat_pages_free(fresh, LR_THREAD_BYTES);
      t = NULL;
      refuse(plat_thread_id());
    }
  }
  plat_unlock();
  if (t && first) plat_modules_scan();
  if (t) plat_on_thread_exit(t);
  if (t) plat_crash_thread_begin();
  plat_slow_end(&saved);
  if (t) lr_output_begun();
  return t;
}

LR_OWN void lr_thread_exit(struct lr_thread *t) {
  /* Other exit handlers may still call recorded functions: ours asks to be
   * called again, but not for the last round, in which sanitizers end. */
  if (lr_alive(t) && t->ending++ < 2) {
    plat_on_thread_exit(t);
    return;
  }
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (plat_lock()) {
    if (lr_alive(t) && lr_self_get() == t) {
      plat_crash_thread_end();
      lr_self_set(&lr_nobody);
      if (lr_global.state == LR_RUNNING) {
        lr_write_renamed(t);
        lr_stacks_end(t);
        for (int i = 0; i < LR_LEVELS; i++) lr_close_chunk(t->level[i].chunk, t->level[i].last);
        lr_record.length = 0;
        if (t->dropped) {
          lr_put32(&lr_record, t->stream);
          lr_put32(&lr_record, LR_LEVELS);
          lr_put64(&lr_record, t->dropped);
          lr_put_string(&lr_record, "signal handlers were nested too deeply");
          lr_write_record(LRF_PROCESS_LOST, lr_ticks());
          lr_record.length = 0;
        }
        lr_put32(&lr_record, t->stream);
        lr_put32(&lr_record, 0);
        lr_write_record(LRF_THREADEND, lr_ticks());
      }
      t->level[0].inside = 0;
      t->next = lr_global.free_threads;
      lr_global.free_threads = t;
    }
    plat_unlock();
  }
  plat_slow_end(&saved);
}

LR_OWN void lr_thread_name(const char *name) {
  struct lr_thread *t = lr_relaxed(&lr_mode) == LR_OFF ? NULL : lr_thread_get();
  if (!t) return;
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (plat_lock()) {
    if (lr_global.state == LR_RUNNING) {
      size_t n = strlen(name);
      if (n > sizeof t->name - 1) n = sizeof t->name - 1;
      memcpy(t->name, name, n);
      t->name[n] = 0;
      t->named = 1;
      lr_write_thread(t);
    }
    plat_unlock();
  }
  plat_slow_end(&saved);
}
