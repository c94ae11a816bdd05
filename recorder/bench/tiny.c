/* tiny.c: the function that the recorder's benchmark calls. It is built with
 * and without hooks; nothing else is. */

__attribute__((noinline)) void tiny(void) { __asm__ volatile(""); }

void many(long calls);
__attribute__((no_instrument_function)) void many(long calls) {
  for (long i = 0; i < calls; i++) tiny();
}
