// C++ programs that crash, one a WAY.
#include <stdexcept>
#include <string>

#define NOINLINE __attribute__((noinline))

static volatile long sink;
static long *volatile nowhere;

struct Guard {
	NOINLINE ~Guard() { sink = sink + 1; }
};

NOINLINE void thrower(int v) { throw std::runtime_error(std::string(v, 'x')); }
NOINLINE void through(int v) {
	Guard g;
	thrower(v);
	sink = sink + v;
}

#if WAY == 1 // nobody catches what is thrown
int main() {
	through(3);
	return 0;
}
#elif WAY == 2 // a crash while an exception is handled, after frames were left by it
NOINLINE void handle() {
	try {
		through(4);
	} catch (const std::exception &e) {
		sink = sink + *nowhere + e.what()[0];
	}
}
int main() {
	handle();
	return 0;
}
#elif WAY == 3 // in a destructor that runs because of an exception
struct Crash {
	NOINLINE ~Crash() { sink = sink + *nowhere; }
};
NOINLINE void unwound() {
	Crash c;
	thrower(5);
}
int main() {
	try {
		unwound();
	} catch (...) {
	}
	return 0;
}
#endif
