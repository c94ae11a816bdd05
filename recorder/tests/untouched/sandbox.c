/* Filters that kill who makes one system call, which the program does not: it ends, and what it starts does. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int leaf(int n) { return n + 1; }

static int sandboxed(int number, int starts, char *self) {
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog filter = {sizeof code / sizeof *code, code};
  char *const arguments[] = {self, "started", NULL};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) return 77;
  const int result = leaf(4);
  if (starts) execv("/proc/self/exe", arguments);
  return result;
}

int main(int argc, char **argv) {
  static const int numbers[] = {SYS_getpid,   SYS_gettid,      SYS_rt_sigprocmask, SYS_lseek, SYS_rt_sigaction,
                                SYS_fcntl,    SYS_uname,       SYS_getppid,        SYS_ioctl, SYS_memfd_create};
  if (argc > 1) return leaf(8);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    for (int starts = 0; starts < 2; starts++) {
      int status = 0;
      fflush(stdout);
      const pid_t child = fork();
      if (child == 0) exit(sandboxed(numbers[i], starts, argv[0]));
      waitpid(child, &status, 0);
      printf("%d %d: %#x\n", numbers[i], starts, (unsigned)status);
    }
  return leaf(7);
}
