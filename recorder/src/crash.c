/* crash.c: the record of a crash (docs/formats.md, CRASH): who writes it, the room that is kept for
 * it in the log, and its contents. How the program comes here, and that it dies as it would have
 * died, is the system's part: crash_linux.c and crash_windows.c.
 *
 * lr_crash_reserve is called with the lock. All else runs in the thread that crashed, in a signal handler
 * or an exception filter, wherever it was: it takes no lock where there is a log, calls no allocator and
 * unwinds nothing. Its memory is static, because the stack may be a small one. Memory of the program
 * is only read by plat_copy_memory, which has no faults of its own. */

#include "core.h"

#include "libcalls.h"

/* Sizes of the empty chunks of process records in which the record will be written. The larger one is reserved
 * when the log has grown. */
enum { ROOM = 16384, LARGE_ROOM = 131072, LARGE_LOG = 1 << 20 };
static struct lrf_chunk *room;
static uint32_t asked_for; /* the size that was reserved last */

/* Who writes the record: 0 nobody yet, else how far it is. */
enum { WRITING = 1, WRITTEN = 2 };
static volatile uint32_t writing;

LR_OWN void lr_crash_reserve(void) {
  const uint32_t wanted = lr_global.end > LARGE_LOG ? LARGE_ROOM : ROOM;
  if (!plat_crash_caught() || asked_for >= wanted) return;
  asked_for = wanted;
  uint32_t size = wanted;
  int why;
  struct lrf_chunk *c = lr_file_extend(&size, &why);
  if (!c) return;
  lr_begin_chunk(c, size, LRF_CHUNK_PROCESS, 0, 0, lr_global.process_sequence++, 0, 0, lr_ticks());
  lr_global.rooms++;
  if (!room || size > room->size) lr_store(&room, c);
}

LR_OWN void lr_crash_forget(void) {
  room = NULL;
  asked_for = 0;
  lr_store(&writing, 0);
}

LR_OWN int lr_crash_first(void) {
  uint32_t nobody = 0;
  return lr_exchange(&writing, &nobody, WRITING);
}

LR_OWN int lr_crash_is_written(void) { return lr_load(&writing) == WRITTEN; }

/* The record is made here and then copied into the log, so that a fault while it is made leaves the log as it
 * was. */
static uint8_t bytes[LARGE_ROOM];
static struct lr_body body;
/* Bytes for the pieces that are read from the mappings. */
enum { MAPS = 32768, LOADS = 16384 };
static uint8_t maps[MAPS], loads[LOADS];

/* put_memory adds an address, and up to n bytes that lie there. */
LR_OWN static void put_memory(uintptr_t address, size_t n) {
  lr_put64(&body, address);
  uint8_t *const length = body.data + body.length;
  lr_put32(&body, 0);
  const size_t left = body.capacity - body.length;
  if (n > left) n = left;
  n = n ? plat_copy_memory(body.data + body.length, address, n) : 0;
  lr_store32(length, (uint32_t)n);
  body.length += n;
}

/* put_stack adds a piece of the stack with the program's own return addresses. For library calls the recorder has
 * replaced these on the stack; the original ones are in the mirror, which a reader of the log does not have. */
LR_OWN static void put_stack(uintptr_t address, size_t n) {
  const size_t begin = body.length + 8 + 4;
  put_memory(address, n);
  for (size_t i = (0 - address) % sizeof(uintptr_t); begin + i + sizeof(uintptr_t) <= body.length; i += sizeof(uintptr_t)) {
    uintptr_t word;
    memcpy(&word, body.data + begin + i, sizeof word);
    word = lr_returns_to(address + i, word);
    memcpy(body.data + begin + i, &word, sizeof word);
  }
}

LR_OWN static void put_bytes(const void *p, size_t n) {
  lr_put32(&body, (uint32_t)n);
  lr_put(&body, p, n);
}

/* put_pointed adds what lies around the addresses in registers, in pieces: address, length, register. */
LR_OWN static void put_pointed(const struct lr_crash *c) {
  enum { AROUND = 64, HEAD = 16 };
  uint8_t *const length = body.data + body.length;
  lr_put32(&body, 0);
  const size_t begin = body.length;
  for (uint32_t i = 0; i < c->pointer_count; i++) {
    const uintptr_t at = c->pointers[i];
    if (at - c->stack_low < c->stack_size || !plat_crash_readable(i)) continue;
    if (body.capacity - body.length < HEAD + 2 * AROUND) break;
    uint8_t *const p = body.data + body.length;
    const size_t n = plat_copy_memory(p + HEAD, at - AROUND, 2 * AROUND);
    if (!n) continue;
    lr_store64(p, at - AROUND);
    lr_store32(p + 8, (uint32_t)n);
    lr_store32(p + 12, i);
    body.length += HEAD + n;
  }
  lr_store32(length, (uint32_t)(body.length - begin));
}

/* finish_record puts the head before a body of n bytes, and padding behind it; it returns the whole length. */
LR_OWN static size_t finish_record(uint8_t *p, uint16_t type, uint64_t time, size_t n) {
  const size_t length = (16 + n + 7) & ~(size_t)7;
  memset(p + 16 + n, 0, length - 16 - n);
  lr_store32(p, (uint32_t)length);
  lr_store32(p + 4, type);
  lr_store64(p + 8, time);
  return length;
}

LR_OWN int lr_crash_write(struct lr_crash *c) {
  struct lrf_chunk *const to = lr_load(&room);
  if (!to || to->used) return 0;
  const uint64_t now = lr_ticks();
  const size_t size = to->size - LRF_CHUNK_HEADER_SIZE < sizeof bytes ? to->size - LRF_CHUNK_HEADER_SIZE : sizeof bytes;
  if (size < ROOM - LRF_CHUNK_HEADER_SIZE) return 0;
  const int large = size > ROOM;
  /* Only the owner may read the log before memory of the program is written into it. */
  const int with_memory = !lr_settings.crash_no_stack && plat_file_private();
  struct lr_body text = {maps, 0, large ? sizeof maps : 3072}, modules = {loads, 0, large ? sizeof loads : 2048};
  plat_crash_look(c, &text, &modules);
  body.data = bytes + 16;
  body.length = 0;
  body.capacity = size - 16 - 8 - modules.length;
  const struct lr_thread *t = lr_self_get();
  lr_put32(&body, lr_alive(t) ? t->stream : 0);
  lr_put32(&body, c->kind);
  lr_put64(&body, c->thread);
  lr_put32(&body, c->code);
  lr_put32(&body, c->detail);
  lr_put64(&body, c->address);
  lr_put32(&body, c->flags | (with_memory ? 0 : LRF_CRASH_NO_MEMORY));
  lr_put32(&body, c->error);
  lr_put32(&body, c->sender);
  lr_put32(&body, c->access);
  put_bytes(c->registers, c->registers_size);
  put_bytes(c->name, strlen(c->name));
  put_bytes(c->message, c->message_size);
  enum { BEFORE = 16, BEHIND = 48, TOP = 4096, SMALL_STACK = 6144, LARGE_STACK = 65536 };
  put_memory(c->ip > BEFORE ? c->ip - BEFORE : 0, c->ip > BEFORE ? BEFORE + BEHIND : 0);
  put_bytes(text.data, text.length);
  size_t n = with_memory ? c->stack_size : 0;
  const size_t most = large ? LARGE_STACK : SMALL_STACK;
  const int cut = n > most;
  put_stack(c->stack_low, cut ? most : n);
  /* The outermost part of the stack, if the first piece does not reach it. */
  n = cut && large ? c->stack_size - most : 0;
  if (n > TOP) n = TOP;
  put_stack(c->stack_low + c->stack_size - n, n);
  if (with_memory) put_pointed(c);
  else put_bytes("", 0);
  size_t length = finish_record(bytes, LRF_CRASH, now, body.length);
  memcpy(bytes + length, loads, modules.length);
  length += modules.length;
  /* The room is gone if the log was truncated meanwhile. */
  if (!plat_copy_to_log(to + 1, bytes, length)) return 0;
  lr_store(&to->used, (uint32_t)length);
  return 1;
}

LR_OWN void lr_crash_survived(void) {
  enum { HEAD = 16, FLAGS = 32 };
  struct lrf_chunk *const to = lr_load(&room);
  if (!to || !to->used) return;
  uint32_t flags;
  uint8_t *const p = (uint8_t *)(to + 1) + HEAD + FLAGS;
  memcpy(&flags, p, sizeof flags);
  lr_store32(p, flags | LRF_CRASH_HANDLED);
}

LR_OWN void lr_crash_done(void) { lr_store(&writing, WRITTEN); }

LR_OWN void lr_crash_put_load(struct lr_body *modules, const struct lr_crash_module *m) {
  enum { FIXED = 16 + 72 };
  const size_t path = strlen(m->path), id = strlen(m->identity), whole = FIXED + 12 + path + id + 8;
  if (modules->capacity - modules->length < whole) return;
  uint8_t *const p = modules->data + modules->length;
  struct lr_body b = {p + 16, 0, whole - 16};
  lr_put32(&b, m->number);
  lr_put32(&b, 0);
  lr_put64(&b, m->base);
  lr_put64(&b, m->size);
  lr_put64(&b, m->bias);
  lr_put32(&b, 0);
  lr_put32(&b, 0);
  lr_put64(&b, 0);
  lr_put64(&b, 0);
  lr_put_string(&b, m->path);
  lr_put_string(&b, m->identity);
  lr_put_string(&b, "");
  modules->length += finish_record(p, LRF_LOAD, lr_global.begin, b.length);
}

/* make_log begins a log for a program that recorded nothing: 1 if there is one then. Another thread that
 * has the lock may just be making one; it is not waited for. */
LR_OWN int lr_crash_make_log(void) {
  if (lr_load(&lr_global.state) != LR_NOT_STARTED || lr_relaxed(&lr_settings.off)) return lr_load(&room) != NULL;
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (plat_trylock()) {
    if (lr_global.state == LR_NOT_STARTED) lr_start();
    plat_unlock();
  }
  plat_slow_end(&saved);
  return lr_load(&room) != NULL;
}
