// left.cpp: functions whose names end with _left are left by exceptions, longjmp or the end of a child of vfork, and have no leave;
// all others return. The first thing that happens is that one is left, before any hook of a return has run. The argument says how
// often each way is gone; with a second one calls are left by longjmp alone.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static jmp_buf back;
static sigjmp_buf back_with_signals;
static volatile int count;

APART void sibling() { count = count + 1; }
APART void throws_left(int n) {
  if (n >= 0) throw n;
  count = count + 1;
}
APART void deep_left(int n) {
  count = count + 1;
  if (n) deep_left(n - 1);
  else throws_left(n);
  count = count + 1;
}
APART void jumps_left() {
  count = count + 1;
  longjmp(back, 1);
}
APART void jumps_with_signals_left() {
  count = count + 1;
  siglongjmp(back_with_signals, 1);
}
APART void through_left(int n) {
  count = count + 1;
  if (n) through_left(n - 1);
  else jumps_left();
  count = count + 1;
}
APART void child_left() { _exit(0); }
APART int twice(int n) {
  count = count + 1;
  return n * 2;
}
APART int jumping(int n) { return twice(n + 1); }
APART size_t library(const char *s) { return strlen(s); }
APART int compare(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }

// The outermost call returns, those inside do not: the last of them that are shown before its return.
APART int recursive(int n, int outermost) {
  count = count + 1;
  if (outermost) {
    if (!setjmp(back)) recursive(n, 0);
    return n;
  }
  if (n) recursive(n - 1, 0);
  longjmp(back, 1);
}

APART void caught(int n) {
  for (int i = 0; i < n; i++) {
    try {
      throws_left(i);
    } catch (int) {
    }
    sibling();
    try {
      deep_left(3);
    } catch (int) {
    }
    jumping(i);
  }
}
APART void jumped(int n) {
  for (volatile int i = 0; i < n; i++) {
    char text[] = "cba";
    if (!setjmp(back)) jumps_left();
    sibling();
    if (!sigsetjmp(back_with_signals, 1)) jumps_with_signals_left();
    library(text);
    if (!setjmp(back)) through_left(3);
    qsort(text, 3, 1, compare);
    recursive(3, 1);
    sibling();
  }
}
APART void children(int n) {
  for (volatile int i = 0; i < n; i++) {
    if (!vfork()) child_left();
    sibling();
  }
  while (wait(0) > 0) sibling();
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1;
  if (argc < 3) caught(n);
  jumped(n);
  if (argc < 3) children(n < 20 ? n : 20);
  printf("%d\n", count);
  return 0;
}
