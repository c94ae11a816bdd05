// crash_windows_subject.cpp CAUSE [thread]: crashes, in a second thread if told. What it is compared with is
// the same program without the recorder. MinGW leaves 0 in tables of virtual functions, so that a pure call is a call of
// 0, where nothing else wants the function that reports it: the test has the linker want it.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <exception>
#include <stdexcept>

// What programs of Microsoft's compilers call, out of import libraries that the test makes.
extern "C" {
__declspec(dllimport) void _o_abort();
__declspec(dllimport) void _o_terminate();
__declspec(dllimport) void _invalid_parameter_noinfo();
__declspec(dllimport) int runtime_purecall();
}

static volatile int zero, sum;

struct Base {
  Base() { call(); }
  virtual ~Base() {}
  virtual void pure() = 0;
  void __attribute__((noinline)) call() { pure(); }
};
struct Derived : Base {
  void pure() override {}
};

static __attribute__((noinline)) void raise_error() {
  if (!zero) throw std::runtime_error("nobody catches this");
}
static __attribute__((noinline)) int keep() noexcept {
  raise_error();
  return sum;
}

static __attribute__((noinline)) void work() { sum = sum + 1; }

static __attribute__((noinline)) int leaf(const char *how) {
  for (int i = 0; i < 1000; i++) work();
  if (!strcmp(how, "null")) return *(volatile int *)8;
  if (!strcmp(how, "store")) *(volatile int *)8 = 1;
#if defined(_WIN64)
  if (!strcmp(how, "far")) return *(volatile int *)0x4141414141414141;
#endif
  if (!strcmp(how, "call")) {
    void (*volatile f)() = nullptr;
    f();
  }
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "throw")) raise_error();
  if (!strcmp(how, "pure")) Derived d;
  if (!strcmp(how, "noexcept")) return keep();
  if (!strcmp(how, "std-terminate")) std::terminate();
  if (!strcmp(how, "ucrt-abort")) _o_abort();
  if (!strcmp(how, "ucrt-terminate")) _o_terminate();
  if (!strcmp(how, "ucrt-parameter")) _invalid_parameter_noinfo();
  if (!strcmp(how, "runtime-pure")) runtime_purecall();
  if (!strcmp(how, "divide")) return 7 / zero;
  if (!strcmp(how, "raise")) RaiseException(0xE0000001, EXCEPTION_NONCONTINUABLE, 0, nullptr);
  if (!strcmp(how, "breakpoint")) __asm__ volatile("int3");
  if (!strcmp(how, "illegal")) __asm__ volatile("ud2");
  if (!strcmp(how, "terminate")) TerminateProcess(GetCurrentProcess(), 6);
  return 0;
}
static __attribute__((noinline)) int middle(const char *how) { return leaf(how) + sum; }

static DWORD WINAPI run(void *how) { return DWORD(middle((const char *)how)); }

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  if (argc > 2) {
    const HANDLE t = CreateThread(nullptr, 0, run, argv[1], 0, nullptr);
    WaitForSingleObject(t, INFINITE);
    return 0;
  }
  return middle(argv[1]) == 0;
}
