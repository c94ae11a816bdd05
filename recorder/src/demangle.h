/* demangle.h: plain names of C++ symbols. */

#ifndef LOGREC_DEMANGLE_H
#define LOGREC_DEMANGLE_H

#include <stddef.h>

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

/* Writes the plain name of a symbol; 0 for what is none of C++, not understood, or too
 * long for size. */
int lr_plain_name(const char *symbol, char *name, size_t size);

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
