// LogTest: a program that logs every kind of function, on four threads, and
// writes down the truth to compare its log with. See README.md.

#include "Logger.h"

#include <stdio.h>

#include "truth.h"
#include "work.h"

namespace app {

static int result[3];

// Logged before main and after it.
class Startup {
 public:
  Startup() { LOGTEST_FUNCTION("app::Startup::Startup"); }
  ~Startup() { LOGTEST_FUNCTION("app::Startup::~Startup"); }
};

static Startup startup;

static LOGTEST_NOINLINE void thread(int number) {
  LOGTEST_FUNCTION("app::thread");
  for (int round = 0; round < 2; round++) result[number] += work(number + round);
}

}  // namespace app

int main() {
  LOGTEST_FUNCTION("main");
  app::ThreadHandle threads[3];
  for (int i = 0; i < 3; i++) threads[i] = app::startThread(app::thread, i);
  const int mine = app::work(3);
  for (int i = 0; i < 3; i++) app::joinThread(threads[i]);
  printf("LogTest: %d %d %d %d\n", mine, app::result[0], app::result[1], app::result[2]);
  return 0;
}
