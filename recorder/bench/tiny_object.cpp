// tiny_object.cpp: tiny.c with the object of Log.h; classic, or a trace with
// LOGPARSER_TRACE.

#include "Logger.h"

extern "C" {

__attribute__((noinline)) void tiny(void) {
  LogEnterLeave LogObj;
  __asm__ volatile("");
}

void many(long calls);
void many(long calls) {
  for (long i = 0; i < calls; i++) tiny();
}
}
