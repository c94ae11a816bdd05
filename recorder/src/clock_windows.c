/* clock_windows.c: the processor's counter and the system's clocks.
 *
 * No locks. lr_start_clock is called once, by plat_start. */

#include "system_windows.h"

#if defined(_WIN32)

#if !defined(_MSC_VER) || defined(__clang__)
#include <cpuid.h>
#endif

uint32_t lr_no_tsc;
static uint64_t counter_rate;
typedef void(WINAPI *precise_time)(FILETIME *);
static precise_time system_time;

LR_OWN uint64_t plat_counter(void) {
  LARGE_INTEGER n;
  QueryPerformanceCounter(&n);
  return (uint64_t)n.QuadPart;
}

LR_OWN static uint64_t nanoseconds(void) {
  const uint64_t n = plat_counter();
  return n / counter_rate * 1000000000u + n % counter_rate * 1000000000u / counter_rate;
}

#if LR_HAVE_COUNTER
LR_OWN static void cpuid(unsigned leaf, unsigned part, unsigned r[4]) {
#if defined(_MSC_VER) && !defined(__clang__)
  __cpuidex((int *)r, (int)leaf, (int)part);
#else
  __cpuid_count(leaf, part, r[0], r[1], r[2], r[3]);
#endif
}

/* invariant tells whether the counter runs at one rate whatever the processor
 * does. */
LR_OWN static int invariant(void) {
  unsigned r[4];
  cpuid(0x80000000u, 0, r);
  if (r[0] < 0x80000007u) return 0;
  cpuid(0x80000007u, 0, r);
  return r[3] >> 8 & 1;
}

/* told_rate is what processor or hypervisor say the counter's rate is, or 0. */
LR_OWN static uint64_t told_rate(void) {
  unsigned r[4];
  cpuid(0, 0, r);
  const unsigned most = r[0];
  cpuid(1, 0, r);
  if (r[2] >> 31 & 1) {
    cpuid(0x40000000, 0, r);
    if (r[0] >= 0x40000010 && r[0] < 0x40010000) {
      cpuid(0x40000010, 0, r);
      if (r[0] > 100000) return (uint64_t)r[0] * 1000;
    }
  }
  if (most < 0x15) return 0;
  cpuid(0x15, 0, r);
  return r[0] && r[1] && r[2] ? (uint64_t)r[2] * r[1] / r[0] : 0;
}
#endif

LR_OWN void plat_clock_init(struct plat_clock *c) {
  c->counter = LRF_QPC;
  c->rate = counter_rate;
#if LR_HAVE_COUNTER
  if (!lr_no_tsc) {
    c->counter = LRF_TSC;
    c->rate = told_rate();
    if (!c->rate) c->rate = lr_measured_rate();
  }
#endif
}

LR_OWN void plat_times(uint64_t *monotonic, int64_t *wall) {
  FILETIME t;
  *monotonic = nanoseconds();
  system_time(&t);
  const int64_t ticks = (int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime);
  *wall = (ticks - 116444736000000000) * 100;
}

static int32_t utc_offset;
LR_OWN int32_t plat_utc_offset(void) { return utc_offset; }

LR_OWN static void find_utc_offset(void) {
  TIME_ZONE_INFORMATION zone;
  const DWORD now = GetTimeZoneInformation(&zone);
  if (now == TIME_ZONE_ID_INVALID) return;
  LONG minutes = zone.Bias;
  if (now == TIME_ZONE_ID_DAYLIGHT) minutes += zone.DaylightBias;
  if (now == TIME_ZONE_ID_STANDARD) minutes += zone.StandardBias;
  utc_offset = (int32_t)(-60 * minutes);
}

LR_OWN void lr_start_clock(void) {
  LARGE_INTEGER rate;
  QueryPerformanceFrequency(&rate);
  counter_rate = (uint64_t)rate.QuadPart;
#if LR_HAVE_COUNTER
  lr_no_tsc = !invariant();
#endif
  void *f = lr_function("kernel32.dll", "GetSystemTimePreciseAsFileTime");
  if (f) memcpy(&system_time, &f, sizeof f);
  else system_time = GetSystemTimeAsFileTime;
  find_utc_offset();
}

#endif
