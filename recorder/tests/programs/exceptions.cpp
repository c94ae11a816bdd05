// Exceptions through frames with and without destructors, rethrown and nested.
#include <cstdio>
#include <stdexcept>

struct Guard {
  explicit Guard(int *n) : count(n) {}
  ~Guard() { ++*count; }
  int *count;
};
static int guards;
static int deep(int n) {
  Guard guard(&guards);
  if (n == 0) throw std::runtime_error("bottom");
  return deep(n - 1) + 1;
}
static void translate(int n) {
  try {
    deep(n);
  } catch (const std::exception &e) {
    if (n % 2) throw e.what()[n % 3];
    throw;
  }
}
static int caught(int n) {
  try {
    translate(n);
  } catch (char c) {
    return c;
  } catch (...) {
    return 1;
  }
  return 0;
}

int main() {
  int sum = 0;
  for (int i = 0; i < 40; i++) sum += caught(i % 7);
  std::printf("%d %d\n", sum, guards);
  return 0;
}
