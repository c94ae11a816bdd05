// values_api.cpp: what values_test records with LOGREC_ARGS and LOGREC_RETURN: C++11; values_api.c is its part in C.
//
//	values_api            each kind of value once
//	values_api short N    calls that LOGREC_MIN drops
//	values_api bench N    ns a call: without values, with two ints, with a result besides
//	values_api many       records at 80 places
//	values_api fork       the same places in the child's log

#include "logrec_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <memory>

extern "C" void values_in_c(void);

namespace app {
enum Color { Red, Green = 5 };
enum class Level : unsigned char { Low = 1, High = 200 };
struct Point { int x, y; };
static int written;
__attribute__((no_instrument_function)) static inline void logrec_write(logrec::Text &t, const Point &p) {
  written++;
  t.print("(%d, %d)", p.x, p.y);
}
template <class K, class V> struct Pair { K k; V v; };
template <class K, class V>
__attribute__((no_instrument_function)) void logrec_write(logrec::Text &t, const Pair<K, V> &) { t.add("pair", 4); }
struct Fields { unsigned low : 3; int high : 5; };
}  // namespace app

static int evaluated;
__attribute__((no_instrument_function)) static int once(int v) { return evaluated++, v; }

struct Call {
  __attribute__((no_instrument_function)) explicit Call(const void *f) : function(f) { logrec_enter(f); }
  __attribute__((no_instrument_function)) ~Call() { logrec_leave(function); }
  const void *function;
};
#define CALL(f) Call call_((const void *)(f))

static int sum(int a, int b) {
  CALL(sum);
  LOGREC_ARGS(a, b);
  return LOGREC_RETURN(a + b);
}
static void numbers() {
  CALL(numbers);
  LOGREC_ARGS(true, 'c', (signed char)-1, (unsigned char)255, (short)-2, (unsigned short)65535, -3, 4000000000u, -5ll, ~0ull, 1.5f, 2.25, 3.5L);
}
static void types() {
  CALL(types);
  const app::Color color = app::Green;
  app::Fields f = {};
  f.low = 5, f.high = -3;
  LOGREC_ARGS(color, app::Level::High, nullptr, (void *)64, &sum, f.low, f.high, app::Point{1, -2}, (app::Pair<int, char>{1, 'a'}));
}
static const std::string &texts(const std::string &s, const char *p) {
  CALL(texts);
  const char array[8] = "array";
  const char *const none = nullptr, *const nowhere = (const char *)8;
  LOGREC_ARGS(s, p, "a literal", array, none, nowhere, std::string(300, 'x'));
  return LOGREC_RETURN(s);
}
static std::unique_ptr<int> moved() {
  CALL(moved);
  std::unique_ptr<int> p(new int(7));
  LOGREC_ARGS(*p);
  LOGREC_RETURN(*p);
  return p;
}
static std::string by_value() {
  CALL(by_value);
  return LOGREC_RETURN(std::string("by") + " value");
}
static void later(int a) {
  CALL(later);
  sum(1, 1);
  LOGREC_ARGS(a);
  LOGREC_ARGS(a, once(2));
}

static volatile int sink;
__attribute__((noinline)) static int plain(int a, int b) {
  logrec_enter((const void *)plain);
  const int r = a ^ b;
  logrec_leave((const void *)plain);
  return r;
}
__attribute__((noinline)) static int with_arguments(int a, int b) {
  logrec_enter((const void *)with_arguments);
  LOGREC_ARGS(a, b);
  const int r = a ^ b;
  logrec_leave((const void *)with_arguments);
  return r;
}
__attribute__((noinline)) static int with_result(int a, int b) {
  logrec_enter((const void *)with_result);
  LOGREC_ARGS(a, b);
  const int r = LOGREC_RETURN(a ^ b);
  logrec_leave((const void *)with_result);
  return r;
}
// Many has so many places, each of which records its number twice, and half of it as a result.
template <int n>
struct Many {
  static void record() {
    Many<n - 1>::record();
    for (int i = 0; i < 2; i++) {
      logrec_enter((const void *)plain);
      LOGREC_ARGS(n, short(i));
      (void)LOGREC_RETURN(n / 2);
      logrec_leave((const void *)plain);
    }
  }
};
template <>
struct Many<0> {
  static void record() {}
};

static void bench(long n) {
  int (*const calls[])(int, int) = {plain, with_arguments, with_result};
  for (int round = 0; round < 3; round++)
    for (int k = 0; k < 3; k++) {
      struct timespec a, b;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
      for (long i = 0; i < n; i++) sink = calls[k](int(i), k);
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
      printf("%.2f%s", (double(b.tv_sec - a.tv_sec) * 1e9 + double(b.tv_nsec - a.tv_nsec)) / double(n), k < 2 ? " " : "\n");
    }
}

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const long n = argc > 2 ? atol(argv[2]) : 1;
  if (what == "bench") return bench(n), 0;
  if (what == "short") {
    for (long i = 0; i < n; i++) sink = sum(int(i), 1);
    return 0;
  }
  if (what == "many") return Many<40>::record(), 0;
  if (what == "fork") {
    sum(1, 2);
    if (fork() == 0) {
      sum(3, 4);
      exit(0);
    }
    int status;
    wait(&status);
    return status;
  }
  errno = 77;
  int wrong = sum(3, -4) != -1;
  numbers();
  types();
  const std::string s = "a string";
  wrong |= &texts(s, "a pointer") != &s;
  wrong |= *moved() != 7;
  wrong |= by_value() != "by value";
  later(9);
  values_in_c();
  // Whether it is recorded or not.
  printf("%d evaluated, %d written, errno %d, %s\n", evaluated, app::written, errno, wrong ? "wrong" : "right");
  return 0;
}
