/* patch_sleds_aarch64.c: what the sleds of arm64 (patch.h) are, and what they become when they are on. There the address of
 * what is called has room in the sled itself:
 *
 *	nop                     off, and while it is changed: b, behind the sled
 *	stp x29, x30, [sp, #-16]!
 *	ldr x16, 1f
 *	blr x16
 *	ldp x29, x30, [sp], #16
 *	b   2f
 *   1: .quad address
 *   2: */

#include "system_linux.h"

#include "patch.h"

#if LR_HAVE_PATCHES && defined(__aarch64__)

enum { WORDS = LR_SLED_BYTES / 4, CALLED = 6 };
#define NOP 0xd503201fu
#define OVER 0x14000008u /* b, behind the sled */

/* By how far behind the function's first byte they return to: there may be a bti before the sled. */
extern void lr_patched_entry_16(void), lr_patched_entry_20(void);
extern void lr_patched_return(void), lr_patched_tail(void);

LR_OWN int lr_stubs_make(struct lr_stubs *s, uintptr_t low, uintptr_t high) { return (void)s, (void)low, (void)high, 1; }

LR_OWN static uint32_t word_at(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

LR_OWN size_t lr_nop_length(const uint8_t *p, size_t bytes) { return bytes >= 4 && word_at(p) == NOP ? 4 : 0; }

/* keeps_x16 tells whether the jump of a tail call, behind a sled, does not go by the register that the sled loads. */
LR_OWN static int keeps_x16(const uint8_t *jump) {
  /* br x16, and braa x16 and the like */
  const uint32_t branch = word_at(jump);
  return (branch & 0xfefff000u) != 0xd61f0000u || (branch >> 5 & 31) != 16;
}

LR_OWN int lr_sled_look(struct lr_sled *s, const struct lr_stubs *stubs, uintptr_t function, size_t bytes) {
  static const uint32_t on[CALLED] = {NOP, 0xa9bf7bfdu, 0x58000090u, 0xd63f0200u, 0xa8c17bfdu, 0x14000003u};
  const uint8_t *const text = (const uint8_t *)s->address;
  const uintptr_t before = s->address - function;
  const int nops = s->kind == LR_SLED_NOP;
  uintptr_t to;
  (void)stubs;
  if (bytes < LR_SLED_TEXT || s->address % 4 || word_at(text) != (nops ? NOP : OVER)) return 0;
  for (int i = 1; i < WORDS; i++)
    if (word_at(text + 4 * i) != NOP) return 0;
  switch (s->kind) {
  case LR_SLED_NOP:
  case LR_SLED_XRAY:
    if (before != 0 && before != 4) return 0;
    if (nops) s->kind = LR_SLED_NOPS;
    to = before ? (uintptr_t)lr_patched_entry_20 : (uintptr_t)lr_patched_entry_16;
    break;
  case LR_SLED_XRAY_TAIL:
    if (!keeps_x16(text + LR_SLED_BYTES)) return 0;
    to = (uintptr_t)lr_patched_tail;
    break;
  case LR_SLED_EXIT: to = (uintptr_t)lr_patched_return; break;
  default: return 0;
  }
  s->length = LR_SLED_BYTES;
  memcpy(s->file, text, LR_SLED_BYTES);
  memcpy(s->on, on, sizeof on);
  memcpy(s->on + sizeof on, &to, sizeof to);
  s->state = LR_SLED_OFF;
  return 1;
}

#endif
