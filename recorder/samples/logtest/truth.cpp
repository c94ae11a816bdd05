// truth.cpp: writes the truth file, LogDetails.truth in the current folder or
// where the environment variable LOGTEST_TRUTH says. Functions are logged
// before main and after it, so nothing here needs a constructor; and the file
// is opened anew for each line, because it is small and this is a test.

#include "truth.h"

#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

const char kHead[] = "# LogTest truth 1: thread event function\n";
bool begun;

#if defined(_WIN32)
volatile LONG turn;
unsigned long threadId() { return GetCurrentThreadId(); }
void lock() {
  while (InterlockedCompareExchange(&turn, 1, 0) != 0) Sleep(0);
}
void unlock() { InterlockedExchange(&turn, 0); }
void put(const char *path, bool first, const char *line, size_t n) {
  const HANDLE h = CreateFileA(path, FILE_APPEND_DATA, FILE_SHARE_READ, nullptr, OPEN_ALWAYS, 0, nullptr);
  DWORD done;
  if (first) {
    CloseHandle(h);
    const HANDLE empty = CreateFileA(path, GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS, 0, nullptr);
    WriteFile(empty, kHead, sizeof kHead - 1, &done, nullptr);
    CloseHandle(empty);
    put(path, false, line, n);
    return;
  }
  WriteFile(h, line, DWORD(n), &done, nullptr);
  CloseHandle(h);
}
const char *path() {
  static char given[1024];
  const DWORD n = GetEnvironmentVariableA("LOGTEST_TRUTH", given, sizeof given);
  return n > 0 && n < sizeof given ? given : "LogDetails.truth";
}
#else
int turn;
unsigned long threadId() { return static_cast<unsigned long>(syscall(SYS_gettid)); }
void lock() {
  while (__atomic_exchange_n(&turn, 1, __ATOMIC_ACQUIRE) != 0) usleep(10);
}
void unlock() { __atomic_store_n(&turn, 0, __ATOMIC_RELEASE); }
void put(const char *path, bool first, const char *line, size_t n) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (first ? O_TRUNC : O_APPEND), 0666);
  if (fd < 0) return;
  if ((first && write(fd, kHead, sizeof kHead - 1) < 0) || write(fd, line, n) < 0) abort();
  close(fd);
}
const char *path() {
  const char *given = getenv("LOGTEST_TRUTH");
  return given && *given ? given : "LogDetails.truth";
}
#endif

}  // namespace

SHAPES_API void truthAdd(const char *function, bool enter) {
  char line[256], digits[24];
  int n = 0;
  for (unsigned long id = threadId(); n == 0 || id != 0; id /= 10) digits[n++] = char('0' + id % 10);
  size_t length = 0;
  while (n > 0) line[length++] = digits[--n];
  const char *word = enter ? "\tenter\t" : "\tleave\t";
  memcpy(line + length, word, 7);
  length += 7;
  while (*function && length < sizeof line - 1) line[length++] = *function++;
  line[length++] = '\n';
  lock();
  put(path(), !begun, line, length);
  begun = true;
  unlock();
}
