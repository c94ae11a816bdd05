#include "shapes.h"

namespace app {

int Shape::count;

Shape::~Shape() { count--; }

Shape &Shape::operator+=(int d)
{
	count += climb(d);
	return *this;
}

Shape::operator bool() const { return count > 0; }

namespace {

struct Square : Shape {
	int side;
	explicit Square(int s) : side(s) { count++; }
	int area() const override { return climb(side) * side; }
};

__attribute__((noinline)) int hidden(int n)
{
	return climb(n) + report("hidden", n);
}

} // namespace

static __attribute__((noinline)) int local(int n)
{
	struct Inner {
		__attribute__((noinline)) static int run(int m) { return report("inner", m) + step(m); }
	};
	auto add = [n](int m) __attribute__((noinline)) { return report("lambda", m) + n; };
	return Inner::run(n) + add(n + 1);
}

} // namespace app

extern "C" int counted(int n);

int checked(int n)
{
	if (__builtin_expect(n < 0, 0)) {
		report("negative", n);
		report("again", app::climb(n));
		fail("checked");
	}
	return app::step(n);
}

int folded_a(int n) { return n * 3 + report("folded", n); }
int folded_b(int n) { return n * 3 + report("folded", n); }

int run(int n)
{
	app::Square s(n);
	app::Shape &shape = s;
	shape += n;
	app::Box<int> b{n};
	b.set(b.get());
	int total = shape ? shape.area() : 0;
	total += app::twice<int>(n) + (int)app::twice<double>(n);
	total += app::hidden(n) + app::local(n) + checked(n) + counted(n);
	return total + folded_a(n) - folded_b(n) + b.value;
}
