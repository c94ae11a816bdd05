/* core.h: what the recorder's own files share: its state, and the functions of one
 * file that another one calls, file by file.
 *
 * Each thread has an lr_thread with one lr_level for its ordinary code and one
 * for each signal handler that interrupted the recorder itself. A level writes
 * into a chunk of the file that no other level writes into. A record counts from the
 * moment the chunk's used field covers it. The hot path (hot.h) takes no lock and makes
 * no atomic operation and no system call.
 *
 * Two locks (platform.h): plat_lock, "the lock", guards all that is not a thread's own;
 * the modules' lock guards the tables of modules and of their symbols. Who has the
 * modules' lock may take the lock, not the other way round. Their holders have signals
 * blocked, between plat_slow_begin and plat_slow_end. So a signal handler may call whatever takes a
 * lock itself; functions "with the lock" are for its holder.
 *
 * All that is declared here is hidden from the recorded program. */

#ifndef LOGREC_CORE_H
#define LOGREC_CORE_H

#if defined(__linux__)
#include "own_linux.h"
#else
#include <string.h>
#endif

#include "format.h"
#include "platform.h"

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

enum { LR_LEVELS = 4 };

/* What lr_mode is: LR_OFF, LR_GENERAL (each event takes the slow path), or
 * LR_IDLE + lr_state.switched. Then a thread whose lr_thread.mode is the same, since it has seen
 * all switching on, may take the hot path. Before the start lr_mode is LR_IDLE, too: the
 * first event of each thread takes the slow path anyway, since there is no lr_thread for it. */
enum { LR_IDLE = 1, LR_OFF = 2, LR_GENERAL = 3, LR_SWITCHED = 4 };
/* A value of lr_level.switched that lr_state.switched never has: a hook was left by longjmp. */
enum { LR_JUMPED = 3 };
/* A value of lr_thread.mode that lr_mode never has, so that the next event takes the slow path: calls may have been left
 * without a leave, or the last one has ended with a jump (jumps.c). */
enum { LR_LEAVING = 7 };
extern uintptr_t lr_mode;

/* An open call. */
struct lr_frame_entry {
  uint64_t function; /* address << 1 | kind */
  uintptr_t frame;   /* of the hook's call: decreases with depth */
  uint32_t owner, pc; /* of struct lr_place, or of struct lr_valued */
  uint64_t time;     /* of the enter, units; 0: lr_hidden */
};

struct lr_registers;

/* Where a hook was called. */
struct lr_place {
  /* The stack pointer there, or an address in the same frame that is not below it. Of hooks
   * that know a call by its frame it is that frame. */
  uintptr_t frame;
  uintptr_t site; /* what the function returns to; 0: not known */
  /* Two calls may have the same frame: one is inlined into the other, or one came after the other. If one is
   * inlined, both have the same owner, but different pcs. owner is the return address of the function
   * that both were compiled into, or one of LR_... below; pc is the hook's return address. Both are
   * the lower halves of addresses. */
  uint32_t owner;
  uintptr_t pc;
  /* What the hook keeps of the registers, where values are to be taken of them (values.h): at an
   * enter those with arguments, at a leave those with the result. Else NULL. */
  const struct lr_registers *registers;
  /* At a leave: where the jump leads that the call ends with (lr_jumps_to), if it is known. At an enter: 1 if the last call has
   * ended with a jump to this one. Else 0. */
  uintptr_t jump;
};
/* Owners that are no addresses. LR_ONE_CALL: no two open calls have the same frame. LR_QUICK_LEAVE, of entries alone: the
 * same, and what the leave takes is LR_QUICKEST (values.h). Of both, pc is the handle of the function in the plan, or, as that of their hooks,
 * LR_ONE_CALL. LR_BY_HAND: the program itself tells of its calls, and their frames say nothing about their order. */
enum { LR_ONE_CALL = 1, LR_QUICK_LEAVE = 2, LR_BY_HAND = 3 };

/* A frame that is at most this far from the innermost call's is taken to be on the same
 * stack: stacks are larger. */
enum { LR_NEAR = 4096 };

/* 1 for calls that are known by their frame: the leave has the same. */
LR_INLINE int lr_by_frame(const struct lr_frame_entry *f) { return (f->function & 1) || f->owner <= LR_QUICK_LEAVE; }

/* 1 for calls that are on the stack but not in the log: those that LOGREC_DEPTH leaves out, and those of
 * functions of LOGREC_INSIDE that the lists leave out. */
LR_INLINE int lr_hidden(const struct lr_frame_entry *f) { return !f->time; }

/* What LR_GENERAL keeps of an open call in addition: depth for LOGREC_DEPTH; the rest is for removing the enter
 * of a call that turns out to be shorter than LOGREC_MIN. */
struct lr_frame_extra {
  uint8_t *before, *after; /* of the enter's records */
  uint64_t last;           /* the level's last time before */
  uint32_t sequence;       /* of the chunk */
  uint32_t depth;          /* how many calls of the stack up to this one are not hidden */
};

/* The most pointers of a call whose targets are read when it returns (values.h). */
enum { LR_MOST_KEPT = 7 };
struct lr_kept {
  uint64_t time; /* of the enter: tells whether these are the pointers of this call or of an earlier one */
  uintptr_t pointer[LR_MOST_KEPT];
};

/* A table of windows for each kind of address; bits LRF_OFFSET_BITS to 31 of an address are the index. An
 * element is the number that, added to address << LRF_OFFSET_SHIFT, gives the first word of an
 * enter. The sum has more than 32 bits if the address is not in the window. LR_NO_WINDOW is the element
 * where there is no window: with it the sum has more than 32 bits for every address of that index. */
enum { LR_WINDOW_CACHE = 1 << (32 - LRF_OFFSET_BITS) };
#define LR_NO_WINDOW(i) ((uint64_t)(LR_WINDOW_CACHE - 1 - (i)) << 32)

struct lr_level {
  /* For the hot path. When used reaches limit the slow path is taken. Behind limit there is still room for the
   * longest group of records that is written without another check. */
  struct lrf_chunk *chunk; /* &lr_no_chunk where there is none */
  size_t limit;
  uint64_t last; /* units */
  struct lr_frame_entry *top, *stack_end;
  /* While a hook has the level: the hook's frame, an even number. Otherwise LR_IDLE, and in level 0 the
   * thread's mode, so that one comparison tells the hooks that the level is free and the hot path may be
   * taken. It is 0 in level 0 of an lr_thread without a thread. Taking a level and giving it back are one
   * store each, so that a signal handler finds it either taken or free. */
  uintptr_t inside;
  uint64_t window[2][LR_WINDOW_CACHE];

  /* The stack of calls that is in effect. Its members in lr_stack are out of date meanwhile. NULL in levels
   * above 0, which have only one stack. */
  struct lr_stack *on;

  struct lr_frame_entry *stack; /* begins with two sentinels */
  size_t stack_size;            /* bytes */
  struct lr_frame_extra *extra; /* LR_GENERAL: for each entry of stack, if not NULL */
  struct lr_kept *kept;         /* the same, from the first call on that keeps pointers */
  uint64_t window_base[LRF_WINDOWS]; /* what the chunk's windows are: base | kind */
  uint32_t windows;                  /* how many are set */
  uint32_t window_next;              /* the one to set anew when all are */
  uint32_t sequence, lost; /* of the next chunk: its number, events lost before it */
  uint32_t switched; /* lr_state.switched at the last event */
  uint32_t restated; /* 1: the open calls are not those that follow from the written events */
  uint32_t jumped;   /* 1: calls may have been left without a leave */
  uint32_t forgotten; /* open calls of the log around those of stack, for which there was no memory */
  uint32_t next_size; /* of the next chunk */
  /* Rings: the level's chunks, and the one that is used again next. */
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
  struct lr_kept *kept;
  uint32_t switched, restated, forgotten;
  /* The chunk that lists its open calls as they were after the last event on it. */
  uint32_t stream, sequence;
  /* Where it lies: the bounds of a thread's own stack, as far as known; for others the frames seen so far. */
  uintptr_t low, high;
  struct lr_stack *older; /* of all coroutines' */
};

/* The call that has ended with a jump: where that leads, and what the call that begins there must share with it. */
struct lr_jump {
  uintptr_t to; /* 0: none */
  uintptr_t frame, site;
  uint64_t arguments[7]; /* the registers that they are in, and rbp */
  const uint8_t *behind; /* its leave, in the chunk of that number */
  uint32_t sequence, switched;
  uintptr_t mode; /* lr_thread.mode before it */
};

enum {
  LR_STACK_BYTES = 1 << 20, /* at first; pages that are not touched cost nothing */
  LR_STACK_MOST = 11184810 * sizeof(struct lr_frame_entry),
  LR_FIRST_CHUNK = 4096,
  LR_RESERVE = 64, /* bytes at a chunk's end: room for an enter with all that comes before it, but STACK */
};

/* Of a thread. In a forked child its memory is zeroed, where the system can do that. */
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
  /* The stack for signal handlers; signal_known: nothing has changed it since, as far as the
   * recorder is told. */
  uintptr_t signal_low, signal_high;
  int signal_known;
  uintptr_t jumped; /* where the return address lies of a call into a library that another one has jumped to, until it is recorded */
  struct lr_jump jump;
  struct lr_level level[LR_LEVELS];
};
enum { LR_THREAD_BYTES = 8192 };
typedef char lr_check_thread[sizeof(struct lr_thread) <= LR_THREAD_BYTES ? 1 : -1];

/* The lr_thread of a thread that has none yet; never written to. */
extern struct lr_thread lr_nobody;
/* The chunk of a level that has none: it has no room, so that nothing is written to it. */
extern struct lrf_chunk lr_no_chunk;

/* LOGREC_CRASH: not said, off; before the handlers of the program, or only where it has none. */
enum { LR_CRASH_UNSET = 0, LR_CRASH_OFF, LR_CRASH_FIRST, LR_CRASH_LAST };

/* LOGREC_VALUES: not said, or nothing is to be had; off: those of logrec_values.h neither. */
enum { LR_VALUES_UNSET = 0, LR_VALUES_OFF, LR_VALUES_RAW, LR_VALUES_PLAN };

/* How the recorder was set, from the environment: lr_read_settings (settings.c) reads it. */
struct lr_settings {
  int off, ring, sites;
  int no_command_line, no_children;
  unsigned permissions; /* of new files; 0: 0640, with values 0600 */
  uint64_t ring_bytes, minimum; /* bytes; ns */
  int snapshot_signal, switch_signal;
  int output; /* 1: lines that the program prints are annotations */
  int patch; /* 1: functions that call no hooks are patched */
  int crash, crash_no_stack; /* LR_CRASH_...; 1: without memory of the program */
  char report[4096], report_folder[4096]; /* the command that writes reports, "" for none; "": beside the log */
  int report_seconds; /* that it may take */
  char file[4096];
  char include[4096], exclude[4096];
  /* When recording begins and ends by itself, and which calls are seen (triggers.c). triggers: 1 if from,
   * until, after or lasts is set. */
  char from[4096], until[4096];
  uint64_t after, lasts; /* ns */
  int triggers;
  char inside[4096];
  char libcalls[4096]; /* calls into libraries that are recorded: a list */
  uint32_t depth;
  int values; /* LR_VALUES_... */
  char plan[4096];
};
extern struct lr_settings lr_settings;

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
  uint32_t rooms; /* of those chunks, kept for a crash */
  uint64_t last_clock; /* monotonic ns */
  uint32_t snapshots;
  uint64_t *lost_events; /* in the log: how many had no thread to be written by; NULL: none yet */
  uint64_t log;     /* which one of this process and those that it was forked from: 1, 2, ... in its upper half */
  uint32_t places;  /* those of logrec_values.h that are in the log */
  uint32_t ways;    /* those that are in the log: 1 << lr_way */
  uint32_t gate;    /* LR_GATE_...; always open without triggers */
  uint64_t opens, closes; /* when a time does that; 0: none */
  struct lr_thread *free_threads, *newest_thread;
  char path[4300];
};
extern struct lr_state lr_global;

/* ---- start.c ---- */

/* Creates the file and writes what is known of the process. With the lock. */
void lr_start(void);
/* Sets lr_mode by settings and state. */
void lr_choose_mode(void);

/* ---- clock.c ---- */

#if LR_HAVE_COUNTER
LR_INLINE uint64_t lr_ticks(void) { return lr_tsc(); }
#else
LR_INLINE uint64_t lr_ticks(void) { return plat_counter(); }
#endif
/* Begins to measure the counter's rate: the longer before lr_measured_rate, the less
 * that has to wait. */
void lr_begin_measuring(void);
/* The counter's ticks a second, by a tenth of a millisecond of the clock or more. */
uint64_t lr_measured_rate(void);
/* A moment by all clocks. */
struct lr_instant {
  uint64_t ticks, monotonic; /* monotonic: ns */
  int64_t wall;              /* ns since 1970 UTC */
  uint32_t uncertainty;
};
void lr_instant_now(struct lr_instant *at);
/* Write CLOCK. With the lock. */
void lr_put_clock(const struct lr_instant *at);
void lr_write_clock(void);
void lr_write_clock_if_due(void);

/* ---- file.c ---- */

/* A string under construction; what does not fit is left out. */
struct lr_text {
  char *p;
  size_t n, capacity;
};
void lr_text_add(struct lr_text *t, const char *s);
void lr_text_add_number(struct lr_text *t, uint64_t v);
/* Sets lr_global.path to the name of attempt n (0, 1, ...). */
void lr_name_file(const struct plat_process *process, int n);
/* Gives the next bytes of the file, size of them or fewer; NULL: *why says why not.
 * With the lock. */
struct lrf_chunk *lr_file_extend(uint32_t *size, int *why);
/* Ends the recording for good and says so. With the lock. */
void lr_file_failed(int why);
uint32_t lr_checksum(const void *p, size_t n);

/* ---- process.c ---- */

/* Bytes under construction; what does not fit is left out. */
struct lr_body {
  uint8_t *data;
  size_t length, capacity;
};
void lr_put(struct lr_body *b, const void *p, size_t n);
void lr_put32(struct lr_body *b, uint32_t v);
void lr_put64(struct lr_body *b, uint64_t v);
void lr_put_string(struct lr_body *b, const char *s);
/* The record of the process under construction. With the lock. */
extern struct lr_body lr_record;
/* Writes it. With the lock. */
void lr_write_record(uint16_t type, uint64_t time);
/* lr_record_begin takes the lock and returns an empty lr_record to fill, or NULL where
 * nothing is recorded; lr_record_end writes it and gives the lock back.
 * Signals must be blocked. */
struct lr_body *lr_record_begin(void);
void lr_record_end(uint16_t type, uint64_t time);
/* Writes SETTING, unless the value is empty. With the lock. */
void lr_write_setting(const char *name, const char *value);
/* Write THREAD, the latter two where a thread has another name now. With the lock. */
void lr_write_thread(struct lr_thread *t);
void lr_write_renamed(struct lr_thread *t);
void lr_write_all_renamed(void);
/* Writes SWITCH; lr_put_switch fills lr_record for it. */
void lr_switch(int on, const char *why);
void lr_put_switch(int on, const char *why);
/* Ways in: docs/formats.md, SETTING way. */
enum lr_way { LR_CYG, LR_FENTRY, LR_RETURN, LR_LATE, LR_PENTER, LR_API, LR_PRELOADED, LR_XRAY, LR_PATCHED, LR_PATCHED_RETURN, LR_LIBCALLS, LR_WAYS };
/* Writes down that events come by a way. */
void lr_came_by(enum lr_way way);
/* The same with the lock. */
void lr_write_way(enum lr_way way);
LR_INLINE int lr_has_come_by(enum lr_way way) { return lr_relaxed(&lr_global.ways) >> way & 1; }
/* Hooks tell of returns. */
LR_INLINE int lr_sees_returns(void) {
  return lr_has_come_by(LR_RETURN) || lr_has_come_by(LR_PATCHED_RETURN) ||
         (lr_has_come_by(LR_LIBCALLS) && !lr_has_come_by(LR_FENTRY) && !lr_has_come_by(LR_PATCHED));
}

/* ---- overhead.c ---- */

/* Writes OVERHEAD: what an enter and a leave cost. With the lock. */
void lr_measure_overhead(void);

/* ---- thread.c ---- */

LR_INLINE int lr_alive(const struct lr_thread *t) { return t->level[0].inside != 0; }
LR_INLINE int lr_idle(const struct lr_level *v) { return v->inside & 1; }
/* Makes the state of this thread; NULL where nothing is recorded. */
struct lr_thread *lr_make_thread(struct lr_thread *old);
/* The state of this thread, made on the first call; NULL while it
 * cannot be had (off, stopped, or asked from inside its own making). */
LR_INLINE struct lr_thread *lr_thread_get(void) {
  struct lr_thread *t = lr_self_get();
  if (LR_UNLIKELY(plat_busy())) return NULL;
  if (LR_LIKELY(lr_alive(t))) return t;
  return lr_make_thread(t);
}
void lr_thread_exit(struct lr_thread *t);
void lr_thread_name(const char *name);
/* Makes a level's stack empty; 0 where there is no memory for one. */
int lr_make_stack(struct lr_level *v);
/* The two entries below the first: nothing matches them. */
void lr_make_bottom(struct lr_frame_entry *entries);

/* ---- fork.c ---- */

/* Before and after fork, in the forking thread; lr_fork_child also where a child
 * that no fork handler ran in comes to the recorder. lr_fork_before keeps the lock. */
void lr_fork_before(void);
void lr_fork_parent(void);
void lr_fork_child(void);
/* Writes FORK. Other than the functions that write records it takes the lock itself. */
void lr_write_fork(uint32_t child);
/* Gives the child's first thread the calls that were open at the fork: 1. t may be
 * NULL, where there was no memory for one. With the lock. */
int lr_inherit_calls(struct lr_thread *t);

/* ---- end.c ---- */

/* The program ends: END, and the file cut to its length. */
void lr_end(void);
/* The same where the program ends without its destructors, perhaps in a signal
 * handler. */
void lr_end_now(void);
/* lr_exec_begin ends the log by EXEC; lr_exec_failed takes that back. */
int lr_exec_begin(const char *path);
void lr_exec_failed(void);
/* lr_bar ends the recording in order, because the process is about to have its
 * system calls filtered; lr_unbar takes that back where it did not come to that. */
int lr_bar(const char *why);
void lr_unbar(const char *why);

/* ---- output_linux.c ---- */

/* Begins to see what the program prints, if that is set. Before the program's threads begin. */
void lr_output_watch(void);
/* Writes what is left of lines. Before END. */
void lr_output_ends(void);
/* When the first line was printed, if that was before the log begins; else NULL. */
const struct lr_instant *lr_output_early(void);
/* Writes what was printed before the log began. In each thread that records its first call: the first one does it. */
void lr_output_begun(void);
/* Forgets what the parent printed, in a child that has no log yet. */
void lr_output_forked(void);

/* ---- snapshot.c ---- */

/* Copies the log as it is now; path may be NULL. 1: done. */
int lr_snapshot_to(const char *path);

/* ---- crash.c ---- */

/* What a system knows of a crash. */
struct lr_crash {
  uint32_t kind, code, detail; /* LRF_CRASH_...; docs/formats.md */
  uint32_t flags, error, sender, access;
  uint64_t thread, address;
  uintptr_t ip;
  uintptr_t stack_low; /* the lowest byte that is taken of the stack; plat_crash_look may change both */
  size_t stack_size;
  const void *registers;
  size_t registers_size;
  /* The registers that may point to memory, in the order of the record. */
  const uintptr_t *pointers;
  uint32_t pointer_count;
  const char *name, *message;
  size_t message_size;
};
/* A module that the log does not have yet. */
struct lr_crash_module {
  uint32_t number;
  uint64_t base, size, bias;
  const char *path, *identity;
};
/* Keeps room for the record in the log, if crashes are caught. With the lock. */
void lr_crash_reserve(void);
/* The forked child has no log and no crash yet. */
void lr_crash_forget(void);
/* 1 for the one thread that writes the record; it calls lr_crash_done then. */
int lr_crash_first(void);
/* 1: the record is in the log. */
int lr_crash_write(struct lr_crash *c);
void lr_crash_done(void);
/* Who handled the crash lets the program go on. */
void lr_crash_survived(void);
/* 1 when that was called. */
int lr_crash_is_written(void);
/* Begins a log if there is none; 1 if there is room for the record. */
int lr_crash_make_log(void);
/* For plat_crash_look: adds a LOAD. */
void lr_crash_put_load(struct lr_body *modules, const struct lr_crash_module *m);

/* ---- chunk.c ---- */
void lr_begin_chunk(struct lrf_chunk *c, uint32_t size, int kind, int level, uint32_t stream, uint32_t sequence, uint32_t lost,
                    uint64_t thread, uint64_t base);
void lr_close_chunk(struct lrf_chunk *c, uint64_t last);

/* Closes the level's chunk and begins another; 0 where there is none to be had. */
int lr_next_chunk(struct lr_thread *t, struct lr_level *v, uint64_t now);
/* Writes STACK, of at most that many calls. */
void lr_write_stack(struct lr_level *v, int stated, uint64_t most);
void lr_clear_windows(struct lr_level *v);
/* The window that an address is in begins there. */
LR_INLINE uint64_t lr_window_base(uintptr_t address) { return (uint64_t)address >> LRF_OFFSET_BITS << LRF_OFFSET_BITS; }
/* What lr_level.window has of a chunk's window i. */
LR_INLINE uint64_t lr_window_at(uint64_t base, uint32_t i) {
  return (LRF_ENTER_BITS | i << LRF_WINDOW_SHIFT) - (base << LRF_OFFSET_SHIFT);
}

/* ---- event.c ---- */

/* What is known of an event where the fast path does not do. */
struct lr_event {
  uint64_t key; /* function << 1 | kind; 0 or 1 for no function's */
  int leave;
  const struct lr_place *at;
};
/* 1 for hooks whose at->site lies above at->frame on the stack. */
LR_INLINE int lr_site_above(const struct lr_event *e) { return e->at->owner > LR_BY_HAND; }
/* Where that is; x86-64 only, else 0. */
uintptr_t lr_return_slot(const struct lr_event *e);
/* Finds the level that an event belongs to and takes it, NULL where all are in use; gives it back. */
struct lr_level *lr_level_begin(struct lr_thread *t, uintptr_t frame);
void lr_level_end(struct lr_thread *t, struct lr_level *v);
/* The level that an event belongs to whose hook was called with this frame, or
 * NULL where all are in use. */
struct lr_level *lr_level_of(struct lr_thread *t, uintptr_t frame);
/* Makes sure that there is a chunk with LR_RESERVE + more bytes of room; 0: there is none. */
int lr_room(struct lr_thread *t, struct lr_level *v, uint64_t now, size_t more);
uint8_t *lr_put_time(uint8_t *p, uint64_t *delta, uint64_t most);
uint64_t lr_time_of(const struct lr_level *v);
/* Slow ways of the hooks. frame: what the entry has as its frame, at->frame or another
 * place in the frame. exact: frame must equal the enter's. */
void lr_enter_slow(uintptr_t function, unsigned kind, uintptr_t frame, const struct lr_place *at, enum lr_way way);
void lr_leave_slow(uintptr_t function, unsigned kind, uintptr_t frame, int exact, const struct lr_place *at, enum lr_way way);
/* For hooks that look at the open calls before they leave: the stack that they are on
 * becomes the one in effect. */
void lr_arrived(const struct lr_place *at);
/* For hooks that know a call by its frame alone. lr_ended records leaves for
 * the calls that must have ended before the one of frame began, if no hook tells of returns; jumped: what had the same
 * frame has ended by a jump to the call that begins. lr_returned records the leave of the call of frame. */
void lr_ended(const struct lr_place *at, int jumped);
void lr_returned(const struct lr_place *at, enum lr_way way);
void lr_mark(const char *text, size_t n);
/* The same of an earlier time, before all of the thread's events. */
void lr_mark_at(uint64_t time, const char *text, size_t n);
void lr_counter(const char *name, unsigned type, const void *value);

/* ---- returns.c ---- */

/* 1 if the functions from an address in code on call __return__, which has not been called yet. */
int lr_code_has_returns(uintptr_t code);

/* ---- stacks.c ---- */

/* Makes the stack that an event is on the one in effect. */
void lr_settle(struct lr_thread *t, struct lr_level *v, const struct lr_event *e);
/* The stack for signal handlers is asked for, unless it is known. */
void lr_know_signal_stack(struct lr_thread *t);
/* Takes calls that were left without a leave off the stack, and says so, before an enter. */
void lr_drop_left(struct lr_thread *t, struct lr_level *v, const struct lr_event *e);
/* Writes that the n innermost calls of the log have ended without a leave. There is room. */
void lr_put_left(struct lr_level *v, uint32_t n);
/* 1 if the frames of a call and an event are on the same memory. */
int lr_comparable(const struct lr_thread *t, const struct lr_frame_entry *f, uintptr_t frame);
/* Makes room for another entry. Where there is no memory the outer calls are forgotten. */
void lr_more_entries(struct lr_level *v);
/* Writes SWITCH at the beginning of a chunk, if the thread is on no stack of its own. */
void lr_begin_on_stack(struct lr_level *v);
/* The thread ends, is made anew, has forked, is the forked child's first. */
void lr_stacks_end(struct lr_thread *t);
void lr_stacks_reset(struct lr_thread *t);
void lr_stacks_before_fork(struct lr_thread *t);
void lr_stacks_in_parent(void);
void lr_stacks_in_child(void);
void lr_stacks_inherit(struct lr_thread *t);
/* A call of the system or the C library leaves calls of this thread, or will. */
void lr_calls_are_left(void);

/* ---- settings.c ---- */

void lr_read_settings(void);
/* Says what is wrong with the settings; a program that this one started, and that has
 * inherited them, does not say so again. */
void lr_tell(const char *line);
enum { LR_SETTINGS = 25 }; /* the elements of lr_setting_names: one more with each new setting */
extern const char *const lr_setting_names[LR_SETTINGS + 1]; /* their names, NULL at the end */
/* Finds the first item of a list with commas between, without the blanks around
 * it, and returns where the next one begins. */
const char *lr_next_item(const char *list, const char **begin, size_t *n);

/* ---- lists.c ---- */

/* What lists say of a function: calls of it are recorded; it is one of LOGREC_FROM, LOGREC_UNTIL,
 * LOGREC_INSIDE. */
enum { LR_WANTED = 1, LR_STARTS = 2, LR_STOPS = 4, LR_ROOT = 8 };
/* 1 if there are include or exclude lists. */
int lr_lists(void);
/* 1 if a pattern of a list fits a function, by its module's base name and its symbol. */
int lr_fits(const char *list, const char *module, const char *symbol);
/* What the lists say of it, by its module's base name and its symbol. */
unsigned lr_listed(const char *module, const char *symbol);
/* What the lists say of it, by its address; the answer is kept. */
unsigned lr_traits(uintptr_t function, unsigned kind);
/* 1 if open calls of the function are kept in mind. */
LR_INLINE int lr_followed(uintptr_t function, unsigned kind) { return (lr_traits(function, kind) & (LR_WANTED | LR_ROOT)) != 0; }
/* Sorts ascending, in place; at worst n log n steps. */
void lr_sort(uint64_t *a, size_t n);
/* The addresses of a module are no longer its own. With the modules' lock. */
void lr_wanted_forget(uint32_t module, uintptr_t base, size_t size);
/* Modules will have other numbers; in a forked child, which has no other thread. */
void lr_modules_renumbered(void);

/* ---- triggers.c ---- */

/* lr_state.gate: events are recorded; not before a time; not before a function is called; somebody opens it. */
enum { LR_GATE_OPEN = 0, LR_GATE_TIME, LR_GATE_FUNCTION, LR_GATE_OPENING };
LR_INLINE int lr_gate_is_open(void) { return lr_load(&lr_global.gate) == LR_GATE_OPEN; }
/* The settings are known; a log begins. The latter with the lock. */
void lr_triggers_choose(void);
void lr_triggers_begin(void);
/* 1 if triggers want each event to take the long way. */
int lr_triggers_general(void);
/* Before an enter: 0 if it is not recorded, else what lr_trigger_entered is to be given when it is recorded.
 * Before other events: 1 if they are recorded. A setting of triggers is there; no level is taken. */
unsigned lr_trigger_enter(uintptr_t function, unsigned kind);
void lr_trigger_entered(unsigned traits);
int lr_trigger_event(void);

/* ---- plan.c ---- */

/* Reads the plan of LOGREC_VALUES, once; what is wrong with it is said. With the lock. */
void lr_plan_read(void);
/* Writes SETTING values, and PLAN. With the lock. */
void lr_plan_write(void);
/* The addresses of a module are no longer its own. With the modules' lock. */
void lr_plan_forget(uintptr_t base, size_t size);
/* The settings are known. alone: 1 if nothing else makes events take the longer way. */
void lr_plan_choose(int alone);

/* ---- for the hot path: one instruction, where compilers make two or three of an atomic read or a store ---- */

/* lr_behind returns an address n bytes behind what a pointer leads to. */
#define lr_behind(pointer, n) lr_add_pointer((n), (const void *)(pointer))
LR_INLINE uintptr_t lr_add_pointer(uintptr_t n, const void *pointer) {
#if defined(__GNUC__) && defined(__x86_64__)
  __asm__ volatile("addq %1,%0" : "+r"(n) : "m"(*(const uintptr_t *)pointer) : "cc");
  return n;
#else
  return n + lr_relaxed((const uintptr_t *)pointer);
#endif
}

/* lr_differs tells whether *p is not v; what is read behind it is read later. */
LR_INLINE int lr_differs(const uintptr_t *p, uintptr_t v) {
#if defined(__GNUC__) && defined(__x86_64__)
  __asm__ goto("cmpq %1,%0\n\tjne %l[differs]" : : "m"(*p), "r"(v) : "cc", "memory" : differs);
  return 0;
differs:
  return 1;
#else
  return lr_load(p) != v;
#endif
}

/* ---- writing into a chunk ---- */

LR_INLINE void lr_store16(uint8_t *p, uint16_t v) { memcpy(p, &v, 2); }
LR_INLINE void lr_store32(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }
LR_INLINE void lr_store64(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }

/* Bytes of the records of events that the hot path writes. */
enum { LR_ENTER_BYTES = 6, LR_LEAVE_BYTES = 2 };

/* Where the next record goes. */
LR_INLINE uint8_t *lr_position(const struct lr_level *v) { return (uint8_t *)(v->chunk + 1) + v->chunk->used; }

/* Publishes what was written up to p. */
LR_INLINE void lr_commit(struct lr_level *v, const uint8_t *p) {
  lr_store(&v->chunk->used, (uint32_t)(p - (uint8_t *)(v->chunk + 1)));
}

/* lr_grow publishes n bytes more. Only the level's own thread changes used, so that no atomic addition is needed. */
LR_INLINE void lr_grow(uint32_t *used, uint32_t n) {
#if defined(__GNUC__) && defined(__x86_64__)
  __asm__ volatile("addl %1,%0" : "+m"(*used) : "r"(n) : "cc", "memory"); /* one instruction, where compilers make three */
#else
  lr_store(used, *used + n);
#endif
}

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
