/* system_linux.h: what the files of platform.h for Linux (*_linux.c) share. */

#ifndef LOGREC_SYSTEM_LINUX_H
#define LOGREC_SYSTEM_LINUX_H

#include "core.h"

#if !defined(_WIN32)

#include <pthread.h>
#include <signal.h>

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

/* ---- zone_linux.c ---- */

/* Seconds that a zone is ahead of UTC at a time; zone: as TZ has it, NULL: the system's. */
int32_t lr_offset_of_zone(const char *zone, int64_t now);

/* ---- memory_linux.c ---- */

/* A page that holds 1, and 0 again in a forked child, but not between vfork and
 * exec, where it is the parent's. Process ids would not tell: each pid namespace
 * has its process 1. NULL before Linux 4.14. */
extern uint32_t *lr_not_forked;
void lr_watch_for_forks(void);

/* How many bytes the recorder may still map; UINT64_MAX where the address space has no limit. errno may change. */
uint64_t lr_address_room(void);
/* The recorder has mapped so many bytes, or, below 0, unmapped. */
void lr_has_mapped_bytes(int64_t n);

/* ---- file_linux.c ---- */

/* Reads the beginning of a file; 0 where it cannot. */
size_t lr_read_file(const char *path, char *buffer, size_t size);
/* Goes on after a fault because somebody has cut off the log's end: what is written there is kept nowhere, and recording
 * ends. 0: it is another fault. For the crash handler. */
int lr_file_fault(int number, const siginfo_t *info);
/* Calls see with each mapping of the process, in their order, until it returns 1. */
void lr_each_mapping(int (*see)(uintptr_t low, uintptr_t high, void *context), void *context);
/* 1 if a file may have that many bytes. Beyond them the kernel would kill the program by
 * SIGXFSZ. */
int lr_within_limit(uint64_t size);

/* ---- lock_linux.c ---- */

/* 1 between plat_bar and plat_unbar: the recorder makes no system calls. */
extern uint32_t lr_barred;
/* 1 once the program has a seccomp filter: what patching calls it may not let through. */
extern uint32_t lr_patch_refused;

/* ---- thread_linux.c ---- */

/* The block of the main thread that thread-local storage counts from, and where its
 * stack begins. */
extern uintptr_t lr_main_block, lr_main_stack;
/* Bytes below the block of another thread that are surely of its stack. */
enum { LR_CLOSE_BY = 65536 };

/* ---- process_linux.c ---- */

/* Looks what standard error is, if nobody has looked yet. */
void lr_find_standard_error(void);
/* 1 if a process has mapped a file, and who started it. */
int lr_has_mapped(uint32_t pid, const char *file, uint32_t *parent);

/* ---- modules_linux.c ---- */

/* 1 if the log has a LOAD of the module at base. No lock: what another thread changes just then may be
 * missed. */
int lr_module_is_known(uintptr_t base);
/* The GNU build-id among notes, and its length; NULL: there is none. */
const uint8_t *lr_build_id(const uint8_t *notes, size_t size, size_t align, uint32_t *length);

/* ---- crash_linux.c ---- */

/* 1: a sandbox does not let process_vm_readv through, so that no memory can be read. */
extern uint32_t lr_memory_refused;
void lr_crash_handler(int number, siginfo_t *info, void *context);
void lr_crash_process_is(uint32_t pid);
/* Where the C library has the text with which it aborts. */
void lr_crash_abort_message(const void *where);
/* 1 for the alternate signal stack that the recorder gave this thread. */
int lr_crash_stack_is_ours(const void *low);
/* Gives it to the thread again, if it has one. */
void lr_crash_stack_again(void);

/* ---- signals_linux.c ---- */

/* 1 if the program has a handler of its own for a signal of a crash. */
int lr_disposition_is_handler(int number);
/* Sets what the program is not told of: not for a signal of a crash. */
void lr_set_action(int number, const struct sigaction *a);
/* The signal has what the program set, from now on; called by the crash handler. */
void lr_disposition_give_back(int number);
void lr_dispositions_forked(void);
/* All of them, before system calls may no longer be made. */
void lr_crash_release(void);

/* ---- sandbox_linux.c ---- */

/* 1 if the process's system calls are filtered. */
extern int lr_sandboxed;
/* 1 if they are for the programs that it starts, so that the recorder could not begin there. */
extern uint32_t lr_children_refused;

/* ---- lock_linux.c ---- */

/* Blocks this thread's signals but those of faults, which are reported like the program's. */
void lr_block_signals(sigset_t *saved);

/* ---- interpose_linux.c ---- */

#if !defined(LOGREC_NO_INTERPOSE)
/* 1 in a program with a sanitizer that handles crashes itself, and before lr_find_originals. */
int lr_may_have_sanitizer(void);
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

#endif
