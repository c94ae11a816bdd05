// The program of TestPointersWine: its texts are at addresses of all kinds, some of them in a page with a guard. It says what
// it has noticed of that: exceptions, the guard, the error of the last call of the system, registers.
#include <windows.h>

#include <cstdio>
#include <cstdlib>

static long noticed;
static LONG CALLBACK first(EXCEPTION_POINTERS *e) {
  const DWORD code = e->ExceptionRecord->ExceptionCode;
  if (code == EXCEPTION_ACCESS_VIOLATION || code == STATUS_GUARD_PAGE_VIOLATION) noticed++;
  return EXCEPTION_CONTINUE_SEARCH;
}

namespace app {
struct Named { const char *name; int n; };
__attribute__((noinline)) int text(const char *s, const char *t, const Named &named, double d) {
  asm volatile("test %0, %0\n\ttest %1, %1\n\tcmpl $0, %2" : : "r"(s), "r"(t), "m"(named.n) : "cc", "memory");  // what code does not read is not shown
  return d > 1.0 ? 1 : 0;
}
__attribute__((noinline)) int thrower(int n) {
  if (n % 3 == 0) throw n;
  return n;
}
__attribute__((noinline)) double sum(double a, double b, double c, double d, double e, float f, int g) { return a + b + c + d + e + f + g; }
}  // namespace app

int main(int, char **argv) {
  enum { PAGE = 4096 };
  AddVectoredExceptionHandler(1, first);
  char *const pages = (char *)VirtualAlloc(nullptr, 3 * PAGE, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  for (int i = 0; i < 3 * PAGE; i++) pages[i] = 'g';
  DWORD old;
  VirtualProtect(pages + PAGE, PAGE, PAGE_READWRITE | PAGE_GUARD, &old);
  unsigned long long x = 88172645463325252ull;
  long thrown = 0, returned = 0;
  double total = 0;
  for (long i = 0, n = std::atol(argv[1]); i < n; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    const app::Named named = {(const char *)(x * 3), 7};
    returned += app::text((const char *)(x >> (x & 63)), pages + PAGE - 6 + (i & 15), named, 1.5);
    try {
      returned += app::thrower((int)i);
    } catch (int v) {
      thrown += v;
    }
    total += app::sum(1, 2, 3, 4, 5, 6, (int)i);
  }
  SetLastError(7);
  app::text("kept", nullptr, {"name", 8}, 0.5);
  const unsigned long error = GetLastError();
  MEMORY_BASIC_INFORMATION is;
  VirtualQuery(pages + PAGE, &is, sizeof is);
  std::printf("%ld exceptions, guard %s, error %lu, %ld returned, %ld thrown, %.1f\n", noticed, is.Protect & PAGE_GUARD ? "kept" : "gone", error, returned, thrown, total);
}
