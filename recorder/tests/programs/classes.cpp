// Virtual functions, templates, lambdas, static objects and threads that have names.
#include <pthread.h>

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <vector>

struct Shape {
  virtual ~Shape() {}
  virtual double area() const = 0;
};
template <int Sides> struct Regular : Shape {
  explicit Regular(double s) : side(s) {}
  double area() const override { return side * side * Sides / 4; }
  double side;
};
struct Registry {
  Registry() { names[4] = 4; }
  ~Registry() { std::printf("registry of %zu\n", names.size()); }
  std::map<int, int> names;
};
static Registry registry;
template <class T, class F> T reduce(const std::vector<T> &v, T start, F f) {
  for (const T &x : v) start = f(start, x);
  return start;
}
static void *named(void *argument) {
  pthread_setname_np(pthread_self(), "worker");
  *static_cast<double *>(argument) = reduce(std::vector<double>{1, 2, 3}, 0.5, [](double a, double b) { return a * 2 + b; });
  return nullptr;
}

int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 1; i < 6; i++) {
    if (i % 2) shapes.emplace_back(new Regular<4>(i));
    else shapes.emplace_back(new Regular<6>(i));
  }
  double total = 0;
  for (const auto &s : shapes) total += s->area();
  double result = 0;
  pthread_t t;
  pthread_create(&t, nullptr, named, &result);
  pthread_join(t, nullptr);
  std::function<int(int)> fibonacci = [&](int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); };
  std::printf("%g %g %d\n", total, result, fibonacci(10));
  return 0;
}
