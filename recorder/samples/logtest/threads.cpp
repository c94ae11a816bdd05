#include "work.h"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <pthread.h>
#include <unistd.h>
#endif

namespace app {

namespace {

struct Start {
  void (*run)(int);
  int argument;
};

#if defined(_WIN32)
DWORD WINAPI enterThread(LPVOID p) {
#else
void *enterThread(void *p) {
#endif
  Start *s = static_cast<Start *>(p);
  s->run(s->argument);
  delete s;
  return 0;
}

}  // namespace

ThreadHandle startThread(void (*run)(int), int argument) {
  Start *s = new Start;
  s->run = run;
  s->argument = argument;
#if defined(_WIN32)
  return CreateThread(nullptr, 0, enterThread, s, 0, nullptr);
#else
  pthread_t t;
  pthread_create(&t, nullptr, enterThread, s);
  return t;
#endif
}

void joinThread(ThreadHandle thread) {
#if defined(_WIN32)
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
#else
  pthread_join(thread, nullptr);
#endif
}

void pauseMilliseconds(int n) {
#if defined(_WIN32)
  Sleep(DWORD(n));
#else
  usleep(useconds_t(n) * 1000);
#endif
}

}  // namespace app
