/* thread_windows.c: this thread's state, ids and names of threads, and where stacks lie.
 *
 * Nothing here takes a lock; lr_self_set is called with the recorder's. */

#include "system_windows.h"

#if defined(_WIN32)

/* ---- this thread's state ---- */

uint32_t lr_tls;
static DWORD tls_index = TLS_OUT_OF_INDEXES;
typedef LONG(NTAPI *query_thread)(HANDLE, int, void *, ULONG, ULONG *);
static query_thread ntdll_query_thread;

LR_COLD struct lr_thread *lr_self_far(void) {
  if (lr_tls != LR_TLS_FAR) return &lr_nobody;
  const DWORD error = GetLastError();
  struct lr_thread *t = TlsGetValue(tls_index);
  SetLastError(error);
  return t ? t : &lr_nobody;
}

/* How many threads have an lr_thread; changes with the lock. */
static uint32_t recording;

LR_OWN void lr_self_set(struct lr_thread *t) {
  if (tls_index == TLS_OUT_OF_INDEXES) return;
  recording += (t != &lr_nobody) - (lr_self_get() != &lr_nobody);
  TlsSetValue(tls_index, t);
}

LR_OWN int lr_others_record(void) { return recording > (lr_self_get() != &lr_nobody); }

LR_OWN static void make_tls(void) {
  tls_index = TlsAlloc();
  if (tls_index == TLS_OUT_OF_INDEXES) return;
  lr_tls = LR_TLS_FAR;
#if defined(LR_TEB)
  /* The first 64 slots have always been there in the TEB. It is checked nevertheless. */
  const uint32_t slots = sizeof(void *) == 8 ? 0x1480 : 0xe10;
  if (tls_index < 64) {
    const uint32_t offset = slots + tls_index * (uint32_t)sizeof(void *);
    TlsSetValue(tls_index, &lr_tls);
    if ((void *)LR_TEB(offset) == (void *)&lr_tls) lr_tls = offset;
    TlsSetValue(tls_index, NULL);
  }
#endif
}

LR_OWN void lr_start_threads(void) {
  void *f = lr_function("ntdll.dll", "NtQueryInformationThread");
  memcpy(&ntdll_query_thread, &f, sizeof f);
  make_tls();
}

LR_OWN void lr_stop_threads(void) {
  lr_tls = 0;
  if (tls_index != TLS_OUT_OF_INDEXES) TlsFree(tls_index);
  tls_index = TLS_OUT_OF_INDEXES;
}

/* ---- threads ---- */

LR_OWN uint64_t plat_thread_id(void) { return GetCurrentThreadId(); }

/* on_notice in start_windows.c is told when threads end. */
LR_OWN void plat_on_thread_exit(struct lr_thread *t) { (void)t; }

LR_OWN static void name_of(HANDLE thread, char *name, size_t size) {
  /* What GetThreadDescription asks, without its use of the heap. */
  enum { THREAD_NAME = 38 };
  struct {
    USHORT length, capacity;
    wchar_t *text;
    wchar_t room[512];
  } answer;
  name[0] = 0;
  if (!ntdll_query_thread) return;
  answer.length = 0;
  answer.text = NULL;
  if (ntdll_query_thread(thread, THREAD_NAME, &answer, sizeof answer, NULL) >= 0 && answer.text)
    lr_to_utf8(name, size, answer.text, answer.length / sizeof(wchar_t));
}

LR_OWN void plat_thread_name(char *name, size_t size) { name_of(GetCurrentThread(), name, size); }

LR_OWN void plat_name_of_thread(uint64_t id, char *name, size_t size) {
  const HANDLE thread = OpenThread(0x800 /* THREAD_QUERY_LIMITED_INFORMATION */, FALSE, (DWORD)id);
  name[0] = 0;
  if (!thread) return;
  name_of(thread, name, size);
  CloseHandle(thread);
}

LR_OWN int plat_signal(const char *text) {
  (void)text;
  return 0;
}
LR_OWN int plat_on_signal_stack(void) { return 0; }
LR_OWN void plat_signal_stack(uintptr_t *low, uintptr_t *high) {
  (void)low;
  (void)high;
}

/* While a fiber runs, the TEB has the bounds of its stack. */
LR_OWN int plat_current_stack(uintptr_t *low, uintptr_t *high) {
#if defined(LR_TEB) && defined(_WIN64)
  enum { STACK_BASE = 0x8, DEALLOCATION_STACK = 0x1478 };
#elif defined(LR_TEB)
  enum { STACK_BASE = 0x4, DEALLOCATION_STACK = 0xe0c };
#endif
#if defined(LR_TEB)
  if (low) *low = (uintptr_t)LR_TEB(DEALLOCATION_STACK);
  if (high) *high = (uintptr_t)LR_TEB(STACK_BASE);
  return 1;
#else
  (void)low;
  (void)high;
  return 0;
#endif
}
LR_OWN int plat_own_stack(uintptr_t frame, uintptr_t *low, uintptr_t *high) {
  (void)frame;
  (void)low;
  (void)high;
  return 1;
}
LR_OWN int plat_preloaded(void) { return 0; }

#endif
