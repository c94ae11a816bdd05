/* places.c: values that the program itself records with the macros of logrec_values.h. Each use of such a macro is a
 * place. The log gets the description of a place once, and then a record each time its values are recorded.
 *
 * logrec_arguments and logrec_result take a level as hooks do (event.c), and the lock only for the first values of a
 * place. A signal handler may call them. */

#include "hot.h"
#include "logrec_values.h"

enum { MOST_TEXT = 256, MOST_VALUES = 2048, QUICK_COUNT = 32, LONGEST_NAME = 1024 };
/* For packed_slow, added to a record's type: the level is taken. */
enum { TAKEN = 256 };

/* Sizes of values by their codes, in bytes; 0 for a text. */
static const uint8_t sizes[16] = {0, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 0, 0};
LR_INLINE size_t size_of(uint8_t code) { return sizes[code & 15]; }

/* put_type_name writes the name of a type T. It takes it from the name that the compiler gives to a template function
 * of T: "... [with T = NAME]" (gcc), "... [T = NAME]" (clang), "...signature<NAME>(void)" (MSVC). */
LR_OWN static void put_type_name(const char *signature) {
  static const char msvc[] = "signature<";
  const char *begin = strstr(signature, "T = "), *end = NULL;
  if (begin) {
    begin += 4;
    end = begin + strlen(begin);
    if (end > begin && end[-1] == ']') end--;
  } else if ((begin = strstr(signature, msvc))) {
    begin += sizeof msvc - 1;
    end = begin + strlen(begin);
    while (end > begin && *--end != '>') {
    }
  }
  const size_t n = begin ? (size_t)(end - begin) : 0;
  lr_put32(&lr_record, (uint32_t)(n < LONGEST_NAME ? n : LONGEST_NAME));
  lr_put(&lr_record, begin ? begin : "", n < LONGEST_NAME ? n : LONGEST_NAME);
}

LR_OWN static void put_cut(const char *s) {
  const size_t n = strlen(s), most = 4096;
  lr_put32(&lr_record, (uint32_t)(n < most ? n : most));
  lr_put(&lr_record, s, n < most ? n : most);
}

/* The first two fields of a place. log is the log that has the place: the upper half of lr_global.log, or its
 * complement if that log records no values of the place. id depends on the records of the place. If they always have
 * the same length and are short and of numbers only, it is the first word of the record and, from bit LENGTH_SHIFT on,
 * its length in bytes. Otherwise it is LONG and the number of the place. */
#define LONG ((uint32_t)1 << 31)
enum { LENGTH_SHIFT = 16, MOST_PACKED = 16, MOST_SHORT = (2 + MOST_PACKED) << LENGTH_SHIFT | 0xffff };
LR_INLINE uint32_t this_log(void) { return (uint32_t)(lr_global.log >> 32); }
LR_INLINE int is_told(const struct logrec_place *place) {
  const uint32_t log = lr_load(&place->log);
  return log == this_log() || log == ~this_log();
}
LR_INLINE uint32_t number_of(uint32_t id) { return id & LONG ? id & ~LONG : (id >> 2 & 3) | (id >> 12 & 15) << 2; }
/* packed: the size of the values in bytes if it is always the same, else 0. */
LR_OWN static uint32_t id_of(uint32_t number, unsigned type, unsigned packed) {
  if (!packed || number > LRF_MOST_SHORT_PLACE) return LONG | number;
  const unsigned words = (2 + packed + 1) / 2, form = type == LRF_ARGUMENTS ? LRF_PLACE_ARGUMENTS : LRF_PLACE_RESULT;
  return 2 * words << LENGTH_SHIFT | words << LRF_PLACE_WORDS | LRF_PLACE_WORD(form, number);
}
/* short_of returns the id of a place if its records are short and it is in the log. Otherwise it returns more than
 * MOST_SHORT. */
LR_INLINE uint64_t short_of(const struct logrec_place *place) {
#if defined(__GNUC__) && defined(__x86_64__)
  /* Both fields are read at once; the second one was written last. */
  uint64_t both;
  __asm__ volatile("movq %1,%0\n\tsubq %2,%0" : "=&r"(both) : "m"(*place), "m"(lr_global.log) : "cc");
  return both;
#else
  const uint64_t log = (uint64_t)lr_load(&place->log) << 32;
  return (log | place->id) - lr_global.log;
#endif
}

/* tell_place writes PLACE, unless another thread has done so. */
LR_COLD static void tell_place(unsigned type, struct logrec_place *place, const struct logrec_types *types, unsigned packed) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  if (lr_record_begin()) {
    if (is_told(place)) {
      plat_unlock();
    } else {
      uint32_t log = ~this_log(), number = 0;
      if (lr_settings.values != LR_VALUES_OFF) {
        log = this_log();
        number = ++lr_global.places;
        lr_put32(&lr_record, number);
        lr_put32(&lr_record, place->line);
        put_cut(place->function);
        put_cut(place->file);
        put_cut(place->text);
        lr_put(&lr_record, &types->count, 2);
        lr_put(&lr_record, types->codes, types->count);
        for (unsigned i = 0; i < types->count; i++) put_type_name(types->names ? types->names[i] : "");
        lr_write_record(LRF_PLACE, lr_ticks());
      }
      lr_store(&place->id, id_of(number, type, packed));
      lr_store(&place->log, log);
      plat_unlock();
    }
  }
  plat_slow_end(&saved);
}

/* put_text copies a text of known length. */
LR_OWN static uint8_t *put_text(uint8_t *p, const char *s, uint64_t length) {
  const size_t n = length < MOST_TEXT ? (size_t)length : MOST_TEXT;
  lr_store16(p, (uint16_t)(length <= LRF_LONGEST_LENGTH ? length : LRF_TEXT_LONGER));
  memcpy(p + 2, s, n);
  return p + 2 + n;
}

/* put_pointed copies a text that ends with 0, as far as the memory at s can be read. */
LR_OWN static uint8_t *put_pointed(uint8_t *p, uintptr_t s) {
  enum { PAGE = 4096 };
  size_t n = 0, got = 0;
  if (!s) {
    lr_store16(p, LRF_TEXT_NULL);
    return p + 2;
  }
  while (got <= MOST_TEXT && n == got) {
    /* A copy that reaches an unreadable page may copy nothing at all, so it is done page by page. */
    const size_t page = PAGE - (s + got) % PAGE, left = MOST_TEXT + 1 - got;
    const size_t copied = s + got < PAGE ? 0 : plat_copy_memory(p + 2 + got, s + got, page < left ? page : left);
    if (!copied) break;
    got += copied;
    while (n < got && p[2 + n]) n++;
    if (n < got) break;
  }
  if (n < got) {
    lr_store16(p, (uint16_t)n);
  } else if (got > MOST_TEXT) {
    lr_store16(p, LRF_TEXT_LONGER);
    n = MOST_TEXT;
  } else {
    lr_store16(p, LRF_TEXT_UNREADABLE);
    n = 0;
  }
  return p + 2 + n;
}

/* put_values writes the first values, as many as there is room for. */
LR_OWN static uint8_t *put_values(uint8_t *p, const struct logrec_types *types, const uint64_t *cells) {
  const uint8_t *const begin = p;
  for (unsigned i = 0; i < types->count; i++) {
    const size_t n = size_of(types->codes[i]);
    if ((size_t)(p - begin) + (n ? n : 2 + MOST_TEXT) > MOST_VALUES) break;
    if (n) {
      lr_store64(p, *cells++);
      p += n;
    } else if (types->single || cells[1] == ~(uint64_t)0) {
      p = put_pointed(p, (uintptr_t)cells[0]);
      cells += types->single ? 1 : 2;
    } else {
      p = put_text(p, (const char *)(uintptr_t)cells[0], cells[1]);
      cells += 2;
    }
  }
  return p;
}

/* packed: the number of bytes of cells that are the values, or 0 if the values are not packed. */
LR_COLD static void record_slow(unsigned type, struct logrec_place *place, const struct logrec_types *types, const uint64_t *cells, uintptr_t frame,
                                unsigned packed) {
  struct lr_thread *t = lr_relaxed(&lr_mode) == LR_OFF ? NULL : lr_thread_get();
  if (!t || lr_relaxed(&lr_mode) == LR_OFF || (lr_settings.triggers && !lr_trigger_event())) return;
  const struct lr_place at = {frame, 0, LR_BY_HAND, 0, NULL, 0};
  struct lr_level *v = lr_level_begin(t, frame);
  if (!v) return;
  const struct lr_event e = {0, 1, &at};
  lr_settle(t, v, &e);
  if (v->stack && v->top > v->stack + 2 && lr_hidden(v->top - 1)) {
    /* The values belong to a hidden call, which is not in the log. */
    lr_level_end(t, v);
    return;
  }
  if (!is_told(place)) tell_place(type, place, types, packed);
  size_t most = 16;
  for (unsigned i = 0; i < types->count; i++) most += size_of(types->codes[i]) ? size_of(types->codes[i]) : 2 + MOST_TEXT;
  if (most > MOST_VALUES + 16) most = MOST_VALUES + 16;
  if (place->log == this_log() && lr_room(t, v, lr_time_of(v), most)) {
    const uint32_t id = place->id; /* a short record is the same as on the hot path */
    const int is_short = packed && !(id & LONG), is_long = most / 2 > 255;
    uint8_t *const begin = lr_position(v), *p = begin + (is_short ? 2 : is_long ? 12 : 8);
    if (!is_short) {
      lr_store16(p - 6, LRF_VALUES_PLACE);
      lr_store32(p - 4, number_of(id));
    }
    if (packed) memcpy(p, cells, packed), p += packed;
    else p = put_values(p, types, cells);
    if ((p - begin) & 1) *p++ = 0;
    lr_store16(begin, (uint16_t)(is_short ? id : LRF_FIRST_WORD(type, is_long ? 0 : (unsigned)(p - begin) / 2)));
    if (is_long) lr_store32(begin + 2, (uint32_t)(p - begin));
    /* If the enter before this record is removed (LOGREC_MIN), this record is removed with it. */
    if (v->extra && v->top > v->stack + 2) {
      struct lr_frame_extra *const x = &v->extra[v->top - 1 - v->stack];
      if (x->after == begin && x->sequence == v->sequence) x->after = p;
    }
    lr_commit(v, p);
  }
  lr_level_end(t, v);
}

/* record is the hot path: it handles numbers only, and only if the frame of the innermost call is near. */
LR_INLINE void record(unsigned type, struct logrec_place *place, const struct logrec_types *types, const uint64_t *cells, uintptr_t frame) {
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t mode = lr_relaxed(&lr_mode);
  if (LR_LIKELY(v->inside == mode)) {
    v->inside = frame;
    lr_barrier();
    struct lrf_chunk *const c = v->chunk;
    const size_t used = c->used;
    int done = 0;
    if (LR_LIKELY(frame - v->top[-1].frame + LR_NEAR <= 2 * LR_NEAR && lr_load(&place->log) == this_log() && types->count <= QUICK_COUNT &&
                  used + 16 + 8 * QUICK_COUNT < v->limit)) {
      uint8_t *const begin = (uint8_t *)(c + 1) + used, *p = begin + 8;
      unsigned i = 0;
      for (; i < types->count; i++) {
        const size_t n = size_of(types->codes[i]);
        if (LR_UNLIKELY(!n)) break;
        lr_store64(p, cells[i]);
        p += n;
      }
      if (LR_LIKELY(i == types->count)) {
        if ((p - begin) & 1) *p++ = 0;
        lr_store64(begin, LRF_FIRST_WORD(type, (unsigned)(p - begin) / 2) | (uint64_t)LRF_VALUES_PLACE << 16 | (uint64_t)number_of(place->id) << 32);
        lr_store(&c->used, (uint32_t)(used + (size_t)(p - begin)));
      }
      done = i == types->count;
    }
    lr_barrier();
    v->inside = mode;
    if (done) return;
  } else if (mode == LR_OFF) {
    return;
  }
  record_slow(type, place, types, cells, frame, 0);
}

/* bytes_of returns the size of the numbers of a place in bytes. */
LR_OWN static unsigned bytes_of(const struct logrec_types *types) {
  unsigned n = 0;
  for (unsigned i = 0; i < types->count; i++) n += (unsigned)size_of(types->codes[i]);
  return n;
}

/* may_follow tells whether a record may be written after the last one: there is room for some numbers (LR_RESERVE), and the
 * frame of the innermost call is at most LR_NEAR bytes above this one. Otherwise this may be another stack. The level is taken. */
LR_INLINE int may_follow(const struct lr_level *v, uintptr_t frame) { return v->top[-1].frame - frame <= LR_NEAR && v->chunk->used < v->limit; }

/* packed_slow is the part of record_packed that is not inlined; its arguments fit into registers. what: the type, with
 * TAKEN if the level is taken. It writes records with the place's number after the first word; record_slow writes all
 * others. */
LR_OWN LR_NOINLINE static void packed_slow(struct logrec_place *place, const struct logrec_types *types, uint64_t first, uint64_t second, uintptr_t frame, unsigned what) {
  const uint64_t words[2] = {first, second};
  const unsigned type = what & ~TAKEN, bytes = bytes_of(types);
  if (what & TAKEN) {
    struct lr_thread *const t = lr_self_get();
    struct lr_level *const v = &t->level[0];
    const int done = may_follow(v, frame) && lr_load(&place->log) == this_log() && place->id & LONG;
    if (done) {
      uint8_t *const begin = lr_position(v);
      const unsigned length = (8 + bytes + 1) / 2;
      lr_store32(begin, LRF_FIRST_WORD(type, length) | (uint32_t)LRF_VALUES_PLACE << 16);
      lr_store32(begin + 4, number_of(place->id));
      memcpy(begin + 8, words, sizeof words);
      lr_barrier();
      lr_grow(&v->chunk->used, 2 * length);
    }
    lr_barrier();
    v->inside = t->mode;
    if (done) return;
  }
  if (bytes - 1 < sizeof words) record_slow(type, place, types, words, frame, bytes);
}

/* record_packed records a few numbers without examining their types. second: 0 if the first word has them all. */
LR_INLINE void record_packed(struct logrec_place *place, const struct logrec_types *types, uint64_t first, uint64_t second, uintptr_t frame, unsigned type) {
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t mode = lr_relaxed(&lr_mode);
  lr_opaque(frame);
  if (LR_UNLIKELY(v->inside != mode)) {
    if (mode != LR_OFF) packed_slow(place, types, first, second, frame, type);
    return;
  }
  v->inside = frame;
  lr_barrier();
  struct lrf_chunk *const c = v->chunk;
  uint64_t id = MOST_SHORT + 1;
  if (LR_LIKELY(may_follow(v, frame))) id = short_of(place);
  if (LR_UNLIKELY(id > MOST_SHORT)) {
    packed_slow(place, types, first, second, frame, type | TAKEN);
    return;
  }
  uint8_t *const begin = (uint8_t *)(c + 1) + c->used;
  lr_store16(begin, (uint16_t)id);
  lr_store64(begin + 2, first);
  if (!LR_CONSTANT(second, 0)) lr_store64(begin + 10, second);
  lr_barrier();
  lr_grow(&c->used, (uint32_t)id >> LENGTH_SHIFT);
  lr_barrier();
  v->inside = mode;
}

LR_OWN void logrec_arguments_word(struct logrec_place *place, const struct logrec_types *types, uint64_t word) {
  record_packed(place, types, word, 0, lr_frame(), LRF_ARGUMENTS);
}
LR_OWN void logrec_result_word(struct logrec_place *place, const struct logrec_types *types, uint64_t word) {
  record_packed(place, types, word, 0, lr_frame(), LRF_RESULT);
}
LR_OWN void logrec_arguments_packed(struct logrec_place *place, const struct logrec_types *types, uint64_t first, uint64_t second, unsigned bytes) {
  (void)bytes;
  record_packed(place, types, first, second, lr_frame(), LRF_ARGUMENTS);
}
LR_OWN void logrec_result_packed(struct logrec_place *place, const struct logrec_types *types, uint64_t first, uint64_t second, unsigned bytes) {
  (void)bytes;
  record_packed(place, types, first, second, lr_frame(), LRF_RESULT);
}
LR_OWN void logrec_arguments(struct logrec_place *place, const struct logrec_types *types, const uint64_t *cells) {
  record(LRF_ARGUMENTS, place, types, cells, lr_frame());
}
LR_OWN void logrec_result(struct logrec_place *place, const struct logrec_types *types, const uint64_t *cells) {
  record(LRF_RESULT, place, types, cells, lr_frame());
}
LR_OWN int logrec_takes_values(void) {
  lr_read_settings();
  return lr_relaxed(&lr_mode) != LR_OFF && lr_settings.values != LR_VALUES_OFF;
}
