/* xsave.h: how much room xsave needs (hooks_fentry.c, hooks_i386.c). */

#ifndef LOGREC_XSAVE_H
#define LOGREC_XSAVE_H

#include "core.h"

#include <cpuid.h>

enum { LR_NO_XSAVE = 1 };

/* lr_xsave_size_of finds the room for x87, SSE, AVX and AVX-512 state; LR_NO_XSAVE: there is none. Each cpuid costs microseconds
 * where a hypervisor takes it, so that programs without these hooks must not pay for it. */
LR_INLINE uint32_t lr_xsave_size_of(void) {
  enum { FIRST = 576 };
  unsigned a, b, c, d;
  uint32_t size = LR_NO_XSAVE;
  const unsigned most = __get_cpuid_max(0, NULL);
  __cpuid(1, a, b, c, d);
  if (most >= 0xd && (c >> 27 & 1)) {
    size = FIRST;
    for (unsigned i = 2; i < 8; i++) {
      if (!(0xe6u >> i & 1)) continue;
      __cpuid_count(0xd, i, a, b, c, d);
      if (a && a + b > size) size = a + b;
    }
  }
  return size;
}

#endif
