/* Built with the recorder: a function that is not recorded crashes (WAY 1), or one writes over
   its stack first (WAY 2). */
#include <string.h>

#define NOINLINE __attribute__((noinline))

static long *volatile nowhere;
static volatile long sink;
char *volatile begin;

NOINLINE __attribute__((no_instrument_function)) static long hidden(long *p) {
#if WAY == 2
	char room[16];
	begin = room;
	memset(begin, 0x41, 600);
	__asm__ volatile("" ::: "memory");
#endif
	long v = *p;
	sink += v;
	return v + 1;
}
NOINLINE long third(long *p) {
	long v = hidden(p);
	sink += v;
	return v * 2;
}
NOINLINE long second(long *p) {
	long v = third(p);
	sink += v;
	return v + 2;
}
NOINLINE long first(long *p) {
	char room[2000];
	room[sink & 1023] = 1;
	long v = second(p);
	return v + room[v & 1023];
}
int main(void) { return (int)first(nowhere); }
