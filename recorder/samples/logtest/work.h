// work.h: what LogTest's threads do.

#ifndef LOGTEST_WORK_H
#define LOGTEST_WORK_H

namespace app {

// Calls everything in work.cpp; round changes what it calls with.
int work(int round);

#if defined(_WIN32)
typedef void *ThreadHandle;
#else
typedef unsigned long ThreadHandle;
#endif

// A thread by the system's own means: not every toolchain has std::thread.
ThreadHandle startThread(void (*run)(int), int argument);
void joinThread(ThreadHandle thread);
void pauseMilliseconds(int n);

}  // namespace app

#endif
