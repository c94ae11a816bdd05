/* chunk.c: beginning and closing chunks, getting a level's next chunk, and writing what stands at its
 * beginning. format.h has the layout; parser/trace/chunks.go finds them, decode.go and process.go beside it read what
 * is in them. process.c writes the records of the process.
 *
 * lr_next_chunk takes the lock and may be called in a signal handler. The other functions work on a level that the
 * caller has taken. */

#include "core.h"

enum { LARGEST_CHUNK = 1 << 20 };
enum { CHUNK_SUMMED = 40 }; /* the bytes of the header that its checksum is of */

/* lr_begin_chunk writes a chunk's header. The magic is stored last: before that no reader takes it for a chunk. */
LR_OWN void lr_begin_chunk(struct lrf_chunk *c, uint32_t size, int kind, int level, uint32_t stream,
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
  c->checksum = lr_checksum(&whole, CHUNK_SUMMED);
  lr_store(&c->magic, LRF_CHUNK_MAGIC);
}

LR_OWN void lr_close_chunk(struct lrf_chunk *c, uint64_t last) {
  if (!c || c == &lr_no_chunk) return;
  c->last = last;
  lr_store(&c->closed, 1);
}

LR_OWN void lr_clear_windows(struct lr_level *v) {
  for (int i = 0; i < LR_WINDOW_CACHE; i++) v->window[0][i] = v->window[1][i] = LR_NO_WINDOW(i);
  v->windows = 0;
  v->window_next = 0;
}

/* ring_chunk takes the oldest chunk of the ring, or adds one to the ring. The caller has the lock. */
LR_OWN static struct lrf_chunk *ring_chunk(struct lr_level *v, int level, uint32_t *size, int *why) {
  uint64_t most = lr_settings.ring_bytes;
  if (level > 0) most /= 8;
  if (most < 4 * LR_FIRST_CHUNK) most = 4 * LR_FIRST_CHUNK;
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
  if (v->ring_bytes + *size <= most && v->ring_count < v->ring_room) c = lr_file_extend(size, why);
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

/* room_for_calls is how many of the open calls a chunk may list at its beginning. The list may take
 * more room where a reader cannot find the open calls from earlier events: in a coroutine, and in the
 * first chunk of a forked child. */
LR_OWN static uint64_t room_for_calls(const struct lr_level *v, int stated) {
  const size_t room = v->chunk->size - LRF_CHUNK_HEADER_SIZE;
  if (v->on && v->on->number) return (room - 2 * LR_RESERVE) / 16;
  return room / (stated || !v->chunk->sequence ? 2 : 8) / 16;
}

/* lr_write_stack writes STACK: the innermost open calls, at most so many. stated: they replace what follows from the
 * events before. */
LR_OWN void lr_write_stack(struct lr_level *v, int stated, uint64_t most) {
  uint64_t known = 0;
  for (const struct lr_frame_entry *f = v->stack + 2; f < v->top; f++) known += !lr_hidden(f);
  const uint64_t k = known < most ? known : most, depth = v->forgotten + known;
  uint8_t *p = lr_position(v);
  const uint32_t length = (uint32_t)(6 + 2 + 4 + 4 + k * 16);
  lr_store16(p, LRF_FIRST_WORD(LRF_STACK, 0));
  lr_store32(p + 2, length);
  lr_store16(p + 6, (uint16_t)(LRF_STACK_TIMES | (stated ? LRF_STACK_STATED : 0)));
  lr_store32(p + 8, (uint32_t)depth);
  lr_store32(p + 12, (uint32_t)k);
  p += 16;
  const struct lr_frame_entry *f = v->top;
  for (uint64_t i = k; i > 0; i--) {
    do f--;
    while (lr_hidden(f));
    lr_store64(p + 8 * (i - 1), f->function);
    lr_store64(p + 8 * (k + i - 1), f->time);
  }
  lr_commit(v, p + 16 * k);
}

LR_COLD int lr_next_chunk(struct lr_thread *t, struct lr_level *v, uint64_t now) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  int done = 0;
  if (lr_self_get() == t && plat_lock()) {
    if (lr_global.state == LR_RUNNING && (v->stack || lr_make_stack(v))) {
      /* Each time that recording begins again takes a chunk. Where that happens often the chunks are small. */
      if (v->restated && !lr_settings.ring && v->chunk->used < v->chunk->size / 4) v->next_size = LR_FIRST_CHUNK;
      uint32_t size = v->next_size;
      if (v->restated || v->lost || !v->sequence || (v->on && v->on->number))
        while (size < LARGEST_CHUNK && (size_t)(v->top - v->stack) > size / 32) size *= 2;
      const int level = (int)(v - t->level);
      int why = PLAT_ERROR;
      struct lrf_chunk *old = v->chunk;
      struct lrf_chunk *c = lr_settings.ring ? ring_chunk(v, level, &size, &why) : lr_file_extend(&size, &why);
      lr_close_chunk(old, v->last);
      if (c) {
        t->signal_known = 0;
        lr_begin_chunk(c, size, LRF_CHUNK_EVENTS, level, t->stream, v->sequence++, v->lost, t->id, now);
        v->chunk = c;
        v->lost = 0;
        v->limit = size - LRF_CHUNK_HEADER_SIZE - LR_RESERVE;
        v->last = now;
        if (v->next_size < LARGEST_CHUNK) v->next_size *= 2;
        lr_clear_windows(v);
        lr_begin_on_stack(v);
        const int stated = v->restated || c->lost;
        v->restated = 0;
        if (stated || v->forgotten || v->top > v->stack + 2) lr_write_stack(v, stated, room_for_calls(v, stated));
        lr_write_clock_if_due();
        lr_write_renamed(t);
        lr_crash_reserve();
        done = 1;
      } else {
        v->chunk = &lr_no_chunk;
        v->limit = 0;
        lr_file_failed(why);
      }
    }
    plat_unlock();
  }
  if (done && !plat_in_handler(&saved) && plat_modules_changed()) plat_modules_scan();
  plat_slow_end(&saved);
  return done;
}
