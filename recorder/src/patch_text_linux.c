/* patch_text_linux.c: changes the text of sleds (patch.h) while the program may run it.
 *
 * The mappings keep their permissions: text is written through /proc/self/mem, so that no page is ever
 * writable and executable at once, and no page loses the permission to run. Without /proc/self/mem nothing
 * is patched.
 *
 * Other threads may run the text meanwhile. So after each store the text is valid from every instruction at
 * which a thread may stand, and a single byte switches between the two forms, on arm64 a single instruction. x86-64:
 *   - Five bytes at an entry, or before a return, where the flags are not in use. As "test $imm,%eax" the
 *     last four bytes are only a number. The first byte becomes that of this instruction, then the other four
 *     are changed, then the first byte becomes that of a call, or of the nop that the file has.
 *   - XRay's sleds. The jump over nine bytes gets the distance 0, so that a call follows that fills the nine
 *     bytes with prefixes that have no effect. The ret becomes a jump of five bytes, the last four of
 *     which were never run.
 * arm64: XRay's sleds are a branch over nops. What is behind it is changed; then the branch becomes a nop. Processors may
 * run these two while one becomes the other, but nothing else. An entry of nops is changed only while there is one thread:
 * another may sleep in a handler that came between two nops, and would go on behind the push. Nor does a sled get the nops of
 * the file back while others run, since one that returns from a hook needs what pops the registers; it becomes a branch.
 * x86-64: a call ends where the nops ended, so that a thread that returns from a hook finds the beginning of an
 * instruction in either form. Between the steps all processors fetch the text again (membarrier). If a thread
 * may stand between two nops, it is waited for (moved).
 *
 * The caller has blocked signals, unless it is a handler, and no other thread patches meanwhile. */

#include "system_linux.h"

#include "patch.h"

#if LR_HAVE_PATCHES

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

#if defined(__x86_64__)
static const uint8_t held[LR_SLED_SWITCH] = {0xa9}; /* test $imm,%eax */
enum { KEEPS_WHAT_RETURNS = 0 };
LR_OWN static int nops_may_be_patched(void) { return 1; }
/* skips tells whether the file's first instruction jumps over the others of a sled. */
LR_OWN static int skips(const struct lr_sled *s) { return s->kind == LR_SLED_XRAY || s->kind == LR_SLED_XRAY_TAIL; }
/* decides returns the index of the bytes that switch a sled. */
LR_OWN static size_t decides(const struct lr_sled *s) { return (size_t)skips(s); }
#else
static const uint8_t held[LR_SLED_SWITCH] = {LR_SLED_BYTES / 4, 0, 0, 0x14}; /* b, behind the sled */
enum { KEEPS_WHAT_RETURNS = 1 };
/* The C library's, from glibc 2.32 on: 0 once the program has started a thread. An emulator has threads of its own from the
 * beginning, which do not run the program. */
extern char __libc_single_threaded __attribute__((weak));
LR_OWN static int nops_may_be_patched(void) { return &__libc_single_threaded && __libc_single_threaded; }
LR_OWN static int skips(const struct lr_sled *s) { return s->kind > LR_SLED_RETURN; }
LR_OWN static size_t decides(const struct lr_sled *s) { return (void)s, 0; }
#endif

/* as writes the bytes that a sled has in a state. A LONG sled that is held has those of the file. */
LR_OWN static void as(const struct lr_sled *s, enum lr_sled_state to, uint8_t *out) {
  const size_t i = decides(s);
  memcpy(out, to == LR_SLED_OFF || (to == LR_SLED_HELD && s->kind == LR_SLED_LONG) ? s->file : s->on, s->length);
  if (to == LR_SLED_HELD) memcpy(out + i, s->kind <= LR_SLED_RETURN ? held : s->file + i, LR_SLED_SWITCH);
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

/* flip changes the deciding bytes: a sled that is HELD becomes ON, or the other way round. */
LR_OWN static int flip(int fd, struct lr_sled *s, enum lr_sled_state to) {
  uint8_t all[LR_SLED_BYTES];
  const size_t i = decides(s);
  as(s, to, all);
  if (!put(fd, s->address + i, &all[i], LR_SLED_SWITCH)) return 0;
  s->state = (uint8_t)to;
  return 1;
}

/* hold brings a sled into the form in which the bytes behind the deciding ones are not run; 1 if a thread may
 * still stand among them. */
LR_OWN static int hold(int fd, struct lr_sled *s, enum lr_sled_state to) {
  s->spare = LEFT_ALONE;
  if (s->state == to || s->kind == LR_SLED_LONG || !stands(s)) return 0;
  if (s->kind == LR_SLED_NOPS && s->state == LR_SLED_OFF && !nops_may_be_patched()) return 0;
  if (s->state == LR_SLED_ON) s->spare = flip(fd, s, LR_SLED_HELD) ? BEGUN : LEFT_ALONE;
  else if (s->state == LR_SLED_HELD || s->kind > LR_SLED_RETURN) s->spare = BEGUN;
  else s->spare = put(fd, s->address, held, LR_SLED_SWITCH) ? BEGUN : LEFT_ALONE;
  if (s->spare == LEFT_ALONE) return 0;
  return s->state == LR_SLED_OFF ? s->kind == LR_SLED_NOPS : to == LR_SLED_OFF && skips(s);
}

/* change writes the bytes behind the deciding ones. others: a thread may stand among them. */
LR_OWN static void change(int fd, struct lr_sled *s, enum lr_sled_state to, int others) {
  const size_t from = decides(s) + LR_SLED_SWITCH;
  if (s->spare != BEGUN || (s->state == LR_SLED_HELD && to != LR_SLED_OFF)) return;
  if (others && (s->state == LR_SLED_OFF ? s->kind == LR_SLED_NOPS : skips(s))) return;
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
    if (done != CHANGED || (s->kind <= LR_SLED_RETURN && !put(fd, s->address, s->file, LR_SLED_SWITCH))) return 0;
    s->state = LR_SLED_OFF;
    return 1;
  }
  if (s->state == LR_SLED_HELD) return to == LR_SLED_HELD || flip(fd, s, LR_SLED_ON);
  /* The other bytes could not be written: the first byte becomes that of the file again. */
  if (s->kind <= LR_SLED_RETURN) put(fd, s->address, s->file, LR_SLED_SWITCH);
  return 0;
}

/* while_running returns the state that a sled can be brought to while other threads run. */
LR_OWN static enum lr_sled_state while_running(const struct lr_sled *s, enum lr_sled_state to) {
  return KEEPS_WHAT_RETURNS && to == LR_SLED_OFF && s->state != LR_SLED_OFF ? LR_SLED_HELD : to;
}

/* set_running changes sleds while other threads run. Each step is done for all sleds before the next one. */
LR_OWN static size_t set_running(int fd, struct lr_sled *sleds, size_t n, enum lr_sled_state to) {
  size_t failed = 0;
  int others = 0;
  /* Without membarrier the change could not be finished, so it is not begun. */
  if (!fetch_anew()) return n;
  for (size_t i = 0; i < n; i++) others |= hold(fd, &sleds[i], while_running(&sleds[i], to));
  fetch_anew();
  if (others) others = !moved();
  for (size_t i = 0; i < n; i++) change(fd, &sleds[i], while_running(&sleds[i], to), others);
  fetch_anew();
  for (size_t i = 0; i < n; i++) failed += !finish(fd, &sleds[i], while_running(&sleds[i], to));
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
