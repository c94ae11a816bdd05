/* format.h: the numbers of the trace format, version 1.4.
 *
 * docs/formats.md, "The trace (.lptrace)", is the specification. Offsets are
 * those of its tables; everything is little-endian. */

#ifndef LOGREC_FORMAT_H
#define LOGREC_FORMAT_H

#include <stdint.h>

enum {
  LRF_HEADER_SIZE = 4096,
  LRF_GRANULARITY = 4096,
  LRF_CHUNK_HEADER_SIZE = 64,
};

#define LRF_FILE_MAGIC "\x89LPT\r\n\x1a\n"
#define LRF_CHUNK_MAGIC 0x4354504cu /* "LPTC" */

/* File header, flags. */
enum { LRF_RING = 1, LRF_SITES = 2, LRF_SHORT_DROPPED = 4, LRF_SNAPSHOT = 8 };
/* File header, system and counter. */
enum { LRF_SYSTEM_LINUX = 1, LRF_SYSTEM_WINDOWS = 2, LRF_SYSTEM_MACOS = 3, LRF_SYSTEM_OTHER = 4 };
enum { LRF_TSC = 1, LRF_MONOTONIC = 2, LRF_QPC = 3, LRF_CNTVCT = 4 };
enum { LRF_X86 = 3, LRF_ARM = 40, LRF_X86_64 = 62, LRF_ARM64 = 183 };
/* File header, state. */
enum { LRF_RECORDING = 0, LRF_ENDED = 1, LRF_DISK_FULL = 2, LRF_FAILED = 3 };
/* File header, why: what stopped the recording. */
enum { LRF_WHY_UNKNOWN = 0, LRF_WHY_FULL, LRF_WHY_QUOTA, LRF_WHY_SIZE, LRF_WHY_MEMORY, LRF_WHY_TRUNCATED, LRF_WHY_CLOSED };

struct lrf_file_header {
  uint8_t magic[8];
  uint16_t major, minor;
  uint32_t size, granularity, flags;
  uint8_t pointer, system;
  uint16_t machine;
  uint32_t pid;
  uint64_t started;   /* when the process started, as the system counts it */
  uint64_t begin;     /* units */
  uint64_t rate;      /* nominal units a second */
  uint8_t shift, counter;
  uint16_t reserved1;
  uint32_t reserved2;
  uint64_t minimum;   /* ns; shorter calls are dropped */
  uint64_t ring;      /* bytes a thread */
  uint32_t checksum;  /* of the bytes before */
  uint32_t state;
  uint64_t end;
  uint32_t why, reserved3;
};

enum { LRF_CHUNK_PROCESS = 1, LRF_CHUNK_EVENTS = 2 };

struct lrf_chunk {
  uint32_t magic, size;
  uint8_t kind, level;
  uint16_t reserved1;
  uint32_t stream, sequence, lost;
  uint64_t thread;
  uint64_t base;      /* units */
  uint32_t checksum;  /* of the bytes before */
  uint32_t used;
  uint64_t last;      /* units */
  uint32_t closed, reserved2;
};

/* A C99 static assertion. */
typedef char lrf_check_header[sizeof(struct lrf_file_header) == 104 ? 1 : -1];
typedef char lrf_check_chunk[sizeof(struct lrf_chunk) == LRF_CHUNK_HEADER_SIZE ? 1 : -1];

/* Event records. The lowest bits of the first word tell them apart. */
enum {
  LRF_LEAVE_BIT = 1,
  LRF_ENTER_BITS = 2,
  LRF_WINDOW_SHIFT = 2,  /* window in the enter's first word */
  LRF_OFFSET_SHIFT = 5,  /* offset in the enter's first word */
  LRF_OFFSET_BITS = 27,
  LRF_WINDOWS = 8,
  LRF_TIME_SHIFT = 15,
};
enum {
  LRF_TIME = 1,
  LRF_WINDOW = 2,
  LRF_ENTER_ENTRY = 3,
  LRF_LEAVE_ENTRY = 5,
  LRF_LEAVE_WINDOWED = 7,
  LRF_SITE = 8,
  LRF_STACK = 9,
  LRF_MARK = 10,
  LRF_COUNTER = 11,
  LRF_ARGUMENTS = 12,
  LRF_RESULT = 13,
  LRF_LOST = 14,
  LRF_PLAN_ARGUMENTS = 15,
  LRF_PLAN_RESULT = 16,
  LRF_STACK_SWITCH = 48,
  LRF_LEFT = 49,
  LRF_PLACE_ARGUMENTS = 56, /* to 59 */
  LRF_PLACE_RESULT = 60,    /* to 63 */
};
/* LRF_PLACE_WORD is the first word of values of a place up to LRF_MOST_SHORT_PLACE, without its length: that is in the bits
 * from LRF_PLACE_WORDS on, and has four. */
enum { LRF_MOST_SHORT_PLACE = 63, LRF_PLACE_WORDS = 8 };
#define LRF_PLACE_WORD(type, place) ((uint16_t)(((type) | ((place)&3)) << 2 | (place) >> 2 << 12))
/* What ARGUMENTS and RESULT hold: values by a plan (version 1.1), registers, values of logrec_values.h; of a RESULT, nothing: the
 * result is that of the next call (version 1.3). */
enum { LRF_VALUES_PLAN = 1, LRF_VALUES_RAW = 2, LRF_VALUES_PLACE = 3, LRF_VALUES_JUMP = 4 };
/* Lengths of texts in them: what is no length. */
enum { LRF_LONGEST_LENGTH = 0xfff0, LRF_TEXT_LONGER = 0xfffd, LRF_TEXT_UNREADABLE = 0xfffe, LRF_TEXT_NULL = 0xffff };
/* Flags of STACK. */
enum { LRF_STACK_TIMES = 1, LRF_STACK_STATED = 2 };
/* LRF_FIRST_WORD is the first word of the other records; words counts it too,
 * 0 where a u32 with the length in bytes follows. */
#define LRF_FIRST_WORD(type, words) ((uint16_t)((type) << 2 | (words) << 8))

/* Process records. */
enum {
  LRF_PROCESS = 1,
  LRF_CLOCK = 2,
  LRF_LOAD = 3,
  LRF_UNLOAD = 4,
  LRF_THREAD = 5,
  LRF_THREADEND = 6,
  LRF_FORK = 7,
  LRF_EXEC = 8,
  LRF_SWITCH = 9,
  LRF_OVERHEAD = 10,
  LRF_PROCESS_LOST = 11,
  LRF_IMAGE = 12,
  LRF_SETTING = 13,
  LRF_CRASH = 14,
  LRF_END = 15,
  /* 16 is EXIT, which others write. */
  LRF_PLAN = 17,
  LRF_PLACE = 18,
};
enum { LRF_MAIN_PROGRAM = 1, LRF_NO_FILE = 2 };
/* CRASH: kinds, flags, how the address was used. */
enum { LRF_CRASH_SIGNAL = 1, LRF_CRASH_EXCEPTION, LRF_CRASH_ABORT, LRF_CRASH_TERMINATE, LRF_CRASH_PURE_CALL, LRF_CRASH_PARAMETER };
enum { LRF_CRASH_ADDRESS_KNOWN = 1, LRF_CRASH_IN_RECORDER = 2, LRF_CRASH_HANDLED = 4, LRF_CRASH_NO_MEMORY = 8, LRF_CRASH_RETURN_IP = 16 };
enum { LRF_CRASH_READ = 1, LRF_CRASH_WRITE = 2, LRF_CRASH_EXECUTE = 3 };

#endif
