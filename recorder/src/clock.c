/* clock.c: the counter that events are timed by, its rate, and CLOCK records, which relate
 * it to the system's clocks.
 *
 * The lr_write_... are called with the lock. Nothing here
 * waits for longer than a measurement takes, so all of it may run in a signal handler. */

#include "core.h"

#if LR_HAVE_COUNTER
/* sample_clock reads the counter and the clock at the same time, as far as that goes: of
 * several readings the one that took least. */
LR_OWN static void sample_clock(uint64_t *tsc, uint64_t *time) {
  uint64_t best = ~(uint64_t)0;
  for (int i = 0; i < 8; i++) {
    uint64_t n;
    int64_t wall;
    const uint64_t a = lr_tsc();
    plat_times(&n, &wall);
    const uint64_t took = lr_tsc() - a;
    if (took >= best) continue;
    best = took;
    *tsc = a + took / 2;
    *time = n;
  }
}

/* Where the measuring of the rate began. */
static uint64_t rate_tsc, rate_time;

LR_OWN void lr_begin_measuring(void) { sample_clock(&rate_tsc, &rate_time); }

LR_OWN uint64_t lr_measured_rate(void) {
  enum { LEAST = 100000 }; /* ns: good for 1 in 2,000 */
  uint64_t t1 = 0, n1 = 0;
  if (!rate_time) lr_begin_measuring();
  do sample_clock(&t1, &n1);
  while (n1 - rate_time < LEAST);
  return (uint64_t)((double)(t1 - rate_tsc) * 1e9 / (double)(n1 - rate_time));
}
#else
LR_OWN void lr_begin_measuring(void) {}
#endif

/* lr_instant_now reads the clocks: of several readings the one that took least. */
LR_OWN void lr_instant_now(struct lr_instant *at) {
  uint64_t best = ~(uint64_t)0;
  for (int i = 0; i < 4; i++) {
    uint64_t m;
    int64_t w;
    const uint64_t before = lr_ticks();
    plat_times(&m, &w);
    const uint64_t after = lr_ticks();
    if (after - before < best) {
      best = after - before;
      at->ticks = before + best / 2;
      at->monotonic = m;
      at->wall = w;
    }
  }
  at->uncertainty = (uint32_t)(best > 4000000000u ? 4000000000u : best / 2 + 1);
}

LR_OWN void lr_put_clock(const struct lr_instant *at) {
  lr_record.length = 0;
  lr_put64(&lr_record, at->monotonic);
  lr_put64(&lr_record, (uint64_t)at->wall);
  lr_put32(&lr_record, (uint32_t)plat_utc_offset());
  lr_put32(&lr_record, at->uncertainty);
  lr_write_record(LRF_CLOCK, at->ticks);
}

LR_OWN void lr_write_clock(void) {
  struct lr_instant at = {0, 0, 0, 0};
  lr_instant_now(&at);
  lr_put_clock(&at);
  lr_global.last_clock = at.monotonic;
}

/* CLOCK is due often at first, so that a short run is exact, then every
 * sixteenth of the time that has passed, at least every ten seconds. */
LR_OWN void lr_write_clock_if_due(void) {
  const double passed = (double)(lr_ticks() - lr_global.begin) / (double)lr_global.rate * 1e9;
  double step = passed / 16;
  if (step < 1e7) step = 1e7;
  if (step > 1e10) step = 1e10;
  uint64_t monotonic;
  int64_t wall;
  plat_times(&monotonic, &wall);
  if ((double)(monotonic - lr_global.last_clock) > step) lr_write_clock();
}
