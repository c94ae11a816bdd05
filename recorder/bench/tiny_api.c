/* tiny_api.c: tiny.c with calls of logrec.h; with VALUES it tells its arguments, too. */

#if defined(VALUES)
#include "logrec_values.h"
#else
#include "logrec.h"
#define LOGREC_ARGS(a, b) ((void)(a), (void)(b))
#endif

__attribute__((noinline)) void tiny(int a, int b) {
  logrec_enter((const void *)tiny);
  LOGREC_ARGS(a, b);
  __asm__ volatile("");
  logrec_leave((const void *)tiny);
}

void many(long calls);
void many(long calls) {
  for (long i = 0; i < calls; i++) tiny((int)i, 2);
}
