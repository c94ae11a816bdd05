/* A child by vfork, which borrows the parent's memory until its exec. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int before(int n) { return n + 1; }
static int after(int n) { return n * 2; }

int main(void) {
  int sum = before(1);
  for (int i = 0; i < 3; i++) {
    int status;
    const pid_t pid = vfork();
    if (pid == 0) {
      execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
      _exit(99);
    }
    waitpid(pid, &status, 0);
    sum += after(WEXITSTATUS(status));
  }
  printf("%d\n", sum);
  return sum;
}
