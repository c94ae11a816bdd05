/* output_linux.c: the lines that the program writes to its standard output and standard error, as annotations
 * of the log (LOGREC_OUTPUT=1).
 *
 * The descriptors of the program are not changed. Lines are seen in its calls of write and writev, and in what the C
 * library's streams write. The function with which streams write is in the table _IO_file_jumps; the entry is checked
 * before it is replaced. Not seen are system calls that the program makes itself, sendfile, splice, and messages of
 * the C library.
 *
 * A line becomes an annotation when the program has written its end, and an unfinished last line when the program
 * ends. A program that only prints begins no log: lines that come before the first call that is recorded are kept in
 * memory until then, as far as they have room (early). lr_output may be called in a signal handler. */

#include "interpose_linux.h"

#if !defined(_WIN32) && !defined(LOGREC_NO_INTERPOSE)

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* 1: lines are looked for. */
static uint32_t watched;

/* The process that these lines are of. A child that the recorder has not been told of (vfork, clone) is another one,
 * perhaps in the same memory. */
static uint32_t own;

/* The files that descriptors 1 and 2 were at the start, and the beginning of a line that has not ended. */
enum { LONGEST = 1000, NAME = 8 };
static struct stream {
  uint32_t lock; /* the process whose thread has it; 0: none */
  uint32_t closed;
  uint32_t gap; /* 1: what was written behind the line's beginning has been left out */
  uint32_t pid; /* whose line it is */
  dev_t device;
  ino_t file;
  size_t n;
  char text[NAME + LONGEST]; /* behind stdout: or stderr: */
} streams[2];

/* Lines that were written before the log began, with when and by whom. A child by fork begins with none; one
 * that the recorder has not been told of adds none. */
enum { EARLY = 16384 };
#define EARLY_CLOSED (~(uint32_t)0)
struct early_line {
  uint64_t time;
  uint32_t thread, writer;
  uint32_t length; /* of the text behind it; 0: it is not whole yet */
  uint32_t room;   /* from here to the next line, bytes */
};
static struct early {
  uint32_t used; /* EARLY_CLOSED: a log has begun and has them */
  uint32_t left_out;
  uint32_t timed; /* 2: begin is known */
  uint32_t told;  /* 1: the log begins at begin */
  struct lr_instant begin; /* of the first one */
  uint8_t lines[EARLY] __attribute__((aligned(8)));
} early;

/* Tells threads apart where the system gives an id once more. 0: this one has written no early line. */
static uint32_t writers;
static __thread uint32_t writer __attribute__((tls_model("initial-exec")));

enum kept { KEPT, LEFT_OUT, BEGUN };

/* keep_early keeps a line, unless there is no room, or the log has begun meanwhile. */
LR_OWN static enum kept keep_early(const char *text, size_t n) {
  uint32_t none = 0;
  if (lr_exchange(&early.timed, &none, 1)) {
    lr_instant_now(&early.begin);
    lr_store(&early.timed, 2);
  }
  const uint32_t room = (uint32_t)(sizeof(struct early_line) + n + 7) & ~7u;
  uint32_t at = lr_load(&early.used);
  do {
    if (at == EARLY_CLOSED) return BEGUN;
    if (room > EARLY - at) {
      lr_store(&early.left_out, 1);
      return LEFT_OUT;
    }
  } while (!lr_exchange(&early.used, &at, at + room));
  struct early_line *const line = (struct early_line *)(void *)(early.lines + at);
  line->time = lr_ticks();
  line->thread = (uint32_t)plat_thread_id();
  if (!writer) writer = __atomic_add_fetch(&writers, 1, __ATOMIC_RELAXED);
  line->writer = writer;
  line->room = room;
  memcpy(line + 1, text, n);
  lr_store(&line->length, (uint32_t)n);
  return KEPT;
}

LR_OWN const struct lr_instant *lr_output_early(void) {
  if (lr_load(&early.timed) != 2 || lr_load(&own) != plat_pid()) return NULL;
  early.told = 1;
  return &early.begin;
}

/* whole_line gives the line at a place; NULL where there is none, or its thread does not get to its end. */
LR_OWN static struct early_line *whole_line(uint32_t at, uint32_t used) {
  enum { MOST = 10000 };
  struct early_line *const line = (struct early_line *)(void *)(early.lines + at);
  if (at >= used) return NULL;
  for (int i = 0; i < MOST; i++) {
    if (lr_load(&line->length)) return line;
    sched_yield();
  }
  lr_store(&early.left_out, 1);
  return NULL;
}

/* mark_thread says of the lines that come next that another thread printed them. */
LR_OWN static void mark_thread(const struct early_line *line, uint32_t used, uint64_t time) {
  uint32_t count = 0;
  const uint8_t *const end = early.lines + used;
  for (const struct early_line *l = line; l && l->writer == line->writer; count++) {
    const uint8_t *const next = (const uint8_t *)l + l->room;
    l = next < end ? whole_line((uint32_t)(next - early.lines), used) : NULL;
  }
  char text[80];
  struct lr_text t = {text, 0, sizeof text};
  lr_text_add(&t, "logrec: lines printed by thread ");
  lr_text_add_number(&t, line->thread);
  lr_text_add(&t, " follow: ");
  lr_text_add_number(&t, count);
  lr_mark_at(time, text, t.n);
}

LR_OWN void lr_output_begun(void) {
  static const char left_out[] = "logrec: more lines were printed before the first call than are kept";
  if (!lr_load(&watched) || lr_load(&early.used) == EARLY_CLOSED || lr_load(&own) != plat_pid()) return;
  uint32_t used = lr_load(&early.used);
  do {
    if (used == EARLY_CLOSED) return;
  } while (!lr_exchange(&early.used, &used, EARLY_CLOSED));
  /* A line may have been begun while another thread began the log, or read the clock for it. */
  const uint64_t least = early.told ? early.begin.ticks : lr_global.begin;
  uint32_t last = writer;
  struct early_line *line;
  for (uint32_t at = 0; (line = whole_line(at, used)); at += line->room) {
    const uint64_t time = line->time < least ? least : line->time;
    if (line->writer != last && line->writer != writer) mark_thread(line, used, time);
    last = line->writer;
    lr_mark_at(time, (const char *)(line + 1), line->length);
  }
  if (lr_load(&early.left_out)) lr_mark(left_out, sizeof left_out - 1);
}

LR_OWN void lr_output_forked(void) {
  if (!lr_load(&watched)) return;
  lr_store(&own, plat_pid());
  if (early.timed) memset(&early, 0, sizeof early);
  early.used = early.left_out = 0;
}

/* put writes a line into the log, or keeps it until there is one. 0: it is left out. */
LR_OWN static int put(const char *text, size_t n) {
  if (lr_load(&lr_global.state) != LR_RUNNING) {
    const enum kept kept = keep_early(text, n);
    if (kept != BEGUN) return kept == KEPT;
  }
  lr_mark(text, n);
  return 1;
}

/* put_line writes what there is of a line. */
LR_OWN static void put_line(struct stream *s) {
  size_t n = s->n;
  if (n == LONGEST)
    for (size_t i = 0; i < 3 && ((unsigned char)s->text[NAME + n - 1 - i] & 0x80); i++)
      if (((unsigned char)s->text[NAME + n - 1 - i] & 0xc0) == 0xc0) n -= i + 1; /* characters stay whole */
  if (n && !put(s->text, NAME + n)) lr_store(&s->gap, 1);
  memmove(s->text + NAME, s->text + NAME + n, s->n - n);
  s->n -= n;
}

/* forget_part makes a stream's line empty where its beginning does not belong to what comes: the rest has been left
 * out, or, in a forked child, it is the parent's. */
LR_OWN static void forget_part(struct stream *s) {
  const uint32_t pid = lr_load(&own);
  if (!lr_load(&s->gap) && s->pid == pid) return;
  s->n = 0;
  s->pid = pid;
  lr_store(&s->gap, 0);
}

LR_OWN static void add(struct stream *s, const char *p, size_t n) {
  forget_part(s);
  for (; n; p++, n--) {
    if (*p != '\n' && *p != '\r') s->text[NAME + s->n++] = *p;
    if (*p != '\n' && *p != '\r' && s->n < LONGEST) continue;
    put_line(s);
    if (lr_load(&s->gap)) return;
  }
  /* The log has ended, so that nothing would write the rest of the line later. */
  if (lr_load(&lr_global.ended)) put_line(s);
}

/* lock_stream waits for another thread, but not for ever: the lock may have been copied into a forked child. */
LR_OWN static int lock_stream(struct stream *s) {
  enum { MOST = 100000 };
  for (int i = 0; i < MOST; i++) {
    const uint32_t pid = lr_load(&own);
    uint32_t was = 0;
    if (lr_exchange(&s->lock, &was, pid)) return 1;
    /* A thread of the parent held the lock at the fork. */
    if (was && was != pid && lr_exchange(&s->lock, &was, pid)) return 1;
    sched_yield();
  }
  return 0;
}

LR_OWN static int usable(const struct stream *s, int fd) {
  struct stat now;
  return !s->closed && fstat(fd, &now) == 0 && now.st_dev == s->device && now.st_ino == s->file;
}

/* lr_output takes what was written to a descriptor. */
LR_OWN static void lr_output(int fd, const struct iovec *parts, int count, size_t n) {
  if ((fd != 1 && fd != 2) || !n || plat_busy() || lr_load(&lr_barred)) return;
  const int state = (int)lr_load(&lr_global.state);
  struct stream *const s = &streams[fd - 1];
  if (state != LR_RUNNING) {
    if (state != LR_NOT_STARTED || lr_relaxed(&lr_settings.off)) return;
    if (lr_load(&early.left_out)) {
      /* No more are kept: a program that only prints, and perhaps much, is not held up. The line's beginning is left
       * to who has the lock. */
      if (!lr_load(&s->gap)) lr_store(&s->gap, 1);
      return;
    }
    if (lr_load(&own) != plat_pid()) return;
  }
  sigset_t saved;
  lr_block_signals(&saved);
  if (usable(s, fd) && lock_stream(s)) {
    for (int i = 0; i < count && n; i++) {
      const size_t here = parts[i].iov_len < n ? parts[i].iov_len : n;
      add(s, parts[i].iov_base, here);
      n -= here;
    }
    lr_store(&s->lock, 0);
  }
  lr_own_mask(SIG_SETMASK, &saved, NULL);
}

LR_INLINE void wrote(int fd, const void *data, ssize_t n) {
  const struct iovec part = {(void *)(uintptr_t)data, n > 0 ? (size_t)n : 0};
  lr_output(fd, &part, 1, part.iov_len);
}

LR_OWN void lr_output_ends(void) {
  if (!lr_load(&watched) || lr_load(&lr_global.state) != LR_RUNNING || lr_load(&lr_barred) || plat_busy()) return;
  for (struct stream *s = streams; s < streams + 2; s++) {
    sigset_t saved;
    lr_block_signals(&saved);
    if (lock_stream(s)) {
      forget_part(s);
      put_line(s);
      lr_store(&s->lock, 0);
    }
    lr_own_mask(SIG_SETMASK, &saved, NULL);
  }
}

/* ---- what the program calls ---- */

#undef write
#undef writev

typedef ssize_t (*write_function)(int, const void *, size_t);
LOGREC_API ssize_t write(int fd, const void *data, size_t n);
LR_OWN ssize_t write(int fd, const void *data, size_t n) {
  ORIGINAL(write_function, WRITE, write);
  const ssize_t done = real_write(fd, data, n);
  if (LR_UNLIKELY(lr_relaxed(&watched))) wrote(fd, data, done);
  return done;
}

typedef ssize_t (*writev_function)(int, const struct iovec *, int);
LOGREC_API ssize_t writev(int fd, const struct iovec *parts, int count);
LR_OWN ssize_t writev(int fd, const struct iovec *parts, int count) {
  ORIGINAL(writev_function, WRITEV, writev);
  const ssize_t done = real_writev(fd, parts, count);
  if (LR_UNLIKELY(lr_relaxed(&watched)) && done > 0) lr_output(fd, parts, count, (size_t)done);
  return done;
}

/* ---- what streams call ---- */

#if defined(__GLIBC__)
typedef ssize_t (*stream_function)(FILE *, const void *, ssize_t);
static stream_function stream_write;

LR_OWN static ssize_t watched_stream_write(FILE *f, const void *data, ssize_t n) {
  const ssize_t done = stream_write(f, data, n);
  wrote(f->_fileno, data, done);
  return done;
}

/* redirect replaces the function in a table of a stream's functions. */
LR_OWN static int redirect(const char *table) {
  enum { WRITE_SLOT = 15, PAGE = 4096 };
  stream_function *const functions = lr_library_function(table);
  if (!functions || functions[WRITE_SLOT] != stream_write) return 0;
  const uintptr_t at = (uintptr_t)&functions[WRITE_SLOT], page = at & ~(uintptr_t)(PAGE - 1);
  if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE) != 0) return 0;
  lr_store(&functions[WRITE_SLOT], watched_stream_write);
  return mprotect((void *)page, PAGE, PROT_READ) == 0;
}

LR_OWN static int watch_streams(void) {
  union {
    void *object;
    stream_function function;
  } own = {lr_library_function("_IO_file_write")};
  stream_write = own.function;
  if (!stream_write || !redirect("_IO_file_jumps")) return 0;
  redirect("_IO_wfile_jumps");
  return 1;
}
#else
LR_OWN static int watch_streams(void) { return 0; }
#endif

LR_OWN void lr_output_watch(void) {
  if (!lr_settings.output || lr_relaxed(&watched)) return;
  lr_store(&own, plat_pid());
  for (int fd = 1; fd <= 2; fd++) {
    struct stream *const s = &streams[fd - 1];
    struct stat is;
    s->closed = fstat(fd, &is) != 0;
    memcpy(s->text, fd == 1 ? "stdout: " : "stderr: ", NAME);
    if (s->closed) continue;
    s->device = is.st_dev;
    s->file = is.st_ino;
  }
  if (!watch_streams()) lr_tell("logrec: LOGREC_OUTPUT: of this C library's streams nothing is seen, only calls of write");
  lr_store(&watched, 1);
}

#else

LR_OWN void lr_output_watch(void) {
  if (lr_settings.output) lr_tell("logrec: LOGREC_OUTPUT is for Linux and programs that are not static: lines are left out");
}
LR_OWN void lr_output_ends(void) {}
LR_OWN const struct lr_instant *lr_output_early(void) { return NULL; }
LR_OWN void lr_output_begun(void) {}
LR_OWN void lr_output_forked(void) {}

#endif
