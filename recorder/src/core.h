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
/* In lr_thread.mode: calls are left, and the next event looks which. */
enum { LR_LEAVING = 7 };
extern LR_HIDDEN uintptr_t lr_mode;

/* An open call. */
struct lr_frame_entry {
  uint64_t function; /* address << 1 | kind */
  uintptr_t frame;   /* of the hook's call: decreases with depth */
  uint32_t owner, pc; /* of struct lr_place */
  uint64_t time;     /* of the enter, units */
};

/* Where a hook was called. */
struct lr_place {
  /* The stack pointer there, or an address in the same frame that is not below it;
   * for hooks that know a call by its frame, that. */
  uintptr_t frame;
  uintptr_t site; /* what the function returns to; 0: not known */
  /* Two calls in one frame are inlined into each other, or the first has ended. They may be
   * inlined if owner is the same for both, and pc is not. owner is the function's return
   * address, or one of LR_... below, and pc the hook's; the lower halves are compared. */
  uint32_t owner;
  uintptr_t pc;
};
/* Frames of calls that the program tells of itself say nothing of their order. No two
 * open calls have one frame. */
enum { LR_BY_HAND = 0, LR_ONE_CALL = 1 };

/* How far from the innermost call, at most, a call is on the same stack without
 * another look: stacks are larger. */
enum { LR_NEAR = 4096 };

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

  /* The stack of calls in effect: its numbers are in it while it is not. NULL in levels
   * above 0, which have but one. */
  struct lr_stack *on;

  struct lr_frame_entry *stack; /* begins with two sentinels */
  size_t stack_size;            /* bytes */
  struct lr_frame_extra *extra; /* general mode: beside stack */
  uint64_t window_base[LRF_WINDOWS]; /* what the chunk's windows are: base | kind */
  uint32_t windows;                  /* how many are set */
  uint32_t window_next;              /* the one to set anew when all are */
  uint32_t sequence, lost;
  uint32_t switched; /* lr_state.switched at the last event */
  uint32_t restated; /* 1: the stack is not what the events lead to */
  uint32_t jumped;   /* 1: calls have been left, perhaps */
  uint32_t next_size; /* of the next chunk */
  uint64_t written;   /* bytes of all chunks before this one */
  /* Rings: the chunks, oldest first, linked by their order in this array. */
  struct lrf_chunk **ring;
  uint32_t ring_count, ring_at, ring_room;
  uint64_t ring_bytes;
};

/* A stack of calls: the thread's own, or one of a coroutine (stacks.c). */
struct lr_stack {
  uint32_t number;      /* in the log; 0: a thread's own */
  uint32_t owner;       /* stream of the thread that it is in effect in; 0: none */
  struct lr_thread *in; /* that thread */
  /* As in lr_level, while it is not in effect. */
  struct lr_frame_entry *entries, *top;
  size_t size;
  struct lr_frame_extra *extra;
  uint32_t switched, restated;
  /* The chunk that tells its open calls, as of the last event on it. */
  uint32_t stream, sequence;
  /* Where it lies: what is known of the thread's own, else frames that were seen. */
  uintptr_t low, high;
  struct lr_stack *older; /* of all coroutines' */
};

enum {
  LR_STACK_BYTES = 1 << 20, /* at first; pages that are not touched cost nothing */
  LR_STACK_MOST = 11184810 * sizeof(struct lr_frame_entry),
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
  struct lr_stack own;
  /* The stack for signal handlers; known: as far as the recorder was told of changes. */
  uintptr_t signal_low, signal_high;
  int signal_known;
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
  uint32_t ways;    /* those that are in the log: 1 << lr_way */
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

/* Ways in: docs/formats.md, SETTING way. */
enum lr_way { LR_CYG, LR_FENTRY, LR_RETURN, LR_LATE, LR_PENTER, LR_API, LR_PRELOADED, LR_WAYS };
/* Writes down that events come by a way. */
LR_HIDDEN void lr_came_by(enum lr_way way);
LR_INLINE int lr_has_come_by(enum lr_way way) { return lr_relaxed(&lr_global.ways) >> way & 1; }

/* Slow ways of the hooks. frame: what the entry has as its frame, at->frame or another
 * place in the frame. exact: frame must equal the enter's. */
LR_HIDDEN void lr_enter_slow(uintptr_t function, unsigned kind, uintptr_t frame, const struct lr_place *at, enum lr_way way);
LR_HIDDEN void lr_leave_slow(uintptr_t function, unsigned kind, uintptr_t frame, int exact, const struct lr_place *at, enum lr_way way);
/* For hooks that look at the open calls before they leave: the stack that they are on
 * becomes the one in effect. */
LR_HIDDEN void lr_arrived(const struct lr_place *at);
/* For hooks that know a call by its frame alone. lr_ended records leaves for
 * the calls (of kind 1) that must have ended before the one of frame began;
 * lr_returned records the leave of the call of frame. */
LR_HIDDEN void lr_ended(const struct lr_place *at);
LR_HIDDEN void lr_returned(const struct lr_place *at);
LR_HIDDEN void lr_mark(const char *text, size_t n);
LR_HIDDEN void lr_counter(const char *name, unsigned type, const void *value);

/* ---- core.c, for stacks.c ---- */

/* What is known of an event where the fast path does not do. */
struct lr_event {
  uint64_t key; /* function << 1 | kind; 0 or 1 for no function's */
  int leave;
  const struct lr_place *at;
};
/* 1 for hooks whose at->site lies above at->frame on the stack. */
LR_INLINE int lr_site_above(const struct lr_event *e) { return e->at->owner > LR_ONE_CALL; }
/* Where that is; x86-64 only, else 0. */
LR_HIDDEN uintptr_t lr_return_slot(const struct lr_event *e);
/* Makes sure that there is a chunk with LR_RESERVE + more bytes of room; 0: there is none. */
LR_HIDDEN int lr_room(struct lr_thread *t, struct lr_level *v, uint64_t now, size_t more);
LR_HIDDEN int lr_next_chunk(struct lr_thread *t, struct lr_level *v, uint64_t now);
LR_HIDDEN uint8_t *lr_put_time(uint8_t *p, uint64_t *delta, uint64_t most);
/* Writes STACK, of at most that many calls. */
LR_HIDDEN void lr_write_stack(struct lr_level *v, int stated, uint64_t most);
LR_HIDDEN uint64_t lr_time_of(const struct lr_level *v);
/* The two entries below the first: nothing matches them. */
LR_HIDDEN void lr_make_bottom(struct lr_frame_entry *entries);

/* ---- stacks.c ---- */

/* Makes the stack that an event is on the one in effect. */
LR_HIDDEN void lr_settle(struct lr_thread *t, struct lr_level *v, const struct lr_event *e);
/* Takes calls that were left without a leave off the stack, and says so, before an enter. */
LR_HIDDEN void lr_drop_left(struct lr_thread *t, struct lr_level *v, const struct lr_event *e);
/* 1 if the frames of a call and an event are on the same memory. */
LR_HIDDEN int lr_comparable(const struct lr_thread *t, const struct lr_frame_entry *f, uintptr_t frame);
/* Makes room for another entry. Where there is no memory the outer calls are forgotten. */
LR_HIDDEN void lr_more_entries(struct lr_level *v);
/* Writes SWITCH at the beginning of a chunk, if the thread is on no stack of its own. */
LR_HIDDEN void lr_begin_on_stack(struct lr_level *v);
/* The thread ends, is made anew, has forked, is the forked child's first. */
LR_HIDDEN void lr_stacks_end(struct lr_thread *t);
LR_HIDDEN void lr_stacks_reset(struct lr_thread *t);
LR_HIDDEN void lr_stacks_before_fork(struct lr_thread *t);
LR_HIDDEN void lr_stacks_in_parent(void);
LR_HIDDEN void lr_stacks_in_child(void);
LR_HIDDEN void lr_stacks_inherit(struct lr_thread *t);
/* A call of the system or the C library leaves calls of this thread, or will. */
LR_HIDDEN void lr_calls_are_left(void);

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
 * the top of the stack; else it returns 0 and nothing is changed. It does for a call
 * near the innermost one and further in, or in the same frame and inlined. pointer, owner and
 * pc are those of struct lr_place; 0: pc is where the hook returns to. */
LR_INLINE int lr_try_enter(struct lr_level *v, uintptr_t function, unsigned kind, uintptr_t frame, uintptr_t pointer, uint32_t owner,
                           uint32_t pc) {
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
  const uintptr_t further = top[-1].frame - pointer;
  if (LR_UNLIKELY(further - 1 >= LR_NEAR) &&
      (further != 0 || top[-1].owner != owner || top[-1].pc == (pc ? pc : (uint32_t)lr_return_address())))
    return 0;
  lr_barrier();
  v->last = now;
  lr_store(&c->used, (uint32_t)(used + 6));
  top->function = (uint64_t)function << 1 | kind;
  top->frame = frame;
  top->time = now;
  top->owner = owner;
  lr_barrier(); /* Two stores are cheaper than one of both. */
  top->pc = pc ? pc : (uint32_t)lr_return_address();
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
  if (LR_UNLIKELY(delta > 0x7fff || top->function != key ||
                  (exact ? top->frame != frame : top[-1].frame < frame || frame - top->frame + LR_NEAR > 2 * LR_NEAR)))
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

#endif
