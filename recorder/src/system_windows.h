/* system_windows.h: what the files of platform.h for Windows (*_windows.c) share; from Vista on.
 *
 * The loader's lock is held by whoever loads or unloads a library, and during
 * DllMain: threads begin and end in it, and the notices of modules come in it.
 * They take the recorder's locks. So a thread that has one of these calls
 * nothing that may want the loader's: no LoadLibrary, GetProcAddress,
 * GetModuleHandle, GetModuleFileName. Nor the heap: a program may lock it. What
 * such functions tell is asked once, in plat_start. */

#ifndef LOGREC_SYSTEM_WINDOWS_H
#define LOGREC_SYSTEM_WINDOWS_H

#include "core.h"

#if defined(_WIN32)

#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>

/* ---- text_windows.c ---- */

/* Names of the system are wchar_t. These return the length without the 0; what
 * does not fit is left out. Half a surrogate pair becomes three bytes. */
size_t lr_to_utf8(char *out, size_t size, const wchar_t *s, size_t n);
size_t lr_from_utf8(wchar_t *out, size_t size, const char *s);
size_t lr_wide_length(const wchar_t *s);
/* Makes what the system opens of a path, in out, which has room for PATH_CHARACTERS; 0: it
 * is too long. Long paths are made absolute and get the prefix that lets them be long. */
enum { PATH_CHARACTERS = 4096 };
int lr_system_path(wchar_t *out, const char *path);

/* ---- clock_windows.c ---- */

void lr_start_clock(void);

/* ---- file_windows.c ---- */

/* Closes the log's file for good; it is cut to size, where it is larger. */
void lr_close_file(uint64_t size);
/* Opens a file for reading as a mapping of its own; NULL where it cannot. */
const void *lr_map_for_reading(const char *path, size_t *size);
void lr_unmap(const void *p);

/* ---- thread_windows.c ---- */

void lr_start_threads(void);
/* The recorder's code is about to be unmapped. */
void lr_stop_threads(void);
/* 1 if other threads have an lr_thread. With the lock. */
int lr_others_record(void);

/* ---- process_windows.c ---- */

void lr_start_process(void);
extern int lr_under_wine;
/* A function that not every Windows has; NULL where it is missing. */
void *lr_function(const char *module, const char *name);

/* ---- start_windows.c ---- */

/* 0: plat_start has not begun, 1: under way, 2: done. */
extern volatile LONG lr_started;
/* 1: the process ends and the other threads are gone. */
extern int lr_alone;
/* 1: the recorder's code is there as long as the process. */
extern int lr_stays;

/* ---- crash_windows.c ---- */

/* The recorder's code is about to be unmapped. */
void lr_crash_release(void);
/* Writes the record of a program that its runtime ends: LRF_CRASH_..., and what more there is to say. */
void lr_record_ending(uint32_t kind, uint32_t detail);

/* ---- runtimes_windows.c ---- */

/* Looks which runtimes there are. For plat_start. */
void lr_find_runtimes(void);
/* Begin and end to be told of what ends the program; lr_watch_thread is for each thread besides. */
void lr_watch_runtimes(int before_the_program);
void lr_watch_thread(void);
void lr_unwatch_runtimes(void);

/* ---- report_windows.c ---- */

/* The recorder's code is about to be unmapped. */
void lr_report_release(void);

/* ---- modules_windows.c ---- */

/* Begin and end to watch what is loaded. */
void lr_modules_watch(void);
void lr_modules_unwatch(void);

#endif

#endif
