// trace_windows_subject.cpp: the program that trace_windows_test.cpp runs and
// whose trace it reads. It is built with -finstrument-functions.
// trace_windows_subject CASE [ARGUMENT...]; exit 0 when what can be seen from
// inside is right.

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "logrec.h"

#define QUIET __attribute__((no_instrument_function))
#define ALONE __attribute__((noinline))

extern "C" {
ALONE void leaf() { __asm__ volatile(""); }
ALONE void branch(int pairs) {
  for (int i = 0; i < pairs; i++) leaf();
}
ALONE void thrower(int depth) {
  if (depth == 0) throw 1;
  thrower(depth - 1);
  __asm__ volatile("");
}
ALONE void catcher() {
  try {
    thrower(3);
  } catch (int) {
    leaf();
  }
  leaf();
}
ALONE DWORD WINAPI body(void *pairs) {
  branch(int(intptr_t(pairs)));
  return 0;
}
ALONE DWORD WINAPI forever(void *begun) {
  leaf();
  InterlockedIncrement(static_cast<volatile LONG *>(begun));
  for (;;) {
    branch(100);
    Sleep(1);
  }
}
}

// Logged before main and after it.
struct Early {
  ALONE Early() { leaf(); }
  ALONE ~Early() { leaf(); }
};
static Early early;

template <class F>
QUIET static F function(HMODULE m, const char *name) {
  const FARPROC p = GetProcAddress(m, name);
  F f;
  memcpy(&f, &p, sizeof f);
  return f;
}

QUIET static int threads(int count, int pairs) {
  HANDLE t[64];
  typedef HRESULT(WINAPI * Describe)(HANDLE, PCWSTR);
  const Describe describe = function<Describe>(GetModuleHandleA("kernel32.dll"), "SetThreadDescription");
  if (describe) describe(GetCurrentThread(), L"ma\u00efn");
  for (int i = 0; i < count; i++) t[i] = CreateThread(nullptr, 0, body, reinterpret_cast<void *>(intptr_t(pairs)), 0, nullptr);
  WaitForMultipleObjects(DWORD(count), t, TRUE, INFINITE);
  return 0;
}

// Each library is loaded where the one before was, its function called, and
// it is unloaded.
QUIET static int libraries(int count, char **paths) {
  HMODULE first = nullptr;
  for (int i = 0; i < count; i++) {
    const HMODULE m = LoadLibraryA(paths[i]);
    if (!m) return 9;
    if (!first) first = m;
    const auto plugin = function<int (*)(void)>(m, "plugin");
    if (!plugin || plugin() != 5) return 8;
    FreeLibrary(m);
    if (m != first) return 77;
  }
  leaf();
  return 0;
}

// Two threads load and unload a library, others begin and end, all record.
static char *stressPath;
QUIET static DWORD WINAPI loader(void *) {
  for (int i = 0; i < 30; i++) {
    const HMODULE m = LoadLibraryA(stressPath);
    if (!m) return 1;
    function<int (*)(void)>(m, "plugin")();
    FreeLibrary(m);
  }
  return 0;
}
QUIET static DWORD WINAPI starter(void *) {
  for (int i = 0; i < 30; i++) {
    const HANDLE t = CreateThread(nullptr, 0, body, reinterpret_cast<void *>(intptr_t(3000)), 0, nullptr);
    WaitForSingleObject(t, INFINITE);
    CloseHandle(t);
  }
  return 0;
}
QUIET static int stress(char *path) {
  stressPath = path;
  HANDLE t[4];
  for (int i = 0; i < 4; i++) t[i] = CreateThread(nullptr, 0, i % 2 ? loader : starter, nullptr, 0, nullptr);
  WaitForMultipleObjects(4, t, TRUE, INFINITE);
  return 0;
}

// Counts into a mapping that outlives it, for the two threads' streams: what
// has been recorded for certain. A busy machine may take its time to end it:
// there is no need for more than so many.
enum { ENOUGH = 150000 };
struct Cell {
  volatile uint64_t enters, leaves;
  volatile uint32_t thread;
};
static Cell *cells;
extern "C" ALONE void counted(Cell *c) {
  c->enters = c->enters + 1;
  leaf();
}
QUIET static DWORD WINAPI counting(void *p) {
  Cell *c = static_cast<Cell *>(p);
  c->thread = GetCurrentThreadId();
  LOGREC_MARK("counting");
  for (;;) {
    counted(c);
    c->leaves = c->leaves + 1;
    while (c->leaves == ENOUGH) Sleep(1);
  }
}
QUIET static int kill(const char *path) {
  const HANDLE f = CreateFileA(path, GENERIC_READ | GENERIC_WRITE, 7, nullptr, OPEN_EXISTING, 0, nullptr);
  const HANDLE m = CreateFileMappingA(f, nullptr, PAGE_READWRITE, 0, 4096, nullptr);
  cells = static_cast<Cell *>(MapViewOfFile(m, FILE_MAP_WRITE, 0, 0, 0));
  if (!cells) return 9;
  CreateThread(nullptr, 0, counting, &cells[1], 0, nullptr);
  counting(&cells[0]);
  return 0;
}

QUIET static int keepsError() {
  SetLastError(4711);
  leaf();
  if (GetLastError() != 4711) return 61;
  logrec_mark("x", 1);
  const HMODULE m = LoadLibraryA("version.dll");
  SetLastError(4712);
  leaf();
  const int same = GetLastError() == 4712;
  FreeLibrary(m);
  return same ? 0 : 62;
}

QUIET static int marks() {
  leaf();
  LOGREC_MARK("a mark");
  logrec_counter_i64("width", -3);
  logrec_counter_f64("height", 2.5);
  leaf();
  return 0;
}

QUIET static int switches() {
  leaf();
  logrec_switch(0);
  leaf();
  logrec_switch(1);
  leaf();
  return 0;
}

QUIET static int snapshot(const char *path) {
  branch(100000);
  if (!logrec_snapshot(path)) return 63;
  branch(10);
  return 0;
}

// The log and what lies beside it stay where they are.
QUIET static int changesFolder() {
  leaf();
  if (!SetCurrentDirectoryA("C:\\windows") || logrec_path()[1] != ':') return 65;
  return logrec_snapshot(nullptr) ? 0 : 66;
}

// The program's file is called otherwise after the first look at its symbols.
QUIET static int moves() {
  char self[MAX_PATH];
  GetModuleFileNameA(nullptr, self, sizeof self);
  leaf();
  if (!MoveFileA(self, "moved.exe")) return 64;
  branch(3);
  return 0;
}

// Ends with other threads at it, in one of the ways there are.
QUIET static int ends(const char *how) {
  static volatile LONG begun;
  for (int i = 0; i < 2; i++) CreateThread(nullptr, 0, forever, const_cast<LONG *>(&begun), 0, nullptr);
  while (begun < 2) Sleep(1);
  leaf();
  if (!strcmp(how, "exit")) exit(0);
  if (!strcmp(how, "ExitProcess")) ExitProcess(0);
  return 0;
}

QUIET static int subject(int argc, char **argv) {
  const char *c = argc > 1 ? argv[1] : "";
  if (!strcmp(c, "pairs")) return branch(atoi(argv[2])), 0;
  if (!strcmp(c, "threads")) return threads(atoi(argv[2]), atoi(argv[3]));
  if (!strcmp(c, "exceptions")) return catcher(), 0;
  if (!strcmp(c, "libraries")) return libraries(argc - 2, argv + 2);
  if (!strcmp(c, "stress")) return stress(argv[2]);
  if (!strcmp(c, "kill")) return kill(argv[2]);
  if (!strcmp(c, "error")) return keepsError();
  if (!strcmp(c, "marks")) return marks();
  if (!strcmp(c, "switch")) return switches();
  if (!strcmp(c, "snapshot")) return snapshot(argv[2]);
  if (!strcmp(c, "moves")) return moves();
  if (!strcmp(c, "folder")) return changesFolder();
  if (!strcmp(c, "ends")) return ends(argv[2]);
  fprintf(stderr, "unknown case\n");
  return 2;
}

QUIET int main(int argc, char **argv) { return subject(argc, argv); }
