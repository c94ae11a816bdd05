/* memory_linux.c: pages of memory, straight from the system, and the one that tells a forked
 * child.
 *
 * No locks; a signal handler may call all of it. A sandbox may not let it: then there are
 * no pages. Where the program's address space has a limit the recorder takes a small part of what there is, so
 * that the program has the rest. */

#include "system_linux.h"

#if !defined(_WIN32)

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if !defined(MADV_WIPEONFORK)
#define MADV_WIPEONFORK 18
#endif

/* What the recorder has mapped, bytes: of the log, too. */
static uint64_t mapped;

LR_OWN void lr_has_mapped_bytes(int64_t n) { __atomic_fetch_add(&mapped, (uint64_t)n, __ATOMIC_RELAXED); }

LR_OWN uint64_t lr_address_room(void) {
  enum { SHARE = 8, SMALL_SHARE = 64 };
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  char text[64];
  text[lr_read_file("/proc/self/statm", text, sizeof text - 1)] = 0;
  uint64_t used = 0;
  for (const char *s = text; *s >= '0' && *s <= '9'; s++) used = used * 10 + (uint64_t)(*s - '0');
  used *= lr_page_size();
  const uint64_t ours = lr_load(&mapped), programs = used > ours ? used - ours : 0;
  const uint64_t most = limit.rlim_cur > programs ? (limit.rlim_cur - programs) / SHARE : 0;
  /* The limit may have come later, when the recorder had more: then a very small part of what is left. */
  const uint64_t least = limit.rlim_cur > used ? (limit.rlim_cur - used) / SMALL_SHARE : 0;
  return most > ours + least ? most - ours : least;
}

LR_OWN void *plat_pages(size_t size, int lost_in_child) {
  if (lr_load(&lr_barred) || size > lr_address_room()) return NULL;
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  lr_has_mapped_bytes((int64_t)size);
  /* A child that no fork handler ran in must not write into its parent's
   * file: it finds a thread that is not alive. Before Linux 4.14 only the fork
   * handler sees to that. */
  if (lost_in_child) madvise(p, size, MADV_WIPEONFORK);
  return p;
}
LR_OWN void plat_pages_free(void *p, size_t size) {
  if (munmap(p, size) == 0) lr_has_mapped_bytes(-(int64_t)size);
}

LR_OWN void *plat_pages_grow(void *p, size_t size, size_t larger) {
  if (lr_load(&lr_barred) || larger - size > lr_address_room()) return NULL;
  void *q = mremap(p, size, larger, MREMAP_MAYMOVE);
  if (q == MAP_FAILED) return NULL;
  lr_has_mapped_bytes((int64_t)(larger - size));
  return q;
}

uint32_t *lr_not_forked;

LR_OWN void lr_watch_for_forks(void) {
  enum { PAGE = 4096 };
  if (lr_not_forked) return;
  uint32_t *p = plat_pages(PAGE, 0);
  if (!p) return;
  if (madvise(p, PAGE, MADV_WIPEONFORK) < 0) {
    plat_pages_free(p, PAGE);
    return;
  }
  *p = 1;
  lr_store(&lr_not_forked, p);
}

#endif
