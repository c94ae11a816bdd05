/* crash_linux.c: how a crash of the program comes to crash.c: the handler, and what the system tells
 * of registers and mappings.
 *
 * The handler takes no lock, and uses system calls that a handler may use, memory that is there already
 * and little stack. When it is done the signal has the program's own disposition, and comes again: a
 * fault by going back to the instruction, any other by being sent to the thread anew as it was,
 * blocked until the handler has returned. So the program's handler, or the kernel, sees it at the same
 * instruction with the same registers and siginfo, and the core and the exit status are those that
 * there would have been. */

#include "system_linux.h"

#include "libcalls.h"

#if !defined(_WIN32)

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* ---- memory ---- */

uint32_t lr_memory_refused;

/* The thread that writes the record, while it does. */
static uint32_t writer;

#if defined(__aarch64__)
/* copy_by_file is for the crash record alone, where the system has no process_vm_readv, or does not permit it. In a thread that
 * goes on, other threads and children would see the descriptor, and might close it meanwhile. */
LR_OWN static long copy_by_file(void *to, uintptr_t from, size_t n) {
  enum { NOT_KNOWN, OWN, ANOTHERS };
  static uint32_t is;
  if (lr_load(&lr_barred) || lr_load(&is) == ANOTHERS) return 0;
  /* The C library's functions would let pthread_cancel end the thread here. */
  const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  if (lr_load(&is) == NOT_KNOWN) {
    /* Under an emulator it may be the emulator's memory. */
    static const volatile uint64_t mark = 0x6c6f677265632076u;
    uint64_t seen = 0;
    const int read = syscall(SYS_pread64, fd, &seen, sizeof seen, (long)(uintptr_t)&mark) == (long)sizeof seen;
    lr_store(&is, read && seen == mark ? OWN : ANOTHERS);
  }
  const long got = lr_load(&is) == OWN ? syscall(SYS_pread64, fd, to, n, (long)from) : 0;
  syscall(SYS_close, fd);
  return got;
}
#endif

LR_OWN size_t plat_copy_memory(void *to, uintptr_t from, size_t n) {
  if (lr_load(&lr_memory_refused)) return 0;
  const struct iovec here = {to, n}, there = {(void *)from, n};
  const int error = errno;
  long k = syscall(SYS_process_vm_readv, (long)plat_pid(), &here, 1ul, &there, 1ul, 0ul);
#if defined(__aarch64__)
  if (k < 0 && (errno == ENOSYS || errno == EPERM) && lr_load(&writer) == (uint32_t)plat_thread_id()) k = copy_by_file(to, from, n);
#endif
  /* The first page is missing, or there is no such call. */
  errno = error;
  return k > 0 ? (size_t)k : 0;
}

LR_OWN int plat_copy_to_log(void *to, const void *from, size_t n) {
  const struct iovec here = {(void *)(uintptr_t)from, n}, there = {to, n};
  return syscall(SYS_process_vm_writev, (long)plat_pid(), &here, 1ul, &there, 1ul, 0ul) == (long)n;
}

/* ---- registers ---- */

#if defined(__x86_64__)
enum { REGISTERS = 18, POINTERS = 16 };
LR_OWN static void registers_of(const ucontext_t *u, uintptr_t *r, uintptr_t *ip, uintptr_t *sp) {
  static const int order[REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                       REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL};
  for (int i = 0; i < REGISTERS; i++) r[i] = (uintptr_t)u->uc_mcontext.gregs[order[i]];
  *ip = r[16];
  *sp = r[7];
}
/* Code may use RED_ZONE bytes below the stack pointer. */
enum { RED_ZONE = 128, GENERAL_PROTECTION = 13, PAGE_FAULT = 14 };
LR_OWN static uint32_t access_of(const ucontext_t *u) {
  const unsigned long e = (unsigned long)u->uc_mcontext.gregs[REG_ERR];
  if (u->uc_mcontext.gregs[REG_TRAPNO] != PAGE_FAULT) return 0;
  return e & 16 ? LRF_CRASH_EXECUTE : e & 2 ? LRF_CRASH_WRITE : LRF_CRASH_READ;
}
enum { INSTRUCTION = 16 }; /* its number, where calls into libraries are recorded */
#elif defined(__i386__)
enum { REGISTERS = 10, POINTERS = 8 };
LR_OWN static void registers_of(const ucontext_t *u, uintptr_t *r, uintptr_t *ip, uintptr_t *sp) {
  static const int order[REGISTERS] = {REG_EAX, REG_ECX, REG_EDX, REG_EBX, REG_ESP, REG_EBP, REG_ESI, REG_EDI, REG_EIP, REG_EFL};
  for (int i = 0; i < REGISTERS; i++) r[i] = (uintptr_t)u->uc_mcontext.gregs[order[i]];
  *ip = r[8];
  *sp = r[4];
}
enum { RED_ZONE = 0, PAGE_FAULT = 14 };
LR_OWN static uint32_t access_of(const ucontext_t *u) {
  const unsigned long e = (unsigned long)u->uc_mcontext.gregs[REG_ERR];
  if (u->uc_mcontext.gregs[REG_TRAPNO] != PAGE_FAULT) return 0;
  return e & 16 ? LRF_CRASH_EXECUTE : e & 2 ? LRF_CRASH_WRITE : LRF_CRASH_READ;
}
#elif defined(__aarch64__)
enum { REGISTERS = 34, POINTERS = 32, RED_ZONE = 0 };
LR_OWN static void registers_of(const ucontext_t *u, uintptr_t *r, uintptr_t *ip, uintptr_t *sp) {
  for (int i = 0; i < 31; i++) r[i] = (uintptr_t)u->uc_mcontext.regs[i];
  r[31] = *sp = (uintptr_t)u->uc_mcontext.sp;
  r[32] = *ip = (uintptr_t)u->uc_mcontext.pc;
  r[33] = (uintptr_t)u->uc_mcontext.pstate;
}
LR_OWN static uint32_t access_of(const ucontext_t *u) {
  (void)u;
  return 0;
}
#else
enum { REGISTERS = 1, POINTERS = 0, RED_ZONE = 0 };
LR_OWN static void registers_of(const ucontext_t *u, uintptr_t *r, uintptr_t *ip, uintptr_t *sp) {
  (void)u;
  r[0] = *ip = *sp = 0;
}
LR_OWN static uint32_t access_of(const ucontext_t *u) {
  (void)u;
  return 0;
}
#endif

static uintptr_t registers[REGISTERS];
static uintptr_t stack_pointer;

/* ---- mappings ---- */

static uint8_t readable[REGISTERS];
static int stack_found;
enum { OVERFLOWN = 1 << 20 }; /* at most, in bytes */

LR_OWN int plat_crash_readable(uint32_t i) { return i < REGISTERS && readable[i]; }

/* A line of /proc/self/maps. */
struct mapping {
  uintptr_t low, high, offset;
  int is_readable, is_code, has_file;
  const char *path;
};

LR_OWN static const char *parse_hex(const char *s, uintptr_t *v) {
  for (*v = 0;; s++) {
    if (*s >= '0' && *s <= '9') *v = *v << 4 | (uintptr_t)(*s - '0');
    else if (*s >= 'a' && *s <= 'f') *v = *v << 4 | (uintptr_t)(*s - 'a' + 10);
    else return s;
  }
}

LR_OWN static int parse_mapping(const char *s, struct mapping *m) {
  s = parse_hex(s, &m->low);
  if (*s++ != '-') return 0;
  s = parse_hex(s, &m->high);
  if (*s++ != ' ' || strlen(s) < 5) return 0;
  m->is_readable = s[0] == 'r';
  m->is_code = s[2] == 'x';
  s = parse_hex(s + 5, &m->offset);
  /* The device, the inode. */
  for (int i = 0; i < 3; i++)
    for (s += *s == ' '; *s && *s != ' '; s++) m->has_file = *s != '0';
  while (*s == ' ') s++;
  m->path = s;
  m->has_file = *s == '/';
  return 1;
}

/* find_module makes a LOAD of the ELF image that begins at a mapping, unless the log has it. */
LR_OWN static void find_module(const struct mapping *m, struct lr_body *modules) {
  enum { PROGRAM_HEADERS = 32, IDENTITY = 64, NOTES = 1024 };
  static ElfW(Ehdr) e;
  static ElfW(Phdr) h[PROGRAM_HEADERS];
  static uint8_t notes[NOTES];
  static char identity[2 * IDENTITY + 1];
  static uint32_t number = 0xf0000000u;
  if (lr_module_is_known(m->low)) return;
  if (plat_copy_memory(&e, m->low, sizeof e) != sizeof e || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0) return;
  if (e.e_phentsize != sizeof *h || e.e_phnum > PROGRAM_HEADERS || e.e_phoff > m->high - m->low) return;
  const size_t n = e.e_phnum * sizeof *h;
  if (plat_copy_memory(h, m->low + e.e_phoff, n) != n) return;
  uintptr_t low = ~(uintptr_t)0, high = 0;
  for (int i = 0; i < e.e_phnum; i++) {
    if (h[i].p_type != PT_LOAD) continue;
    if (h[i].p_vaddr < low) low = h[i].p_vaddr;
    if (h[i].p_vaddr + h[i].p_memsz > high) high = h[i].p_vaddr + h[i].p_memsz;
  }
  low &= ~(uintptr_t)4095;
  if (low >= high) return;
  identity[0] = 0;
  for (int i = 0; i < e.e_phnum && !identity[0]; i++) {
    if (h[i].p_type != PT_NOTE) continue;
    const size_t size = plat_copy_memory(notes, m->low - low + h[i].p_vaddr, h[i].p_memsz < NOTES ? h[i].p_memsz : NOTES);
    uint32_t length;
    const uint8_t *const id = lr_build_id(notes, size, h[i].p_align, &length);
    for (uint32_t k = 0; id && k < length && k < IDENTITY; k++) {
      identity[2 * k] = "0123456789abcdef"[id[k] >> 4];
      identity[2 * k + 1] = "0123456789abcdef"[id[k] & 15];
      identity[2 * k + 2] = 0;
    }
  }
  const struct lr_crash_module found = {number++, m->low, (high - low + 4095) & ~(uintptr_t)4095, m->low - low, m->path, identity};
  lr_crash_put_load(modules, &found);
}

/* see handles a line of the mappings. Executable mappings and those that the crash touches are written as long as
 * there is room; all others take at most half of the room. */
LR_OWN static void see(const char *line, size_t n, struct lr_crash *c, struct lr_body *text, struct lr_body *modules) {
  struct mapping m;
  if (!parse_mapping(line, &m)) return;
  const uintptr_t size = m.high - m.low;
  int wanted = m.is_code || c->address - m.low < size;
  for (int i = 0; i < POINTERS; i++)
    if (registers[i] - m.low < size) readable[i] = (uint8_t)m.is_readable;
  /* After a stack overflow the stack pointer lies below the mapping of the stack. */
  const uintptr_t sp = m.low - stack_pointer - 1 < OVERFLOWN ? m.low : stack_pointer;
  if (!stack_found && sp - m.low < size && m.is_readable) {
    wanted = stack_found = 1;
    c->stack_low = sp - m.low > RED_ZONE ? sp - RED_ZONE : m.low;
    c->stack_size = m.high - c->stack_low;
    /* The frames end where arguments and environment begin, or the thread's own data. */
    const uintptr_t begin[2] = {lr_main_stack, lr_thread_block()};
    for (int i = 0; i < 2; i++)
      if (begin[i] - c->stack_low < c->stack_size) c->stack_size = begin[i] - c->stack_low;
  }
  if (text->capacity - text->length > n && (wanted || text->length < text->capacity / 2)) {
    lr_put(text, line, n);
    lr_put(text, "\n", 1);
  }
  if (m.has_file && m.is_readable && m.offset == 0) find_module(&m, modules);
}

LR_OWN void plat_crash_look(struct lr_crash *c, struct lr_body *text, struct lr_body *modules) {
  enum { MOST = 1 << 20 };
  static char buffer[16384];
  /* If the mappings cannot be read, the stack is what can be read from the stack pointer on. */
  c->stack_low = stack_pointer - RED_ZONE;
  c->stack_size = 4096;
  memset(readable, 0, sizeof readable);
  stack_found = 0;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  size_t have = 0, seen = 0;
  for (;;) {
    const long k = syscall(SYS_read, fd, buffer + have, sizeof buffer - 1 - have);
    if (k <= 0 || (seen += (size_t)k) > MOST) break;
    have += (size_t)k;
    char *line = buffer, *end;
    while ((end = memchr(line, '\n', (size_t)(buffer + have - line)))) {
      *end = 0;
      see(line, (size_t)(end - line), c, text, modules);
      line = end + 1;
    }
    have = (size_t)(buffer + have - line);
    if (have == sizeof buffer - 1) have = 0;
    memmove(buffer, line, have);
  }
  syscall(SYS_close, fd);
}

/* ---- the handler ---- */

/* The process whose crashes are caught; a child between vfork and exec is another one, in the same
 * memory. */
static uint32_t process;

LR_OWN void plat_crash_forked(void) {
  process = plat_pid();
  lr_dispositions_forked();
}
LR_OWN void lr_crash_process_is(uint32_t pid) { process = pid; }

/* mine tells whether this process may write the record. A child of vfork may not. A forked child in which no fork
 * handler ran gets its own log first. */
LR_OWN static int mine(void) {
  if (plat_pid() == process) return 1;
  uint32_t *const here = lr_load(&lr_not_forked);
  if (!here || lr_load(here) || __atomic_exchange_n(here, 1, __ATOMIC_ACQ_REL)) return 0;
  lr_fork_child();
  return 1;
}

/* Where the C library keeps the message with which it aborts, NULL if it has none. */
static const char *const *abort_message;
LR_OWN void lr_crash_abort_message(const void *where) { abort_message = where; }

LR_OWN static size_t message_of(int number, const char **text) {
  enum { MOST = 1024 };
  static struct {
    uint32_t size;
    char text[MOST];
  } m;
  *text = m.text;
  if (number != SIGABRT || !abort_message) return 0;
  size_t got = 0, n = 0;
  /* Another thread that aborts replaces the message and unmaps this one. */
  uintptr_t at = 0;
  for (int tries = 0; tries < 8; tries++) {
    uintptr_t now = 0;
    if (plat_copy_memory(&now, (uintptr_t)abort_message, sizeof now) != sizeof now || !now) return 0;
    if (now == at) break;
    at = now;
    got = plat_copy_memory(&m, at, sizeof m);
  }
  while (n + sizeof m.size < got && n < MOST && m.text[n]) n++;
  return n;
}

/* by_processor tells whether the instruction itself caused the signal. Then the signal comes again when the
 * instruction runs again. */
LR_OWN static int by_processor(int number, const siginfo_t *info) {
  enum { MACHINE_CHECK_ELSEWHERE = 5, TAGS_ELSEWHERE = 8 }; /* BUS_MCEERR_AO, SEGV_MTEAERR */
  if (info->si_code <= 0) return 0;
  switch (number) {
    case SIGSEGV: return info->si_code != TAGS_ELSEWHERE;
    case SIGBUS: return info->si_code != MACHINE_CHECK_ELSEWHERE;
    case SIGILL:
    case SIGFPE: return 1;
    default: return 0;
  }
}

LR_OWN static int write_record(int number, const siginfo_t *info, const ucontext_t *u, int error) {
  enum { BY_KERNEL = 128 };
  static struct lr_crash c;
  static char name[64];
  memset(&c, 0, sizeof c);
  uintptr_t ip;
  registers_of(u, registers, &ip, &stack_pointer);
  const int fault = by_processor(number, info);
  c.kind = LRF_CRASH_SIGNAL;
  c.code = (uint32_t)number;
  c.error = (uint32_t)error;
  c.detail = (uint32_t)info->si_code;
  if (fault && info->si_code != BY_KERNEL) {
    c.flags |= LRF_CRASH_ADDRESS_KNOWN;
    c.address = (uintptr_t)info->si_addr;
    if (number == SIGSEGV || number == SIGBUS) c.access = access_of(u);
  }
  if (info->si_code <= 0) c.sender = (uint32_t)info->si_pid;
  const struct lr_thread *t = lr_self_get();
  if (plat_busy() > 1 || (lr_alive(t) && !lr_idle(&t->level[0]))) c.flags |= LRF_CRASH_IN_RECORDER;
  if (lr_disposition_is_handler(number)) c.flags |= LRF_CRASH_HANDLED;
#if LR_HAVE_LIBCALLS
  /* A signal while a library's function returns to its caller through the recorder: the caller is the one that counts. */
  const uintptr_t caller = lr_returns_to(stack_pointer - sizeof(uintptr_t), ip);
  if (caller != ip) {
    registers[INSTRUCTION] = ip = caller;
    c.flags |= LRF_CRASH_RETURN_IP;
  }
#endif
  /* For int3 and for a system call that a filter refuses, ip is behind the instruction. */
  if (number == SIGTRAP || number == SIGSYS) c.flags |= LRF_CRASH_RETURN_IP;
  c.thread = plat_thread_id();
  c.ip = ip;
  c.registers = registers;
  c.registers_size = sizeof registers;
  c.pointers = registers;
  c.pointer_count = POINTERS;
  plat_thread_name(name, sizeof name);
  c.name = lr_alive(t) && t->named ? t->name : name;
  c.message_size = message_of(number, &c.message);
  return lr_crash_write(&c);
}

/* wait_for_record waits while another thread writes the record, but not for ever. The program dies when that
 * thread is done. */
LR_OWN static void wait_for_record(void) {
  enum { MOST = 200, MS = 1000000 };
  const struct timespec pause = {0, MS};
  const int most = MOST + (lr_report_wanted() ? (lr_settings.report_seconds + 2) * 1000 : 0);
  for (int i = 0; i < most && !lr_crash_is_written(); i++) syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* send_again sends the signal to this thread as it came. It is blocked until the handler returns. */
LR_OWN static void send_again(int number, siginfo_t *info) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  lr_own_mask(SIG_BLOCK, &only, NULL);
  const long pid = (long)plat_pid(), tid = (long)plat_thread_id();
  if (syscall(SYS_rt_tgsigqueueinfo, pid, tid, (long)number, info) < 0) syscall(SYS_tgkill, pid, tid, (long)number);
}

/* give_back_tail cuts off what the log has been given in advance, unless somebody is just making it larger. The program may go
 * on. */
LR_OWN static void give_back_tail(void) {
  if (!plat_trylock()) return;
  if (lr_global.state == LR_RUNNING) plat_file_trim(lr_global.end);
  plat_unlock();
}

LR_OWN void lr_crash_handler(int number, siginfo_t *info, void *context) {
  if (lr_file_fault(number, info)) return;
  const int error = program_errno;
  const uint32_t me = (uint32_t)plat_thread_id();
  /* What is called here of the program, such as a memcpy of its own, is not recorded. */
  lr_busy++;
  if (plat_crash_caught() && !lr_load(&lr_barred) && mine()) {
    if (lr_crash_first()) {
      lr_store(&writer, me);
      const int written = lr_crash_make_log() && write_record(number, info, context, error);
      give_back_tail();
      if (written) plat_report(lr_global.path, !lr_disposition_is_handler(number));
      lr_crash_done();
      lr_store(&writer, 0);
    } else if (lr_load(&writer) != me) {
      wait_for_record();
    }
  }
  lr_disposition_give_back(number);
  if (!by_processor(number, info)) send_again(number, info);
  lr_busy--;
  program_errno = error;
}

/* ---- stacks for the handler ---- */

enum { ALTERNATE = 256 << 10, GUARD = 4096 };
/* The alternate stack that the recorder gave this thread: it begins at the end of its guard page. */
static __thread uint8_t *alternate __attribute__((tls_model("initial-exec")));

/* Both are for sigaltstack, which sanitizers call before anything else may be called. */
__attribute__((no_sanitize("address", "thread", "undefined"))) LR_OWN int lr_crash_stack_is_ours(const void *low) { return alternate && low == alternate; }

__attribute__((no_sanitize("address", "thread", "undefined"))) LR_OWN void lr_crash_stack_again(void) {
  const stack_t ours = {.ss_sp = alternate, .ss_flags = 0, .ss_size = ALTERNATE};
  if (alternate) syscall(SYS_sigaltstack, &ours, NULL);
}

LR_OWN void plat_crash_thread_begin(void) {
  stack_t now;
  if (!plat_crash_caught() || lr_load(&lr_barred)) return;
  if (syscall(SYS_sigaltstack, NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
  if (!alternate) {
    uint8_t *const p = mmap(NULL, GUARD + ALTERNATE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return;
    if (mmap(p + GUARD, ALTERNATE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
      munmap(p, GUARD + ALTERNATE);
      return;
    }
    alternate = p + GUARD;
  }
  lr_crash_stack_again();
  struct lr_thread *t = lr_self_get();
  if (t != &lr_nobody) t->signal_known = 0;
}

LR_OWN void plat_crash_thread_end(void) {
  stack_t now;
  if (!alternate || lr_load(&lr_barred)) return;
  if (syscall(SYS_sigaltstack, NULL, &now) != 0 || (now.ss_flags & SS_ONSTACK)) return;
  if (now.ss_sp == alternate) {
    const stack_t none = {.ss_flags = SS_DISABLE};
    if (syscall(SYS_sigaltstack, &none, NULL) != 0) return;
  }
  munmap(alternate - GUARD, GUARD + ALTERNATE);
  alternate = NULL;
}

#endif
