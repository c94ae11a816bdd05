// libcalls_subject.cpp: a program whose calls into libraries do what is hard to stand in for: exceptions, longjmp and
// cancellation through them, variadic calls, arguments on the stack, results of all kinds, vfork, backtraces. Its
// output does not depend on how it is run. Recorded by record_libcalls_linux_test.go.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <csetjmp>
#include <complex>
#include <stdexcept>
#include <string>
#include <vector>
#include <algorithm>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <sys/wait.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <locale.h>
static jmp_buf env;
static int cmp(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static int jumper(const void *, const void *) { longjmp(env, 5); }
static int thrower(const void *, const void *) { throw std::runtime_error("out of qsort"); }
static void *thread(void *p) { char b[64]; for (int i = 0; i < 1000; i++) snprintf(b, sizeof b, "%d %s %g", i, (char *)p, i / 3.0); return (void *)strlen(b); }
static void cleaned(void *p) { printf("cleanup %s\n", (char *)p); }
static void *cancelled(void *) { pthread_cleanup_push(cleaned, (void *)"inner"); for (;;) pause(); pthread_cleanup_pop(0); return nullptr; }
static void *exits(void *) { struct D { ~D() { printf("destructor\n"); } } d; pthread_exit((void *)7); }
static void handler(int n) { char b[32]; int k = snprintf(b, sizeof b, "signal %d\n", n); if (write(1, b, k) < 0) _exit(1); }
static int depth(int n) { char b[16]; snprintf(b, sizeof b, "%d", n); return n ? depth(n - 1) + (int)strlen(b) : 0; }
int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const char *words[] = {"pear", "apple", "fig"};
  qsort(words, 3, sizeof *words, cmp);
  printf("%s %s %s %d %ld %g %Lg %s %d %d %d %g\n", words[0], words[1], words[2], 1, 2L, 3.5, (long double)4.25, "five", 6, 7, 8, 9.5);
  volatile double x = 2; volatile long double y = 3; volatile float z = 0.5f;
  printf("%g %Lg %g %g %g\n", pow(x, 0.5), powl(y, 2), (double)sinf(z), std::abs(std::complex<double>(3, x)), std::abs(std::exp(std::complex<double>(0, x))));
  div_t d = div(17, 5); ldiv_t l = ldiv(171, 5); lldiv_t ll = lldiv(1717, 5);
  printf("%d %d %ld %ld %lld %lld\n", d.quot, d.rem, l.quot, l.rem, ll.quot, ll.rem);
  if (int v = setjmp(env)) printf("jumped %d\n", v); else qsort(words, 3, sizeof *words, jumper);
  for (int i = 0; i < 3; i++) try { qsort(words, 3, sizeof *words, thrower); } catch (const std::exception &e) { printf("caught %s\n", e.what()); }
  try { std::vector<int> v; v.at(3) = 1; } catch (const std::out_of_range &e) { printf("caught %s\n", e.what()); }
  try { std::string("x").substr(5); } catch (...) { printf("caught too\n"); }
  pthread_t t[4]; void *r; long sum = 0;
  for (auto &one : t) pthread_create(&one, nullptr, thread, (void *)"thread");
  for (auto &one : t) pthread_join(one, &r), sum += (long)r;
  printf("threads %ld\n", sum);
  pthread_create(t, nullptr, cancelled, nullptr); usleep(20000); pthread_cancel(*t); pthread_join(*t, &r); printf("cancelled %d\n", r == PTHREAD_CANCELED);
  pthread_create(t, nullptr, exits, nullptr); pthread_join(*t, &r); printf("exit %ld\n", (long)r);
  signal(SIGUSR1, handler); raise(SIGUSR1); kill(getpid(), SIGUSR1);
  fflush(stdout);
  int status; pid_t p = fork(); if (!p) { printf("child\n"); fflush(stdout); _exit(3); } waitpid(p, &status, 0); printf("status %d\n", WEXITSTATUS(status));
  p = vfork(); if (!p) { execlp("true", "true", (char *)nullptr); _exit(9); } waitpid(p, &status, 0); printf("status %d\n", WEXITSTATUS(status));
  printf("system %d\n", system("exit 4"));
  void *next = dlsym(RTLD_NEXT, "strlen"); printf("%d\n", next != nullptr);
  Dl_info info; printf("%d\n", dladdr((void *)&main, &info) != 0);
  void *frames[20]; int n = backtrace(frames, 20); printf("frames %d %d\n", n, frames[0] > (void *)&main && frames[0] < (char *)&main + 8192);
  printf("depth %d\n", depth(2000));
  int (*f)(const char *, const char *) = strcmp; printf("same %d\n", f("a", "a"));
  setlocale(LC_ALL, "C");
  atexit([] { printf("at exit\n"); });
  return 5;
}
