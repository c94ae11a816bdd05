/* libcalls.h: calls of the program into its libraries (LOGREC_LIBCALLS). */

#ifndef LOGREC_LIBCALLS_H
#define LOGREC_LIBCALLS_H

#include "core.h"

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__) && defined(__linux__)
#define LR_HAVE_LIBCALLS 1
#else
#define LR_HAVE_LIBCALLS 0
#endif

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

/* A function that is called through the recorder: where calls go, and the address that stands for it in the
 * log, which is another one where the library chooses among several (IFUNC). */
struct lr_libcall {
  uintptr_t target, function;
};

/* How far from a stack its mirror lies, in which return addresses are kept. */
#define LR_MIRROR (-(intptr_t)0x100000000000)

/* Finds the calls of the program that are wanted, once, and has them go through the recorder. Before the
 * program's threads begin. */
void lr_libcalls_look(void);
/* 1 if there is a mirror of an address of the stack. */
int lr_mirrored(uintptr_t address);
/* The same; makes it if there is none. */
int lr_mirror(uintptr_t address);
/* Where a return address that lies in a slot of the stack leads in the end: itself, unless it is the recorder's.
 * For a signal handler, too. */
uintptr_t lr_returns_to(uintptr_t slot, uintptr_t address);

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
