/* Threads that allocate, for sanitizers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int leaf(int n) {
  char *p = malloc((size_t)n + 1);
  memset(p, 1, (size_t)n + 1);
  const int result = p[n] + n;
  free(p);
  return result;
}

static void *run(void *p) {
  int sum = 0;
  for (int i = 0; i < 10000; i++) sum += leaf(i & 63);
  *(int *)p = sum;
  return p;
}

int main(void) {
  pthread_t t[4];
  int result[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, run, &result[i]);
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
  printf("%d\n", result[0] == result[3]);
  return 6;
}
