/* A program with a malloc of its own, which is recorded like its other functions. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char heap[1 << 22];
static size_t used;
static size_t rounded(size_t n) { return (n + 31) & ~(size_t)15; }
void *malloc(size_t n) {
  const size_t at = __atomic_fetch_add(&used, rounded(n), __ATOMIC_SEQ_CST);
  if (at + rounded(n) > sizeof heap) return NULL;
  *(size_t *)(heap + at) = n;
  return heap + at + 16;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) {
  void *p = malloc(n * size);
  if (p) memset(p, 0, n * size);
  return p;
}
void *realloc(void *p, size_t n) {
  void *q = malloc(n);
  if (p && q) memcpy(q, p, n < ((size_t *)p)[-2] ? n : ((size_t *)p)[-2]);
  return q;
}

int main(void) {
  char *p = malloc(10);
  strcpy(p, "allocated");
  p = realloc(p, 100);
  if (write(1, p, 9) != 9 || write(1, "\n", 1) != 1) return 1;
  free(p);
  return 4;
}
