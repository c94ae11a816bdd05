/* patch_sleds_x86_64.c: what the sleds of x86-64 (patch.h) are, and what they become when they are on: calls of stubs that
 * lie in reach of the text. */

#include "system_linux.h"

#include "patch.h"

#if LR_HAVE_PATCHES && defined(__x86_64__)

#include <sys/mman.h>

#if !defined(MAP_FIXED_NOREPLACE)
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { CALL = 0xe8, JUMP = 0xe9, RETURN = 0xc3, NO_MEANING = 0x2e };

extern void lr_patched_return(void), lr_patched_tail(void), lr_patched_exit(void);
extern const uintptr_t lr_patched_entries[LR_FURTHEST - LR_NEAREST + 1];

/* stub writes a stub that jumps to an address: jmp *2(%rip), two unused bytes, the address. */
LR_OWN static uintptr_t stub(uint8_t **end, uintptr_t to) {
  static const uint8_t jump[8] = {0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc};
  uint8_t *const at = *end;
  memcpy(at, jump, sizeof jump);
  memcpy(at + 8, &to, sizeof to);
  *end = at + 16;
  return (uintptr_t)at;
}

enum { PAGE = 4096, REACH = 0x7f000000 };

/* A place for stubs that is looked for among the mappings, in their order. */
struct place {
  uintptr_t low, high; /* the text */
  uintptr_t last;      /* where the mapping before ends */
  uintptr_t end_of_heap;
  uintptr_t found, distance;
};

LR_OWN static int see_gap(uintptr_t low, uintptr_t high, void *context) {
  enum { STEP = 1 << 16, ROOM_OF_STACK = 1 << 30 };
  struct place *const p = context;
  const uintptr_t gap = p->last;
  p->last = high;
  if (low <= gap || low - gap < PAGE) return 0;
  uintptr_t at, distance;
  if (low <= p->low) {
    at = low - gap >= 3 * STEP ? (low & ~(uintptr_t)(STEP - 1)) - STEP : low - PAGE;
    distance = p->high - at;
  } else {
    /* Above a program lies its heap, and below the stack what it grows into: they must be able to grow. */
    if (p->low < p->end_of_heap || (lr_main_stack - low < high - low && low - gap < ROOM_OF_STACK)) return 0;
    at = gap;
    distance = at + PAGE - p->low;
  }
  if (distance < REACH && (!p->found || distance < p->distance)) {
    p->found = at;
    p->distance = distance;
  }
  return 0;
}

LR_OWN int lr_stubs_make(struct lr_stubs *s, uintptr_t low, uintptr_t high) {
  enum { ATTEMPTS = 4 };
  /* All pages of stubs are alike. They are never unmapped, because a thread may be in one, and serve all text
   * within reach. */
  static struct {
    uintptr_t page;
    struct lr_stubs stubs;
  } made[256];
  static unsigned count;
  if (high - low > REACH / 2) return 0;
  for (unsigned i = 0; i < count; i++)
    if ((made[i].page < low ? high - made[i].page : made[i].page + PAGE - low) < REACH) {
      *s = made[i].stubs;
      return 1;
    }
  if (count == sizeof made / sizeof *made) return 0;
  uint8_t *page = MAP_FAILED;
  /* Between libraries there is little room, and below them the log is mapped. Another thread may take the place meanwhile. */
  for (int i = 0; i < ATTEMPTS && page == MAP_FAILED; i++) {
    struct place p = {low, high, PAGE * 16, lr_break(), 0, 0};
    lr_each_mapping(see_gap, &p);
    if (!p.found) return 0;
    page = mmap((void *)p.found, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page == MAP_FAILED || page == (uint8_t *)p.found) continue;
    /* Before Linux 4.17 the place is a wish. */
    munmap(page, PAGE);
    page = MAP_FAILED;
  }
  if (page == MAP_FAILED) return 0;
  uint8_t *end = page;
  for (int i = 0; i <= LR_FURTHEST - LR_NEAREST; i++) s->enter[i] = lr_patched_entries[i] ? stub(&end, lr_patched_entries[i]) : 0;
  s->leave = stub(&end, (uintptr_t)lr_patched_return);
  s->tail = stub(&end, (uintptr_t)lr_patched_tail);
  s->exit = stub(&end, (uintptr_t)lr_patched_exit);
  if (mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0) {
    made[count].page = (uintptr_t)page;
    made[count++].stubs = *s;
    return 1;
  }
  munmap(page, PAGE);
  return 0;
}

LR_OWN size_t lr_nop_length(const uint8_t *p, size_t bytes) {
  size_t n = 0;
  while (n < bytes && n < 4 && (p[n] == 0x66 || p[n] == NO_MEANING)) n++;
  if (n < bytes && p[n] == 0x90) return n + 1;
  if (n + 3 > bytes || p[n] != 0x0f || p[n + 1] != 0x1f) return 0;
  static const uint8_t behind[4] = {0, 1, 4, 0};
  const unsigned mode = p[n + 2] >> 6, operand = p[n + 2] & 7;
  if (mode == 3 || (p[n + 2] >> 3 & 7) || (mode == 0 && operand == 5)) return 0;
  n += 3 + (operand == 4) + behind[mode];
  return n <= bytes && n <= 9 ? n : 0;
}

/* reach writes the distance of a jump or call at p, the last four bytes of the instruction. */
LR_OWN static int reach(uint8_t *p, uintptr_t next, uintptr_t to) {
  const int64_t distance = (int64_t)(to - next);
  if (!to || distance != (int32_t)distance) return 0;
  lr_store32(p, (uint32_t)distance);
  return 1;
}

/* entry returns the stub for an entry with a sled of this length; 0: there is none. */
LR_OWN static uintptr_t entry(const struct lr_sled *s, const struct lr_stubs *stubs, uintptr_t function) {
  const uintptr_t behind = s->address + s->length - function;
  return behind < LR_NEAREST || behind > LR_FURTHEST ? 0 : stubs->enter[behind - LR_NEAREST];
}

LR_OWN int lr_sled_look(struct lr_sled *s, const struct lr_stubs *stubs, uintptr_t function, size_t bytes) {
  static const uint8_t over[LR_SLED_BYTES] = {0xeb, 9, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0};
  static const uint8_t left[LR_SLED_BYTES] = {RETURN, 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0};
  const uint8_t *const text = (const uint8_t *)s->address;
  if (bytes < 5) return 0;
  memset(s->on, NO_MEANING, sizeof s->on);
  switch (s->kind) {
  case LR_SLED_XRAY:
  case LR_SLED_XRAY_TAIL:
    if (bytes < sizeof over || memcmp(text, over, sizeof over) != 0) return 0;
    s->length = sizeof over;
    s->on[0] = over[0];
    s->on[1] = 0;
    s->on[6] = CALL;
    if (!reach(&s->on[7], s->address + s->length, s->kind == LR_SLED_XRAY ? entry(s, stubs, function) : stubs->tail)) return 0;
    break;
  case LR_SLED_EXIT:
    if (bytes < sizeof left || memcmp(text, left, sizeof left) != 0) return 0;
    s->length = 5;
    s->on[0] = JUMP;
    if (!reach(&s->on[1], s->address + 5, stubs->exit)) return 0;
    break;
  default: {
    const int leave = s->kind == LR_SLED_RETURN;
    size_t n = lr_nop_length(text, bytes);
    s->length = (uint8_t)(n < 5 ? 5 : n);
    if (n > 5) {
      if (leave) return 0;
      s->kind = LR_SLED_LONG;
    } else if (n < 5) {
      if (leave || !n) return 0;
      s->kind = LR_SLED_NOPS;
      while (n < 5) {
        const size_t one = lr_nop_length(text + n, bytes - n);
        if (!one || n + one > 5) return 0;
        n += one;
      }
    }
    s->on[s->length - 5] = CALL;
    if (!reach(&s->on[s->length - 4], s->address + s->length, leave ? stubs->leave : entry(s, stubs, function))) return 0;
  }
  }
  memcpy(s->file, text, s->length);
  s->state = LR_SLED_OFF;
  return 1;
}

#endif
