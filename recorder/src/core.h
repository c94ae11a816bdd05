/* core.h: the recorder's inside, shared by its own files.
 *
 * Each thread has an lr_thread with one lr_level for its ordinary code and one
 * for each signal handler that interrupted the recorder itself. A level writes
 * into a chunk of the file that nobody else writes into; on the hot path there
 * is no lock, no atomic operation and no system call. A record counts from the
 * moment the chunk's used field covers it. */

#ifndef LOGREC_CORE_H
#define LOGREC_CORE_H

#include "format.h"
#include "platform.h"

#include <string.h>

#if defined(__GNUC__) && !defined(_WIN32)
#define LR_HIDDEN __attribute__((visibility("hidden")))
#else
#define LR_HIDDEN
#endif

enum { LR_LEVELS = 4 };

/* What lr_mode says: LR_OFF, LR_GENERAL, or the hot path may be taken; then it is
 * odd, LR_IDLE + lr_state.switched, which a thread has to have seen. It is that at
 * first, so that a started and a not yet started recorder look alike to the hooks:
 * threads without lr_thread go the slow way. */
enum { LR_IDLE = 1, LR_OFF = 2, LR_GENERAL = 3, LR_SWITCHED = 4 };
/* In lr_level.switched: a hook was left by longjmp. */
enum { LR_JUMPED = 3 };
extern LR_HIDDEN uintptr_t lr_mode;

/* An open call. */
struct lr_frame_entry {
  uint64_t function; /* address << 1 | kind */
  uintptr_t frame;   /* of the hook's call: decreases with depth */
  uint64_t time;     /* of the enter, units */
};

/* What the general mode keeps of an open call besides: enough to take its
 * enter back. */
struct lr_frame_extra {
  uint8_t *before, *after; /* of the enter's records */
  uint64_t last;           /* the level's last time before */
  uint32_t sequence;       /* of the chunk */
};

/* Windows, for each kind of address, are found by the bits LRF_OFFSET_BITS to 31
 * of an address. A window is what to add to the address << LRF_OFFSET_SHIFT to get
 * an enter's first word; the sum has more than 32 bits where the address is not in
 * the window. LR_NO_WINDOW stands at i where there is none: no address that is
 * found there makes the bits above 32 zero. */
enum { LR_WINDOW_CACHE = 1 << (32 - LRF_OFFSET_BITS) };
#define LR_NO_WINDOW(i) ((uint64_t)(LR_WINDOW_CACHE - 1 - (i)) << 32)

struct lr_level {
  /* The hot part. Where used reaches limit the slow way is taken: that leaves
   * room for the longest group of records that is written without asking. */
  struct lrf_chunk *chunk; /* &lr_no_chunk where there is none */
  size_t limit;
  uint64_t last; /* units */
  struct lr_frame_entry *top, *stack_end;
  /* The frame of the hook that has the level, while one has, an even number. Else
   * LR_IDLE, in level 0 the thread's mode, so that the hooks see by one comparison
   * that it is free and the hot path may be taken; or 0 in level 0 of an lr_thread
   * that is nobody's. Taking a level and giving it back are one store each: a
   * signal handler finds it taken or not. */
  uintptr_t inside;
  uint64_t window[2][LR_WINDOW_CACHE];

  struct lr_frame_entry *stack; /* begins with two sentinels */
  size_t stack_size;            /* bytes */
  struct lr_frame_extra *extra; /* general mode: beside stack */
  uint64_t window_base[LRF_WINDOWS]; /* what the chunk's windows are: base | kind */
  uint32_t windows;                  /* how many are set */
  uint32_t window_next;              /* the one to set anew when all are */
  uint32_t sequence, lost;
  uint32_t switched; /* lr_state.switched at the last event */
  uint32_t restated; /* 1: the stack is not what the events lead to */
  uint32_t next_size; /* of the next chunk */
  uint64_t written;   /* bytes of all chunks before this one */
  /* Rings: the chunks, oldest first, linked by their order in this array. */
  struct lrf_chunk **ring;
  uint32_t ring_count, ring_at, ring_room;
  uint64_t ring_bytes;
};

enum {
  LR_STACK_BYTES = 1 << 20, /* at first; pages that are not touched cost nothing */
  LR_STACK_MOST = 1 << 28,
  LR_RESERVE = 64, /* bytes at a chunk's end: a STACK-less slow enter fits */
};

/* An lr_thread becomes zero in a forked child where the system can do that. */
struct lr_thread {
  uintptr_t mode; /* what lr_mode must be for the hot path */
  uint32_t stream;
  uint64_t id;
  uint32_t dropped; /* events that found all levels in use */
  uint32_t ending;  /* rounds of thread-exit handlers */
  uint32_t named; /* 1: by the program, in the log only */
  struct lr_thread *next; /* of those whose thread ended */
  struct lr_thread *older; /* of all, made before this one */
  char name[64];
  struct lr_level level[LR_LEVELS];
};
enum { LR_THREAD_BYTES = 8192 };
typedef char lr_check_thread[sizeof(struct lr_thread) <= LR_THREAD_BYTES ? 1 : -1];

/* Whose lr_thread is not there yet: never written to. */
extern LR_HIDDEN struct lr_thread lr_nobody;
/* Full from the beginning. */
extern LR_HIDDEN struct lrf_chunk lr_no_chunk;

/* How the recorder was set, from the environment. */
struct lr_settings {
  int off, ring, sites;
  int no_command_line, no_children;
  unsigned permissions; /* of new files; 0: 0640 */
  uint64_t ring_bytes, minimum; /* bytes; ns */
  int snapshot_signal;
  char file[4096];
  char include[4096], exclude[4096];
};
extern LR_HIDDEN struct lr_settings lr_settings;

enum { LR_NOT_STARTED = 0, LR_RUNNING = 1, LR_STOPPED = 2, LR_DISABLED = 3 };

struct lr_state {
  uint32_t state;
  int counter;      /* LRF_... */
  uint32_t switched; /* LR_SWITCHED more at each switching on */
  uint64_t rate;    /* units a second */
  uint64_t minimum; /* units */
  uint64_t begin;
  uint32_t streams;
  uint32_t pid;
  uint64_t end;     /* bytes of the file that are chunks */
  int ended;        /* 1: END was written; the file grows by the chunk */
  struct lrf_file_header *header;
  struct lrf_chunk *process; /* the chunk of process records */
  uint32_t process_sequence;
  uint64_t last_clock; /* monotonic ns */
  uint8_t *first_clock; /* where the first CLOCK has the offset of local time */
  uint32_t snapshots;
  struct lr_thread *free_threads, *newest_thread;
  char path[4300];
};
extern LR_HIDDEN struct lr_state lr_global;

/* ---- core.c ---- */

LR_HIDDEN uint64_t lr_now(void);
/* The counter's ticks a second, by half a millisecond of the clock. */
LR_HIDDEN uint64_t lr_measured_rate(void);
/* The state of this thread, made on the first call; NULL while it
 * cannot be had (off, stopped, or asked from inside its own making). */
LR_HIDDEN struct lr_thread *lr_thread_get(void);
LR_INLINE int lr_alive(const struct lr_thread *t) { return t->level[0].inside != 0; }
LR_INLINE int lr_idle(const struct lr_level *v) { return v->inside & 1; }
/* The level that an event belongs to whose hook was called with this frame, or
 * NULL where all are in use. */
LR_HIDDEN struct lr_level *lr_level_of(struct lr_thread *t, uintptr_t frame);
LR_HIDDEN void lr_thread_exit(struct lr_thread *t);
/* What was recorded before plat_utc_offset could tell gets it now. */
LR_HIDDEN void lr_local_time_known(void);
/* The program ends: END, and the file cut to its length. */
LR_HIDDEN void lr_end(void);
/* The same where the program ends without its destructors, perhaps in a signal
 * handler. */
LR_HIDDEN void lr_end_now(void);
/* Before and after fork, in the forking thread; lr_fork_child also where a child
 * that no fork handler ran in comes to the recorder. */
LR_HIDDEN void lr_fork_before(void);
LR_HIDDEN void lr_fork_parent(void);
LR_HIDDEN void lr_fork_child(void);
/* Records of the process; take the lock themselves. */
LR_HIDDEN void lr_write_fork(uint32_t child);
/* lr_exec_begin writes EXEC and trims; lr_exec_failed takes the end back. */
LR_HIDDEN int lr_exec_begin(const char *path);
LR_HIDDEN void lr_exec_failed(void);
/* lr_bar ends the recording in order, because the process is about to have its
 * system calls filtered; lr_unbar takes that back where it did not come to that. */
LR_HIDDEN int lr_bar(const char *why);
LR_HIDDEN void lr_unbar(const char *why);
LR_HIDDEN void lr_thread_name(const char *name);
LR_HIDDEN void lr_switch(int on, const char *why);
LR_HIDDEN int lr_snapshot_to(const char *path);
/* Sets lr_mode by settings and state. */
LR_HIDDEN void lr_choose_mode(void);

/* A record of the process under construction. */
struct lr_body {
  uint8_t *data;
  size_t length, capacity;
};
LR_HIDDEN void lr_put(struct lr_body *b, const void *p, size_t n);
LR_HIDDEN void lr_put32(struct lr_body *b, uint32_t v);
LR_HIDDEN void lr_put64(struct lr_body *b, uint64_t v);
LR_HIDDEN void lr_put_string(struct lr_body *b, const char *s);
/* lr_record_begin takes the lock and returns the body to fill, or NULL where
 * nothing is recorded; lr_record_end writes it and gives the lock back.
 * Signals must be blocked. */
LR_HIDDEN struct lr_body *lr_record_begin(void);
LR_HIDDEN void lr_record_end(struct lr_body *b, uint16_t type, uint64_t time);

/* Slow ways of the hooks. site: where the function returns to, 0 not known. pc:
 * where the hook returns to, if site lies above frame on the stack, else 0.
 * exact: frame must equal the enter's. */
LR_HIDDEN void lr_enter_slow(uintptr_t function, unsigned kind, uintptr_t frame, uintptr_t site, uintptr_t pc);
LR_HIDDEN void lr_leave_slow(uintptr_t function, unsigned kind, uintptr_t frame, int exact, uintptr_t site, uintptr_t pc);
/* For hooks that know a call by its frame alone. lr_ended records leaves for
 * the calls (of kind 1) that must have ended before the one of frame began;
 * lr_returned records the leave of the call of frame. */
LR_HIDDEN void lr_ended(uintptr_t frame);
LR_HIDDEN void lr_returned(uintptr_t frame);
LR_HIDDEN void lr_mark(const char *text, size_t n);
LR_HIDDEN void lr_counter(const char *name, unsigned type, const void *value);

/* ---- control.c ---- */

LR_HIDDEN void lr_read_settings(void);
/* The names of all settings; NULL ends them. */
extern LR_HIDDEN const char *const lr_setting_names[];
/* 1 if calls of the function are recorded. */
LR_HIDDEN int lr_wanted(uintptr_t function, unsigned kind);
/* The addresses of a module are no longer its own. With the modules' lock. */
LR_HIDDEN void lr_wanted_forget(uint32_t module, uintptr_t base, size_t size);
/* Modules will have other numbers; in a forked child, which has no other thread. */
LR_HIDDEN void lr_modules_renumbered(void);
/* 1 if there are include or exclude lists. */
LR_HIDDEN int lr_lists(void);

/* ---- the hot path ---- */

#if LR_HAVE_COUNTER
LR_INLINE uint64_t lr_ticks(void) { return lr_tsc(); }
#else
LR_INLINE uint64_t lr_ticks(void) { return plat_counter(); }
#endif

LR_INLINE void lr_store16(uint8_t *p, uint16_t v) { memcpy(p, &v, 2); }
LR_INLINE void lr_store32(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }
LR_INLINE void lr_store64(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }

/* Where the next record goes. */
LR_INLINE uint8_t *lr_position(const struct lr_level *v) { return (uint8_t *)(v->chunk + 1) + v->chunk->used; }

/* Publishes what was written up to p. */
LR_INLINE void lr_commit(struct lr_level *v, const uint8_t *p) {
  lr_store(&v->chunk->used, (uint32_t)(p - (uint8_t *)(v->chunk + 1)));
}

/* lr_try_enter records an enter, where that takes no more than a record and
 * the top of the stack; else it returns 0 and nothing is changed. */
LR_INLINE int lr_try_enter(struct lr_level *v, uintptr_t function, unsigned kind, uintptr_t frame) {
  /* The counter first: it takes long, and wants registers of its own. Then one
   * thing after the other, with barriers between: so nothing has to be kept for
   * later, and the registers that a function may use freely are enough. */
  const uint64_t now = lr_ticks();
  lr_barrier();
  const uint64_t delta = now - v->last;
  if (LR_UNLIKELY(delta > 0xffff)) return 0;
  lr_barrier();
  const uint64_t first =
      ((uint64_t)function << LRF_OFFSET_SHIFT) + v->window[kind][(uint32_t)function >> LRF_OFFSET_BITS];
  if (LR_UNLIKELY(first >> 32)) return 0;
  lr_barrier();
  struct lrf_chunk *const c = v->chunk;
  size_t used = c->used;
  lr_opaque(used);
  if (LR_UNLIKELY(used >= v->limit)) return 0;
  /* Behind used it means nothing yet. */
  lr_store64((uint8_t *)(c + 1) + used, first | delta << 32);
  lr_barrier();
  struct lr_frame_entry *const top = v->top;
  if (LR_UNLIKELY(top >= v->stack_end)) return 0;
  v->last = now;
  lr_store(&c->used, (uint32_t)(used + 6));
  top->function = (uint64_t)function << 1 | kind;
  top->frame = frame;
  top->time = now;
  v->top = top + 1;
  return 1;
}

/* lr_try_leave is the same for a leave; key is function << 1 | kind. Two bytes
 * are enough where the top call is the one that ends: the function is the same
 * and no call further out can be the one, since its frame is no younger than
 * this one. exact: the frame is known to be the enter's. */
LR_INLINE int lr_try_leave(struct lr_level *v, uint64_t key, uintptr_t frame, int exact) {
  const uint64_t now = lr_ticks();
  lr_barrier();
  const uint64_t delta = now - v->last;
  struct lr_frame_entry *const top = v->top - 1;
  if (LR_UNLIKELY(delta > 0x7fff || top->function != key || (exact ? top->frame != frame : top[-1].frame < frame)))
    return 0;
  lr_barrier();
  struct lrf_chunk *const c = v->chunk;
  size_t used = c->used;
  lr_opaque(used);
  if (LR_UNLIKELY(used >= v->limit)) return 0;
  lr_store16((uint8_t *)(c + 1) + used, (uint16_t)(LRF_LEAVE_BIT | delta << 1));
  v->last = now;
  v->top = top;
  lr_store(&c->used, (uint32_t)(used + 2));
  return 1;
}

/* Records an enter. above: this is inlined into the hook, and site is the return
 * address that lies above frame on the stack. */
LR_INLINE void lr_enter(uintptr_t function, unsigned kind, uintptr_t frame, uintptr_t site, int above) {
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t inside = lr_frame(), mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) {
    if (mode != LR_OFF) lr_enter_slow(function, kind, frame, site, above ? lr_return_address() : 0);
    return;
  }
  v->inside = inside;
  lr_barrier();
  const int done = lr_try_enter(v, function, kind, frame);
  lr_barrier();
  v->inside = mode;
  if (LR_UNLIKELY(!done)) lr_enter_slow(function, kind, frame, site, above ? lr_return_address() : 0);
}

LR_INLINE void lr_leave(uintptr_t function, unsigned kind, uintptr_t frame, int exact, uintptr_t site, int above) {
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t inside = lr_frame(), mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) {
    if (mode != LR_OFF) lr_leave_slow(function, kind, frame, exact, site, above ? lr_return_address() : 0);
    return;
  }
  v->inside = inside;
  lr_barrier();
  const int done = lr_try_leave(v, (uint64_t)function << 1 | kind, frame, exact);
  lr_barrier();
  v->inside = mode;
  if (LR_UNLIKELY(!done)) lr_leave_slow(function, kind, frame, exact, site, above ? lr_return_address() : 0);
}

#endif
