/* Handlers that interrupt calls, on the thread's stack and on one of their own. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int handled;
static int inside(int n) { return n < 2 ? n : inside(n - 1) + inside(n - 2); }
static void handler(int number) { handled += number == SIGUSR1 ? inside(5) : 100; }
static int interrupted(int n) {
  raise(n % 2 ? SIGUSR1 : SIGUSR2);
  return n ? interrupted(n - 1) + 1 : 0;
}

int main(void) {
  stack_t stack = {0};
  stack.ss_size = 1 << 16;
  stack.ss_sp = malloc(stack.ss_size);
  sigaltstack(&stack, NULL);
  struct sigaction action = {0};
  action.sa_handler = handler;
  sigaction(SIGUSR1, &action, NULL);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, NULL);
  printf("%d %d\n", interrupted(20), handled);
  fflush(stdout);
  signal(SIGTERM, SIG_DFL);
  kill(getpid(), SIGTERM);
  return 1;
}
