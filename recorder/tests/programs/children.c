/* Children that end in every way, some by exec, with environments of their own. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int depth(int n) { return n ? 1 + depth(n - 1) : 0; }
static void ends(int how) {
  depth(3);
  switch (how) {
  case 0: exit(10);
  case 1: _exit(11);
  case 2: quick_exit(12);
  case 3: abort();
  case 4: kill(getpid(), SIGKILL); break;
  case 5: *(volatile int *)8 = 1; break;
  case 6: _Exit(13);
  }
  for (;;) pause();
}
static void report(pid_t pid, const char *what) {
  int status = 0;
  waitpid(pid, &status, 0);
  printf("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    printf("started as %s with %s\n", argv[1], getenv("OWN") ? getenv("OWN") : "nothing");
    return depth(5) + 10;
  }
  for (int how = 0; how < 7; how++) {
    const pid_t pid = fork();
    if (pid == 0) ends(how);
    report(pid, "fork");
  }
  char *own[] = {"OWN=1", NULL}, *first[] = {argv[0], "execve", NULL}, *second[] = {argv[0], "posix_spawn", NULL};
  pid_t pid = fork();
  if (pid == 0) {
    execve("/proc/self/exe", first, own);
    _exit(99);
  }
  report(pid, "execve");
  if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, second, own)) return 1;
  report(pid, "posix_spawn");
  return system("exit 7") >> 8;
}
