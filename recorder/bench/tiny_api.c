/* tiny_api.c: tiny.c with calls of logrec.h. */

#include "logrec.h"

__attribute__((noinline)) void tiny(void) {
  logrec_enter((const void *)tiny);
  __asm__ volatile("");
  logrec_leave((const void *)tiny);
}

void many(long calls);
void many(long calls) {
  for (long i = 0; i < calls; i++) tiny();
}
