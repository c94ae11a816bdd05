/* crash_windows.c: how crash.c learns of a crash: from the filter for exceptions that nobody handles, and from a
 * vectored handler for those that never reach the filter. Ends that a C or C++ runtime tells of are in
 * runtimes_windows.c.
 *
 * The filter that was set before is called next, and its answer is returned: the process ends as it would have ended
 * without the recorder, with its own report or that of Windows. Nothing here wants the loader's lock or the heap,
 * which the thread that crashed may hold. */

#include "system_windows.h"

#if defined(_WIN32)

/* Exceptions for which Windows calls no filter; and gcc's C++ exception, which the runtime ends by terminate and
 * abort if nobody catches it. */
enum { HEAP_CORRUPTION = (int)0xc0000374, FAST_FAIL = (int)0xc0000409, GCC_THROW = 0x20474343 };

/* ---- memory ---- */

LR_OWN size_t plat_copy_memory(void *to, uintptr_t from, size_t n) {
  enum { PAGE = 4096 };
  size_t done = 0;
  /* ReadProcessMemory copies nothing of a range that is not readable as a whole. */
  while (done < n) {
    size_t part = PAGE - (from + done) % PAGE;
    SIZE_T got = 0;
    if (part > n - done) part = n - done;
    if (!ReadProcessMemory(GetCurrentProcess(), (const void *)(from + done), (char *)to + done, part, &got) || got != part) break;
    done += part;
  }
  return done;
}

LR_OWN int plat_copy_to_log(void *to, const void *from, size_t n) {
  SIZE_T done = 0;
  return WriteProcessMemory(GetCurrentProcess(), to, from, n, &done) && done == n;
}

/* On Windows the permissions of the folder say who may read the log. */
LR_OWN int plat_file_private(void) { return 1; }

/* ---- registers ---- */

#if defined(_M_X64) || defined(__x86_64__)
enum { REGISTERS = 18, POINTERS = 16 };
static uintptr_t registers[REGISTERS];
LR_OWN static uintptr_t take_registers(const CONTEXT *c, uintptr_t *ip) {
  const DWORD64 r[REGISTERS] = {c->Rax, c->Rdx, c->Rcx, c->Rbx, c->Rsi, c->Rdi, c->Rbp, c->Rsp, c->R8,
                                c->R9,  c->R10, c->R11, c->R12, c->R13, c->R14, c->R15, c->Rip, c->EFlags};
  for (int i = 0; i < REGISTERS; i++) registers[i] = (uintptr_t)r[i];
  *ip = registers[16];
  return registers[7];
}
#elif defined(_M_IX86) || defined(__i386__)
enum { REGISTERS = 10, POINTERS = 8 };
static uintptr_t registers[REGISTERS];
LR_OWN static uintptr_t take_registers(const CONTEXT *c, uintptr_t *ip) {
  const DWORD r[REGISTERS] = {c->Eax, c->Ecx, c->Edx, c->Ebx, c->Esp, c->Ebp, c->Esi, c->Edi, c->Eip, c->EFlags};
  for (int i = 0; i < REGISTERS; i++) registers[i] = (uintptr_t)r[i];
  *ip = registers[8];
  return registers[4];
}
#else
enum { REGISTERS = 1, POINTERS = 0 };
static uintptr_t registers[REGISTERS];
LR_OWN static uintptr_t take_registers(const CONTEXT *c, uintptr_t *ip) {
  (void)c;
  *ip = 0;
  return 0;
}
#endif

LR_OWN void plat_crash_look(struct lr_crash *c, struct lr_body *text, struct lr_body *modules) {
  (void)text;
  (void)modules;
  uintptr_t low = 0, high = 0;
  if (!plat_current_stack(&low, &high) || c->stack_low - low >= high - low) high = c->stack_low + 4096;
  c->stack_size = high - c->stack_low;
}
LR_OWN int plat_crash_readable(uint32_t i) { return i < POINTERS && registers[i] >= 0x10000; }

/* ---- the record ---- */

static uint32_t caught;
static PVOID vectored;
static LPTOP_LEVEL_EXCEPTION_FILTER before;

LR_OWN int plat_crash_caught(void) { return (int)lr_load(&caught); }

static DWORD writer;

/* write_modules writes which modules there are into a log that was begun for the crash. The table of them was
 * filled when they were loaded. */
LR_OWN static void write_modules(void) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  plat_modules_scan();
  plat_slow_end(&saved);
}

/* begin_record tells whether this thread writes the record. Another one waits until it is written. */
LR_OWN static int begin_record(void) {
  enum { MOST = 200 };
  if (lr_crash_first()) {
    writer = GetCurrentThreadId();
    const int recorded = lr_load(&lr_global.state) != LR_NOT_STARTED;
    if (lr_crash_make_log()) {
      if (!recorded) write_modules();
      return 1;
    }
    lr_crash_done();
    return 0;
  }
  if (writer != GetCurrentThreadId())
    for (int i = 0, most = MOST + (lr_report_wanted() ? (lr_settings.report_seconds + 1) * 1000 : 0); i < most && !lr_crash_is_written(); i++) Sleep(1);
  return 0;
}

LR_OWN static void end_record(struct lr_crash *c, const CONTEXT *context) {
  static char name[64];
  const struct lr_thread *t = lr_self_get();
  c->stack_low = take_registers(context, &c->ip);
  c->registers = c->pointers = registers;
  c->registers_size = sizeof registers;
  c->pointer_count = POINTERS;
  c->thread = GetCurrentThreadId();
  c->error = GetLastError();
  if (lr_alive(t) && !lr_idle(&t->level[0])) c->flags |= LRF_CRASH_IN_RECORDER;
  plat_thread_name(name, sizeof name);
  c->name = lr_alive(t) && t->named ? t->name : name;
  if (lr_crash_write(c)) plat_report(lr_global.path, 1);
  lr_crash_done();
}

LR_OWN static void record_exception(const EXCEPTION_POINTERS *e) {
  static struct lr_crash c;
  const EXCEPTION_RECORD *const r = e->ExceptionRecord;
  if (!begin_record()) return;
  memset(&c, 0, sizeof c);
  c.kind = LRF_CRASH_EXCEPTION;
  c.code = r->ExceptionCode;
  c.detail = r->ExceptionFlags;
  /* If the processor does not tell the address, the system reports all ones. */
  if ((r->ExceptionCode == EXCEPTION_ACCESS_VIOLATION || r->ExceptionCode == EXCEPTION_IN_PAGE_ERROR) && r->NumberParameters >= 2 &&
      r->ExceptionInformation[1] != ~(ULONG_PTR)0) {
    c.flags |= LRF_CRASH_ADDRESS_KNOWN;
    c.address = r->ExceptionInformation[1];
    c.access = r->ExceptionInformation[0] == 8   ? LRF_CRASH_EXECUTE
               : r->ExceptionInformation[0] == 1 ? LRF_CRASH_WRITE
                                                 : LRF_CRASH_READ;
  }
  end_record(&c, e->ContextRecord);
}

/* ---- who calls ---- */

static LONG CALLBACK filter(EXCEPTION_POINTERS *e) {
  const DWORD error = GetLastError();
  if (e->ExceptionRecord->ExceptionCode != GCC_THROW) record_exception(e);
  SetLastError(error);
  const LONG result = before ? before(e) : EXCEPTION_CONTINUE_SEARCH;
  if (result == EXCEPTION_CONTINUE_EXECUTION) lr_crash_survived();
  return result;
}

/* take_filter sets the recorder's filter, which calls the one that was set before. */
LR_OWN static void take_filter(void) {
  const LPTOP_LEVEL_EXCEPTION_FILTER was = SetUnhandledExceptionFilter(filter);
  if (was != filter) before = was;
}

/* Called first for every exception, also for those that the program handles. */
static LONG CALLBACK first_chance(EXCEPTION_POINTERS *e) {
  const DWORD error = GetLastError(), code = e->ExceptionRecord->ExceptionCode;
  if (code == (DWORD)HEAP_CORRUPTION || code == (DWORD)FAST_FAIL || code == EXCEPTION_STACK_OVERFLOW) record_exception(e);
  /* Only errors, not the messages that programs send to debuggers by exceptions. */
  else if (lr_settings.crash == LR_CRASH_FIRST && code >> 30 == 3) take_filter();
  SetLastError(error);
  return EXCEPTION_CONTINUE_SEARCH;
}

/* capture takes the registers of its caller. RtlCaptureContext of x86 wants a frame pointer, which compilers leave out. */
#if defined(__i386__) && defined(__GNUC__)
LR_INLINE void capture(CONTEXT *c) {
  uint32_t r[7];
  memset(c, 0, sizeof *c);
  __asm__ volatile("movl %%ebx, 0(%0); movl %%esi, 4(%0); movl %%edi, 8(%0); movl %%ebp, 12(%0); movl %%esp, 16(%0);"
                   "call 1f; 1: popl 20(%0); pushfl; popl 24(%0)"
                   :
                   : "r"(r)
                   : "memory");
  c->Ebx = r[0], c->Esi = r[1], c->Edi = r[2], c->Ebp = r[3], c->Esp = r[4], c->Eip = r[5], c->EFlags = r[6];
}
#else
LR_INLINE void capture(CONTEXT *c) { RtlCaptureContext(c); }
#endif

LR_OWN void lr_record_ending(uint32_t kind, uint32_t detail) {
  const DWORD error = GetLastError();
  static struct lr_crash c;
  static CONTEXT context;
  if (begin_record()) {
    capture(&context);
    memset(&c, 0, sizeof c);
    c.kind = kind;
    c.detail = detail;
    c.flags = LRF_CRASH_RETURN_IP;
    end_record(&c, &context);
  }
  SetLastError(error);
}

LR_OWN void plat_crash_catch(int always) {
  int mode = lr_settings.crash;
  if (mode == LR_CRASH_UNSET) {
    if (!always && !lr_settings.report[0]) return;
    mode = lr_settings.crash = LR_CRASH_LAST;
  }
  if (mode == LR_CRASH_OFF || lr_load(&caught)) return;
  lr_store(&caught, 1);
  take_filter();
  vectored = AddVectoredExceptionHandler(1, first_chance);
  lr_watch_runtimes(mode == LR_CRASH_FIRST);
  plat_report_prepare();
}

LR_OWN void lr_crash_release(void) {
  if (!lr_load(&caught)) return;
  lr_store(&caught, 0);
  if (vectored) RemoveVectoredExceptionHandler(vectored);
  const LPTOP_LEVEL_EXCEPTION_FILTER was = SetUnhandledExceptionFilter(before);
  if (was != filter) SetUnhandledExceptionFilter(was);
  lr_unwatch_runtimes();
  lr_report_release();
}

LR_OWN void plat_crash_thread_begin(void) { lr_watch_thread(); }
LR_OWN void plat_crash_thread_end(void) {}
LR_OWN void plat_crash_forked(void) {}

#endif
