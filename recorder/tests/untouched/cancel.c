/* Threads that are cancelled anywhere, asynchronously: none keeps what others wait for, and all tell that they were cancelled. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sum;
static int leaf(int n) {
  sum += (unsigned)n;
  return n & 1;
}
static int branch(int n) { return n ? branch(n - 1) + leaf(n) : 0; }
__attribute__((no_instrument_function)) static void *run(void *p) {
  int was;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
  for (int i = 0;; i++) branch(i & 63);
  return p;
}

int main(void) {
  int good = 0;
  for (int i = 0; i < 40; i++) {
    pthread_t t[3];
    void *result;
    for (int k = 0; k < 3; k++) pthread_create(&t[k], NULL, run, NULL);
    usleep((unsigned)(i * 37 % 800));
    for (int k = 0; k < 3; k++) pthread_cancel(t[k]);
    for (int k = 0; k < 3; k++) good += pthread_join(t[k], &result) == 0 && result == PTHREAD_CANCELED;
  }
  printf("%d\n", good);
  return leaf(7) + 6;
}
