/* Programs that crash, one a WAY: what debuggers and LogParser must agree about. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct node {
	struct node *next;
	long value;
};

static volatile long sink;
static struct node *volatile nowhere;

NOINLINE long leaf(struct node *n) { return n->value + 1; }
static inline long inlined_twice(struct node *n) { return n->value * 3 + sink; }
static inline long inlined_once(struct node *n) {
	sink++;
	return inlined_twice(n) + 2;
}

#if WAY == 1 /* a chain of calls */
NOINLINE long second(struct node *n) {
	long v = leaf(n);
	sink += v;
	return v;
}
NOINLINE long first(struct node *n) {
	long v = second(n);
	sink += v;
	return v;
}
int main(void) { return (int)first(nowhere); }
#elif WAY == 2 /* in functions that were inlined */
NOINLINE long around(struct node *n) {
	long v = inlined_once(n);
	sink += v;
	return v;
}
int main(void) {
	sink += around(nowhere);
	return 0;
}
#elif WAY == 3 /* called back by the library, through the PLT */
static int compare(const void *a, const void *b) {
	sink += leaf(nowhere);
	return *(const char *)a - *(const char *)b;
}
int main(void) {
	char text[] = "dcba";
	qsort(text, 4, 1, compare);
	return text[0];
}
#elif WAY == 4 /* in a signal handler */
static void handler(int signal) { sink += leaf(nowhere) + signal; }
NOINLINE void interrupted(void) {
	raise(SIGUSR1);
	sink++;
}
int main(void) {
	signal(SIGUSR1, handler);
	interrupted();
	return 0;
}
#elif WAY == 5 /* a call that does not return is a function's last instruction */
NOINLINE __attribute__((noreturn)) void give_up(long v) {
	sink = v;
	abort();
}
NOINLINE void check(struct node *n) {
	sink++;
	if (!n)
		give_up(3);
	sink += n->value;
}
int main(void) {
	check(nowhere);
	return 0;
}
#elif WAY == 6 /* a null pointer is called */
static long (*volatile function)(long);
NOINLINE long caller(long v) {
	long r = function(v);
	sink += r;
	return r;
}
int main(void) { return (int)caller(7); }
#elif WAY == 7 /* a second thread */
NOINLINE static void *work(void *n) {
	sink += leaf(n);
	return 0;
}
int main(void) {
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	pthread_join(t, 0);
	return 0;
}
#elif WAY == 8 /* a frame with room of its own size, and one that is aligned */
NOINLINE long aligned(struct node *n, char *room) {
	char local[64] __attribute__((aligned(64)));
	memset(local, room[0], sizeof local);
	sink += (long)local & 63;
	long v = leaf(n);
	sink += local[room[1] & 63];
	return v;
}
NOINLINE long roomy(struct node *n, size_t size) {
	char *room = __builtin_alloca(size);
	memset(room, 1, size);
	long v = aligned(n, room);
	sink += room[size / 2];
	return v;
}
int main(void) { return (int)roomy(nowhere, 1000 + (size_t)sink); }
#elif WAY == 9 /* the stack is full, and a handler on its own stack ends it */
static void handler(int signal) {
	sink = signal;
	abort();
}
NOINLINE long deeper(long v) {
	char room[1 << 16];
	room[v & 1023] = (char)v;
	sink += v;
	long r = deeper(v + 1);
	return r + room[r & 1023];
}
int main(void) {
	stack_t st = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	sigaltstack(&st, 0);
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaction(SIGSEGV, &sa, 0);
	return (int)deeper(1);
}
#endif
