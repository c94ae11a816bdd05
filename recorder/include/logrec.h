/* logrec.h: the trace recorder's interface for C and C++.
 *
 * Programs that are built with -finstrument-functions, or whose functions have
 * a LogEnterLeave object (Log.h with LOGPARSER_TRACE), need none of it. All
 * functions may be called from any thread and from signal handlers, before
 * main and after it; none fails in a way that the program must look at. */

#ifndef LOGPARSER_LOGREC_H
#define LOGPARSER_LOGREC_H

#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#if defined(LOGREC_SHARED)
#define LOGREC_API __declspec(dllimport)
#elif defined(LOGREC_BUILD_SHARED)
#define LOGREC_API __declspec(dllexport)
#else
#define LOGREC_API
#endif
#else
#define LOGREC_API __attribute__((visibility("default")))
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/* A function is entered, or left: function is its first byte. Every enter
 * wants its leave, on the same thread, innermost first. */
LOGREC_API void logrec_enter(const void *function);
LOGREC_API void logrec_leave(const void *function);

/* The same for an address inside a function, behind a call in it. frame is an
 * address in that function's stack frame, and the same for enter and leave. */
LOGREC_API void logrec_enter_return(const void *address, const void *frame);
LOGREC_API void logrec_leave_return(const void *address, const void *frame);

/* A text of n bytes of UTF-8 at this moment; longer ones are cut to 2,048. */
LOGREC_API void logrec_mark(const char *text, size_t n);
#define LOGREC_MARK(text) logrec_mark((text), strlen(text))

/* The value that a thing of that name has from now on. */
LOGREC_API void logrec_counter_i64(const char *name, int64_t value);
LOGREC_API void logrec_counter_u64(const char *name, uint64_t value);
LOGREC_API void logrec_counter_f64(const char *name, double value);

/* Names the calling thread, in the log only. */
LOGREC_API void logrec_thread_name(const char *name);

/* Switches recording on or off, for all threads. Off costs a branch a call. What
 * is open is known again afterwards (README.md). Returns what it was. */
LOGREC_API int logrec_switch(int on);

/* Switches recording on or off, and gives patched functions (LOGREC_PATCH) the text of their file back
 * while it is off: then they cost nothing. 1 if that could be done for all of them; those that could
 * not be changed while threads run them cost a branch a call. Not for signal handlers. */
LOGREC_API int logrec_patch(int on);

/* Writes a copy of what is recorded so far to a new file, path or, where that
 * is NULL, beside the log; 1 if that went well. Meant for rings. */
LOGREC_API int logrec_snapshot(const char *path);

/* The log's path, "" where there is none (yet). */
LOGREC_API const char *logrec_path(void);

/* Where the calling thread is: the return addresses of its calls, the innermost first, at most n;
 * how many. The first lies in the function that calls logrec_backtrace. Not for signal handlers. */
LOGREC_API int logrec_backtrace(void **buffer, int n);

/* The same by frame pointers, in a tenth of the time: each frame holds where its caller's lies, and below that the
 * return address. It needs code that keeps them (-fno-omit-frame-pointer, or -O0) and ends at the first frame that cannot
 * be one; what it passes by code that keeps none is missing. It never faults, and may be called in signal handlers. Linux on
 * x86, x86-64 and arm64, and 32-bit Windows; elsewhere 0: code for 64-bit Windows keeps none. */
LOGREC_API int logrec_backtrace_frames(void **buffer, int n);

/* Writes what is loaded where to a descriptor, as /proc/self/maps has it; 1 if that went well.
 * "logparse symbolize" names the addresses of a text that begins with it. */
LOGREC_API int logrec_write_maps(int fd);

#if defined(__cplusplus)
}
#endif

#endif
