/* vectors_windows.h: saving all vector registers, and those of the x87, around the slow functions of hooks: the system and the
 * C library may change all of them. Used by the hooks_*.c on Windows. */

#ifndef LOGREC_VECTORS_WINDOWS_H
#define LOGREC_VECTORS_WINDOWS_H

#include "platform.h"

#include <string.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <immintrin.h>
#include <intrin.h>
#else
#include <cpuid.h>
#endif

enum { LR_VECTOR_STATES = 0xe7 /* x87, SSE, AVX, AVX-512 */, LR_VECTOR_AREA = 2752 };

LR_INLINE uint32_t lr_vector_states(void) {
  static uint32_t known;
  uint32_t mask = lr_load(&known);
  if (mask) return mask & ~(1u << 31);
  unsigned r[4] = {0, 0, 0, 0};
#if defined(_MSC_VER) && !defined(__clang__)
  __cpuid((int *)r, 1);
#else
  __cpuid(1, r[0], r[1], r[2], r[3]);
#endif
  if (r[2] >> 27 & 1) {
#if defined(_MSC_VER) && !defined(__clang__)
    mask = (uint32_t)_xgetbv(0) & LR_VECTOR_STATES;
    __cpuidex((int *)r, 13, 0);
#else
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(mask), "=d"(high) : "c"(0));
    mask &= LR_VECTOR_STATES;
    __cpuid_count(13, 0, r[0], r[1], r[2], r[3]);
#endif
    /* The places of the states asked for end below this, wherever they are:
     * the others lie between them or behind. */
    for (unsigned i = 2; i < 8; i++) {
      if (!(mask >> i & 1)) continue;
#if defined(_MSC_VER) && !defined(__clang__)
      __cpuidex((int *)r, 13, (int)i);
#else
      __cpuid_count(13, i, r[0], r[1], r[2], r[3]);
#endif
      if (r[1] + r[0] > LR_VECTOR_AREA) mask &= ~(1u << i);
    }
  }
  lr_store(&known, mask | 1u << 31);
  return mask;
}

LR_INLINE void lr_save_vectors(uint8_t *area, uint32_t mask) {
  memset(area + 512, 0, 64);
#if defined(_MSC_VER) && !defined(__clang__)
  if (mask) _xsave(area, mask);
  else _fxsave(area);
#else
  if (mask) __asm__ volatile("xsave (%0)" : : "r"(area), "a"(mask), "d"(0) : "memory");
  else __asm__ volatile("fxsave (%0)" : : "r"(area) : "memory");
#endif
}

LR_INLINE void lr_restore_vectors(const uint8_t *area, uint32_t mask) {
#if defined(_MSC_VER) && !defined(__clang__)
  if (mask) _xrstor((void *)area, mask);
  else _fxrstor((void *)area);
#else
  if (mask) __asm__ volatile("xrstor (%0)" : : "r"(area), "a"(mask), "d"(0) : "memory");
  else __asm__ volatile("fxrstor (%0)" : : "r"(area) : "memory");
#endif
}

/* lr_vectors_restore gives all of these registers the content back that lr_vectors_save found. The latter returns where it has
 * put st0. On x86 it also empties the registers of the x87: the result of a function may be in one, and code that is called
 * expects them to be free. */
struct lr_vectors {
  uint8_t room[LR_VECTOR_AREA + 64];
  uint32_t mask;
};
LR_INLINE uint8_t *lr_vector_area(struct lr_vectors *v) { return v->room + (0 - (uintptr_t)v->room) % 64; }
LR_INLINE const uint8_t *lr_vectors_save(struct lr_vectors *v) {
  enum { ST0 = 32 }; /* of what xsave and fxsave write */
  v->mask = lr_vector_states();
  lr_save_vectors(lr_vector_area(v), v->mask);
#if defined(_MSC_VER) && !defined(__clang__) && defined(_M_IX86)
  __asm fninit
#elif defined(__i386__)
  __asm__ volatile("fninit");
#endif
  return lr_vector_area(v) + ST0;
}
LR_INLINE void lr_vectors_restore(struct lr_vectors *v) { lr_restore_vectors(lr_vector_area(v), v->mask); }

#endif
