/* patch.h: hooks that are put into a program which calls none: places that compilers leave in
 * functions are patched with calls of the recorder, and get back what the file has (LOGREC_PATCH).
 *
 * A sled is such a place: nops behind a function's first byte, or before its return. patch_linux.c
 * finds the sleds of what is loaded and chooses; patch_sleds_x86_64.c and patch_sleds_aarch64.c know what they
 * are; patch_text_linux.c changes the text; hooks_fentry_x86_64.S and hooks_patched_aarch64.S have what is called. */

#ifndef LOGREC_PATCH_H
#define LOGREC_PATCH_H

#include "core.h"

#if (defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__))) && defined(__ELF__) && defined(__LP64__) && defined(__linux__)
#define LR_HAVE_PATCHES 1
#else
#define LR_HAVE_PATCHES 0
#endif

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

/* What a sled is in the file, and where a thread may stand in it:
 *   NOP     an entry, one nop of 5 bytes                   before or behind it
 *   NOPS    an entry, several nops of 5 bytes together     also between them
 *   LONG    an entry, one nop of 6 to 9 bytes              before or behind it
 *   RETURN  before a ret, or the jump of a tail call: as NOP
 *   XRAY    an entry, or before the jump of a tail call: a jump of 2 bytes over a nop of 9
 *   EXIT    XRay's: a ret, and room behind it that nothing runs
 * On arm64 a sled has eight instructions. There are NOPS, and XRay's three, of which each is a branch over seven nops, before
 * the ret or the jump. */
enum lr_sled_kind { LR_SLED_NOP, LR_SLED_NOPS, LR_SLED_RETURN, LR_SLED_LONG, LR_SLED_XRAY, LR_SLED_XRAY_TAIL, LR_SLED_EXIT };
/* LR_SLED_SWITCH: bytes that are written at once. LR_SLED_TEXT: of text there is at least so much behind a sled's beginning. */
#if defined(__aarch64__)
enum { LR_SLED_BYTES = 32, LR_SLED_SWITCH = 4, LR_SLED_TEXT = 36 };
#else
enum { LR_SLED_BYTES = 11, LR_SLED_SWITCH = 1, LR_SLED_TEXT = 16 };
#endif

/* LR_SLED_OFF: as the file has it. LR_SLED_HELD: but for its first or second byte, on arm64 its first instruction, as it is
 * when it is on, so that this switches it on. */
enum lr_sled_state { LR_SLED_OFF, LR_SLED_HELD, LR_SLED_ON };

struct lr_sled {
  uintptr_t address;
  uint32_t function; /* from the module's base */
  uint8_t kind, length, state, spare;
  uint8_t file[LR_SLED_BYTES], on[LR_SLED_BYTES];
};

/* ---- patch_sleds_x86_64.c, patch_sleds_aarch64.c ---- */

/* Where sleds jump to: on x86-64 in reach of all of them. */
enum { LR_NEAREST = 5, LR_FURTHEST = 15 }; /* behind the function's first byte a sled ends, bytes */
struct lr_stubs {
  uintptr_t enter[LR_FURTHEST - LR_NEAREST + 1]; /* 0: there is none */
  uintptr_t leave, tail, exit;
};
/* What may stand before the nops of an entry: endbr64, bti c. */
#if defined(__aarch64__)
#define LR_LANDING {0x5f, 0x24, 0x03, 0xd5}
#else
#define LR_LANDING {0xf3, 0x0f, 0x1e, 0xfa}
#endif
/* Makes stubs for the text from low to high; 0 where there is no place for them. */
int lr_stubs_make(struct lr_stubs *s, uintptr_t low, uintptr_t high);
/* Finds out what stands at a sled, and fills in file, on and length; 0 if it is none. function: its first
 * byte. bytes: how many there are from the sled's address on. */
int lr_sled_look(struct lr_sled *s, const struct lr_stubs *stubs, uintptr_t function, size_t bytes);
/* How long the nop at p is, at most 9; 0: there is none. */
size_t lr_nop_length(const uint8_t *p, size_t bytes);

/* ---- patch_text_linux.c ---- */

/* Brings sleds, in the order of their addresses, to a state; returns how many could not be. Other threads
 * may run. by_signal: in a handler, where only LR_SLED_HELD and LR_SLED_ON can be asked for, of sleds
 * that are one or the other. */
size_t lr_sleds_set(struct lr_sled *sleds, size_t n, enum lr_sled_state to, int by_signal);

/* ---- patch_linux.c ---- */

/* Looks at what is loaded, once and after each change, and patches what is wanted. Signals blocked. */
void lr_patch_look(void);
/* Switches all that is patched; 1 if all sleds are as asked. */
int lr_patch_all(enum lr_sled_state to, int by_signal);
/* Around dlclose, which waits while somebody patches, and keeps others from it. */
void lr_patch_closing(int begins);
/* In a child, where the thread that patched may be gone. */
void lr_patch_forked(void);
/* 1 if events come from patches alone, which are of wanted functions only. */
int lr_patch_alone(void);
/* Ways in by patches: 1 << lr_way. */
uint32_t lr_patch_ways(void);

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
