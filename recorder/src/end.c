/* end.c: a log ends in order: the program ends, starts another one by exec, or asks for a
 * sandbox that would not let the recorder go on.
 *
 * All take the lock. All but lr_end, the destructor's, may run in a signal handler. Between vfork and
 * exec, and in a process that is not the file's, they change nothing in the file. */

#include "core.h"

/* write_last writes the record and ends the file in order; 0 where that fails. With the
 * lock. */
LR_OWN static int write_last(uint16_t type) {
  lr_write_record(type, lr_ticks());
  plat_file_trim(lr_global.end);
  if (lr_global.state != LR_RUNNING) return 0;
  lr_store(&lr_global.header->state, LRF_ENDED);
  return 1;
}

/* end_log writes END, unless the file is another process's. anywhere: it may look at the
 * loader's list, which a signal handler may have interrupted. */
LR_OWN static void end_log(int anywhere) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (lr_load(&lr_global.state) == LR_RUNNING && plat_pid() == lr_global.pid) {
    if ((anywhere || !plat_in_handler(&saved)) && plat_modules_changed()) plat_modules_scan();
    if (plat_lock()) {
      if (lr_global.state == LR_RUNNING && !lr_global.ended) {
        lr_write_all_renamed();
        lr_write_clock();
        lr_record.length = 0;
        write_last(LRF_END);
        lr_global.ended = 1;
      }
      plat_unlock();
    }
  }
  plat_slow_end(&saved);
}

/* A program in which nothing is recorded may be in a sandbox: it ends without a system call of the recorder's. */
LR_OWN void lr_end(void) {
  if (lr_load(&lr_global.state) != LR_RUNNING) return;
  if (plat_pid() == lr_global.pid) lr_output_ends();
  end_log(1);
}
LR_OWN void lr_end_now(void) {
  if (lr_load(&lr_global.state) != LR_RUNNING) return;
  if (plat_pid() != lr_global.pid) {
    lr_calls_are_left();
  } else {
    lr_output_ends();
    end_log(0);
  }
}

LR_OWN int lr_exec_begin(const char *path) {
  if (lr_load(&lr_global.state) != LR_RUNNING) return 0;
  if (plat_pid() != lr_global.pid) {
    /* Between vfork and exec, which leaves the child's calls behind in its parent. */
    lr_calls_are_left();
    return 0;
  }
  lr_output_ends();
  struct plat_saved saved;
  plat_slow_begin(&saved);
  int done = 0;
  if (plat_lock()) {
    if (lr_global.state == LR_RUNNING) {
      lr_write_all_renamed();
      lr_write_clock();
      lr_record.length = 0;
      lr_put_string(&lr_record, path);
      done = write_last(LRF_EXEC);
    }
    plat_unlock();
  }
  plat_slow_end(&saved);
  return done;
}

LR_OWN void lr_exec_failed(void) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (lr_record_begin()) {
    lr_store(&lr_global.header->state, LRF_RECORDING);
    lr_put_switch(1, "exec failed");
    lr_record_end(LRF_SWITCH, lr_ticks());
  }
  plat_slow_end(&saved);
}

/* What the state was before lr_bar. */
static uint32_t barred_state;

LR_OWN int lr_bar(const char *why) {
  const uint32_t state = lr_load(&lr_global.state);
  if (state == LR_DISABLED || (state != LR_NOT_STARTED && plat_pid() != lr_global.pid)) return 0;
  struct plat_saved saved;
  plat_slow_begin(&saved);
  int done = 0;
  if (plat_lock()) {
    barred_state = lr_global.state;
    if (lr_global.state == LR_RUNNING) {
      lr_write_all_renamed();
      lr_write_clock();
      lr_record.length = 0;
      lr_put_switch(0, why);
      write_last(LRF_SWITCH);
    }
    lr_store(&lr_global.state, LR_DISABLED);
    lr_choose_mode();
    done = 1;
    plat_unlock();
  }
  plat_slow_end(&saved);
  if (done) plat_bar();
  return done;
}

LR_OWN void lr_unbar(const char *why) {
  plat_unbar();
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (plat_lock()) {
    lr_global.state = barred_state;
    if (barred_state == LR_RUNNING) {
      lr_store(&lr_global.header->state, LRF_RECORDING);
      lr_record.length = 0;
      lr_put_switch(1, why);
      lr_write_record(LRF_SWITCH, lr_ticks());
    }
    /* Calls may have ended meanwhile, in other threads too. */
    lr_store(&lr_global.switched, lr_global.switched + LR_SWITCHED);
    lr_choose_mode();
    plat_unlock();
  }
  plat_slow_end(&saved);
}
