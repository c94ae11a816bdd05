/* core.c: threads, chunks and records. core.h says how they hang together. */

#include "core.h"

#include <string.h>

uintptr_t lr_mode = LR_IDLE;
struct lr_settings lr_settings;
struct lr_state lr_global;
struct lr_thread lr_nobody;
struct lrf_chunk lr_no_chunk;

#define LR_VERSION "1.0"

enum {
  FIRST_CHUNK = 4096,
  LARGEST_CHUNK = 1 << 20,
  FIRST_PROCESS_CHUNK = 8192,
  PROCESS_CHUNK = 65536,
  DEAD_RINGS = 16, /* rings of ended threads that are kept before one is reused */
};

LR_OWN static uint32_t checksum(const void *p, size_t n) {
  const uint8_t *b = p;
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 16777619u;
  return h;
}

LR_OWN uint64_t lr_now(void) { return lr_ticks(); }

#if LR_HAVE_COUNTER
/* pair reads the counter and the clock; of several readings the one that took
 * least. */
LR_OWN static void pair(uint64_t *tsc, uint64_t *time) {
  uint64_t best = ~(uint64_t)0;
  for (int i = 0; i < 8; i++) {
    uint64_t n;
    int64_t wall;
    const uint64_t a = lr_tsc();
    plat_times(&n, &wall);
    const uint64_t took = lr_tsc() - a;
    if (took >= best) continue;
    best = took;
    *tsc = a + took / 2;
    *time = n;
  }
}

/* Where the measuring of the rate began: as start does, so that it goes on beside
 * the rest of that. */
static uint64_t rate_tsc, rate_time;

LR_OWN uint64_t lr_measured_rate(void) {
  enum { LEAST = 100000 }; /* ns: good for 1 in 2,000 */
  uint64_t t1 = 0, n1 = 0;
  if (!rate_time) pair(&rate_tsc, &rate_time);
  do pair(&t1, &n1);
  while (n1 - rate_time < LEAST);
  return (uint64_t)((double)(t1 - rate_tsc) * 1e9 / (double)(n1 - rate_time));
}
#endif

/* ---- the file ---- */

/* stop ends the recording for good. With the lock. */
LR_COLD static void stop(int why) {
  if (lr_global.state != LR_RUNNING) return;
  lr_global.state = LR_STOPPED;
  lr_store(&lr_mode, LR_OFF);
  if (lr_global.header) lr_store(&lr_global.header->state, why == PLAT_FULL ? LRF_DISK_FULL : LRF_FAILED);
  /* Not on the stack, which may be a small one. */
  static char line[4600];
  struct lr_body b = {(uint8_t *)line, 0, sizeof line - 1};
  lr_put(&b, "logrec: ", 8);
  lr_put(&b, lr_global.path, strlen(lr_global.path));
  lr_put(&b, ": ", 2);
  lr_put(&b, plat_error(), strlen(plat_error()));
  lr_put(&b, "; nothing more is recorded", 26);
  line[b.length] = 0;
  plat_message(line);
}

/* extend gives the next bytes of the file, size of them or fewer. With the
 * lock. */
LR_OWN static struct lrf_chunk *extend(uint32_t *size, int *why) {
  const uint64_t room = PLAT_STEP - lr_global.end % PLAT_STEP;
  if (*size > room) *size = (uint32_t)room;
  struct lrf_chunk *c = plat_file_extend(lr_global.end, *size, lr_global.ended || lr_settings.ring, why);
  if (!c) return NULL;
  lr_global.end += *size;
  lr_store(&lr_global.header->end, lr_global.end);
  return c;
}

/* begin_chunk makes a chunk's header; the magic comes last. */
LR_OWN static void begin_chunk(struct lrf_chunk *c, uint32_t size, int kind, int level, uint32_t stream,
                               uint32_t sequence, uint32_t lost, uint64_t thread, uint64_t base) {
  lr_store(&c->magic, 0);
  lr_store(&c->used, 0);
  c->size = size;
  c->kind = (uint8_t)kind;
  c->level = (uint8_t)level;
  c->reserved1 = 0;
  c->stream = stream;
  c->sequence = sequence;
  c->lost = lost;
  c->thread = thread;
  c->base = base;
  c->last = 0;
  c->closed = 0;
  c->reserved2 = 0;
  struct lrf_chunk whole = *c;
  whole.magic = LRF_CHUNK_MAGIC;
  c->checksum = checksum(&whole, 40);
  lr_store(&c->magic, LRF_CHUNK_MAGIC);
}

LR_OWN static void close_chunk(struct lrf_chunk *c, uint64_t last) {
  if (!c || c == &lr_no_chunk) return;
  c->last = last;
  lr_store(&c->closed, 1);
}

/* ---- records of the process ---- */

LR_OWN void lr_put(struct lr_body *b, const void *p, size_t n) {
  if (n > b->capacity - b->length) n = b->capacity - b->length;
  memcpy(b->data + b->length, p, n);
  b->length += n;
}
LR_OWN void lr_put32(struct lr_body *b, uint32_t v) { lr_put(b, &v, 4); }
LR_OWN void lr_put64(struct lr_body *b, uint64_t v) { lr_put(b, &v, 8); }
LR_OWN void lr_put_string(struct lr_body *b, const char *s) {
  size_t n = strlen(s);
  if (b->capacity - b->length < 4) return;
  if (n > b->capacity - b->length - 4) n = b->capacity - b->length - 4;
  lr_put32(b, (uint32_t)n);
  lr_put(b, s, n);
}

/* The record under construction: guarded by the lock, and big enough for an
 * image of two pages or a long command line. */
static uint8_t body_bytes[1 << 17];
static struct lr_body body = {body_bytes, 0, sizeof body_bytes};

/* write_record appends body to the process chunks. With the lock. */
LR_OWN static void write_record(uint16_t type, uint64_t time) {
  const uint32_t length = (uint32_t)(16 + body.length + 7) & ~7u;
  struct lrf_chunk *c = lr_global.process;
  while (!c || c->size - LRF_CHUNK_HEADER_SIZE - c->used < length) {
    close_chunk(c, time);
    uint32_t size = FIRST_PROCESS_CHUNK;
    for (uint32_t i = lr_global.process_sequence; i > 0 && size < PROCESS_CHUNK; i--) size *= 2;
    while (size < length + LRF_CHUNK_HEADER_SIZE) size *= 2;
    int why;
    c = extend(&size, &why);
    if (!c) {
      stop(why);
      return;
    }
    begin_chunk(c, size, LRF_CHUNK_PROCESS, 0, 0, lr_global.process_sequence++, 0, 0, time);
    lr_global.process = c;
  }
  uint8_t *p = (uint8_t *)(c + 1) + c->used;
  lr_store32(p, length);
  lr_store32(p + 4, type);
  lr_store64(p + 8, time);
  memcpy(p + 16, body.data, body.length);
  memset(p + 16 + body.length, 0, length - 16 - body.length);
  lr_store(&c->used, c->used + length);
}

LR_OWN struct lr_body *lr_record_begin(void) {
  if (!plat_lock()) return NULL;
  if (lr_global.state != LR_RUNNING) {
    plat_unlock();
    return NULL;
  }
  body.length = 0;
  return &body;
}

LR_OWN void lr_record_end(struct lr_body *b, uint16_t type, uint64_t time) {
  (void)b;
  write_record(type, time);
  plat_unlock();
}

LR_OWN static void write_setting(const char *name, const char *value) {
  if (!value[0]) return;
  body.length = 0;
  lr_put_string(&body, name);
  lr_put_string(&body, value);
  write_record(LRF_SETTING, lr_now());
}

LR_OWN static void write_thread(struct lr_thread *t) {
  body.length = 0;
  lr_put32(&body, t->stream);
  lr_put32(&body, 0);
  lr_put64(&body, t->id);
  lr_put_string(&body, t->name);
  write_record(LRF_THREAD, lr_now());
}

/* write_renamed writes THREAD again where the thread has another name now. */
LR_OWN static void write_renamed(struct lr_thread *t) {
  char name[sizeof t->name];
  if (t->named) return;
  if (t == lr_self_get()) plat_thread_name(name, sizeof name);
  else plat_name_of_thread(t->id, name, sizeof name);
  if (!name[0] || strcmp(name, t->name) == 0) return;
  memcpy(t->name, name, strlen(name) + 1);
  write_thread(t);
}

/* write_all_renamed does so for all threads that go on, at the end. With the lock. */
LR_OWN static void write_all_renamed(void) {
  enum { MOST = 4096 };
  int n = 0;
  for (struct lr_thread *t = lr_global.newest_thread; t && n < MOST; t = t->older)
    if (lr_alive(t)) write_renamed(t), n++;
}

/* write_clock relates the counter to the clocks. */
LR_OWN static void write_clock(void) {
  uint64_t monotonic = 0, best = ~(uint64_t)0, time = 0;
  int64_t wall = 0;
  for (int i = 0; i < 4; i++) {
    uint64_t m;
    int64_t w;
    const uint64_t before = lr_ticks();
    plat_times(&m, &w);
    const uint64_t after = lr_ticks();
    if (after - before < best) {
      best = after - before;
      time = before + best / 2;
      monotonic = m;
      wall = w;
    }
  }
  body.length = 0;
  lr_put64(&body, monotonic);
  lr_put64(&body, (uint64_t)wall);
  lr_put32(&body, (uint32_t)plat_utc_offset());
  lr_put32(&body, (uint32_t)(best > 4000000000u ? 4000000000u : best / 2 + 1));
  write_record(LRF_CLOCK, time);
  lr_global.last_clock = monotonic;
  if (lr_global.first_clock || lr_global.state != LR_RUNNING) return;
  const struct lrf_chunk *c = lr_global.process;
  lr_global.first_clock = (uint8_t *)(c + 1) + c->used - 8;
}

LR_OWN void lr_local_time_known(void) {
  if (!plat_lock()) return;
  if (lr_global.state == LR_RUNNING && lr_global.first_clock) lr_store32(lr_global.first_clock, (uint32_t)plat_utc_offset());
  plat_unlock();
}

/* write_clock_if_due: often at first, so that a short run is exact, then every
 * sixteenth of the time that has passed, at least every ten seconds. */
LR_OWN static void write_clock_if_due(void) {
  const double passed = (double)(lr_now() - lr_global.begin) / (double)lr_global.rate * 1e9;
  double step = passed / 16;
  if (step < 1e7) step = 1e7;
  if (step > 1e10) step = 1e10;
  uint64_t monotonic;
  int64_t wall;
  plat_times(&monotonic, &wall);
  if ((double)(monotonic - lr_global.last_clock) > step) write_clock();
}

/* ---- start ---- */

/* text is a string under construction; what does not fit is left out. */
struct text {
  char *p;
  size_t n, capacity;
};
LR_OWN static void add(struct text *t, const char *s) {
  while (*s && t->n + 1 < t->capacity) t->p[t->n++] = *s++;
  t->p[t->n] = 0;
}
LR_OWN static void add_number(struct text *t, uint64_t v) {
  char b[24];
  int i = sizeof b;
  b[--i] = 0;
  do b[--i] = (char)('0' + v % 10);
  while (v /= 10);
  add(t, b + i);
}

LR_OWN static const char *base_name(const char *path) {
  const char *name = path;
  for (; *path; path++)
    if (*path == '/' || *path == '\\') name = path + 1;
  return name;
}

/* file_name makes the name of attempt n (0, 1, ...): the one that was set, or
 * program.pid.start.lptrace; what exists already is never touched. */
LR_OWN static void file_name(const struct plat_process *process, int n) {
  struct text t = {lr_global.path, 0, sizeof lr_global.path};
  static char given[sizeof lr_settings.file + 32];
  struct text g = {given, 0, sizeof given};
  given[0] = 0;
  for (const char *s = lr_settings.file; *s; s++) {
    char one[2] = {*s, 0};
    if (s[0] == '%' && s[1] == 'p') {
      add_number(&g, process->pid);
      s++;
    } else {
      if (s[0] == '%' && s[1] == '%') s++;
      add(&g, one);
    }
  }
  const size_t length = g.n;
  const int slash = length && (given[length - 1] == '/' || given[length - 1] == '\\');
  if (length && !slash && !plat_is_folder(given)) {
    if (n == 0) {
      add(&t, given);
      return;
    }
    /* The number goes before the extension. */
    const char *name = base_name(given);
    char *dot = NULL;
    for (char *s = (char *)name; *s; s++)
      if (*s == '.' && s != name) dot = s;
    if (dot) *dot = 0;
    add(&t, given);
    add(&t, ".");
    add_number(&t, process->pid);
    if (n > 1) {
      add(&t, ".");
      add_number(&t, (uint64_t)n);
    }
    if (dot) {
      *dot = '.';
      add(&t, dot);
    }
    return;
  }
  add(&t, given);
  if (length && !slash) add(&t, "/");
  add(&t, process->path[0] ? base_name(process->path) : "program");
  add(&t, ".");
  add_number(&t, process->pid);
  add(&t, ".");
  add_number(&t, process->started);
  if (n > 0) {
    add(&t, ".");
    add_number(&t, (uint64_t)n + 1);
  }
  add(&t, ".lptrace");
}

LR_OWN static int machine(void) {
#if defined(__x86_64__) || defined(_M_X64)
  return LRF_X86_64;
#elif defined(__i386__) || defined(_M_IX86)
  return LRF_X86;
#elif defined(__aarch64__) || defined(_M_ARM64)
  return LRF_ARM64;
#elif defined(__arm__)
  return LRF_ARM;
#else
  return 0;
#endif
}

LR_OWN static int this_system(void) {
#if defined(_WIN32)
  return LRF_SYSTEM_WINDOWS;
#elif defined(__linux__)
  return LRF_SYSTEM_LINUX;
#elif defined(__APPLE__)
  return LRF_SYSTEM_MACOS;
#else
  return LRF_SYSTEM_OTHER;
#endif
}

LR_OWN static uint64_t window_base(uintptr_t address) { return (uint64_t)address >> LRF_OFFSET_BITS << LRF_OFFSET_BITS; }

/* window_at is what lr_level.window has of a chunk's window i. */
LR_OWN static uint64_t window_at(uint64_t base, uint32_t i) {
  return (LRF_ENTER_BITS | i << LRF_WINDOW_SHIFT) - (base << LRF_OFFSET_SHIFT);
}

/* calibrate measures the recorder on a chunk of its own, in memory, and writes
 * what an enter and a leave cost on either side of the moment they note. */
LR_OWN static void calibrate(void) {
  enum { PAIRS = 64, ROUNDS = 5, MOST_ROUNDS = 100, CHUNK = 4096 };
  const size_t size = LR_THREAD_BYTES + CHUNK + 4096;
  uint8_t *memory = plat_pages(size, 0);
  if (!memory) return;
  struct lr_thread *t = (struct lr_thread *)memory, *mine = lr_self_get();
  struct lrf_chunk *c = (struct lrf_chunk *)(memory + LR_THREAD_BYTES);
  struct lr_level *v = &t->level[0];
  struct lr_frame_entry *stack = (struct lr_frame_entry *)(memory + LR_THREAD_BYTES + CHUNK);
  const uintptr_t function = (uintptr_t)&calibrate;
  t->mode = LR_IDLE + lr_global.switched;
  for (int i = 1; i < LR_LEVELS; i++) t->level[i].inside = LR_IDLE;
  v->inside = t->mode;
  v->window[0][(uint32_t)function >> LRF_OFFSET_BITS] = window_at(window_base(function), 0);
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
    v->last = lr_now();
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
  body.length = 0;
  lr_put32(&body, 1);
  lr_put32(&body, (uint32_t)(out / 2));
  lr_put32(&body, (uint32_t)(in / 2));
  lr_put32(&body, (uint32_t)(in / 2));
  lr_put32(&body, (uint32_t)(out / 2));
  write_record(LRF_OVERHEAD, lr_now());
}

LR_OWN static int general(void) { return lr_settings.sites || lr_settings.minimum || lr_lists(); }

LR_OWN void lr_choose_mode(void) {
  const int on = (lr_global.state == LR_NOT_STARTED || lr_global.state == LR_RUNNING) && !lr_relaxed(&lr_settings.off);
  lr_store(&lr_mode, !on ? LR_OFF : general() ? LR_GENERAL : LR_IDLE + lr_load(&lr_global.switched));
}

/* start creates the file and writes what is known of the process. With the
 * lock. */
LR_COLD static void start(void) {
  static struct plat_process process;
  static char arguments[1 << 16];
#if LR_HAVE_COUNTER
  pair(&rate_tsc, &rate_time);
#endif
  plat_process(&process);
  lr_global.pid = process.pid;
  lr_global.streams = 0;
  lr_global.end = 0;
  lr_global.ended = 0;
  lr_global.process = NULL;
  lr_global.process_sequence = 0;
  lr_global.snapshots = 0;
  lr_global.ways = 0;
  lr_global.header = NULL;
  lr_global.first_clock = NULL;

  int status = PLAT_EXISTS;
  for (int n = 0; n < 1000 && status == PLAT_EXISTS; n++) {
    file_name(&process, n);
    if (n == 0 && plat_is_null(lr_global.path)) {
      lr_global.state = LR_DISABLED;
      lr_choose_mode();
      return;
    }
    /* The program may change its folder. */
    plat_make_absolute(lr_global.path, sizeof lr_global.path);
    status = plat_file_create(lr_global.path);
  }
  lr_global.state = LR_RUNNING;
  int why = status;
  struct lrf_file_header *h =
      status == PLAT_OK ? plat_file_extend(0, LRF_HEADER_SIZE, lr_settings.ring, &why) : NULL;
  if (!h) {
    stop(why);
    return;
  }
  struct plat_clock clock;
  plat_clock_init(&clock);
  lr_global.counter = clock.counter;
  lr_global.rate = clock.rate;
  lr_global.minimum = (uint64_t)((double)lr_settings.minimum / 1e9 * (double)lr_global.rate);
  lr_global.header = h;
  lr_global.end = LRF_HEADER_SIZE;
  lr_global.begin = lr_now();
  h->minor = 1;
  h->major = 1;
  h->size = LRF_HEADER_SIZE;
  h->granularity = LRF_GRANULARITY;
  h->flags = (lr_settings.ring ? LRF_RING : 0) | (lr_settings.sites ? LRF_SITES : 0) |
             (lr_settings.minimum ? LRF_SHORT_DROPPED : 0);
  h->pointer = sizeof(void *);
  h->system = (uint8_t)this_system();
  h->machine = (uint16_t)machine();
  h->pid = process.pid;
  h->started = process.started;
  h->begin = lr_global.begin;
  h->rate = lr_global.rate;
  h->counter = (uint8_t)lr_global.counter;
  h->minimum = lr_settings.minimum;
  h->ring = lr_settings.ring ? lr_settings.ring_bytes : 0;
  struct lrf_file_header whole = *h;
  memcpy(whole.magic, LRF_FILE_MAGIC, 8);
  h->checksum = checksum(&whole, 80);
  lr_store(&h->end, lr_global.end);
  /* The magic last: a file that has one is a trace. */
  memcpy(h->magic, LRF_FILE_MAGIC, 8);

  size_t n = lr_settings.no_command_line ? 0 : plat_command_line(arguments, sizeof arguments);
  uint32_t count = 0;
  for (size_t i = 0; i < n; i++) count += arguments[i] == 0;
  body.length = 0;
  lr_put32(&body, process.pid);
  lr_put32(&body, process.parent);
  lr_put32(&body, count);
  lr_put_string(&body, process.path);
  lr_put_string(&body, process.system);
  lr_put_string(&body, LR_VERSION);
  for (size_t i = 0; i < n; i += strlen(arguments + i) + 1) lr_put_string(&body, arguments + i);
  write_record(LRF_PROCESS, lr_global.begin);
  write_clock();
  if (lr_settings.ring) write_setting("LOGREC", "ring");
  write_setting("LOGREC_FILE", lr_settings.file);
  write_setting("LOGREC_INCLUDE", lr_settings.include);
  write_setting("LOGREC_EXCLUDE", lr_settings.exclude);
  calibrate();
  lr_choose_mode();
}

/* ---- threads ---- */

LR_OWN void lr_make_bottom(struct lr_frame_entry *entries) {
  memset(entries, 0, 2 * sizeof *entries);
  entries[0].frame = entries[1].frame = ~(uintptr_t)0;
}

LR_OWN static int make_stack(struct lr_level *v) {
  if (!v->stack) {
    v->stack = plat_pages(LR_STACK_BYTES, 0);
    if (!v->stack) return 0;
    v->stack_size = LR_STACK_BYTES;
  }
  lr_make_bottom(v->stack);
  v->top = v->stack + 2;
  v->stack_end = v->stack + v->stack_size / sizeof *v->stack;
  return 1;
}

LR_OWN static void clear_windows(struct lr_level *v) {
  for (int i = 0; i < LR_WINDOW_CACHE; i++) v->window[0][i] = v->window[1][i] = LR_NO_WINDOW(i);
  v->windows = 0;
  v->window_next = 0;
}

/* The forking thread's open calls, for the child. */
static struct {
  struct lr_frame_entry *stack, *top;
  size_t size;
  struct lr_frame_extra *extra;
} forked[LR_LEVELS];
static int have_forked;

/* reset_thread makes t fit for a new stream; memory that it has is kept. */
LR_OWN static int reset_thread(struct lr_thread *t) {
  for (int i = 0; i < LR_LEVELS; i++) {
    struct lr_level *v = &t->level[i];
    v->chunk = &lr_no_chunk;
    v->limit = 0;
    v->last = 0;
    v->sequence = v->lost = v->restated = v->jumped = 0;
    v->switched = lr_global.switched;
    if (i > 0) v->inside = LR_IDLE;
    v->next_size = FIRST_CHUNK;
    v->written = 0;
    clear_windows(v);
  }
  t->mode = LR_IDLE + lr_global.switched;
  t->dropped = t->ending = t->named = 0;
  t->id = plat_thread_id();
  t->stream = ++lr_global.streams;
  lr_stacks_reset(t);
  return t->level[0].stack || make_stack(&t->level[0]);
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
    if (t->level[i].stack) make_stack(&t->level[i]);
  return t;
}

LR_COLD static struct lr_thread *make_thread(struct lr_thread *old) {
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
    else if (plat_environment_known()) start();
  }
  struct lr_thread *t = NULL;
  if (lr_global.state == LR_RUNNING && !lr_relaxed(&lr_settings.off)) {
    struct lr_thread *fresh = old != &lr_nobody ? old : NULL;
    t = fresh ? fresh : take_free();
    if (!t) t = fresh = plat_pages(LR_THREAD_BYTES, 1);
    /* The child's first thread is the one that forked. */
    const int has_forked = have_forked && plat_thread_id() == plat_pid();
    if (has_forked) have_forked = 0;
    if (t && has_forked) {
      for (int i = 0; i < LR_LEVELS; i++) {
        struct lr_level *v = &t->level[i];
        v->stack = forked[i].stack;
        v->top = forked[i].top;
        v->stack_size = forked[i].size;
        v->extra = forked[i].extra;
        v->stack_end = v->stack ? v->stack + v->stack_size / sizeof *v->stack : NULL;
      }
    }
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
      write_thread(t);
    } else {
      t = NULL;
    }
  }
  plat_unlock();
  if (t && first) plat_modules_scan();
  if (t) plat_on_thread_exit(t);
  plat_slow_end(&saved);
  return t;
}

LR_OWN struct lr_thread *lr_thread_get(void) {
  struct lr_thread *t = lr_self_get();
  if (LR_UNLIKELY(plat_busy())) return NULL;
  if (LR_LIKELY(lr_alive(t))) return t;
  return make_thread(t);
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
      lr_self_set(&lr_nobody);
      if (lr_global.state == LR_RUNNING) {
        write_renamed(t);
        lr_stacks_end(t);
        for (int i = 0; i < LR_LEVELS; i++) close_chunk(t->level[i].chunk, t->level[i].last);
        body.length = 0;
        if (t->dropped) {
          lr_put32(&body, t->stream);
          lr_put32(&body, LR_LEVELS);
          lr_put64(&body, t->dropped);
          lr_put_string(&body, "signal handlers were nested too deeply");
          write_record(LRF_PROCESS_LOST, lr_now());
          body.length = 0;
        }
        lr_put32(&body, t->stream);
        lr_put32(&body, 0);
        write_record(LRF_THREADEND, lr_now());
      }
      t->level[0].inside = 0;
      t->next = lr_global.free_threads;
      lr_global.free_threads = t;
    }
    plat_unlock();
  }
  plat_slow_end(&saved);
}

/* ---- chunks of events ---- */

/* ring_chunk takes a chunk from the ring or adds one to it. With the lock. */
LR_OWN static struct lrf_chunk *ring_chunk(struct lr_level *v, int level, uint32_t *size, int *why) {
  uint64_t most = lr_settings.ring_bytes;
  if (level > 0) most /= 8;
  if (most < 4 * FIRST_CHUNK) most = 4 * FIRST_CHUNK;
  uint32_t largest = (uint32_t)(most / 8 > LARGEST_CHUNK ? LARGEST_CHUNK : most / 8) & ~(uint32_t)(LRF_GRANULARITY - 1);
  if (largest < LRF_GRANULARITY) largest = LRF_GRANULARITY;
  if (*size > largest) *size = largest;
  if (!v->ring) {
    v->ring_room = (uint32_t)(most / LARGEST_CHUNK + 512);
    v->ring = plat_pages(v->ring_room * sizeof *v->ring, 0);
    if (!v->ring) {
      *why = PLAT_ERROR;
      return NULL;
    }
  }
  struct lrf_chunk *c = NULL;
  if (v->ring_bytes + *size <= most && v->ring_count < v->ring_room) c = extend(size, why);
  if (c) {
    v->ring[v->ring_count++] = c;
    v->ring_bytes += *size;
    c->size = *size;
    return c;
  }
  if (!v->ring_count) return NULL;
  c = v->ring[v->ring_at];
  v->ring_at = (v->ring_at + 1) % v->ring_count;
  *size = c->size;
  return c;
}

/* room_for_calls is how many of its open calls a chunk may begin with. Where they are
 * not what the events lead to, in a forked child, whose first chunk this is, and of a
 * coroutine it takes more room: a reader has nothing else to go by. */
LR_OWN static uint64_t room_for_calls(const struct lr_level *v, int stated) {
  const size_t room = v->chunk->size - LRF_CHUNK_HEADER_SIZE;
  if (v->on && v->on->number) return (room - 2 * LR_RESERVE) / 16;
  return room / (stated || !v->chunk->sequence ? 2 : 8) / 16;
}

LR_OWN void lr_write_stack(struct lr_level *v, int stated, uint64_t most) {
  const uint64_t depth = (uint64_t)(v->top - (v->stack + 2)), k = depth < most ? depth : most;
  uint8_t *p = lr_position(v);
  const uint32_t length = (uint32_t)(6 + 2 + 4 + 4 + k * 16);
  lr_store16(p, LRF_FIRST_WORD(LRF_STACK, 0));
  lr_store32(p + 2, length);
  lr_store16(p + 6, (uint16_t)(LRF_STACK_TIMES | (stated ? LRF_STACK_STATED : 0)));
  lr_store32(p + 8, (uint32_t)depth);
  lr_store32(p + 12, (uint32_t)k);
  p += 16;
  const struct lr_frame_entry *f = v->top - k;
  for (uint64_t i = 0; i < k; i++) lr_store64(p + 8 * i, f[i].function);
  p += 8 * k;
  for (uint64_t i = 0; i < k; i++) lr_store64(p + 8 * i, f[i].time);
  lr_commit(v, p + 8 * k);
}

/* next_chunk closes the level's chunk and begins another; 0 where there is
 * none to be had. */
LR_COLD int lr_next_chunk(struct lr_thread *t, struct lr_level *v, uint64_t now) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  int done = 0;
  if (lr_self_get() == t && plat_lock()) {
    if (lr_global.state == LR_RUNNING && (v->stack || make_stack(v))) {
      uint32_t size = v->next_size;
      if (v->restated || v->lost || !v->sequence || (v->on && v->on->number))
        while (size < LARGEST_CHUNK && (size_t)(v->top - v->stack) > size / 32) size *= 2;
      const int level = (int)(v - t->level);
      int why = PLAT_ERROR;
      struct lrf_chunk *old = v->chunk;
      struct lrf_chunk *c = lr_settings.ring ? ring_chunk(v, level, &size, &why) : extend(&size, &why);
      close_chunk(old, v->last);
      if (c) {
        t->signal_known = 0;
        begin_chunk(c, size, LRF_CHUNK_EVENTS, level, t->stream, v->sequence++, v->lost, t->id, now);
        v->chunk = c;
        v->lost = 0;
        v->limit = size - LRF_CHUNK_HEADER_SIZE - LR_RESERVE;
        v->last = now;
        if (v->next_size < LARGEST_CHUNK) v->next_size *= 2;
        clear_windows(v);
        lr_begin_on_stack(v);
        const int stated = v->restated || c->lost;
        v->restated = 0;
        if (stated || v->top > v->stack + 2) lr_write_stack(v, stated, room_for_calls(v, stated));
        write_clock_if_due();
        write_renamed(t);
        done = 1;
      } else {
        v->chunk = &lr_no_chunk;
        v->limit = 0;
        stop(why);
      }
    }
    plat_unlock();
  }
  if (done && !plat_in_handler(&saved) && plat_modules_changed()) plat_modules_scan();
  plat_slow_end(&saved);
  return done;
}

/* ---- events, the slow way ---- */

/* put_time writes TIME for what a delta of most at most cannot hold and returns
 * the rest. */
LR_OWN uint8_t *lr_put_time(uint8_t *p, uint64_t *delta, uint64_t most) {
  if (*delta <= most) return p;
  const uint64_t v = *delta >> LRF_TIME_SHIFT;
  *delta -= v << LRF_TIME_SHIFT;
  if (v <= 0xffff) {
    lr_store16(p, LRF_FIRST_WORD(LRF_TIME, 2));
    lr_store16(p + 2, (uint16_t)v);
    return p + 4;
  }
  lr_store16(p, LRF_FIRST_WORD(LRF_TIME, 4));
  lr_store16(p + 2, (uint16_t)v);
  lr_store32(p + 4, (uint32_t)(v >> 16));
  return p + 8;
}

/* put_window writes WINDOW where none holds address yet. *first becomes the first
 * word of an enter at address. */
LR_OWN static uint8_t *put_window(struct lr_level *v, uint8_t *p, uintptr_t address, unsigned kind, uint32_t *first) {
  uint64_t w = v->window[kind][(uint32_t)address >> LRF_OFFSET_BITS] + ((uint64_t)address << LRF_OFFSET_SHIFT);
  *first = (uint32_t)w;
  if (w >> 32 == 0) return p;
  const uint64_t base = window_base(address);
  uint32_t i = 0;
  while (i < v->windows && v->window_base[i] != (base | kind)) i++;
  if (i == v->windows) {
    if (v->windows < LRF_WINDOWS) {
      v->windows++;
    } else {
      i = v->window_next++ % LRF_WINDOWS;
      const uint64_t old = v->window_base[i];
      v->window[old & 1][(uint32_t)old >> LRF_OFFSET_BITS] = LR_NO_WINDOW((uint32_t)old >> LRF_OFFSET_BITS);
    }
    v->window_base[i] = base | kind;
    lr_store16(p, LRF_FIRST_WORD(LRF_WINDOW, 6));
    lr_store16(p + 2, (uint16_t)(i | kind << 3));
    lr_store64(p + 4, base);
    p += 12;
  }
  w = window_at(base, i);
  v->window[kind][(uint32_t)address >> LRF_OFFSET_BITS] = w;
  *first = (uint32_t)(((uint64_t)address << LRF_OFFSET_SHIFT) + w);
  return p;
}

/* windowed is the address as other records have it: the enter's without its bits. */
LR_OWN static uint32_t windowed(uint32_t first) { return (first & ~31u) | (first & 31u) >> LRF_WINDOW_SHIFT; }

/* still_inside tells a hook that is interrupted from one that was left for good
 * by a longjmp out of the handler: whatever runs now is then not further in
 * than the hook was. */
LR_OWN static int still_inside(const struct lr_level *v, uintptr_t frame) {
  return !lr_idle(v) && (frame < v->inside || plat_on_signal_stack());
}

LR_OWN struct lr_level *lr_level_of(struct lr_thread *t, uintptr_t frame) {
  int n = LR_LEVELS;
  /* Hooks of handlers interrupt one of level 0. */
  if (lr_idle(&t->level[0])) n = 0;
  while (n > 0 && !still_inside(&t->level[n - 1], frame)) n--;
  return n < LR_LEVELS ? &t->level[n] : NULL;
}

/* abandon gives up what a hook had begun to record, which nobody knows: a new
 * chunk begins, with the calls that are open, as far as the next event tells. */
LR_OWN static void abandon(struct lr_level *v) {
  v->lost++;
  v->restated = 1;
  v->switched = LR_JUMPED;
  v->limit = 0;
}

/* level_begin finds the level that this event belongs to and takes it. */
LR_OWN static struct lr_level *level_begin(struct lr_thread *t, uintptr_t frame) {
  struct lr_level *v = lr_level_of(t, frame);
  if (!v) {
    t->dropped++;
    return NULL;
  }
  const int left = !lr_idle(v);
  v->inside = frame & ~(uintptr_t)1; /* a program's may be anything */
  lr_barrier();
  if (left) abandon(v);
  for (struct lr_level *above = v + 1; above < t->level + LR_LEVELS; above++) {
    if (lr_idle(above)) continue;
    abandon(above);
    lr_barrier();
    above->inside = LR_IDLE;
  }
  return v;
}

LR_OWN static void level_end(struct lr_thread *t, struct lr_level *v) {
  lr_barrier();
  v->inside = v == &t->level[0] ? t->mode : LR_IDLE;
}

/* lr_return_slot finds the return address of the function that the event is of above the
 * stack pointer. It must be there: the search ends. */
#if defined(__x86_64__) || defined(_M_X64)
#if defined(__GNUC__)
__attribute__((no_sanitize("address", "thread", "undefined")))
#endif
LR_OWN uintptr_t lr_return_slot(const struct lr_event *e) {
  const uintptr_t frame = e->at->frame;
  const volatile uintptr_t *p = (const volatile uintptr_t *)((frame + sizeof *p - 1) & ~(uintptr_t)(sizeof *p - 1));
  while (*p != e->at->site) p++;
  return (uintptr_t)p;
}
#else
LR_OWN uintptr_t lr_return_slot(const struct lr_event *e) {
  (void)e;
  return 0;
}
#endif

/* returns_above tells whether that lies on the stack below where another function had the
 * stack pointer when it called its hook. Then that one called this one, or what called
 * it, and is open. */
LR_OWN static int returns_above(const struct lr_event *e, uintptr_t outer) {
  return lr_return_slot(e) < outer + LR_BELOW_CALL;
}

/* ended tells whether a call that was open when events were last seen has ended
 * by an event that is not in it. */
LR_OWN static int ended(const struct lr_frame_entry *f, const struct lr_event *e) {
  const uintptr_t frame = e->at->frame, pc = lr_site_above(e) ? e->at->pc : 0;
  if (f->frame < frame) return 1;
  if (f->frame > frame) return pc && !(f->function & 1) && !returns_above(e, f->frame);
  /* The same frame: one is inlined into the other, or comes after it. */
  if ((e->key | f->function) & 1) return 1;
  if (f->function == e->key) return 1;
  if (!pc) return e->leave;
  const uintptr_t his = (uintptr_t)(f->function >> 1), mine = (uintptr_t)(e->key >> 1);
  return !(his <= pc && (mine > pc || mine < his));
}

/* drop_ended takes calls that have ended unseen off the stack. */
LR_COLD static void drop_ended(struct lr_level *v, const struct lr_event *e) {
  struct lr_frame_entry *const bottom = v->stack + 2, *top = v->top;
  while (top > bottom && ended(top - 1, e)) top--;
  if (top == v->top) return;
  v->top = top;
  v->restated = 1;
  v->limit = 0;
}

/* catch_up is for the first event after recording was switched on again, or after
 * a longjmp: calls that were open before may have ended unseen. */
LR_COLD static void catch_up(struct lr_thread *t, struct lr_level *v, const struct lr_event *e) {
  if (plat_on_signal_stack()) return;
  v->switched = lr_load(&lr_global.switched);
  if (v == &t->level[0]) t->mode = LR_IDLE + v->switched;
  if (!v->stack) return;
  /* A leave of an open call says itself what has ended, and another one is seen
   * to by leave_level. */
  if (!e->leave) drop_ended(v, e);
}

LR_INLINE int behind(const struct lr_level *v) { return LR_UNLIKELY(v->switched != lr_load(&lr_global.switched)); }

/* time_of reads the counter; a level's time never goes back. */
LR_OWN uint64_t lr_time_of(const struct lr_level *v) {
  const uint64_t now = lr_now();
  return now < v->last ? v->last : now;
}

/* A handler that interrupted this hook has forked: the thread has another lr_thread. */
LR_INLINE int orphaned(const struct lr_thread *t) { return LR_UNLIKELY(lr_self_get() != t); }

LR_OWN int lr_room(struct lr_thread *t, struct lr_level *v, uint64_t now, size_t more) {
  if (v->chunk->used + more < v->limit) return 1;
  if (orphaned(t)) return 0;
  if (!lr_next_chunk(t, v, now)) {
    v->lost++;
    return 0;
  }
  return v->chunk->used + more < v->limit;
}

LR_OWN static void enter_level(struct lr_thread *t, struct lr_level *v, uintptr_t function, unsigned kind,
                               uintptr_t frame, const struct lr_place *at) {
  if (lr_relaxed(&lr_mode) == LR_GENERAL && !lr_wanted(function, kind)) return;
  const struct lr_event e = {(uint64_t)function << 1 | kind, 0, at};
  lr_settle(t, v, &e);
  if (behind(v)) catch_up(t, v, &e);
  lr_drop_left(t, v, &e);
  uint64_t now = lr_time_of(v);
  if (!lr_room(t, v, now, 0)) return;
  if (v->top >= v->stack_end) lr_more_entries(v);
  if (v->top >= v->stack_end) return;
  uint8_t *p = lr_position(v);
  uint32_t first, from = 0;
  const uintptr_t site = lr_settings.sites ? at->site : 0;
  p = put_window(v, p, function, kind, &first);
  if (site) {
    p = put_window(v, p, site, 1, &from);
    /* That may have taken the function's. */
    p = put_window(v, p, function, kind, &first);
  }
  uint8_t *before = p;
  const uint64_t last = v->last;
  if (site) {
    lr_store16(p, LRF_FIRST_WORD(LRF_SITE, 3));
    lr_store32(p + 2, windowed(from));
    p += 6;
  }
  uint64_t delta = now - v->last;
  p = lr_put_time(p, &delta, 0xffff);
  lr_store32(p, first);
  lr_store16(p + 4, (uint16_t)delta);
  p += 6;
  v->last = now;
  v->top->function = (uint64_t)function << 1 | kind;
  v->top->frame = frame;
  v->top->owner = at->owner;
  v->top->pc = (uint32_t)at->pc;
  v->top->time = now;
  if (lr_global.minimum) {
    if (!v->extra) {
      struct plat_saved saved;
      plat_slow_begin(&saved);
      v->extra = plat_pages(v->stack_size / sizeof *v->stack * sizeof *v->extra, 0);
      plat_slow_end(&saved);
    }
    if (v->extra) {
      struct lr_frame_extra *x = &v->extra[v->top - v->stack];
      x->before = before;
      x->after = p;
      x->last = last;
      x->sequence = v->sequence;
    }
  }
  v->top++;
  lr_commit(v, p);
}

LR_COLD void lr_enter_slow(uintptr_t function, unsigned kind, uintptr_t frame, const struct lr_place *at, enum lr_way way) {
  struct lr_thread *t = lr_thread_get();
  if (!t || lr_relaxed(&lr_mode) == LR_OFF) return;
  if (LR_UNLIKELY(!lr_has_come_by(way))) lr_came_by(way);
  struct lr_level *v = level_begin(t, at->frame);
  if (!v) return;
  enter_level(t, v, function, kind, frame, at);
  level_end(t, v);
}

/* put_leave writes a leave with the address. */
LR_OWN static int put_leave(struct lr_thread *t, struct lr_level *v, uint64_t now, uintptr_t function, unsigned kind) {
  if (!lr_room(t, v, now, 0)) return 0;
  uint8_t *p = lr_position(v);
  uint32_t first;
  p = put_window(v, p, function, kind, &first);
  uint64_t delta = now - v->last;
  p = lr_put_time(p, &delta, 0xffff);
  lr_store16(p, LRF_FIRST_WORD(LRF_LEAVE_WINDOWED, 4));
  lr_store16(p + 2, (uint16_t)delta);
  lr_store32(p + 4, windowed(first));
  v->last = now;
  lr_commit(v, p + 8);
  return 1;
}

LR_OWN static void leave_level(struct lr_thread *t, struct lr_level *v, uintptr_t function, unsigned kind,
                               uintptr_t frame, int exact, const struct lr_place *at) {
  const uint64_t key = (uint64_t)function << 1 | kind;
  const struct lr_event e = {key, 1, at};
  if (!v->stack && !make_stack(v)) return;
  lr_settle(t, v, &e);
  if (behind(v) && (lr_relaxed(&lr_mode) != LR_GENERAL || lr_wanted(function, kind))) catch_up(t, v, &e);
  struct lr_frame_entry *top = v->top - 1;
  const int matches = top->function == key && (exact ? top->frame == frame : top[-1].frame >= frame);
  if (!matches && lr_relaxed(&lr_mode) == LR_GENERAL && !lr_wanted(function, kind)) return;
  uint64_t now = lr_time_of(v);
  if (matches) {
    if (lr_global.minimum && v->extra && now - top->time < lr_global.minimum) {
      const struct lr_frame_extra *x = &v->extra[top - v->stack];
      if (x->after == lr_position(v) && x->sequence == v->sequence) {
        v->last = x->last;
        v->top = top;
        lr_commit(v, x->before);
        return;
      }
    }
    if (!lr_room(t, v, now, 0)) {
      v->top = top;
      return;
    }
    uint64_t delta = now - v->last;
    uint8_t *p = lr_put_time(lr_position(v), &delta, 0x7fff);
    lr_store16(p, (uint16_t)(LRF_LEAVE_BIT | delta << 1));
    v->last = now;
    v->top = top;
    lr_commit(v, p + 2);
    return;
  }
  /* Calls were left without a leave of their own, or this one was entered
   * while nothing was recorded. The call that ends is the outermost of its
   * address whose frame is not further out than this one; where frames say
   * nothing (another stack), the innermost of its address. */
  struct lr_frame_entry *const bottom = v->stack + 2, *found = NULL;
  for (struct lr_frame_entry *f = top; f >= bottom && f->frame <= frame; f--)
    if (f->function == key && (!exact || f->frame == frame)) found = f;
  for (struct lr_frame_entry *f = top; f >= bottom && !found; f--)
    if (f->function == key && !exact) found = f;
  /* A reader takes the innermost call of the address: as many leaves as there
   * are such calls down to the one that ends. */
  struct lr_frame_entry *f = top;
  do {
    while (found && f->function != key) f--;
    if (!put_leave(t, v, now, function, kind)) break;
  } while (found && f-- != found);
  if (found) {
    v->top = found;
  } else if (lr_load(&lr_global.switched) && !plat_on_signal_stack()) {
    /* Entered while recording was switched off. */
    drop_ended(v, &e);
  }
}

LR_COLD void lr_leave_slow(uintptr_t function, unsigned kind, uintptr_t frame, int exact, const struct lr_place *at, enum lr_way way) {
  struct lr_thread *t = lr_thread_get();
  if (!t || lr_relaxed(&lr_mode) == LR_OFF) return;
  if (LR_UNLIKELY(!lr_has_come_by(way))) lr_came_by(way);
  struct lr_level *v = level_begin(t, at->frame);
  if (!v) return;
  leave_level(t, v, function, kind, frame, exact, at);
  level_end(t, v);
}

LR_COLD void lr_arrived(const struct lr_place *at) {
  struct lr_thread *t = lr_relaxed(&lr_mode) == LR_OFF ? NULL : lr_thread_get();
  struct lr_level *v = t ? level_begin(t, at->frame) : NULL;
  if (!v) return;
  const struct lr_event e = {1, 1, at};
  lr_settle(t, v, &e);
  level_end(t, v);
}

/* ends tells whether a call must have ended for one of frame to begin: theirs
 * is the same place or further in. Entries of other hooks have another measure
 * of frames. */
LR_OWN static int ends(const struct lr_thread *t, const struct lr_level *v, uintptr_t frame) {
  const struct lr_frame_entry *f = v->top - 1;
  return f > v->stack + 1 && (f->function & 1) && f->frame <= frame && lr_comparable(t, f, frame);
}

LR_COLD void lr_ended(const struct lr_place *at) {
  struct lr_thread *t = lr_relaxed(&lr_mode) == LR_OFF ? NULL : lr_thread_get();
  if (!t) return;
  struct lr_level *v = level_begin(t, at->frame);
  if (!v) return;
  const struct lr_event e = {1, 0, at};
  lr_settle(t, v, &e);
  if (behind(v)) catch_up(t, v, &e);
  /* By a jump from one function into another the first ends in time. */
  if (v->stack && ends(t, v, at->frame) && v->top[-1].frame < at->frame && !lr_has_come_by(LR_RETURN)) {
    level_end(t, v);
    if (!lr_has_come_by(LR_LATE)) lr_came_by(LR_LATE);
    v = level_begin(t, at->frame);
    if (!v) return;
  }
  while (v->stack && ends(t, v, at->frame)) {
    const struct lr_frame_entry *f = v->top - 1;
    /* Where every return is seen it was left by longjmp or an exception. */
    if (f->frame < at->frame && lr_has_come_by(LR_RETURN)) break;
    const struct lr_frame_entry *const before = v->top;
    leave_level(t, v, (uintptr_t)(f->function >> 1), 1, f->frame, 1, at);
    if (v->top == before) break;
  }
  level_end(t, v);
}

LR_COLD void lr_returned(const struct lr_place *at) {
  struct lr_thread *t = lr_relaxed(&lr_mode) == LR_OFF ? NULL : lr_thread_get();
  if (!t) return;
  if (LR_UNLIKELY(!lr_has_come_by(LR_RETURN))) lr_came_by(LR_RETURN);
  struct lr_level *v = level_begin(t, at->frame);
  if (!v) return;
  const struct lr_event arrives = {1, 1, at};
  lr_settle(t, v, &arrives);
  if (behind(v)) {
    /* Only what is further in. */
    struct lr_place below = *at;
    below.frame--;
    const struct lr_event e = {0, 0, &below};
    catch_up(t, v, &e);
  }
  if (v->stack) {
    const struct lr_frame_entry *f = v->top - 1;
    while (f->frame < at->frame) f--;
    /* Else it was entered while nothing was recorded. */
    if (f->frame == at->frame && (f->function & 1)) leave_level(t, v, (uintptr_t)(f->function >> 1), 1, at->frame, 1, at);
  }
  level_end(t, v);
}

LR_COLD void lr_came_by(enum lr_way way) {
  static const char *const names[] = {"finstrument-functions", "mfentry", "minstrument-return", "late-leaves", "penter", "api", "preloaded"};
  if (lr_load(&lr_global.state) != LR_RUNNING) return;
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (plat_lock()) {
    if (lr_global.state == LR_RUNNING && !lr_has_come_by(way)) {
      lr_store(&lr_global.ways, lr_global.ways | 1u << way);
      write_setting("way", names[way]);
      if (plat_preloaded() && !lr_has_come_by(LR_PRELOADED)) {
        lr_store(&lr_global.ways, lr_global.ways | 1u << LR_PRELOADED);
        write_setting("way", names[LR_PRELOADED]);
      }
    }
    plat_unlock();
  }
  plat_slow_end(&saved);
}

/* record writes one of the other records: its words behind the first, already
 * packed except for the delta, which is a u16 at their beginning. */
LR_OWN static void record(unsigned type, const uint8_t *head, size_t head_size, const char *text, size_t n) {
  struct lr_thread *t = lr_relaxed(&lr_mode) == LR_OFF ? NULL : lr_thread_get();
  if (!t || lr_relaxed(&lr_mode) == LR_OFF) return;
  const struct lr_place at = {lr_frame(), 0, LR_BY_HAND, 0};
  struct lr_level *v = level_begin(t, at.frame);
  if (!v) return;
  const struct lr_event e = {0, 1, &at};
  lr_settle(t, v, &e);
  const uint64_t now = lr_time_of(v);
  size_t length = 2 + 2 + head_size + n;
  length += length & 1;
  const int longer = length / 2 > 255;
  if (longer) length += 4;
  if (lr_room(t, v, now, length)) {
    uint64_t delta = now - v->last;
    uint8_t *p = lr_put_time(lr_position(v), &delta, 0xffff);
    uint8_t *const end = p + length;
    lr_store16(p, LRF_FIRST_WORD(type, longer ? 0 : (unsigned)(length / 2)));
    p += 2;
    if (longer) {
      lr_store32(p, (uint32_t)length);
      p += 4;
    }
    lr_store16(p, (uint16_t)delta);
    p += 2;
    end[-1] = 0;
    memcpy(p, head, head_size);
    memcpy(p + head_size, text, n);
    v->last = now;
    lr_commit(v, end);
  }
  level_end(t, v);
}

/* Short enough for the first chunk. */
enum { LONGEST_TEXT = 2048 };

LR_OWN void lr_mark(const char *text, size_t n) {
  if (n > LONGEST_TEXT) n = LONGEST_TEXT;
  uint8_t head[2];
  lr_store16(head, (uint16_t)n);
  record(LRF_MARK, head, sizeof head, text, n);
}

LR_OWN void lr_counter(const char *name, unsigned type, const void *value) {
  size_t n = strlen(name);
  if (n > 255) n = 255;
  uint8_t head[10] = {(uint8_t)type, (uint8_t)n};
  memcpy(head + 2, value, 8);
  record(LRF_COUNTER, head, sizeof head, name, n);
}

/* ---- the process's fate ---- */

/* write_last writes body and ends the file in order; 0 where that fails. With the
 * lock. */
LR_OWN static int write_last(uint16_t type) {
  write_record(type, lr_now());
  plat_file_trim(lr_global.end);
  if (lr_global.state != LR_RUNNING) return 0;
  lr_store(&lr_global.header->state, LRF_ENDED);
  return 1;
}

LR_OWN static void end_log(int anywhere) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (lr_load(&lr_global.state) == LR_RUNNING && plat_pid() == lr_global.pid) {
    if ((anywhere || !plat_in_handler(&saved)) && plat_modules_changed()) plat_modules_scan();
    if (plat_lock()) {
      if (lr_global.state == LR_RUNNING && !lr_global.ended) {
        write_all_renamed();
        write_clock();
        body.length = 0;
        write_last(LRF_END);
        lr_global.ended = 1;
      }
      plat_unlock();
    }
  }
  plat_slow_end(&saved);
}

LR_OWN void lr_end(void) { end_log(1); }
LR_OWN void lr_end_now(void) {
  if (lr_load(&lr_global.state) != LR_RUNNING) return;
  if (plat_pid() != lr_global.pid) lr_calls_are_left();
  else end_log(0);
}

LR_OWN void lr_switch(int on, const char *why) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  struct lr_body *b = lr_record_begin();
  if (b) {
    lr_put32(b, (uint32_t)on);
    lr_put32(b, 0);
    lr_put_string(b, why);
    lr_record_end(b, LRF_SWITCH, lr_now());
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
      write_thread(t);
    }
    plat_unlock();
  }
  plat_slow_end(&saved);
}

LR_OWN void lr_fork_before(void) {
  plat_lock();
  struct lr_thread *t = lr_self_get();
  have_forked = lr_alive(t);
  for (int i = 0; have_forked && i < LR_LEVELS; i++) {
    const struct lr_level *v = &t->level[i];
    forked[i].stack = v->stack;
    forked[i].top = v->top;
    forked[i].size = v->stack_size;
    forked[i].extra = v->extra;
  }
  if (have_forked) lr_stacks_before_fork(t);
}

LR_OWN void lr_fork_parent(void) {
  have_forked = 0;
  lr_stacks_in_parent();
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
  lr_global.free_threads = lr_global.newest_thread = NULL;
  if (lr_global.state == LR_RUNNING || lr_global.state == LR_STOPPED) {
    plat_file_forget();
    plat_modules_reset();
    lr_global.state = LR_NOT_STARTED;
    lr_choose_mode();
  }
}

LR_OWN void lr_write_fork(uint32_t child) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  struct lr_body *b = lr_record_begin();
  if (b) {
    lr_put32(b, child);
    lr_put32(b, 0);
    lr_record_end(b, LRF_FORK, lr_now());
  }
  plat_slow_end(&saved);
}

LR_OWN int lr_exec_begin(const char *path) {
  if (lr_load(&lr_global.state) != LR_RUNNING) return 0;
  if (plat_pid() != lr_global.pid) {
    /* Between vfork and exec, which leaves the child's calls behind in its parent. */
    lr_calls_are_left();
    return 0;
  }
  struct plat_saved saved;
  plat_slow_begin(&saved);
  int done = 0;
  if (plat_lock()) {
    if (lr_global.state == LR_RUNNING) {
      write_all_renamed();
      write_clock();
      body.length = 0;
      lr_put_string(&body, path);
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
  struct lr_body *b = lr_record_begin();
  if (b) {
    lr_store(&lr_global.header->state, LRF_RECORDING);
    lr_put32(b, 1);
    lr_put32(b, 0);
    lr_put_string(b, "exec failed");
    lr_record_end(b, LRF_SWITCH, lr_now());
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
      write_all_renamed();
      write_clock();
      body.length = 0;
      lr_put32(&body, 0);
      lr_put32(&body, 0);
      lr_put_string(&body, why);
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
      body.length = 0;
      lr_put32(&body, 1);
      lr_put32(&body, 0);
      lr_put_string(&body, why);
      write_record(LRF_SWITCH, lr_now());
    }
    /* Calls may have ended meanwhile, in other threads too. */
    lr_store(&lr_global.switched, lr_global.switched + LR_SWITCHED);
    lr_choose_mode();
    plat_unlock();
  }
  plat_slow_end(&saved);
}

/* ---- snapshots ---- */

/* lr_snapshot_to copies the file while it is being written: a chunk that was
 * taken for something else meanwhile is left out. */
LR_OWN int lr_snapshot_to(const char *path) {
  static uint8_t page[LRF_HEADER_SIZE];
  struct plat_saved saved;
  plat_slow_begin(&saved);
  int ok = 0;
  if (plat_lock()) {
    if (lr_global.state == LR_RUNNING) {
      static char name[sizeof lr_global.path + 32];
      int status = PLAT_EXISTS;
      for (int i = 0; i < 1000 && status == PLAT_EXISTS; i++) {
        struct text t = {name, 0, sizeof name};
        name[0] = 0;
        if (path && *path) {
          add(&t, path);
          i = 1000;
        } else {
          add(&t, lr_global.path);
          const size_t n = strlen(".lptrace");
          if (t.n > n && strcmp(name + t.n - n, ".lptrace") == 0) t.n -= n;
          add(&t, ".snapshot");
          add_number(&t, ++lr_global.snapshots);
          add(&t, ".lptrace");
        }
        status = plat_copy_begin(name);
      }
      if (status == PLAT_OK) {
        write_clock();
        const uint64_t end = lr_global.end;
        memcpy(page, lr_global.header, sizeof page);
        struct lrf_file_header *h = (struct lrf_file_header *)page;
        h->flags |= LRF_SNAPSHOT;
        h->checksum = checksum(h, 80);
        h->end = end;
        h->state = LRF_ENDED;
        ok = plat_copy_write(page, sizeof page);
        for (uint64_t at = sizeof page; at < end && ok;) {
          /* Chunks are only given out under the lock, which is held: their
           * headers stand still, and only used grows. What it covered when it
           * was read does not change (a call that is taken back apart). */
          const struct lrf_chunk *c = plat_file_at(at);
          struct lrf_chunk copy = *c;
          copy.used = lr_load(&c->used);
          ok = plat_copy_write(&copy, sizeof copy) && plat_copy_write(c + 1, copy.size - sizeof copy);
          at += copy.size;
        }
        ok = plat_copy_end(ok) && ok;
      }
    }
    plat_unlock();
  }
  plat_slow_end(&saved);
  return ok;
}
