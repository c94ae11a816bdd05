// A program without a library: what the maps in this folder describe.
extern "C" int plain(int x);
int counter;
static const int table[4] = {1, 2, 3, 4};

namespace app {
struct Shape {
  virtual int area() const;
  virtual ~Shape();
  int side = 3;
};
int Shape::area() const { return side * side; }
Shape::~Shape() { counter++; }

template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }
__attribute__((noinline)) int same_a(int x) { return x * 7 + counter; }
__attribute__((noinline)) int same_b(int x) { return x * 7 + counter; }
template <class First, class Second, class Third> struct a_template_with_a_very_long_name_indeed {
  static __attribute__((noinline)) int member_function_with_a_long_name(First, Second, Third) { return counter; }
};
} // namespace app

namespace {
struct Local {
  __attribute__((noinline)) int run(int n) { return n > 1 ? run(n - 1) + n : counter; }
};
} // namespace

static __attribute__((noinline)) int only_here(int x) {
  Local l;
  return l.run(x) + table[x & 3];
}

extern "C" int entry() {
  app::Shape s;
  auto add = [&](int k) __attribute__((noinline)) { return k + s.area(); };
  return plain(2) + app::twice(3) + int(app::twice(2.0)) + only_here(4) + add(5) + app::same_a(1) + app::same_b(2) +
         app::a_template_with_a_very_long_name_indeed<app::Shape *, app::Shape const &, unsigned long long>::
             member_function_with_a_long_name(&s, s, 1);
}

void operator delete(void *, decltype(sizeof 0)) noexcept { counter--; }
void operator delete(void *) noexcept { counter--; }
