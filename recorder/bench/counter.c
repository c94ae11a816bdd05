/* counter.c: what reading the processor's counter costs alone: two reads, an
 * enter's and a leave's, for each call of tiny.c, and no call. */

#include "counter.h"

void many(long calls);
void many(long calls) {
  for (long i = 0; i < calls; i++) {
    counter();
    counter();
  }
}
