/* bt_so.c: the part of the sample that is a library: its function calls the program back. */

#include "bt.h"

void in_library(void (*back)(void)) {
  back();
  printed++; /* so that the call above is no jump */
}
