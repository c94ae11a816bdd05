/* clock_linux.c: the processor's counter and the system's clocks.
 *
 * No locks. A signal handler may call all of it, plat_utc_offset with the lock. */

#include "system_linux.h"

#if !defined(_WIN32)

#include <time.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

LR_OWN static uint64_t nanoseconds(clockid_t id) {
  struct timespec t = {0, 0};
  clock_gettime(id, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

LR_OWN uint64_t plat_counter(void) { return nanoseconds(CLOCK_MONOTONIC); }

#if defined(__x86_64__) || defined(__i386__)
/* told_rate is what processor or hypervisor say the counter's rate is, or 0. */
LR_OWN static uint64_t told_rate(void) {
  unsigned a, b, c, d;
  /* Each costs microseconds where a hypervisor takes it. Where there is no leaf 1, there
   * is no counter. */
  __cpuid(1, a, b, c, d);
  if (c >> 31 & 1) {
    __cpuid(0x40000000, a, b, c, d);
    if (a >= 0x40000010 && a < 0x40010000) {
      __cpuid(0x40000010, a, b, c, d);
      if (a > 100000) return (uint64_t)a * 1000;
    }
  }
  if (__get_cpuid_count(0x15, 0, &a, &b, &c, &d) && a && b && c) return (uint64_t)c * b / a;
  return 0;
}
#endif

LR_OWN void plat_clock_init(struct plat_clock *c) {
  c->counter = LRF_MONOTONIC;
  c->rate = 1000000000;
#if defined(__x86_64__) || defined(__i386__)
  c->counter = LRF_TSC;
  c->rate = told_rate();
  if (!c->rate) c->rate = lr_measured_rate();
#elif defined(__aarch64__)
  c->counter = LRF_CNTVCT;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(c->rate));
  if (!c->rate) c->rate = lr_measured_rate();
#endif
}

LR_OWN void plat_times(uint64_t *monotonic, int64_t *wall) {
  *monotonic = nanoseconds(CLOCK_MONOTONIC);
  *wall = (int64_t)nanoseconds(CLOCK_REALTIME);
}

LR_OWN int32_t plat_utc_offset(void) {
  static char zone[512];
  static int32_t offset;
  static int known;
  int fits;
  if (!known) offset = lr_offset_of_zone(plat_environment("TZ", zone, sizeof zone, &fits), (int64_t)(nanoseconds(CLOCK_REALTIME) / 1000000000u));
  known = 1;
  return offset;
}

#endif
