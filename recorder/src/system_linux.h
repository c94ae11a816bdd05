/* system_linux.h: what the files of platform.h for Linux (*_linux.c) share. */

#ifndef LOGREC_SYSTEM_LINUX_H
#define LOGREC_SYSTEM_LINUX_H

#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "core.h"

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

/* ---- clock_linux.c ---- */

/* For plat_utc_offset. It may allocate. */
void lr_find_utc_offset(void);

/* ---- memory_linux.c ---- */

/* A page that holds 1, and 0 again in a forked child, but not between vfork and
 * exec, where it is the parent's. Process ids would not tell: each pid namespace
 * has its process 1. NULL before Linux 4.14. */
extern uint32_t *lr_not_forked;
void lr_watch_for_forks(void);

/* ---- file_linux.c ---- */

/* Reads the beginning of a file; 0 where it cannot. */
size_t lr_read_file(const char *path, char *buffer, size_t size);
/* 1 if a file may have that many bytes. Beyond them the kernel would kill the program by
 * SIGXFSZ. */
int lr_within_limit(uint64_t size);

/* ---- lock_linux.c ---- */

/* 1 between plat_bar and plat_unbar: the recorder makes no system calls. */
extern uint32_t lr_barred;

/* ---- thread_linux.c ---- */

/* The block of the main thread that thread-local storage counts from, and where its
 * stack begins. */
extern uintptr_t lr_main_block, lr_main_stack;

/* ---- process_linux.c ---- */

/* Looks what standard error is, if nobody has looked yet. */
void lr_find_standard_error(void);
/* 1 if a process has mapped a file, and who started it. */
int lr_has_mapped(uint32_t pid, const char *file, uint32_t *parent);

/* ---- interpose_linux.c ---- */

#if !defined(LOGREC_NO_INTERPOSE)
/* Finds the originals of the functions that stand in for them. Called at the start, so that
 * interpose_linux.c comes along out of an archive. */
void lr_find_originals(void);

/* ---- exec_linux.c ---- */

/* The recorder's path, if LD_PRELOAD named it. */
const char *lr_preloaded(void);
#endif

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
