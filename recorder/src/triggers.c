/* triggers.c: recording that begins and ends by itself: when a function is called (LOGREC_FROM,
 * LOGREC_UNTIL), and by time (LOGREC_AFTER, LOGREC_FOR). The calls of LOGREC_INSIDE and LOGREC_DEPTH are
 * told in event.c.
 *
 * The hot path knows nothing of it. While functions are waited for, each event takes the slow one. The end by
 * time is seen there alone: each chunk and each pause of more than 65,535 units leads to it, so that it is late
 * by a few milliseconds at most. No timer, thread or signal of the program's is taken for it.
 *
 * lr_trigger_enter and the like take the lock, and may be called in signal handlers. */

#include "core.h"

LR_OWN void lr_triggers_choose(void) {
  lr_settings.triggers = lr_settings.from[0] || lr_settings.until[0] || lr_settings.after || lr_settings.lasts;
  lr_global.gate = lr_settings.after ? LR_GATE_TIME : lr_settings.from[0] ? LR_GATE_FUNCTION : LR_GATE_OPEN;
}

LR_OWN int lr_triggers_general(void) {
  return !lr_gate_is_open() || lr_settings.until[0] || lr_settings.inside[0] || lr_settings.depth;
}

LR_OWN static uint64_t units(uint64_t ns) { return (uint64_t)((double)ns / 1e9 * (double)lr_global.rate); }

/* waited_for returns the name of the setting that recording waits for. */
LR_OWN static const char *waited_for(uint32_t gate) { return gate == LR_GATE_TIME ? "LOGREC_AFTER" : "LOGREC_FROM"; }

LR_OWN void lr_triggers_begin(void) {
  static const char *const names[] = {"LOGREC_FROM", "LOGREC_UNTIL", "LOGREC_INSIDE", "LOGREC_LIBCALLS"};
  const char *const lists[] = {lr_settings.from, lr_settings.until, lr_settings.inside, lr_settings.libcalls};
  for (int i = 0; i < 4; i++) lr_write_setting(names[i], lists[i]);
  char text[24];
  struct lr_text t = {text, 0, sizeof text - 1};
  if (lr_settings.depth) {
    lr_text_add_number(&t, lr_settings.depth);
    text[t.n] = 0;
    lr_write_setting("LOGREC_DEPTH", text);
  }
  /* A forked child goes on as its parent does, in which another thread may have been about to open. */
  if (lr_load(&lr_global.gate) == LR_GATE_OPENING) lr_store(&lr_global.gate, LR_GATE_TIME);
  if (!lr_global.opens) lr_global.opens = lr_global.begin + units(lr_settings.after);
  if (lr_gate_is_open()) {
    if (lr_settings.lasts && !lr_global.closes) lr_global.closes = lr_global.begin + units(lr_settings.lasts);
    return;
  }
  lr_record.length = 0;
  lr_put_switch(0, waited_for(lr_load(&lr_global.gate)));
  lr_write_record(LRF_SWITCH, lr_ticks());
}

/* open_gate begins the recording, in one of the threads that call it at the same time. */
LR_COLD static void open_gate(uint32_t gate, const char *why) {
  if (!lr_exchange(&lr_global.gate, &gate, LR_GATE_OPENING)) return;
  if (lr_settings.lasts && !lr_global.closes) lr_global.closes = lr_ticks() + units(lr_settings.lasts);
  /* Calls may have ended meanwhile. */
  lr_store(&lr_global.switched, lr_global.switched + LR_SWITCHED);
  lr_switch(1, why);
  lr_store(&lr_global.gate, LR_GATE_OPEN);
  lr_choose_mode();
}

/* close_gate ends the recording: until the function of LOGREC_FROM is called again (again), or for good. */
LR_COLD static void close_gate(int again, const char *why) {
  uint32_t gate = LR_GATE_OPEN;
  if (!lr_exchange(&lr_global.gate, &gate, again ? LR_GATE_FUNCTION : LR_GATE_OPENING)) return;
  if (!again) {
    lr_store(&lr_settings.off, 1);
    lr_store(&lr_global.gate, LR_GATE_OPEN);
  }
  lr_choose_mode();
  lr_switch(0, why);
}

LR_OWN static int is_over(void) { return lr_global.closes && lr_ticks() >= lr_global.closes; }

LR_COLD int lr_trigger_event(void) {
  if (!lr_gate_is_open()) return 0;
  if (!is_over()) return 1;
  /* Only once: if the program switches recording on again, it stays on. */
  lr_global.closes = 0;
  lr_settings.lasts = 0;
  close_gate(0, "LOGREC_FOR");
  return 0;
}

LR_COLD unsigned lr_trigger_enter(uintptr_t function, unsigned kind) {
  uint32_t gate = lr_load(&lr_global.gate);
  if (gate == LR_GATE_TIME && lr_ticks() >= lr_global.opens) {
    if (!lr_settings.from[0]) open_gate(LR_GATE_TIME, "LOGREC_AFTER");
    else lr_exchange(&lr_global.gate, &gate, LR_GATE_FUNCTION);
    gate = lr_load(&lr_global.gate);
  }
  if (gate == LR_GATE_FUNCTION && (lr_traits(function, kind) & LR_STARTS)) open_gate(LR_GATE_FUNCTION, "LOGREC_FROM");
  if (!lr_trigger_event()) return 0;
  return LR_WANTED | (lr_settings.until[0] ? lr_traits(function, kind) : 0);
}

LR_COLD void lr_trigger_entered(unsigned traits) {
  if (traits & LR_STOPS) close_gate(lr_settings.from[0] != 0, "LOGREC_UNTIL");
}
