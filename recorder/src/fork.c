/* fork.c: a forked child records into a file of its own, which begins with the calls that
 * were open in the thread that forked.
 *
 * lr_fork_before takes the lock, and lr_fork_parent gives it back; in the child lr_fork_child
 * makes both locks free, where no other thread is left. A signal handler may fork. */

#include "core.h"

#include "patch.h"

/* The forking thread's open calls, for the child. */
static struct {
  struct lr_frame_entry *stack, *top;
  size_t size;
  uint32_t forgotten;
  struct lr_frame_extra *extra;
  struct lr_kept *kept;
} forked[LR_LEVELS];
static int have_forked;

/* inherits tells whether this thread is a forked child's first one and has recorded nothing yet: the calls that are open in
 * it are still those of the fork. */
LR_OWN static int inherits(void) { return have_forked && plat_thread_id() == plat_pid(); }

LR_OWN void lr_fork_before(void) {
  plat_lock();
  struct lr_thread *t = lr_self_get();
  /* A child that forks again before its first event, as daemons do, hands on what it has. */
  if (!lr_alive(t) && inherits()) return;
  have_forked = lr_alive(t);
  for (int i = 0; have_forked && i < LR_LEVELS; i++) {
    const struct lr_level *v = &t->level[i];
    forked[i].stack = v->stack;
    forked[i].top = v->top;
    forked[i].size = v->stack_size;
    forked[i].forgotten = v->forgotten;
    forked[i].extra = v->extra;
    forked[i].kept = v->kept;
  }
  if (have_forked) lr_stacks_before_fork(t);
}

LR_OWN void lr_fork_parent(void) {
  if (lr_alive(lr_self_get()) || !inherits()) {
    have_forked = 0;
    lr_stacks_in_parent();
  }
  plat_unlock();
}

LR_OWN void lr_fork_child(void) {
  plat_locks_reset();
  struct lr_thread *t = lr_self_get();
  if (t != &lr_nobody) {
    /* Where a signal handler forks, the hook that it interrupted goes on with t
     * when the handler is done, and may have a chunk at hand: what it writes goes
     * nowhere, and the thread gets another lr_thread. */
    for (int i = 0; i < LR_LEVELS; i++) {
      struct lr_level *v = &t->level[i];
      v->chunk = &lr_no_chunk;
      v->limit = 0;
      if (have_forked) {
        v->stack = forked[i].stack;
        v->top = v->stack_end = forked[i].top;
      }
    }
    t->level[0].inside = 0;
    lr_self_set(&lr_nobody);
  }
  lr_stacks_in_child();
  lr_crash_forget();
  plat_crash_forked();
  lr_patch_forked();
  lr_output_forked();
  lr_global.free_threads = lr_global.newest_thread = NULL;
  if (lr_global.state == LR_RUNNING || lr_global.state == LR_STOPPED) {
    plat_file_forget();
    plat_modules_reset();
    lr_global.state = LR_NOT_STARTED;
    lr_choose_mode();
  }
}

LR_OWN int lr_inherit_calls(struct lr_thread *t) {
  /* The child's first thread is the one that forked. */
  if (!inherits()) return 0;
  have_forked = 0;
  for (int i = 0; t && i < LR_LEVELS; i++) {
    struct lr_level *v = &t->level[i];
    v->stack = forked[i].stack;
    v->top = forked[i].top;
    v->stack_size = forked[i].size;
    v->forgotten = forked[i].forgotten;
    v->extra = forked[i].extra;
    v->kept = forked[i].kept;
    v->stack_end = v->stack ? v->stack + v->stack_size / sizeof *v->stack : NULL;
  }
  return 1;
}

LR_OWN void lr_write_fork(uint32_t child) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  struct lr_body *b = lr_record_begin();
  if (b) {
    lr_put32(b, child);
    lr_put32(b, 0);
    lr_record_end(LRF_FORK, lr_ticks());
  }
  plat_slow_end(&saved);
}
