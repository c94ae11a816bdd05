/* process.c: records of the process, which are not a thread's: settings, threads and their
 * names, the switch. docs/formats.md says what is in each.
 *
 * Those that begin with lr_write_ are called with the lock. lr_record_begin, lr_switch and
 * lr_came_by take it, and may be called in a signal handler. */

#include "core.h"

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

/* Big enough for an image of two pages or a long command line. */
static uint8_t record_bytes[1 << 17];
struct lr_body lr_record = {record_bytes, 0, sizeof record_bytes};

enum { FIRST_CHUNK = 8192, LARGEST_PROCESS_CHUNK = 65536 };

LR_OWN void lr_write_record(uint16_t type, uint64_t time) {
  const uint32_t length = (uint32_t)(16 + lr_record.length + 7) & ~7u;
  struct lrf_chunk *c = lr_global.process;
  while (!c || c->size - LRF_CHUNK_HEADER_SIZE - c->used < length) {
    lr_close_chunk(c, time);
    uint32_t size = FIRST_CHUNK;
    for (uint32_t i = lr_global.process_sequence - lr_global.rooms; i > 0 && size < LARGEST_PROCESS_CHUNK; i--) size *= 2;
    while (size < length + LRF_CHUNK_HEADER_SIZE) size *= 2;
    int why;
    c = lr_file_extend(&size, &why);
    if (!c) {
      lr_file_failed(why);
      return;
    }
    lr_begin_chunk(c, size, LRF_CHUNK_PROCESS, 0, 0, lr_global.process_sequence++, 0, 0, time);
    lr_global.process = c;
  }
  uint8_t *p = (uint8_t *)(c + 1) + c->used;
  lr_store32(p, length);
  lr_store32(p + 4, type);
  lr_store64(p + 8, time);
  memcpy(p + 16, lr_record.data, lr_record.length);
  memset(p + 16 + lr_record.length, 0, length - 16 - lr_record.length);
  lr_store(&c->used, c->used + length);
}

LR_OWN struct lr_body *lr_record_begin(void) {
  if (!plat_lock()) return NULL;
  if (lr_global.state != LR_RUNNING) {
    plat_unlock();
    return NULL;
  }
  lr_record.length = 0;
  return &lr_record;
}

LR_OWN void lr_record_end(uint16_t type, uint64_t time) {
  lr_write_record(type, time);
  plat_unlock();
}

LR_OWN void lr_write_setting(const char *name, const char *value) {
  if (!value[0]) return;
  lr_record.length = 0;
  lr_put_string(&lr_record, name);
  lr_put_string(&lr_record, value);
  lr_write_record(LRF_SETTING, lr_ticks());
}

LR_OWN void lr_write_thread(struct lr_thread *t) {
  lr_record.length = 0;
  lr_put32(&lr_record, t->stream);
  lr_put32(&lr_record, 0);
  lr_put64(&lr_record, t->id);
  lr_put_string(&lr_record, t->name);
  lr_write_record(LRF_THREAD, lr_ticks());
}

LR_OWN void lr_write_renamed(struct lr_thread *t) {
  char name[sizeof t->name];
  if (t->named) return;
  if (t == lr_self_get()) plat_thread_name(name, sizeof name);
  else plat_name_of_thread(t->id, name, sizeof name);
  if (!name[0] || strcmp(name, t->name) == 0) return;
  memcpy(t->name, name, strlen(name) + 1);
  lr_write_thread(t);
}

/* lr_write_all_renamed is for the end, where no thread will do it itself. */
LR_OWN void lr_write_all_renamed(void) {
  enum { MOST = 4096 };
  int n = 0;
  for (struct lr_thread *t = lr_global.newest_thread; t && n < MOST; t = t->older)
    if (lr_alive(t)) lr_write_renamed(t), n++;
}

LR_OWN void lr_write_way(enum lr_way way) {
  static const char *const names[LR_WAYS] = {"finstrument-functions", "mfentry", "minstrument-return", "late-leaves", "penter",
                                             "api", "preloaded", "xray", "patched", "patched-returns", "libcalls"};
  if (lr_has_come_by(way)) return;
  lr_store(&lr_global.ways, lr_global.ways | 1u << way);
  lr_write_setting("way", names[way]);
  if (plat_preloaded()) lr_write_way(LR_PRELOADED);
}

LR_COLD void lr_came_by(enum lr_way way) {
  if (lr_load(&lr_global.state) != LR_RUNNING) return;
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (plat_lock()) {
    if (lr_global.state == LR_RUNNING) lr_write_way(way);
    plat_unlock();
  }
  plat_slow_end(&saved);
}

LR_OWN void lr_put_switch(int on, const char *why) {
  lr_put32(&lr_record, (uint32_t)on);
  lr_put32(&lr_record, 0);
  lr_put_string(&lr_record, why);
}

LR_OWN void lr_switch(int on, const char *why) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (lr_record_begin()) {
    lr_put_switch(on, why);
    lr_record_end(LRF_SWITCH, lr_ticks());
  }
  plat_slow_end(&saved);
}
