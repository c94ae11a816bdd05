// The program whose PDB the tests read. It needs no run-time library.

using Callback = int (*)(const char *text, int length);

namespace {
volatile int sink;

int hidden(int n) {
  sink = n;
  return sink * 3;
}
}  // namespace

namespace app {

template <class T>
__declspec(noinline) T twice(T value) {
  sink = static_cast<int>(value);
  return value + value;
}

struct Point {
  int x, y;
};

class Shape {
 public:
  explicit Shape(int side) : side_(side) {}
  __declspec(noinline) int area() const;
  __declspec(noinline) void grow(int by, unsigned char limit);
  static __declspec(noinline) int count(const Point (&corners)[4]);

 private:
  int side_;
};

static __forceinline int square(int n) {
  sink = n;
  return sink * sink;
}

static __forceinline int cube(int n) {
  int s = square(n);
  sink = s;
  return sink * n;
}

int Shape::area() const {
  int a = square(side_);
  sink = a;
  return a + sink;
}

void Shape::grow(int by, unsigned char limit) {
  side_ += cube(by);
  if (side_ > limit) side_ = limit;
  sink = side_;
}

int Shape::count(const Point (&corners)[4]) {
  int n = 0;
  for (const Point &p : corners) n += p.x + p.y + sink;
  return n;
}

__declspec(noinline) int call(Callback f, double weight) {
  sink = static_cast<int>(weight);
  return f("text", sink);
}

__declspec(noinline) int first(const char *text, int length) { return text[0] + length; }

// The same code twice, for the linker to fold.
__declspec(noinline) int folded1(int n) { return n * 77 + sink; }
__declspec(noinline) int folded2(int n) { return n * 77 + sink; }

}  // namespace app

extern "C" int _fltused;
int _fltused = 0;

extern "C" __declspec(noinline) int plain(int n, ...) {
  sink = n;
  return hidden(n);
}

extern "C" int start() {
  app::Shape s(plain(2));
  app::Point corners[4] = {};
  s.grow(3, 200);
  return s.area() + app::twice(4) + static_cast<int>(app::twice(2.5f)) + app::Shape::count(corners) +
         app::call(app::first, 1.0) + app::folded1(1) + app::folded2(2);
}
