// tail.cpp: functions whose last act is the object's destructor, in every
// form that a compiler could end with a jump. run.sh looks at the code.

#include "Log.h"

#define SEPARATE __attribute__((noinline))

volatile int sink;

SEPARATE void empty() { LogEnterLeave LogObj; }
SEPARATE void store(int x) {
  LogEnterLeave LogObj;
  sink = x;
}
SEPARATE int value(int x) {
  LogEnterLeave LogObj;
  return x + 1;
}
SEPARATE int chain(int x) {
  LogEnterLeave LogObj;
  return value(x);
}
SEPARATE int branches(int x) {
  LogEnterLeave LogObj;
  if (x > 3) return value(x);
  empty();
  return 2;
}
SEPARATE int recursion(int x) {
  LogEnterLeave LogObj;
  return x < 1 ? 0 : recursion(x - 1);
}
// The destructor is the last act of a block, and the function goes on.
SEPARATE int block(int x) {
  {
    LogEnterLeave LogObj;
    sink = x;
  }
  return sink;
}
struct Member {
  SEPARATE Member() { LogEnterLeave LogObj; }
  SEPARATE ~Member() { LogEnterLeave LogObj; }
};
SEPARATE void member() { Member m; }

int main(int argc, char **) {
  empty();
  store(argc);
  member();
  return value(argc) + chain(argc) + branches(argc) + recursion(argc) + block(argc) == 0;
}
