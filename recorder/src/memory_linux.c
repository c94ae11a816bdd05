/* memory_linux.c: pages of memory, straight from the system, and the one that tells a forked
 * child.
 *
 * No locks; a signal handler may call all of it. A sandbox may not let it: then there are
 * no pages. */

#include "system_linux.h"

#if !defined(_WIN32)

#include <sys/mman.h>

#if !defined(MADV_WIPEONFORK)
#define MADV_WIPEONFORK 18
#endif

LR_OWN void *plat_pages(size_t size, int lost_in_child) {
  if (lr_load(&lr_barred)) return NULL;
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  /* A child that no fork handler ran in must not write into its parent's
   * file: it finds a thread that is not alive. Before Linux 4.14 only the fork
   * handler sees to that. */
  if (lost_in_child) madvise(p, size, MADV_WIPEONFORK);
  return p;
}
LR_OWN void plat_pages_free(void *p, size_t size) { munmap(p, size); }

LR_OWN void *plat_pages_grow(void *p, size_t size, size_t larger) {
  if (lr_load(&lr_barred)) return NULL;
  void *q = mremap(p, size, larger, MREMAP_MAYMOVE);
  return q == MAP_FAILED ? NULL : q;
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
