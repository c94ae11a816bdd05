/* lookup_linux.h: what modules define (lookup_linux.c). */

#ifndef LOGREC_LOOKUP_LINUX_H
#define LOGREC_LOOKUP_LINUX_H

#include "system_linux.h"

#if defined(__linux__)

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#pragma GCC visibility push(hidden)

#if !defined(LOGREC_NO_INTERPOSE)
/* What is defined by that name behind the recorder, as dlsym(RTLD_NEXT) finds it; in any module, in the version or, without
 * one, the usual one; in the recorder's own module; by the C library. NULL: nothing. */
void *lr_next_definition(const char *name);
void *lr_any_definition(const char *name, const char *version);
void *lr_own_definition(const char *name);
void *lr_library_function(const char *name);
/* The file of the recorder's module, "" for the program; NULL: not known. */
const char *lr_own_path(void);

/* Sets a pointer to a function of the C library, once. */
#define LR_LIBRARY(pointer, name)                                                                      \
  do {                                                                                                 \
    void *found;                                                                                       \
    if (!lr_load(&(pointer)) && (found = lr_library_function(#name))) __builtin_memcpy(&(pointer), &found, sizeof found); \
  } while (0)
#endif

/* What the kernel put into the program (the vdso); NULL: nothing of that name. */
void *lr_kernel_function(const char *name);
/* dl_iterate_phdr, the C library's. */
int lr_each_module(int (*see)(struct dl_phdr_info *, size_t, void *), void *context);

#pragma GCC visibility pop

#endif

#endif
