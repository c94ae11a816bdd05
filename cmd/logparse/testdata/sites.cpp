// sites.cpp: functions that are inlined at -O2, in a thread: the hooks of -finstrument-functions give them the call site of what they were inlined into.
#include <pthread.h>
#include <cstdio>
static int f3(int i) { return i + 80; }
static int f2(int i) { return f3(i + 70) - 10; }
static int f1(int i) { return f2(i + 60) - 1; }
struct B {
  virtual ~B() {}
  virtual int m1(int i, int j) { return f1(i) + j; }
  int m2(int i) { return f1(i) + 1; }
};
struct D : B {
  int m1(int i, int j) override { return m2(i + j) + 1; }
};
static void *thread(void *p) {
  B *b = static_cast<B *>(p);
  printf("%d\n", b->m1(3, 4));
  return nullptr;
}
int main() {
  D d;
  pthread_t t;
  pthread_create(&t, nullptr, thread, &d);
  pthread_join(t, nullptr);
}
