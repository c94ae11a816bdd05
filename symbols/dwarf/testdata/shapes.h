// A header whose functions are inlined into both sources.
#pragma once

namespace app {

class Shape {
public:
	virtual ~Shape();
	virtual int area() const = 0;
	Shape &operator+=(int d);
	explicit operator bool() const;
	static int count;
};

template <typename T> __attribute__((noinline)) T twice(T t) { return t + t; }

template <typename T> struct Box {
	T value;
	inline T get() const { return value * 2; }
	__attribute__((noinline)) void set(T v) { value = v ^ 0x5a; }
};

static inline int step(int n)
{
	int k = n * 7;
	return k ^ (n >> 3);
}

inline int climb(int n)
{
	int s = step(n);
	s += step(s + 1);
	return s;
}

} // namespace app

extern "C" int report(const char *text, int n);
extern "C" [[noreturn]] void fail(const char *text);
