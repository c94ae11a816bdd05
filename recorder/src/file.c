/* file.c: the log's file: its name, how it grows by chunks, and what happens when it
 * cannot.
 *
 * All of it is called with the lock, and may be in a signal handler. Memory is static, because the stack may
 * be a small one. */

#include "core.h"

LR_OWN uint32_t lr_checksum(const void *p, size_t n) {
  const uint8_t *b = p;
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 16777619u;
  return h;
}

LR_COLD void lr_file_failed(int why) {
  if (lr_global.state != LR_RUNNING) return;
  lr_global.state = LR_STOPPED;
  lr_store(&lr_mode, LR_OFF);
  if (lr_global.header) {
    lr_store(&lr_global.header->why, plat_why());
    lr_store(&lr_global.header->state, why == PLAT_FULL ? LRF_DISK_FULL : LRF_FAILED);
    plat_file_trim(lr_global.end);
  }
  static char line[4600];
  struct lr_body b = {(uint8_t *)line, 0, sizeof line - 1};
  lr_put(&b, "logrec: ", 8);
  lr_put(&b, lr_global.path, strlen(lr_global.path));
  lr_put(&b, ": ", 2);
  lr_put(&b, plat_error(), strlen(plat_error()));
  lr_put(&b, "; nothing more is recorded", 26);
  line[b.length] = 0;
  plat_message(line);
}

LR_OWN struct lrf_chunk *lr_file_extend(uint32_t *size, int *why) {
  const uint64_t room = PLAT_STEP - lr_global.end % PLAT_STEP;
  if (*size > room) *size = (uint32_t)room;
  struct lrf_chunk *c = plat_file_extend(lr_global.end, *size, lr_global.ended || lr_settings.ring, why);
  if (!c) return NULL;
  lr_global.end += *size;
  lr_store(&lr_global.header->end, lr_global.end);
  return c;
}

/* ---- the name ---- */

LR_OWN void lr_text_add(struct lr_text *t, const char *s) {
  while (*s && t->n + 1 < t->capacity) t->p[t->n++] = *s++;
  t->p[t->n] = 0;
}
LR_OWN void lr_text_add_number(struct lr_text *t, uint64_t v) {
  char b[24];
  int i = sizeof b;
  b[--i] = 0;
  do b[--i] = (char)('0' + v % 10);
  while (v /= 10);
  lr_text_add(t, b + i);
}

LR_OWN static const char *base_name(const char *path) {
  const char *name = path;
  for (; *path; path++)
    if (*path == '/' || *path == '\\') name = path + 1;
  return name;
}

/* lr_name_file: the name that was set, or program.pid.start.lptrace; a later attempt has a
 * number in it, since what exists already is never touched. */
LR_OWN void lr_name_file(const struct plat_process *process, int n) {
  struct lr_text t = {lr_global.path, 0, sizeof lr_global.path};
  static char given[sizeof lr_settings.file + 32];
  struct lr_text g = {given, 0, sizeof given};
  given[0] = 0;
  for (const char *s = lr_settings.file; *s; s++) {
    char one[2] = {*s, 0};
    if (s[0] == '%' && s[1] == 'p') {
      lr_text_add_number(&g, process->pid);
      s++;
    } else {
      if (s[0] == '%' && s[1] == '%') s++;
      lr_text_add(&g, one);
    }
  }
  const size_t length = g.n;
  const int slash = length && (given[length - 1] == '/' || given[length - 1] == '\\');
  if (length && !slash && !plat_is_folder(given)) {
    if (n == 0) {
      lr_text_add(&t, given);
      return;
    }
    /* The number goes before the extension. */
    const char *name = base_name(given);
    char *dot = NULL;
    for (char *s = (char *)name; *s; s++)
      if (*s == '.' && s != name) dot = s;
    if (dot) *dot = 0;
    lr_text_add(&t, given);
    lr_text_add(&t, ".");
    lr_text_add_number(&t, process->pid);
    if (n > 1) {
      lr_text_add(&t, ".");
      lr_text_add_number(&t, (uint64_t)n);
    }
    if (dot) {
      *dot = '.';
      lr_text_add(&t, dot);
    }
    return;
  }
  lr_text_add(&t, given);
  if (length && !slash) lr_text_add(&t, "/");
  lr_text_add(&t, process->path[0] ? base_name(process->path) : "program");
  lr_text_add(&t, ".");
  lr_text_add_number(&t, process->pid);
  lr_text_add(&t, ".");
  lr_text_add_number(&t, process->started);
  if (n > 0) {
    lr_text_add(&t, ".");
    lr_text_add_number(&t, (uint64_t)n + 1);
  }
  lr_text_add(&t, ".lptrace");
}
