/* snapshot.c: a copy of the log while it is being written.
 *
 * lr_snapshot_to takes the lock for as long as the copy takes: threads that need a new chunk
 * wait for it. A signal handler may call it. */

#include "core.h"

/* begin_copy creates the file: path, or the log's name with a number that no other has.
 * It returns PLAT_OK or why not. */
LR_OWN static int begin_copy(const char *path) {
  static const char extension[] = ".lptrace";
  static char name[sizeof lr_global.path + 32];
  if (path && *path) return plat_copy_begin(path);
  int status = PLAT_EXISTS;
  for (int i = 0; i < 1000 && status == PLAT_EXISTS; i++) {
    struct lr_text t = {name, 0, sizeof name};
    lr_text_add(&t, lr_global.path);
    const size_t n = strlen(extension);
    if (t.n > n && strcmp(name + t.n - n, extension) == 0) t.n -= n;
    lr_text_add(&t, ".snapshot");
    lr_text_add_number(&t, ++lr_global.snapshots);
    lr_text_add(&t, extension);
    status = plat_copy_begin(name);
  }
  return status;
}

/* copy_file writes the header, as that of a log that has ended, and the chunks. They are given
 * out under the lock only: so their headers stand still, and only used grows. What it covers
 * does not change any more, but for a short call that is taken back (LOGREC_MIN). */
LR_OWN static int copy_file(void) {
  static uint8_t page[LRF_HEADER_SIZE];
  const uint64_t end = lr_global.end;
  memcpy(page, lr_global.header, sizeof page);
  struct lrf_file_header *h = (struct lrf_file_header *)page;
  h->flags |= LRF_SNAPSHOT;
  h->checksum = lr_checksum(h, 80);
  h->end = end;
  h->state = LRF_ENDED;
  int ok = plat_copy_write(page, sizeof page);
  for (uint64_t at = sizeof page; at < end && ok;) {
    const struct lrf_chunk *c = plat_file_at(at);
    struct lrf_chunk copy = *c;
    copy.used = lr_load(&c->used);
    ok = plat_copy_write(&copy, sizeof copy) && plat_copy_write(c + 1, copy.size - sizeof copy);
    at += copy.size;
  }
  return ok;
}

LR_OWN int lr_snapshot_to(const char *path) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  int ok = 0;
  if (plat_lock()) {
    if (lr_global.state == LR_RUNNING && begin_copy(path) == PLAT_OK) {
      lr_write_clock();
      ok = copy_file();
      ok = plat_copy_end(ok) && ok;
    }
    plat_unlock();
  }
  plat_slow_end(&saved);
  return ok;
}
