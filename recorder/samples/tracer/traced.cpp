/* traced.cpp: a program to see calls of, with virtual methods, in threads one after the other:
 *
 *   g++ -g -O0 -finstrument-functions traced.cpp -o traced -pthread -Wl,--build-id
 *   logparse record --sites --values '*' --head 0 -o traced.rec ./traced
 *   logparse show traced.rec --style tracer
 *
 * expected-O0.txt and expected-O2.txt are what the last line prints, with numbers instead of threads and addresses. What the code of
 * -O2, or of 32 bits (-m32), does not keep is "?" or left out there. */

#include <pthread.h>

#include <cstdio>

extern "C" int f3(int i) { return i == 144 ? 80 : i; }
int f2(int i) { return f3(i + 70) - 10; }
extern "C" int f1(int i) { return f2(i + 60) - 10; }

class B {
public:
  explicit B(int number) : number(number) {}
  virtual ~B() {}
  virtual int m1(int i, int j) { return f1(i) + j + number; }
  int m2(int i) {
    f1(2 * i);
    return 21;
  }

protected:
  int number;
};

class D : public B {
public:
  explicit D(int number) : B(number) {}
  int m1(int i, int j) override {
    m2(i + j);
    return 30;
  }
};

static void *thread1(void *p) {
  D d(*static_cast<int *>(p));
  return nullptr;
}

static void *thread2(void *p) {
  D d(*static_cast<int *>(p));
  B &b = d;
  std::printf("m1 is %d\n", b.m1(3, 4));
  return nullptr;
}

static void run(void *(*thread)(void *), int number) {
  pthread_t t;
  if (pthread_create(&t, nullptr, thread, &number) == 0) pthread_join(t, nullptr);
}

int main() {
  run(thread1, 1);
  run(thread2, 2);
  return 0;
}
