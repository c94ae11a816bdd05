/* patch_text_linux.c: changes the text of sleds (patch.h) while the program may run it.
 *
 * The mappings keep their permissions: text is written through /proc/self/mem, so that no page is ever
 * writable and executable at once, and no page loses the permission to run. Without /proc/self/mem nothing
 * is patched.
 *
 * Other threads may run the text meanwhile. So after each store the text is valid from every instruction at
 * which a thread may stand, and a single byte switches between the two forms:
 *   - Five bytes at an entry, or before a return, where the flags are not in use. As "test $imm,%eax" the
 *     last four bytes are only a number. The first byte becomes that of this instruction, then the other four
 *     are changed, then the first byte becomes that of a call, or of the nop that the file has.
 *   - XRay's sleds. The jump over nine bytes gets the distance 0, so that a call follows that fills the nine
 *     bytes with prefixes that have no effect. The ret becomes a jump of five bytes, the last four of
 *     which were never run.
 * A call ends where the nops ended, so that a thread that returns from a hook finds the beginning of an
 * instruction in either form. Between the steps all processors fetch the text again (membarrier). If a thread
 * may stand between two nops, it is waited for (moved).
 *
 * The caller has blocked signals, unless it is a handler, and no other thread patches meanwhile. */

#include "system_linux.h"

#include "patch.h"

#if LR_HAVE_PATCHES

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if !defined(MAP_FIXED_NOREPLACE)
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { TEST = 0xa9, CALL = 0xe8, JUMP = 0xe9, RETURN = 0xc3, NO_MEANING = 0x2e };

extern void lr_patched_return(void), lr_patched_tail(void), lr_patched_exit(void);
extern const uintptr_t lr_patched_entries[LR_FURTHEST - LR_NEAREST + 1];

/* stub writes a stub that jumps to an address: jmp *2(%rip), two unused bytes, the address. */
LR_OWN static uintptr_t stub(uint8_t **end, uintptr_t to) {
  static const uint8_t jump[8] = {0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc};
  uint8_t *const at = *end;
  memcpy(at, jump, sizeof jump);
  memcpy(at + 8, &to, sizeof to);
  *end = at + 16;
  return (uintptr_t)at;
}

enum { PAGE = 4096, REACH = 0x7f000000 };

/* A place for stubs that is looked for among the mappings, in their order. */
struct place {
  uintptr_t low, high; /* the text */
  uintptr_t last;      /* where the mapping before ends */
  uintptr_t end_of_heap;
  uintptr_t found, distance;
};

LR_OWN static int see_gap(uintptr_t low, uintptr_t high, void *context) {
  enum { STEP = 1 << 16, ROOM_OF_STACK = 1 << 30 };
  struct place *const p = context;
  const uintptr_t gap = p->last;
  p->last = high;
  if (low <= gap || low - gap < PAGE) return 0;
  uintptr_t at, distance;
  if (low <= p->low) {
    at = low - gap >= 3 * STEP ? (low & ~(uintptr_t)(STEP - 1)) - STEP : low - PAGE;
    distance = p->high - at;
  } else {
    /* Above a program lies its heap, and below the stack what it grows into: they must be able to grow. */
    if (p->low < p->end_of_heap || (lr_main_stack - low < high - low && low - gap < ROOM_OF_STACK)) return 0;
    at = gap;
    distance = at + PAGE - p->low;
  }
  if (distance < REACH && (!p->found || distance < p->distance)) {
    p->found = at;
    p->distance = distance;
  }
  return 0;
}

LR_OWN int lr_stubs_make(struct lr_stubs *s, uintptr_t low, uintptr_t high) {
  enum { ATTEMPTS = 4 };
  /* All pages of stubs are alike. They are never unmapped, because a thread may be in one, and serve all text
   * within reach. */
  static struct {
    uintptr_t page;
    struct lr_stubs stubs;
  } made[256];
  static unsigned count;
  if (high - low > REACH / 2) return 0;
  for (unsigned i = 0; i < count; i++)
    if ((made[i].page < low ? high - made[i].page : made[i].page + PAGE - low) < REACH) {
      *s = made[i].stubs;
      return 1;
    }
  if (count == sizeof made / sizeof *made) return 0;
  uint8_t *page = MAP_FAILED;
  /* Between libraries there is little room, and below them the log is mapped. Another thread may take the place meanwhile. */
  for (int i = 0; i < ATTEMPTS && page == MAP_FAILED; i++) {
    struct place p = {low, high, PAGE * 16, (uintptr_t)sbrk(0), 0, 0};
    lr_each_mapping(see_gap, &p);
    if (!p.found) return 0;
    page = mmap((void *)p.found, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page == MAP_FAILED || page == (uint8_t *)p.found) continue;
    /* Before Linux 4.17 the place is a wish. */
    munmap(page, PAGE);
    page = MAP_FAILED;
  }
  if (page == MAP_FAILED) return 0;
  uint8_t *end = page;
  for (int i = 0; i <= LR_FURTHEST - LR_NEAREST; i++) s->enter[i] = lr_patched_entries[i] ? stub(&end, lr_patched_entries[i]) : 0;
  s->leave = stub(&end, (uintptr_t)lr_patched_return);
  s->tail = stub(&end, (uintptr_t)lr_patched_tail);
  s->exit = stub(&end, (uintptr_t)lr_patched_exit);
  if (mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0) {
    made[count].page = (uintptr_t)page;
    made[count++].stubs = *s;
    return 1;
  }
  munmap(page, PAGE);
  return 0;
}

LR_OWN size_t lr_nop_length(const uint8_t *p, size_t bytes) {
  size_t n = 0;
  while (n < bytes && n < 4 && (p[n] == 0x66 || p[n] == NO_MEANING)) n++;
  if (n < bytes && p[n] == 0x90) return n + 1;
  if (n + 3 > bytes || p[n] != 0x0f || p[n + 1] != 0x1f) return 0;
  static const uint8_t behind[4] = {0, 1, 4, 0};
  const unsigned mode = p[n + 2] >> 6, operand = p[n + 2] & 7;
  if (mode == 3 || (p[n + 2] >> 3 & 7) || (mode == 0 && operand == 5)) return 0;
  n += 3 + (operand == 4) + behind[mode];
  return n <= bytes && n <= 9 ? n : 0;
}

/* reach writes the distance of a jump or call at p, the last four bytes of the instruction. */
LR_OWN static int reach(uint8_t *p, uintptr_t next, uintptr_t to) {
  const int64_t distance = (int64_t)(to - next);
  if (!to || distance != (int32_t)distance) return 0;
  lr_store32(p, (uint32_t)distance);
  return 1;
}

/* entry returns the stub for an entry with a sled of this length; 0: there is none. */
LR_OWN static uintptr_t entry(const struct lr_sled *s, const struct lr_stubs *stubs, uintptr_t function) {
  const uintptr_t behind = s->address + s->length - function;
  return behind < LR_NEAREST || behind > LR_FURTHEST ? 0 : stubs->enter[behind - LR_NEAREST];
}

LR_OWN int lr_sled_look(struct lr_sled *s, const struct lr_stubs *stubs, uintptr_t function, size_t bytes) {
  static const uint8_t over[LR_SLED_BYTES] = {0xeb, 9, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0};
  static const uint8_t left[LR_SLED_BYTES] = {RETURN, 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0};
  const uint8_t *const text = (const uint8_t *)s->address;
  if (bytes < 5) return 0;
  memset(s->on, NO_MEANING, sizeof s->on);
  switch (s->kind) {
  case LR_SLED_XRAY:
  case LR_SLED_XRAY_TAIL:
    if (bytes < sizeof over || memcmp(text, over, sizeof over) != 0) return 0;
    s->length = sizeof over;
    s->on[0] = over[0];
    s->on[1] = 0;
    s->on[6] = CALL;
    if (!reach(&s->on[7], s->address + s->length, s->kind == LR_SLED_XRAY ? entry(s, stubs, function) : stubs->tail)) return 0;
    break;
  case LR_SLED_EXIT:
    if (bytes < sizeof left || memcmp(text, left, sizeof left) != 0) return 0;
    s->length = 5;
    s->on[0] = JUMP;
    if (!reach(&s->on[1], s->address + 5, stubs->exit)) return 0;
    break;
  default: {
    const int leave = s->kind == LR_SLED_RETURN;
    size_t n = lr_nop_length(text, bytes);
    s->length = (uint8_t)(n < 5 ? 5 : n);
    if (n > 5) {
      if (leave) return 0;
      s->kind = LR_SLED_LONG;
    } else if (n < 5) {
      if (leave || !n) return 0;
      s->kind = LR_SLED_NOPS;
      while (n < 5) {
        const size_t one = lr_nop_length(text + n, bytes - n);
        if (!one || n + one > 5) return 0;
        n += one;
      }
    }
    s->on[s->length - 5] = CALL;
    if (!reach(&s->on[s->length - 4], s->address + s->length, leave ? stubs->leave : entry(s, stubs, function))) return 0;
  }
  }
  memcpy(s->file, text, s->length);
  s->state = LR_SLED_OFF;
  return 1;
}

/* ---- writing ---- */

/* open_text opens /proc/self/mem; -1 if that is not the memory of this process, as under an emulator. */
LR_OWN static int open_text(uintptr_t probe) {
  uint8_t seen[LR_SLED_BYTES];
  int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (fd < 0) return -1;
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 700);
  if (high >= 0) {
    close(fd);
    fd = high;
  }
  if (pread(fd, seen, sizeof seen, (off_t)probe) == (ssize_t)sizeof seen && memcmp(seen, (const void *)probe, sizeof seen) == 0) return fd;
  close(fd);
  return -1;
}

LR_OWN static int put(int fd, uintptr_t to, const uint8_t *bytes, size_t n) {
  return pwrite(fd, bytes, n, (off_t)to) == (ssize_t)n;
}

/* threads returns how many threads the process has; 0: it is not known. */
LR_OWN static unsigned threads(void) {
  char text[1024];
  const size_t n = lr_read_file("/proc/self/stat", text, sizeof text - 1);
  text[n] = 0;
  const char *s = strrchr(text, ')');
  for (int field = 2; s && field < 20; field++) s = strchr(s + 1, ' ');
  unsigned v = 0;
  if (s)
    for (s++; *s >= '0' && *s <= '9'; s++) v = v * 10 + (unsigned)(*s - '0');
  return v;
}

/* fetch_anew makes all processors that run this process fetch the text again; 0 if the system cannot do
 * that. */
LR_OWN static int fetch_anew(void) {
  enum { SYNC_CORE = 1 << 5, REGISTER = 1 << 6 };
  static int registered;
  if (!registered) {
    if (syscall(SYS_membarrier, REGISTER, 0, 0) != 0) return 0;
    registered = 1;
  }
  return syscall(SYS_membarrier, SYNC_CORE, 0, 0) == 0;
}

/* Another thread, and how long it had run when it was looked at. */
struct other {
  uint32_t id;
  uint64_t ran; /* ns */
};

LR_OWN static uint64_t digits(const char **s) {
  uint64_t v = 0;
  while (**s >= '0' && **s <= '9') v = v * 10 + (uint64_t)(*(*s)++ - '0');
  return v;
}

/* sleeps tells whether a thread waits in the kernel, and how long it has run. */
LR_OWN static int sleeps(uint32_t id, uint64_t *ran) {
  char path[64], text[512];
  struct lr_text t = {path, 0, sizeof path - 1};
  lr_text_add(&t, "/proc/self/task/");
  lr_text_add_number(&t, id);
  const size_t stem = t.n;
  lr_text_add(&t, "/schedstat");
  path[t.n] = 0;
  size_t n = lr_read_file(path, text, sizeof text - 1);
  if (!n) return syscall(SYS_tgkill, getpid(), id, 0) != 0; /* it has ended, or nothing can be learnt of it */
  text[n] = 0;
  const char *s = text;
  *ran = digits(&s);
  t.n = stem;
  lr_text_add(&t, "/stat");
  path[t.n] = 0;
  n = lr_read_file(path, text, sizeof text - 1);
  text[n] = 0;
  s = strrchr(text, ')');
  /* In state D it may wait for the page of the next nop, in the middle of the nops. */
  return s && s[1] && (s[2] == 'S' || s[2] == 'Z' || s[2] == 'X');
}

/* moved waits until each other thread has run or waits in the kernel, so that none still stands between
 * two nops; 0 if that takes too long. */
LR_OWN static int moved(void) {
  enum { MOST = 4096, PAUSE = 1000000 /* ns */, ROUNDS = 500 };
  struct linux_dirent64 {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
  };
  struct other *const list = plat_pages(MOST * sizeof *list, 0);
  if (!list) return 0;
  const uint32_t self = (uint32_t)plat_thread_id();
  size_t n = 0;
  const int dir = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  static char entries[8192] __attribute__((aligned(8)));
  long got = 0;
  while (dir >= 0 && (got = syscall(SYS_getdents64, dir, entries, sizeof entries)) > 0) {
    for (long at = 0; at < got;) {
      const struct linux_dirent64 *const e = (const void *)(entries + at);
      const char *s = e->name;
      const uint32_t id = (uint32_t)digits(&s);
      if (id && id != self && n < MOST) {
        list[n].id = id;
        if (!sleeps(id, &list[n].ran)) n++;
      }
      at += e->length;
    }
  }
  if (dir >= 0) close(dir);
  int done = dir >= 0 && got == 0 && n < MOST;
  for (int round = 0; done && n && round < ROUNDS; round++) {
    const struct timespec pause = {0, PAUSE};
    syscall(SYS_nanosleep, &pause, NULL);
    for (size_t i = 0; i < n;) {
      uint64_t ran = 0;
      if (sleeps(list[i].id, &ran) || ran != list[i].ran) list[i] = list[--n];
      else i++;
    }
  }
  done = done && !n;
  plat_pages_free(list, MOST * sizeof *list);
  return done;
}

/* ---- one thread ---- */

/* decides returns the index of the byte that switches a sled. */
LR_OWN static size_t decides(const struct lr_sled *s) { return s->kind == LR_SLED_XRAY || s->kind == LR_SLED_XRAY_TAIL; }

/* as writes the bytes that a sled has in a state. A LONG sled that is held has those of the file. */
LR_OWN static void as(const struct lr_sled *s, enum lr_sled_state to, uint8_t *out) {
  const size_t i = decides(s);
  memcpy(out, to == LR_SLED_OFF || (to == LR_SLED_HELD && s->kind == LR_SLED_LONG) ? s->file : s->on, s->length);
  if (to == LR_SLED_HELD) out[i] = s->kind <= LR_SLED_RETURN ? TEST : s->file[i];
}

/* stands tells whether the text of a sled is still what was last written there. */
LR_OWN static int stands(const struct lr_sled *s) {
  uint8_t now[LR_SLED_BYTES];
  as(s, (enum lr_sled_state)s->state, now);
  return memcmp((const void *)s->address, now, s->length) == 0;
}

/* set_alone changes sleds while there is only one thread, a page or so at a time. */
LR_OWN static size_t set_alone(int fd, struct lr_sled *sleds, size_t n, enum lr_sled_state to) {
  enum { ROOM = 16384, GAP = 1024 };
  static uint8_t text[ROOM];
  size_t failed = 0;
  for (size_t i = 0; i < n;) {
    const uintptr_t begin = sleds[i].address;
    size_t last = i, length = sleds[i].length;
    while (last + 1 < n && sleds[last + 1].address - (begin + length) < GAP && sleds[last + 1].address + LR_SLED_BYTES - begin < ROOM) {
      last++;
      length = sleds[last].address + sleds[last].length - begin;
    }
    /* Each sled is compared by itself, so that one that overlaps another is left alone. */
    memcpy(text, (const void *)begin, length);
    for (size_t k = i; k <= last; k++)
      if (stands(&sleds[k])) as(&sleds[k], to, text + (sleds[k].address - begin));
    const int written = put(fd, begin, text, length);
    for (size_t k = i; k <= last; k++) {
      uint8_t now[LR_SLED_BYTES];
      as(&sleds[k], to, now);
      if (written && memcmp((const void *)sleds[k].address, now, sleds[k].length) == 0) sleds[k].state = (uint8_t)to;
      else failed++;
    }
    i = last + 1;
  }
  return failed;
}

/* ---- while others run ---- */

/* How far the change of a sled has come, in lr_sled.spare. */
enum { LEFT_ALONE = 0, BEGUN = 1, CHANGED = 2 };

/* flip changes the deciding byte: a sled that is HELD becomes ON, or the other way round. */
LR_OWN static int flip(int fd, struct lr_sled *s, enum lr_sled_state to) {
  uint8_t all[LR_SLED_BYTES];
  const size_t i = decides(s);
  as(s, to, all);
  if (!put(fd, s->address + i, &all[i], 1)) return 0;
  s->state = (uint8_t)to;
  return 1;
}

/* hold brings a sled into the form in which the bytes behind the deciding one are not run; 1 if a thread may
 * still stand among them. */
LR_OWN static int hold(int fd, struct lr_sled *s, enum lr_sled_state to) {
  const uint8_t test = TEST;
  s->spare = LEFT_ALONE;
  if (s->state == to || s->kind == LR_SLED_LONG || !stands(s)) return 0;
  if (s->state == LR_SLED_ON) s->spare = flip(fd, s, LR_SLED_HELD) ? BEGUN : LEFT_ALONE;
  else if (s->state == LR_SLED_HELD || s->kind > LR_SLED_RETURN) s->spare = BEGUN;
  else s->spare = put(fd, s->address, &test, 1) ? BEGUN : LEFT_ALONE;
  if (s->spare == LEFT_ALONE) return 0;
  return s->state == LR_SLED_OFF ? s->kind == LR_SLED_NOPS : to == LR_SLED_OFF && decides(s);
}

/* change writes the bytes behind the deciding one. others: a thread may stand among them. */
LR_OWN static void change(int fd, struct lr_sled *s, enum lr_sled_state to, int others) {
  const size_t from = decides(s) + 1;
  if (s->spare != BEGUN || (s->state == LR_SLED_HELD && to != LR_SLED_OFF)) return;
  if (others && (s->state == LR_SLED_OFF ? s->kind == LR_SLED_NOPS : decides(s) != 0)) return;
  if (!put(fd, s->address + from, (to == LR_SLED_OFF ? s->file : s->on) + from, s->length - from)) return;
  s->spare = CHANGED;
  if (s->state == LR_SLED_OFF) s->state = LR_SLED_HELD;
}

/* finish switches a sled to the wanted state; 0 if that is not possible. */
LR_OWN static int finish(int fd, struct lr_sled *s, enum lr_sled_state to) {
  const int done = s->spare;
  s->spare = LEFT_ALONE;
  if (s->state == to) return 1;
  if (done == LEFT_ALONE) return 0;
  if (to == LR_SLED_OFF) {
    if (done != CHANGED || (s->kind <= LR_SLED_RETURN && !put(fd, s->address, s->file, 1))) return 0;
    s->state = LR_SLED_OFF;
    return 1;
  }
  if (s->state == LR_SLED_HELD) return to == LR_SLED_HELD || flip(fd, s, LR_SLED_ON);
  /* The other bytes could not be written: the first byte becomes that of the file again. */
  if (s->kind <= LR_SLED_RETURN) put(fd, s->address, s->file, 1);
  return 0;
}

/* set_running changes sleds while other threads run. Each step is done for all sleds before the next one. */
LR_OWN static size_t set_running(int fd, struct lr_sled *sleds, size_t n, enum lr_sled_state to) {
  size_t failed = 0;
  int others = 0;
  /* Without membarrier the change could not be finished, so it is not begun. */
  if (!fetch_anew()) return n;
  for (size_t i = 0; i < n; i++) others |= hold(fd, &sleds[i], to);
  fetch_anew();
  if (others) others = !moved();
  for (size_t i = 0; i < n; i++) change(fd, &sleds[i], to, others);
  fetch_anew();
  for (size_t i = 0; i < n; i++) failed += !finish(fd, &sleds[i], to);
  fetch_anew();
  return failed;
}

LR_OWN size_t lr_sleds_set(struct lr_sled *sleds, size_t n, enum lr_sled_state to, int by_signal) {
  if (!n) return 0;
  const int fd = open_text(sleds[0].address);
  if (fd < 0) return n;
  size_t failed = 0;
  if (by_signal) {
    for (size_t i = 0; i < n; i++) {
      struct lr_sled *const s = &sleds[i];
      if (s->state != to && (s->kind == LR_SLED_LONG || s->state == LR_SLED_OFF || to == LR_SLED_OFF || !stands(s) || !flip(fd, s, to))) failed++;
    }
  } else if (threads() == 1) {
    failed = set_alone(fd, sleds, n, to);
  } else {
    failed = set_running(fd, sleds, n, to);
  }
  close(fd);
  return failed;
}

#endif
