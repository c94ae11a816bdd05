// trace_windows_penter.cpp: calls the functions of penter_windows.S, which call
// _penter and _pexit as MSVC's do, and looks at what the hooks leave behind.
// trace_windows_test reads the trace: the counters say where the functions lie.
// Exit 0 when all is right.

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "logrec.h"

extern "C" {
void _penter(void);
void _pexit(void);
long long framed(long long, long long, long long, long long, long long);
double doubles(double, double, double, double);
int frameless(int);
int moves(int);
void calls(void (*)(void));
void outer(void (*)(void));
void registers(const void *in, void *out, void (*hook)(void), int avx);
}

static int wrong;
#define CHECK(condition)                                    \
  do {                                                      \
    if (!(condition)) {                                     \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      wrong++;                                              \
    }                                                       \
  } while (0)

// Each hook leaves all registers as they were: the first time, when the
// recorder asks the system for everything, and later.
static void keepsRegisters() {
  const bool wide = sizeof(void *) == 8;
  const int avx = wide && __builtin_cpu_supports("avx");
  const int size = wide ? 248 : 312;
  uint8_t in[312], out[312], want[312];
  for (int i = 0; i < size; i++) in[i] = uint8_t(1 + i * 37);
  memset(want, 0, sizeof want);
  for (int i = 0; i < size; i++) {
    const bool general = i < 56, upper = !general && (i - 56) % 32 >= 16;
    if (general ? wide || (i % 8 < 4 && i < 24) : !upper || avx) want[i] = in[i];
  }
  // Those that arithmetic sets, one after the other, all and none.
  const uint32_t arithmetic = 0x8d5, flags[] = {arithmetic, 0, 1, 4, 0x10, 0x40, 0x80, 0x800};
  for (uint32_t flag : flags) {
    if (!wide) {
      const double value = 1.25;
      memcpy(in + 24, &value, 8), memcpy(want + 24, &value, 8);
      memcpy(in + 32, &flag, 4), memcpy(want + 32, &flag, 4);
    }
    for (int exit = 0; exit < 2; exit++) {
      memset(out, 0, sizeof out);
      registers(in, out, exit ? _pexit : _penter, avx);
      if (!wide) {
        uint32_t left;
        memcpy(&left, out + 32, 4);
        left &= arithmetic;
        memcpy(out + 32, &left, 4);
      }
      CHECK(memcmp(out, want, sizeof out) == 0);
    }
  }
}

static DWORD WINAPI inThread(void *) {
  keepsRegisters();
  CHECK(framed(1, 2, 3, 4, 5) == 1 + 4 + 9 + 16 + 25);
  return 0;
}

static void nothing() {}
static void throws() { throw 1; }
static void throwsThroughCalls() { calls(throws); }
static void switchesOff() { logrec_switch(0); }
static void switchesOn() { logrec_switch(1); }
static void switchesOnInCalls() {
  switchesOff();
  calls(switchesOn);
}

#if defined(__x86_64__)
// A stack walk that begins inside a hook finds the caller, whether or not its
// stack was aligned.
static void unwinds(void (*hook)(void), int odd) {
  // What the hook's prologue has made of a stack: rbp's place, the old rbp, the
  // return address; below lies whatever it needed.
  alignas(16) uint64_t stack[64] = {};
  uint64_t *frame = &stack[40 + odd];
  frame[0] = 0x1234;
  frame[1] = uint64_t(&unwinds);
  CONTEXT c;
  memset(&c, 0, sizeof c);
  c.ContextFlags = CONTEXT_FULL;
  const uint8_t *code = reinterpret_cast<const uint8_t *>(hook);
  // Imported, it is a jump through memory.
  if (code[0] == 0xff && code[1] == 0x25) {
    int32_t to;
    memcpy(&to, code + 2, 4);
    memcpy(&code, code + 6 + to, 8);
  }
  c.Rip = uint64_t(code) + 60;
  c.Rsp = uint64_t(&stack[4]);
  c.Rbp = uint64_t(frame);
  DWORD64 base = 0, established = 0;
  void *data;
  const PRUNTIME_FUNCTION f = RtlLookupFunctionEntry(c.Rip, &base, nullptr);
  CHECK(f != nullptr);
  if (!f) return;
  RtlVirtualUnwind(0, base, c.Rip, f, &c, &data, &established, nullptr);
  CHECK(c.Rip == uint64_t(&unwinds) && c.Rbp == 0x1234 && c.Rsp == uint64_t(frame + 2));
}
#endif

int main() {
  keepsRegisters();
  const HANDLE t = CreateThread(nullptr, 0, inThread, nullptr, 0, nullptr);
  WaitForSingleObject(t, INFINITE);
#if defined(__x86_64__)
  for (int odd = 0; odd < 2; odd++) {
    unwinds(_penter, odd);
    unwinds(_pexit, odd);
  }
#endif
#define WHERE(name) logrec_counter_u64(#name, uint64_t(uintptr_t(&name)))
  WHERE(framed);
  WHERE(doubles);
  WHERE(frameless);
  WHERE(moves);
  WHERE(calls);
  WHERE(outer);
  LOGREC_MARK("begin");
  CHECK(framed(1, 2, 3, 4, 5) == 1 + 4 + 9 + 16 + 25);
  CHECK(doubles(1.5, 2.5, 3, 0.5) == 11.5);
  CHECK(frameless(41) == 42);
  CHECK(moves(41) == 42);
  calls(nothing);
  try {
    outer(throwsThroughCalls);
  } catch (int) {
    frameless(1);
  }
  // The frame that an exception left is not where the next one ends.
  struct Catches {
    static void run() {
      try {
        calls(throws);
      } catch (int) {
        frameless(2);
      }
    }
  };
  outer(Catches::run);
  // The leave of a call that was entered while it was off is nobody's.
  outer(switchesOnInCalls);
  LOGREC_MARK("end");
  return wrong ? 61 : 0;
}
