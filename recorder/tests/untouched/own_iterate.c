/* A dl_iterate_phdr of the program's own that calls recorded functions while it has a lock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>

typedef int (*visit)(struct dl_phdr_info *, size_t, void *);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*real)(visit, void *);

static int count(struct dl_phdr_info *info, size_t size, void *p) {
  (void)info, (void)size;
  ++*(int *)p;
  return 0;
}

int dl_iterate_phdr(visit see, void *p) {
  int n = 0;
  pthread_mutex_lock(&lock);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
  for (int i = 0; i < 200000; i++) count(NULL, 0, &n);
  const int result = real(see, p);
  pthread_mutex_unlock(&lock);
  return result;
}

int main(void) {
  int n = 0;
  dl_iterate_phdr(count, &n);
  printf("%d\n", n > 1);
  return 4;
}
