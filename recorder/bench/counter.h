/* counter.h: the processor's counter, read as the recorder reads it. */

#ifndef LOGREC_BENCH_COUNTER_H
#define LOGREC_BENCH_COUNTER_H

#include <stdint.h>

__attribute__((no_instrument_function)) static inline uint64_t counter(void) {
#if defined(__x86_64__) || defined(__i386__)
  uint32_t low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
#endif
}

#endif
