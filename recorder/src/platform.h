/* platform.h: what the recorder needs from the system and the compiler.
 *
 * The files *_linux.c and *_windows.c implement what is declared here, each for one system, and
 * are empty for the other; all other files are the same everywhere. No function here may allocate with malloc, throw,
 * or call a function that the recorded program may have replaced or instrumented, unless its comment says
 * so. Strings are UTF-8
 * on Windows and the system's bytes elsewhere. */

#ifndef LOGREC_PLATFORM_H
#define LOGREC_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

/* ---- compiler ---- */

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define LR_OWN
#define LR_COLD __declspec(noinline)
#define LR_NOINLINE __declspec(noinline)
#define LR_INLINE static __forceinline
#define LR_LIKELY(x) (x)
#define LR_UNLIKELY(x) (x)
#define lr_return_address() ((uintptr_t)_ReturnAddress())
/* x86 and x64 keep stores in order, and loads; the compiler is told to. */
#define lr_load(p) (_ReadWriteBarrier(), *(p))
#define lr_relaxed(p) (*(p))
#define lr_store(p, v) (_ReadWriteBarrier(), (void)(*(p) = (v)), _ReadWriteBarrier())
/* *p becomes v if it is *was: 1. Else *was becomes what it is. p: uint32_t. */
LR_INLINE int lr_exchange(volatile uint32_t *p, uint32_t *was, uint32_t v) {
  const uint32_t is = (uint32_t)_InterlockedCompareExchange((volatile long *)p, (long)v, (long)*was);
  const int same = is == *was;
  *was = is;
  return same;
}
#define lr_barrier() _ReadWriteBarrier()
#define lr_opaque(x) ((void)0)
#else
/* The recorder's own functions are never instrumented, whatever the flags, and have no sleds: a hook would call
 * itself. */
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__linux__) && defined(__clang__)
#define LR_NO_SLED , patchable_function_entry(0), xray_never_instrument
#elif (defined(__x86_64__) || defined(__aarch64__)) && defined(__linux__) && __GNUC__ >= 8
#define LR_NO_SLED , patchable_function_entry(0)
#else
#define LR_NO_SLED
#endif
#define LR_OWN __attribute__((no_instrument_function LR_NO_SLED))
/* The same for what is called before a sanitizer has started, when code that it has changed must not run. */
#if defined(__has_feature)
#define LR_PLAIN __attribute__((no_sanitize("address", "thread", "memory", "undefined"))) LR_OWN
#else
#define LR_PLAIN __attribute__((no_sanitize("address", "thread", "undefined"))) LR_OWN
#endif
#define LR_COLD __attribute__((no_instrument_function LR_NO_SLED, noinline, cold))
#define LR_NOINLINE __attribute__((noinline))
#define LR_INLINE static inline __attribute__((no_instrument_function, always_inline))
#define LR_LIKELY(x) __builtin_expect(!!(x), 1)
#define LR_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define lr_load(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
/* For the hot path: reads what other threads write now and then. */
#define lr_relaxed(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define lr_store(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
/* *p becomes v if it is *was: 1. Else *was becomes what it is. */
#define lr_exchange(p, was, v) __atomic_compare_exchange_n(p, was, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
/* Orders what one thread and its own signal handlers see. */
#define lr_barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)
/* The compiler forgets what it knows of x. gcc would keep a widened value in two
 * registers, and has none to spare in the hooks. */
#define lr_opaque(x) __asm__("" : "+r"(x))
#define lr_return_address() ((uintptr_t)__builtin_return_address(0))
/* An address in the caller's frame. The hooks of a call's enter and leave see the same one: the shadow stack is
 * checked by it. */
#if !defined(_WIN32)
#if defined(__clang__)
#define lr_frame() ((uintptr_t)__builtin_frame_address(0))
/* Added to lr_frame(), it gives the stack pointer before the call. */
#define LR_BELOW_CALL (2 * sizeof(uintptr_t))
#else
/* Differs from that by a constant, and needs no frame pointer. */
#define lr_frame() ((uintptr_t)__builtin_dwarf_cfa())
#define LR_BELOW_CALL 0
#endif
#endif
#endif

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

/* ---- this thread's state ----
 * A pointer, &lr_nobody in a thread that recorded nothing yet. Read on the hot
 * path, so it wants the cheapest thread-local storage there is. */

struct lr_thread;
extern struct lr_thread lr_nobody;
#if defined(_WIN32)
#include "platform_windows.h"
#else
extern __thread struct lr_thread *lr_self __attribute__((tls_model("initial-exec")));
LR_INLINE struct lr_thread *lr_self_get(void) { return lr_self; }
LR_INLINE void lr_self_set(struct lr_thread *t) { lr_self = t; }
/* How many slow paths this thread is in: what they call of the program, such as an
 * allocator of its own, is not recorded. */
extern __thread int lr_busy __attribute__((tls_model("initial-exec")));
LR_INLINE int plat_busy(void) { return lr_busy; }
#endif

/* ---- before the program is loaded (early_linux.c) ---- */

#if defined(__linux__)
/* 1 before the program is known to be loaded: the hot path of a hook may not be taken, nor any other. On x86-64 the hooks of
 * -finstrument-functions need not ask: until the start lr_taking leads them past the hot path. */
extern uint32_t lr_early;
/* 1 when it is loaded. The second is for an event, which is counted if it is too early; lr_is_early before the hot path. */
int lr_begun(void);
int lr_begun_event(void);
LR_INLINE int lr_is_early(void) { return LR_UNLIKELY(lr_relaxed(&lr_early)) && !lr_begun_event(); }
/* Says in the log how many were. With the lock. */
void lr_write_early(void);
#else
LR_INLINE int lr_is_early(void) { return 0; }
LR_INLINE void lr_write_early(void) {}
#endif

/* ---- clock ---- */

#if defined(_WIN32)
/* In platform_windows.h. */
#elif defined(__x86_64__) || defined(__i386__)
LR_INLINE uint64_t lr_tsc(void) {
  /* As wide as the registers: their upper halves are 0. */
  uintptr_t lo, hi;
  __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
  return (uint64_t)hi << 32 | lo;
}
#define LR_HAVE_COUNTER 1
#elif defined(__aarch64__)
LR_INLINE uint64_t lr_tsc(void) {
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
}
#define LR_HAVE_COUNTER 1
#else
#define LR_HAVE_COUNTER 0
#endif

struct plat_clock {
  int counter;    /* LRF_TSC, LRF_CNTVCT: lr_tsc() is used; else plat_counter() */
  uint64_t rate;  /* its nominal ticks a second */
};
/* Chooses the counter and finds its rate; at most 1 ms. */
void plat_clock_init(struct plat_clock *c);
/* The counter where lr_tsc() cannot be trusted. */
uint64_t plat_counter(void);
/* Monotonic time and wall time in ns, read one after the other. A caller that wants them close together reads them
 * several times. */
void plat_times(uint64_t *monotonic, int64_t *wall);
/* Seconds that local time is ahead of UTC. With the lock. */
int32_t plat_utc_offset(void);

/* ---- memory ---- */

/* Zeroed pages, or NULL. With lost_in_child, a forked child finds them zeroed
 * again where the system can do that. */
void *plat_pages(size_t size, int lost_in_child);
void plat_pages_free(void *p, size_t size);
/* Larger, with the old content; the old range is gone. NULL: nothing changed. */
void *plat_pages_grow(void *p, size_t size, size_t larger);

/* ---- the file ---- */

enum { PLAT_OK = 0, PLAT_EXISTS, PLAT_FULL, PLAT_ERROR };

/* The file is grown, and on Windows mapped, in steps: the core lets no chunk
 * lie across a multiple of this. */
#define PLAT_STEP ((uint64_t)16 << 20)

/* Creates the file; PLAT_EXISTS if there is one of the name already. It is not
 * inherited by other programs. One file at a time. */
int plat_file_create(const char *path);
/* Makes bytes [offset, offset + size) usable, zeros, and returns where they are
 * mapped; never beyond a multiple of PLAT_STEP. Called under plat_lock, offset
 * only ever grows. *why is PLAT_FULL or PLAT_ERROR where NULL is returned. The
 * bytes stay mapped until plat_file_forget. The space on the disk is taken
 * here, so that no later store to them can fail. exact: allocate no more than
 * asked for. */
void *plat_file_extend(uint64_t offset, uint32_t size, int exact, int *why);
/* Cuts off what was allocated in advance behind size. May be called while
 * others record below it; plat_file_extend works afterwards. */
void plat_file_trim(uint64_t size);
/* Unmaps and closes, without a change to the file. */
void plat_file_forget(void);
/* Where the bytes at offset are mapped, for reading: a chunk's are together. */
const void *plat_file_at(uint64_t offset);
/* The whole of an ordinary file in pages of its own; NULL where it cannot be read or is longer than
 * most. */
char *plat_read_whole(const char *path, size_t most, size_t *size);
/* A second file, for snapshots: new, written from front to back. */
int plat_copy_begin(const char *path);
int plat_copy_write(const void *p, size_t n);
int plat_copy_end(int ok);

/* ---- threads ---- */

/* One lock for everything that is not a thread's own. Its holder has signals
 * blocked. plat_lock returns 0 where this thread has it already (a fault
 * inside the recorder). */
int plat_lock(void);
/* The same without waiting: 0 also where another thread has it. */
int plat_trylock(void);
void plat_unlock(void);
/* A second one, for scans of the modules: 0 if another thread has it. */
int plat_modules_trylock(void);
/* Waits for it. 0 if this thread has it, or where another one keeps it so long
 * that it may be waiting for what this thread has, such as the loader's lock. */
int plat_modules_lock(void);
void plat_modules_unlock(void);
/* Both are free again: in a forked child, on its slow path. */
void plat_locks_reset(void);

/* What a slow path changes and must put back: the signal mask, with the signal by which the
 * thread is cancelled, and errno, or GetLastError. plat_slow_begin blocks all signals,
 * and tells the core of a child that no fork handler ran in: lr_fork_child. */
struct plat_saved {
  uint64_t words[18];
};
void plat_slow_begin(struct plat_saved *s);
void plat_slow_end(const struct plat_saved *s);
/* 1 if the slow path may have been reached from a signal handler, which may have
 * interrupted the loader. One that blocks no signal and has no stack of its own
 * is not noticed. */
int plat_in_handler(const struct plat_saved *s);

uint64_t plat_thread_id(void);
/* Calls lr_thread_exit(t) when this thread ends. */
void plat_on_thread_exit(struct lr_thread *t);
/* This thread's name, cut to size; "" where it has none. */
void plat_thread_name(char *name, size_t size);
/* The name of another thread of this process, by its id. */
void plat_name_of_thread(uint64_t id, char *name, size_t size);
/* The signal that a name (USR1, SIGUSR1, RTMIN+1, upper or lower case) or number stands for. 0 if there is none, or
 * if a program may not go on after it: a fault whose handler returns comes again, for ever. */
int plat_signal(const char *text);
/* 1 if the caller runs on an alternate signal stack. */
int plat_on_signal_stack(void);
/* Where this thread's alternate signal stack lies, if it has one. */
void plat_signal_stack(uintptr_t *low, uintptr_t *high);
/* 1 and the bounds of the stack that this thread is on, be it a coroutine's, where the
 * system tells; the pointers may be NULL. */
int plat_current_stack(uintptr_t *low, uintptr_t *high);
/* Where the system does not tell: 1 if frame is on the stack that this thread was made with, and the bounds of that,
 * if they are known yet. */
int plat_own_stack(uintptr_t frame, uintptr_t *low, uintptr_t *high);
/* 1 if the recorder was preloaded. */
int plat_preloaded(void);

/* ---- process ---- */

struct plat_process {
  uint32_t pid, parent;
  uint64_t started;  /* as in the file header */
  char path[4096];   /* of the executable */
  char system[256];
};
void plat_process(struct plat_process *p);
uint32_t plat_pid(void);
/* The command line: strings that end with 0, one after another. Returns their
 * length together; cut to size. */
size_t plat_command_line(char *buffer, size_t size);
/* 1 if the environment can be read. Before the C library has begun that is not sure. */
int plat_environment_known(void);
/* The variables of the environment, NAME=VALUE, one after another, or NULL behind the
 * last; *at is 0 at first. Valid until the next call. */
const char *plat_variable(size_t *at);
/* 1 in a program with raised rights (setuid and the like), where variables are not looked at. */
int plat_raised_rights(void);
/* 1 if this was asked before in the program that started this one, or in one that started that. Called once at
 * most. */
int plat_told_before(void);
/* The value of an environment variable in buffer, or NULL; NULL also in programs with raised
 * rights. *fits is 0 where it is longer than
 * buffer. */
const char *plat_environment(const char *name, char *buffer, size_t size, int *fits);
/* Puts the working folder before a relative path, unless the whole is too long. */
void plat_make_absolute(char *path, size_t size);
/* 1 if path is a folder. */
int plat_is_folder(const char *path);
/* 1 if path is a device, a pipe or the like, which no log can be written into. */
int plat_is_special(const char *path);
/* 1 if path is the null device. */
int plat_is_null(const char *path);
/* Writes one line to what was standard error at the start. */
void plat_message(const char *line);
/* The reason of the last PLAT_FULL or PLAT_ERROR, as a text for plat_message. */
const char *plat_error(void);
/* The same as one of LRF_WHY_.... */
uint32_t plat_why(void);
/* Called once, before the first file: asks to be told of fork, exec and the program's end. */
void plat_start(void);

/* The process is about to have its system calls filtered: from now on the recorder
 * makes none, in any thread; plat_unbar takes that back. Only where lr_bar asks. */
void plat_bar(void);
void plat_unbar(void);

/* ---- crash_*.c: what crash.c needs; none of it takes a lock or faults ---- */

struct lr_crash;
struct lr_body;
/* Catches crashes from now on, as the settings say; always: also where they say nothing. */
void plat_crash_catch(int always);
/* 1 if crashes are caught. */
int plat_crash_caught(void);
/* A thread that records begins or ends: its stack for the handler. */
void plat_crash_thread_begin(void);
void plat_crash_thread_end(void);
/* In a forked child. */
void plat_crash_forked(void);
/* Copies n bytes from an address, or fewer where they cannot be read; how many. */
size_t plat_copy_memory(void *to, uintptr_t from, size_t n);
/* Copies into the log; 0 where it cannot be written. */
int plat_copy_to_log(void *to, const void *from, size_t n);
/* Makes the log readable for its owner alone, unless LOGREC_PERMISSIONS says what it is to be; 0
 * where that fails. */
int plat_file_private(void);
/* Looks at the mappings: fills in where the stack lies, text with what there is of them, and
 * modules with LOADs of those that the log does not have. */
void plat_crash_look(struct lr_crash *c, struct lr_body *text, struct lr_body *modules);
/* After plat_crash_look: 1 if what lies around register i can be read. */
int plat_crash_readable(uint32_t i);

/* ---- report_*.c ---- */

/* Gets ready to have a report written by the command that LOGREC_REPORT names, if it does. */
void plat_report_prepare(void);
/* 1 if a crash will be followed by a report. */
int lr_report_wanted(void);
/* Has the report of the crash that a log tells of written, and waits for that as long as the settings say. dies: no
 * handler of the program's own comes next, so that its other threads may be stopped meanwhile. */
void plat_report(const char *log, int dies);

/* ---- modules_*.c ---- */

/* Looks at what is loaded and writes LOAD and UNLOAD records for what changed
 * since the last look. Where the system tells no exact time, a LOAD has the
 * time of the look before it, when the module was not there yet. Returns at once if another thread is looking. The
 * caller has signals blocked and does not have plat_lock. */
void plat_modules_scan(void);
/* 1 if something was loaded or unloaded since the last scan; cheap. */
int plat_modules_changed(void);
/* Forgets what it wrote, for a new file. */
void plat_modules_reset(void);
/* The loaded module that owns address; its number is never used again. 0: none
 * is known. look: 1 if it may look for new ones, 0 in a signal handler. With the
 * modules' lock, and only as long is path valid. */
struct plat_module {
  uint32_t number;
  uintptr_t base, bias;
  size_t size;
  const char *path;
  const uint8_t *id; /* its build-id; on Windows GUID and age of its PDB, as texts have them, else time stamp and size */
  uint32_t id_size;
};
int plat_module_of(uintptr_t address, int look, struct plat_module *m);
/* Calls each(context, address, name) for every function symbol of the module's
 * file. Addresses are VAs. With the modules' lock. */
void plat_module_symbols(const struct plat_module *m, void (*each)(void *, uintptr_t, const char *), void *context);

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
