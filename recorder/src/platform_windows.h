/* platform_windows.h: the parts of platform.h that are inline on Windows. What only the files
 * for Windows share is in system_windows.h.
 *
 * Nothing here includes windows.h: the hooks and what is the same everywhere do without it. */

#ifndef LOGREC_PLATFORM_WINDOWS_H
#define LOGREC_PLATFORM_WINDOWS_H

/* ---- this thread's state ----
 * A slot of TlsAlloc, read from the TEB: as cheap as __declspec(thread), which
 * gcc does not have here, and right in a DLL that is loaded late, on any
 * system. lr_tls is the slot's offset in the TEB, and LR_TLS_FAR or 0 where
 * there is none within reach. */

enum { LR_TLS_FAR = 0x10000 };
extern uint32_t lr_tls;
/* What the slot holds where it is not within reach, or &lr_nobody. */
struct lr_thread *lr_self_far(void);
void lr_self_set(struct lr_thread *t);

#if defined(_MSC_VER) && !defined(__clang__) && defined(_M_X64)
#define LR_TEB(offset) __readgsqword(offset)
#elif defined(_MSC_VER) && !defined(__clang__) && defined(_M_IX86)
#define LR_TEB(offset) __readfsdword(offset)
#elif defined(__x86_64__) || defined(__i386__)
LR_INLINE uintptr_t lr_teb(uintptr_t offset) {
  uintptr_t v;
#if defined(__x86_64__)
  __asm__ volatile("movq %%gs:(%1), %0" : "=r"(v) : "r"(offset) : "memory");
#else
  __asm__ volatile("movl %%fs:(%1), %0" : "=r"(v) : "r"(offset) : "memory");
#endif
  return v;
}
#define LR_TEB(offset) lr_teb(offset)
#endif

LR_INLINE struct lr_thread *lr_self_get(void) {
#if defined(LR_TEB)
  const uint32_t offset = lr_tls;
  if (LR_LIKELY(offset - 1 < LR_TLS_FAR - 1)) {
    struct lr_thread *t = (struct lr_thread *)LR_TEB(offset);
    if (LR_LIKELY(t != NULL)) return t;
  }
#endif
  return lr_self_far();
}

/* Nothing of a program runs inside the recorder. */
LR_INLINE int plat_busy(void) { return 0; }

/* ---- clock ---- */

/* 1 where the counter of the processor cannot be trusted. */
extern uint32_t lr_no_tsc;
uint64_t plat_counter(void);

#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64) || defined(_M_IX86)
#define LR_HAVE_COUNTER 1
LR_INLINE uint64_t lr_tsc(void) {
  if (LR_UNLIKELY(lr_no_tsc)) return plat_counter();
#if defined(_MSC_VER) && !defined(__clang__)
  return __rdtsc();
#else
  return __builtin_ia32_rdtsc();
#endif
}
#else
#define LR_HAVE_COUNTER 0
#endif

/* ---- the caller's frame ----
 * Enter and leave are different functions: what they compare must not depend
 * on the size of their own frames, as clang's __builtin_frame_address and
 * __builtin_dwarf_cfa do on Windows. */

#if defined(__clang__)
#if !__has_builtin(_AddressOfReturnAddress)
#error "clang needs -fms-extensions to compile the recorder"
#endif
void *_AddressOfReturnAddress(void);
#endif
#if defined(_MSC_VER) || defined(__clang__)
#define lr_frame() ((uintptr_t)_AddressOfReturnAddress())
#define LR_BELOW_CALL sizeof(uintptr_t)
#else
#define lr_frame() ((uintptr_t)__builtin_dwarf_cfa())
#define LR_BELOW_CALL 0
#endif

#endif
