/* Coroutines by ucontext: calls on several stacks that take turns. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACK = 1 << 16, COROUTINES = 3 };
static ucontext_t main_context, context[COROUTINES];
static int done[COROUTINES], value;
static void yield(int me) { swapcontext(&context[me], &main_context); }
static void produce(int me, int n) {
  value = me * 100 + n;
  yield(me);
}
static void nested(int me, int n) {
  if (n > 3) return;
  produce(me, n);
  nested(me, n + 1);
  produce(me, n + 50);
}
static void body(int me) {
  nested(me, 0);
  done[me] = 1;
}

int main(void) {
  int left = COROUTINES;
  for (int i = 0; i < COROUTINES; i++) {
    getcontext(&context[i]);
    context[i].uc_stack.ss_sp = malloc(STACK);
    context[i].uc_stack.ss_size = STACK;
    context[i].uc_link = &main_context;
    makecontext(&context[i], (void (*)(void))body, 1, i);
  }
  while (left)
    for (int i = 0; i < COROUTINES; i++) {
      if (done[i]) continue;
      swapcontext(&main_context, &context[i]);
      if (done[i]) left--;
      else printf("%d ", value);
    }
  printf("\n");
  return 0;
}
