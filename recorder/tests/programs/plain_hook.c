/* plain_hook.c: what the recorder is held against: hooks that append one line an
 * event to a file for each thread, "e" or "l" and the function's address, with
 * nothing but system calls. PLAIN_LOG is the beginning of the files' names;
 * process and thread id follow. Programs that are started with an environment of their
 * own are given what it takes to do the same, as the recorder gives them its own. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNHOOKED __attribute__((no_instrument_function, visibility("default")))
#define INSIDE static __attribute__((no_instrument_function))

/* environ, which a program may change, is not trusted to live on. */
static char prefix[4096];

INSIDE char *number(char *p, uint64_t v, unsigned base) {
  char digits[24];
  int n = 0;
  do digits[n++] = "0123456789abcdef"[v % base];
  while (v /= base);
  while (n) *p++ = digits[--n];
  return p;
}

INSIDE void find_prefix(void) {
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY, 0);
  static char text[1 << 16];
  long n = 0, more;
  if (fd < 0) return;
  while (n < (long)sizeof text - 1 && (more = syscall(SYS_read, fd, text + n, sizeof text - 1 - n)) > 0) n += more;
  syscall(SYS_close, fd);
  static const char name[] = "PLAIN_LOG=";
  for (long i = 0; i < n; i++) {
    long k = 0;
    while (name[k] && text[i + k] == name[k]) k++;
    if (!name[k]) {
      for (k = 0; text[i + sizeof name - 1 + k] && k < (long)sizeof prefix - 64; k++) prefix[k] = text[i + sizeof name - 1 + k];
      return;
    }
    while (i < n && text[i]) i++;
  }
}

INSIDE void event(char kind, void *function) {
  const int saved = errno;
  if (!prefix[0]) find_prefix();
  if (prefix[0]) {
    char path[4200], line[32], *p = path, *q = line;
    for (const char *s = prefix; *s; s++) *p++ = *s;
    *p++ = '.';
    p = number(p, (uint64_t)syscall(SYS_getpid), 10);
    *p++ = '.';
    p = number(p, (uint64_t)syscall(SYS_gettid), 10);
    *p = 0;
    *q++ = kind;
    *q++ = ' ';
    q = number(q, (uintptr_t)function, 16);
    *q++ = '\n';
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
      syscall(SYS_write, fd, line, (size_t)(q - line));
      syscall(SYS_close, fd);
    }
  }
  errno = saved;
}

UNHOOKED void __cyg_profile_func_enter(void *function, void *site);
UNHOOKED void __cyg_profile_func_exit(void *function, void *site);
void __cyg_profile_func_enter(void *function, void *site) {
  (void)site;
  event('e', function);
}
void __cyg_profile_func_exit(void *function, void *site) {
  (void)site;
  event('l', function);
}

/* complete puts the variables that it takes behind those of a program's own environment. */
INSIDE void complete(char *const envp[], char **room, size_t most) {
  static const char *const passed[] = {"PLAIN_LOG=", "LD_PRELOAD=", "LD_LIBRARY_PATH="};
  size_t n = 0;
  for (; envp && envp[n] && n + 4 < most; n++) room[n] = envp[n];
  for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
    for (char **e = environ; e && *e; e++) {
      size_t k = 0;
      while (passed[i][k] && (*e)[k] == passed[i][k]) k++;
      if (!passed[i][k]) room[n++] = *e;
    }
  room[n] = NULL;
}

enum { MOST_VARIABLES = 1024 };
UNHOOKED int execve(const char *path, char *const argv[], char *const envp[]) {
  char *room[MOST_VARIABLES];
  if (envp == environ) return (int)syscall(SYS_execve, path, argv, envp);
  complete(envp, room, MOST_VARIABLES);
  return (int)syscall(SYS_execve, path, argv, room);
}
UNHOOKED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  char *room[MOST_VARIABLES];
  int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);
  *(void **)&real = dlsym(RTLD_NEXT, "posix_spawn");
  if (envp == environ) return real(pid, path, actions, attributes, argv, envp);
  complete(envp, room, MOST_VARIABLES);
  return real(pid, path, actions, attributes, argv, room);
}
