/* start.c: the recording begins at the first event: the file, its header, and what is known
 * of the process. Here are also its global variables, but that of the process (process.c).
 *
 * lr_start is called with the lock, perhaps in a signal handler. lr_choose_mode takes no lock: what
 * it stores is one word. */

#include "patch.h"

#define LR_VERSION "1.0"

uintptr_t lr_mode = LR_IDLE;
struct lr_settings lr_settings;
struct lr_state lr_global;
struct lr_thread lr_nobody;
struct lrf_chunk lr_no_chunk;

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

/* alone: without values. */
LR_OWN static int general(int alone) {
  return lr_settings.sites || lr_settings.minimum || lr_triggers_general() ||
         /* Functions that are patched for the triggers' sake need not be in the lists. */
         (lr_lists() && (!lr_patch_alone() || lr_settings.from[0] || lr_settings.until[0])) ||
         (!alone && (lr_settings.values == LR_VALUES_RAW || lr_settings.values == LR_VALUES_PLAN));
}

LR_OWN void lr_choose_mode(void) {
  const int on = (lr_global.state == LR_NOT_STARTED || lr_global.state == LR_RUNNING) && !lr_relaxed(&lr_settings.off);
  lr_plan_choose(on && !general(1));
  lr_store(&lr_mode, !on ? LR_OFF : general(0) ? LR_GENERAL : LR_IDLE + lr_load(&lr_global.switched));
}

/* forget makes the state that of a process that has no file: it may be a forked child. */
LR_OWN static void forget(void) {
  lr_global.streams = 0;
  lr_global.end = 0;
  lr_store(&lr_global.ended, 0);
  lr_global.process = NULL;
  lr_global.process_sequence = lr_global.rooms = 0;
  lr_global.snapshots = 0;
  lr_global.lost_events = NULL;
  lr_global.log += (uint64_t)1 << 32;
  lr_global.places = 0;
  lr_global.ways = 0;
  lr_global.header = NULL;
}

/* say_special says that a log cannot be written into what the name names. */
LR_OWN static void say_special(void) {
  static char line[sizeof lr_global.path + 64];
  struct lr_text t = {line, 0, sizeof line};
  lr_text_add(&t, "logrec: ");
  lr_text_add(&t, lr_global.path);
  lr_text_add(&t, ": it is no ordinary file; nothing is recorded");
  plat_message(line);
}

/* create_file makes a file of a name that no other has, and returns the place of its
 * header; NULL where that fails, or nothing is to be recorded. */
LR_OWN static struct lrf_file_header *create_file(const struct plat_process *process) {
  int status = PLAT_EXISTS;
  for (int n = 0; n < 1000 && status == PLAT_EXISTS; n++) {
    lr_name_file(process, n);
    if (n == 0 && plat_is_null(lr_global.path)) {
      lr_global.state = LR_DISABLED;
      lr_choose_mode();
      return NULL;
    }
    if (n == 0 && plat_is_special(lr_global.path)) {
      /* A log beside a device or a pipe is not what somebody has meant. */
      lr_global.state = LR_DISABLED;
      lr_choose_mode();
      say_special();
      return NULL;
    }
    /* The program may change its folder. */
    plat_make_absolute(lr_global.path, sizeof lr_global.path);
    status = plat_file_create(lr_global.path);
  }
  lr_store(&lr_global.state, LR_RUNNING);
  int why = status;
  struct lrf_file_header *const h = status == PLAT_OK ? plat_file_extend(0, LRF_HEADER_SIZE, lr_settings.ring, &why) : NULL;
  if (!h) lr_file_failed(why);
  return h;
}

/* begin: the earliest time in the log. */
LR_OWN static void fill_header(struct lrf_file_header *h, const struct plat_process *process, uint64_t begin) {
  h->minor = 4;
  h->major = 1;
  h->size = LRF_HEADER_SIZE;
  h->granularity = LRF_GRANULARITY;
  h->flags = (lr_settings.ring ? LRF_RING : 0) | (lr_settings.sites ? LRF_SITES : 0) | (lr_settings.minimum ? LRF_SHORT_DROPPED : 0);
  h->pointer = sizeof(void *);
  h->system = (uint8_t)this_system();
  h->machine = (uint16_t)machine();
  h->pid = process->pid;
  h->started = process->started;
  h->begin = begin;
  h->rate = lr_global.rate;
  h->counter = (uint8_t)lr_global.counter;
  h->minimum = lr_settings.minimum;
  h->ring = lr_settings.ring ? lr_settings.ring_bytes : 0;
  struct lrf_file_header whole = *h;
  memcpy(whole.magic, LRF_FILE_MAGIC, 8);
  h->checksum = lr_checksum(&whole, 80);
  lr_store(&h->end, lr_global.end);
  /* The magic last: a file that has one is a trace. */
  memcpy(h->magic, LRF_FILE_MAGIC, 8);
}

LR_OWN static void write_process(const struct plat_process *process) {
  static char arguments[1 << 16];
  const size_t n = lr_settings.no_command_line ? 0 : plat_command_line(arguments, sizeof arguments);
  uint32_t count = 0;
  for (size_t i = 0; i < n; i++) count += arguments[i] == 0;
  lr_record.length = 0;
  lr_put32(&lr_record, process->pid);
  lr_put32(&lr_record, process->parent);
  lr_put32(&lr_record, count);
  lr_put_string(&lr_record, process->path);
  lr_put_string(&lr_record, process->system);
  lr_put_string(&lr_record, LR_VERSION);
  for (size_t i = 0; i < n; i += strlen(arguments + i) + 1) lr_put_string(&lr_record, arguments + i);
  lr_write_record(LRF_PROCESS, lr_global.begin);
}

LR_COLD void lr_start(void) {
  static struct plat_process process;
  lr_begin_measuring();
  lr_plan_read();
  plat_process(&process);
  forget();
  lr_global.pid = process.pid;
  struct lrf_file_header *const h = create_file(&process);
  if (!h) return;
  struct plat_clock clock;
  plat_clock_init(&clock);
  lr_global.counter = clock.counter;
  lr_global.rate = clock.rate;
  lr_global.minimum = (uint64_t)((double)lr_settings.minimum / 1e9 * (double)lr_global.rate);
  lr_global.header = h;
  lr_global.end = LRF_HEADER_SIZE;
  lr_global.begin = lr_ticks();
  const struct lr_instant *const early = lr_output_early();
  fill_header(h, &process, early ? early->ticks : lr_global.begin);
  write_process(&process);
  lr_write_clock();
  if (early) lr_put_clock(early);
  lr_write_early();
  if (lr_settings.ring) lr_write_setting("LOGREC", "ring");
  lr_write_setting("LOGREC_FILE", lr_settings.file);
  lr_write_setting("LOGREC_INCLUDE", lr_settings.include);
  lr_write_setting("LOGREC_EXCLUDE", lr_settings.exclude);
  lr_triggers_begin();
  lr_plan_write();
  for (int i = 0; i < LR_WAYS; i++)
    if (lr_patch_ways() >> i & 1) lr_write_way((enum lr_way)i);
  lr_measure_overhead();
  plat_crash_catch(1);
  lr_crash_reserve();
  lr_choose_mode();
}
