/* values.c: runs the programs (plan_read.c) that take arguments and results.
 *
 * It runs in hooks while the vector registers of the recorded function are in use. So the compiler is told not to use
 * these, and no function is called that might; on Windows the hooks keep them all before they call anything. There are
 * no locks. Memory that pointers of the program lead to is copied by the system (process_vm_readv,
 * ReadProcessMemory), which returns an error if the memory does not exist. */

#include "convention.h"

#if LR_HAVE_PLANS

#if defined(_WIN32)
#include "system_windows.h"

#include "values.h"
#else

/* On x86 and arm64 the hooks keep all registers before anything here is called. */
#if defined(__i386__) || defined(__aarch64__)
#elif defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif

#include "system_linux.h"

#include "values.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#endif

enum { PAGE = 4096, POINTER_BYTES = sizeof(uintptr_t) };

#if defined(_WIN32)
/* An exception handler would come after those of the program, and debuggers would stop at the faults. So the system
 * copies. ReadProcessMemory would remove the guard from the page below a stack, so VirtualQuery comes first. */
LR_OWN size_t lr_copy(uint8_t *to, uintptr_t from, size_t n) {
  size_t done = 0;
  if (from < PAGE || from > UINTPTR_MAX - 2 * PAGE) return 0;
  const DWORD error = GetLastError();
  while (done < n) {
    MEMORY_BASIC_INFORMATION i;
    if (!VirtualQuery((const void *)(from + done), &i, sizeof i) || i.State != MEM_COMMIT || (i.Protect & (PAGE_NOACCESS | PAGE_GUARD))) break;
    const size_t there = (size_t)((uintptr_t)i.BaseAddress + i.RegionSize - (from + done)), part = there < n - done ? there : n - done;
    SIZE_T got = 0;
    const BOOL all = ReadProcessMemory(GetCurrentProcess(), (const void *)(from + done), to + done, part, &got);
    if (got > part) got = 0;
    done += got;
    if (!all || got != part) break;
  }
  SetLastError(error);
  return done;
}
#elif defined(__i386__) || defined(__aarch64__)
LR_OWN size_t lr_copy(uint8_t *to, uintptr_t from, size_t n) {
  if (from < PAGE || from > UINTPTR_MAX - 2 * PAGE || lr_relaxed(&lr_memory_refused)) return 0;
  /* What one part leads to is copied whole or not at all. */
  const size_t here = PAGE - from % PAGE, first = n < here ? n : here;
  const struct iovec own = {to, n}, parts[2] = {{(void *)from, first}, {(void *)(from + first), n - first}};
  const int error = errno;
  long result = syscall(SYS_process_vm_readv, (long)lr_global.pid, &own, 1l, parts, first < n ? 2l : 1l, 0l);
  errno = error;
  return result > 0 ? (size_t)result : 0;
}
#else
/* Calls that a sanitizer inserts would change the registers of the system call. */
__attribute__((no_sanitize("address", "thread", "undefined"))) LR_OWN size_t lr_copy(uint8_t *to, uintptr_t from, size_t n) {
  if (from < PAGE || from > UINTPTR_MAX - 2 * PAGE) return 0;
  if (lr_relaxed(&lr_memory_refused)) return 0;
  /* What one part leads to is copied whole or not at all. */
  const size_t here = PAGE - from % PAGE, first = n < here ? n : here;
  const struct iovec own = {to, n}, parts[2] = {{(void *)from, first}, {(void *)(from + first), n - first}};
  register const void *parts_in_r10 __asm__("r10") = parts;
  register unsigned long count __asm__("r8") = first < n ? 2 : 1;
  register unsigned long flags __asm__("r9") = 0;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"((long)SYS_process_vm_readv), "D"((long)lr_global.pid), "S"(&own), "d"(1l), "r"(parts_in_r10), "r"(count), "r"(flags)
                   : "rcx", "r11", "memory");
  return result > 0 ? (size_t)result : 0;
}
#endif

/* on_stack loads 8 bytes of stack after a call's return address, or of memory that a register points to. On the page of
 * the return address, memory can always be read; elsewhere only if the plan is right. 0: it cannot be read. */
LR_OWN __attribute__((no_sanitize("address"))) static int on_stack(const struct lr_registers *r, uintptr_t frame, int32_t source, uint64_t *v) {
  uintptr_t at = frame + POINTER_BYTES + (uintptr_t)source;
#if LR_HAVE_HOOK_PLANS
  if (source & LR_AT_REGISTER)
    at = ((const uintptr_t *)(const void *)r)[source >> LR_REGISTER_SHIFT & 31] + (uintptr_t)(source & ((1 << LR_REGISTER_SHIFT) - 1)) - LR_MIDDLE;
#else
  (void)r;
#endif
  if (at / PAGE != frame / PAGE || (at + 7) / PAGE != frame / PAGE) return lr_copy((uint8_t *)v, at, 8) == 8;
  memcpy(v, (const void *)at, 8);
  return 1;
}

LR_INLINE int word(const struct lr_registers *r, uintptr_t frame, int32_t source, uint64_t *v) {
  if (source >= 0) return on_stack(r, frame, source, v);
  *v = ((const uintptr_t *)r)[~source];
  return 1;
}

/* pointer returns the pointer at a place. If the place cannot be read, it returns 1, which is no valid address. */
LR_INLINE uintptr_t pointer(const struct lr_registers *r, uintptr_t frame, int32_t source) {
  uint64_t v;
  return word(r, frame, source, &v) ? (uintptr_t)v : 1;
}
LR_INLINE uintptr_t pointer_of(const struct lr_take *s, const struct lr_registers *r, uintptr_t frame, const struct lr_kept *kept) {
  return LR_UNLIKELY(s->kept) ? kept->pointer[s->source] : pointer(r, frame, s->source);
}

LR_OWN static uint8_t *put_text(uint8_t *p, uintptr_t from, size_t most) {
  size_t n = 0, length = LRF_TEXT_NULL;
  if (from) {
    const size_t got = lr_copy(p + 2, from, most + 1);
    while (n < got && p[2 + n]) {
      n++;
      lr_barrier(); /* prevents the compiler from calling strlen, which uses vector registers */
    }
    length = n;
    if (n == got) {
      length = got > most ? LRF_TEXT_LONGER : LRF_TEXT_UNREADABLE;
      n = got > most ? most : 0;
    }
  }
  lr_store16(p, (uint16_t)length);
  return p + 2 + n;
}

/* put_characters writes a text whose length is known. */
LR_OWN static uint8_t *put_characters(uint8_t *p, uintptr_t from, uint64_t length, size_t most) {
  size_t n = length < most ? (size_t)length : most;
  if (length >> (POINTER_BYTES == 8 ? 47 : 31) || (n && lr_copy(p + 2, from, n) != n)) {
    if (length) length = LRF_TEXT_UNREADABLE;
    n = 0;
  } else if (length > LRF_LONGEST_LENGTH) {
    length = LRF_TEXT_LONGER;
  }
  lr_store16(p, (uint16_t)length);
  return p + 2 + n;
}

/* put_text_at writes the text that a pointer in memory leads to. */
LR_OWN static uint8_t *put_text_at(uint8_t *p, uintptr_t at, size_t most) {
  uintptr_t from;
  if (at && lr_copy((uint8_t *)&from, at, sizeof from) == sizeof from) return put_text(p, from, most);
  lr_store16(p, LRF_TEXT_UNREADABLE);
  return p + 2;
}

/* within returns the address of a step's text: with at, the pointer plus the step's offset. If the pointer is not
 * valid, it returns 1, which is no valid address. */
LR_INLINE uintptr_t within(uintptr_t pointer, const struct lr_take *s) { return !s->at ? pointer : pointer < PAGE ? 1 : pointer + s->offset; }

/* put_within writes a text whose characters lie in the string object itself, which was copied already. */
LR_OWN static uint8_t *put_within(uint8_t *p, const uint8_t *text, uint64_t length, size_t most) {
  const size_t n = length < most ? (size_t)length : most;
  lr_store16(p, (uint16_t)length);
  for (size_t i = 0; i < n; i++) {
    p[2 + i] = text[i];
    lr_barrier();
  }
  return p + 2 + n;
}

LR_OWN static uint8_t *put_string(uint8_t *p, uintptr_t at, unsigned library, size_t most) {
  uintptr_t s[16 / POINTER_BYTES + 2];
  const size_t size = library == LR_LIBSTDCXX_COW ? POINTER_BYTES : library == LR_LIBCXX || library == LR_LIBCXX_ALTERNATE ? 3 * POINTER_BYTES : sizeof s;
  uintptr_t within = 0, from;
  uint64_t length;
  if (!at || lr_copy((uint8_t *)s, at, size) != size) {
    lr_store16(p, at ? LRF_TEXT_UNREADABLE : LRF_TEXT_NULL);
    return p + 2;
  }
  if (library == LR_LIBSTDCXX) {
    from = s[0], length = s[1];
    if (from == at + 2 * POINTER_BYTES) within = 2 * POINTER_BYTES;
  } else if (library == LR_LIBCXX) {
    from = s[2], length = s[1];
    if (!(s[0] & 1)) within = 1, length = (s[0] & 0xff) >> 1;
  } else if (library == LR_LIBCXX_ALTERNATE) {
    from = s[0], length = s[1];
    if (!(s[2] >> (8 * POINTER_BYTES - 1))) {
      length = s[2] >> 8 * (POINTER_BYTES - 1);
      return length < size ? put_within(p, (const uint8_t *)s, length, most) : put_characters(p, 1, length, most);
    }
  } else if (library == LR_LIBSTDCXX_COW) {
    /* The object has only a pointer to the characters. Before these are the length, the capacity and the reference
     * count. */
    enum { BEFORE = 3 * POINTER_BYTES };
    uintptr_t characters;
    from = s[0];
    const int there = lr_copy((uint8_t *)&characters, from - BEFORE, sizeof characters) == sizeof characters;
    length = there ? characters : 1;
    if (!there) from = 1;
  } else {
    from = s[0], length = s[16 / POINTER_BYTES];
    if (s[16 / POINTER_BYTES + 1] < 16) from = length < 16 ? at : 1;
  }
  if (!within) return put_characters(p, from, length, most);
  if (length >= size - within) return put_characters(p, 1, length, most); /* no valid string has such a length */
  return put_within(p, (const uint8_t *)s + within, length, most);
}

LR_OWN static uint8_t *put_view(uint8_t *p, const uintptr_t *words, unsigned library, size_t most) {
  const int at = library == LR_LIBSTDCXX;
  return put_characters(p, words[at], words[!at], most);
}

LR_OWN static uint8_t *put_view_at(uint8_t *p, uintptr_t at, unsigned library, size_t most) {
  uintptr_t words[2];
  if (at && lr_copy((uint8_t *)words, at, sizeof words) == sizeof words) return put_view(p, words, library, most);
  lr_store16(p, at ? LRF_TEXT_UNREADABLE : LRF_TEXT_NULL);
  return p + 2;
}

LR_OWN static uint8_t *put_memory(uint8_t *p, uintptr_t at, uint32_t offset, size_t size) {
  enum { READ, NULL_POINTER, UNREADABLE };
  p[0] = !at ? NULL_POINTER : at >= PAGE && lr_copy(p + 1, at + offset, size) == size ? READ : UNREADABLE;
  return p + 1 + (p[0] == READ ? size : 0);
}

#if defined(__i386__)
/* put_st0 writes the value that the hook has kept: converted to 4 or 8 bytes, or unchanged. */
LR_OWN static uint8_t *put_st0(uint8_t *p, const struct lr_registers *r, size_t size) {
  uint8_t v[16] = {0};
  memcpy(v, r->st0, 10);
  if (size == 4) __asm__ volatile("fldt %0\n\tfstps %0" : "+m"(v));
  else if (size == 8) __asm__ volatile("fldt %0\n\tfstpl %0" : "+m"(v));
  memcpy(p, v, size);
  return p + size;
}
#elif defined(__aarch64__)
/* arm64 has no such register. */
LR_OWN static uint8_t *put_st0(uint8_t *p, const struct lr_registers *r, size_t size) { return (void)r, memset(p, 0, size), p + size; }
#else
/* put_st0 writes 16 bytes, of which the register has 10. The register keeps its value. */
LR_OWN static uint8_t *put_st0(uint8_t *p, const struct lr_registers *r, size_t size) {
  (void)r;
  uint8_t v[16];
  lr_store64(v, 0);
  lr_store64(v + 8, 0);
  __asm__ volatile("fld %%st(0)\n\tfstpt %0" : "+m"(v));
  for (size_t i = 0; i < size; i++) {
    p[i] = v[i];
    lr_barrier();
  }
  return p + size;
}
#endif

LR_OWN void lr_keep(struct lr_level *v, const struct lr_valued *f, const struct lr_registers *r, uintptr_t frame) {
  if (!v->kept) return;
  const struct lr_frame_entry *const call = v->top - 1;
  struct lr_kept *const k = &v->kept[call - v->stack];
  for (uint32_t i = 0; i < f->keeps; i++) k->pointer[i] = pointer(r, frame, f->keep[i]);
  k->time = call->time;
}

LR_OWN uint8_t *lr_take_values(uint8_t *p, unsigned type, const struct lr_program *program, const struct lr_registers *r, uintptr_t frame,
                               const struct lr_kept *kept) {
  uint8_t *const begin = p;
  const int longer = program->most / 2 > 255, named = program->kind != LRF_VALUES_PLAN;
  p += longer ? 6 : 2;
  if (named) {
    lr_store16(p, program->kind);
    p += 2;
  } else {
    type = type == LRF_ARGUMENTS ? LRF_PLAN_ARGUMENTS : LRF_PLAN_RESULT;
  }
  const struct lr_take *s = program->steps, *const end = s + program->count;
  uint8_t *value = p, *before = p; /* where the current value begins, and where the one before it does */
  for (; s < end; s++) {
    if (s->begins) before = value, value = p;
    if (LR_UNLIKELY(s->kept && !kept)) goto cut; /* it is a text or memory, so never one byte alone */
    switch (s->op) {
      case LR_TAKE_PART: {
        uint64_t v;
        if (!word(r, frame, s->source, &v)) {
          /* The record ends before the value. Its padding must not look like that value. */
          p = s->begins && s->size == 1 && (value - begin) & 1 ? before : value;
          goto cut;
        }
        /* This may write more than the size of the value. There is room for it. */
        lr_store64(p, v);
        p += s->size;
        break;
      }
      case LR_TAKE_ST0: p = put_st0(p, r, s->size); break;
      case LR_TAKE_CONSTANT:
        lr_store32(p, s->offset);
        p += s->size;
        break;
      case LR_TAKE_TEXT: p = put_text(p, pointer_of(s, r, frame, kept), s->size); break;
      case LR_TAKE_MEMORY: p = put_memory(p, pointer_of(s, r, frame, kept), s->offset, s->size); break;
      case LR_TAKE_STRING: p = put_string(p, within(pointer_of(s, r, frame, kept), s), s->library, s->size); break;
      case LR_TAKE_VIEW_AT: p = put_view_at(p, within(pointer_of(s, r, frame, kept), s), s->library, s->size); break;
      case LR_TAKE_TEXT_AT: p = put_text_at(p, within(pointer_of(s, r, frame, kept), s), s->size); break;
      default: {
        uint64_t first, second;
        if (!word(r, frame, s->source, &first) || !word(r, frame, s->second, &second)) first = second = 1;
        const uintptr_t words[2] = {(uintptr_t)first, (uintptr_t)second};
        p = put_view(p, words, s->library, s->size);
      }
    }
  }
cut:
  if ((p - begin) & 1) *p++ = 0;
  const uint32_t length = (uint32_t)(p - begin);
  if (longer) {
    lr_store16(begin, LRF_FIRST_WORD(type, 0));
    lr_store32(begin + 2, length);
  } else {
    lr_store16(begin, LRF_FIRST_WORD(type, length / 2));
  }
  return p;
}

#if defined(__clang__) && !defined(_WIN32) && !defined(__i386__) && !defined(__aarch64__)
#pragma clang attribute pop
#endif

#else
typedef int lr_no_values;
#endif
