/* hooks.c: other recorders' ways of -finstrument-functions, to compare with:
 * HOOKS_COUNTER reads the counter and keeps nothing, HOOKS_FPRINTF writes a line
 * of text, HOOKS_OPEN does what the article of 2013 does for each record of 16
 * bytes: fopen, fwrite, fclose. */

#include <stdint.h>
#include <stdio.h>

#include "counter.h"

#define OWN __attribute__((no_instrument_function))

static OWN void record(void *function, int enter) {
#if defined(HOOKS_COUNTER)
  (void)function;
  (void)enter;
  counter();
#elif defined(HOOKS_FPRINTF)
  static FILE *file;
  if (!file) file = fopen("log.txt", "w");
  fprintf(file, "%c %p %llu\n", enter ? '>' : '<', function, (unsigned long long)counter());
#elif defined(HOOKS_OPEN)
  struct {
    uint32_t address, thread, tick;
    uint8_t enter, padding[3];
  } r = {(uint32_t)(uintptr_t)function, 1, (uint32_t)counter(), (uint8_t)enter, {0}};
  FILE *file = fopen("log.dat", "ab");
  fwrite(&r, sizeof r, 1, file);
  fclose(file);
#endif
}

void OWN __cyg_profile_func_enter(void *function, void *site);
void OWN __cyg_profile_func_exit(void *function, void *site);
void OWN __cyg_profile_func_enter(void *function, void *site) {
  (void)site;
  record(function, 1);
}
void OWN __cyg_profile_func_exit(void *function, void *site) {
  (void)site;
  record(function, 0);
}
