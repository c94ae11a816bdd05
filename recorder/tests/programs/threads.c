/* Threads that share work under a lock; some end by pthread_exit, one is cancelled. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static void add(long v) {
  pthread_mutex_lock(&lock);
  total += v;
  pthread_mutex_unlock(&lock);
}
static void leave_early(long v) {
  add(v);
  if (v % 3 == 0) pthread_exit(NULL);
}
static void *work(void *argument) {
  const long n = (long)argument;
  for (long i = 1; i < 20; i++) leave_early(n * 100 + i);
  return NULL;
}
static int ready[2];
static void wait_for_end(void) {
  if (write(ready[1], "", 1) != 1) _exit(9);
  for (;;) pause();
}
static void *endless(void *argument) {
  (void)argument;
  wait_for_end();
  return NULL;
}

int main(void) {
  pthread_t t[6], e;
  char byte;
  void *result;
  if (pipe(ready)) return 8;
  for (long i = 0; i < 6; i++) pthread_create(&t[i], NULL, work, (void *)i);
  for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
  pthread_create(&e, NULL, endless, NULL);
  if (read(ready[0], &byte, 1) != 1) return 7;
  pthread_cancel(e);
  pthread_join(e, &result);
  printf("%ld %d\n", total, result == PTHREAD_CANCELED);
  return 0;
}
