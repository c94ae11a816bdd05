/* exec_linux.c: fork, and the functions that start programs: exec ends this process's log, and
 * a program that is given an environment of its own is given the recorder's settings and the
 * preloaded library besides, unless LOGREC_CHILDREN=0.
 *
 * All may be called between vfork and exec, and in a signal handler: no lock but those of
 * lr_exec_begin and the like, and no memory but the stack, unless an environment is large. */

#include "interpose_linux.h"

#if !defined(_WIN32) && !defined(LOGREC_NO_INTERPOSE)

#include <spawn.h>
#include <stdarg.h>
#include <unistd.h>

extern char **environ;

/* ---- what children are given ---- */

/* What a program that gets an environment of its own is given besides: the settings
 * that this one was started with, and the library, if it was preloaded. Copies, since
 * a program may overwrite what it was started with. */
enum { KEPT_BYTES = 1 << 16, MOST_KEPT = 1 + LR_SETTINGS };
static char kept_bytes[KEPT_BYTES];
static size_t kept_length;
static const char *kept_settings[MOST_KEPT];
static size_t kept_count;
/* The library's path, if LD_PRELOAD named it; and that variable, as it was and without the library, NULL for none. */
static const char *library, *preloads, *other_preloads;

LR_OWN const char *lr_preloaded(void) { return library; }

LR_OWN static const char *keep(const char *s, size_t n, const char *t, size_t k) {
  if (n + k + 1 > KEPT_BYTES - kept_length) return NULL;
  char *p = kept_bytes + kept_length;
  memcpy(p, s, n);
  memcpy(p + n, t, k);
  p[n + k] = 0;
  kept_length += n + k + 1;
  return p;
}

LR_OWN static const char *last_part(const char *path, size_t n) {
  while (n > 0 && path[n - 1] != '/') n--;
  return path + n;
}

/* keep_library keeps the entry of LD_PRELOAD that names this library. */
LR_OWN static void keep_library(const char *list) {
  static const char preload[] = "LD_PRELOAD=";
  static char path[4096];
  const char *const file = lr_own_path();
  if (!file || strlen(file) >= sizeof path) return;
  memcpy(path, file, strlen(file) + 1);
  const char *const name = last_part(path, strlen(path));
  const char *const all = list;
  for (size_t n; *list; list += n) {
    n = strcspn(list, ": ");
    if (!n) {
      n = 1;
      continue;
    }
    const char *end = last_part(list, n);
    if ((size_t)(list + n - end) != strlen(name) || memcmp(end, name, strlen(name)) != 0) continue;
    plat_make_absolute(path, sizeof path);
    library = keep("", 0, path, strlen(path));
    /* $LIB and $PLATFORM may be others for the program that is started. */
    const char *entry = memchr(list, '$', n) ? keep(preload, strlen(preload), list, n) : keep(preload, strlen(preload), path, strlen(path));
    if (library && entry && !lr_settings.no_children) kept_settings[kept_count++] = entry;
    preloads = keep(preload, strlen(preload), all, strlen(all));
    const size_t before = (size_t)(list - all);
    if (list[n]) n++;
    other_preloads = before || list[n] ? keep(preload, strlen(preload), all, before + strlen(list + n)) : NULL;
    if (other_preloads) lr_memcpy((char *)(uintptr_t)other_preloads + strlen(preload) + before, list + n, strlen(list + n));
    return;
  }
}

LR_OWN void lr_keep_environment(void) {
  static char value[sizeof lr_settings.file];
  int fits;
  const char *s = plat_environment("LD_PRELOAD", value, sizeof value, &fits);
  if (s) keep_library(s);
  if (lr_settings.no_children) return;
  for (const char *const *name = lr_setting_names; *name; name++) {
    s = plat_environment(*name, value, sizeof value, &fits);
    const char *kept_one = s ? keep(*name, strlen(*name), "=", 1) : NULL;
    if (!kept_one) continue;
    /* In the place of the 0. */
    kept_length--;
    if (keep(s, strlen(s), "", 0)) kept_settings[kept_count++] = kept_one;
  }
}

/* An environment of the program's own: its pointers and ours, on the stack, as long
 * as there are few. All this may run between vfork and exec. */
enum { FEW = 4096 };

/* What a program starts is in its sandbox. Where that does not let the recorder begin, it is not in them; it may be linked
 * with them: then it is off. */
LR_OWN static int without_recorder(void) { return lr_load(&lr_children_refused) != 0; }

/* room_for tells how many pointers it takes; 0: it stays as it is. */
LR_OWN static size_t room_for(char *const envp[]) {
  if (!without_recorder() && (!kept_count || envp == environ)) return 0;
  size_t n = 0;
  while (envp && envp[n]) n++;
  return n + kept_count + 2;
}

/* What is in it already, also if it is empty, is what the program wants. */
LR_OWN static int has(char *const envp[], const char *variable) {
  const size_t n = (size_t)(strchr(variable, '=') - variable) + 1;
  for (; envp && *envp; envp++)
    if (strncmp(*envp, variable, n) == 0) return 1;
  return 0;
}

LR_OWN static char *const *complete(char *const envp[], char **room) {
  size_t n = 0;
  if (without_recorder()) {
    static char off[] = "LOGREC=off";
    for (; envp && *envp; envp++)
      if (preloads && strcmp(*envp, preloads) == 0 && other_preloads) room[n++] = (char *)(uintptr_t)other_preloads;
      else if (!(preloads && strcmp(*envp, preloads) == 0) && strncmp(*envp, "LOGREC", 6) != 0) room[n++] = *envp;
    room[n++] = off;
    room[n] = NULL;
    return room;
  }
  for (; envp && envp[n]; n++) room[n] = envp[n];
  for (size_t i = 0; i < kept_count; i++) {
    if (has(envp, kept_settings[i])) continue;
    /* In another root there may be no such file, and the loader would complain. */
    if (i == 0 && library && !lr_sandboxed && access(library, R_OK) != 0) continue;
    room[n++] = (char *)(uintptr_t)kept_settings[i];
  }
  room[n] = NULL;
  return room;
}

#define CHILD_ENVIRONMENT(envp)                                                     \
  const size_t room_size = room_for(envp);                                          \
  char *few[room_size && room_size <= FEW ? room_size : 1];                         \
  char **const room = room_size <= FEW ? few : plat_pages(room_size * sizeof *room, 0); \
  char *const *const child = room_size && room ? complete(envp, room) : envp
#define CHILD_ENVIRONMENT_END() \
  if (room_size > FEW && room) plat_pages_free(room, room_size * sizeof *room)

/* ---- fork, exec ---- */

typedef pid_t (*fork_function)(void);
LOGREC_API pid_t fork(void);
LR_OWN pid_t fork(void) {
  ORIGINAL(fork_function, FORK, fork);
  const pid_t pid = real_fork();
  if (pid > 0 && lr_load(&lr_global.state) == LR_RUNNING) lr_write_fork((uint32_t)pid);
  return pid;
}

typedef int (*execve_function)(const char *, char *const[], char *const[]);
typedef int (*fexecve_function)(int, char *const[], char *const[]);
typedef int (*execvp_function)(const char *, char *const[]);

LR_OWN static int failed(int begun, int result) {
  if (begun) lr_exec_failed();
  return result;
}

LOGREC_API int execve(const char *path, char *const argv[], char *const envp[]);
LR_OWN int execve(const char *path, char *const argv[], char *const envp[]) {
  ORIGINAL(execve_function, EXECVE, execve);
  CHILD_ENVIRONMENT(envp);
  const int begun = lr_exec_begin(path);
  const int result = real_execve(path, argv, child);
  CHILD_ENVIRONMENT_END();
  return failed(begun, result);
}

LOGREC_API int execv(const char *path, char *const argv[]);
LR_OWN int execv(const char *path, char *const argv[]) {
  ORIGINAL(execve_function, EXECVE, execve);
  CHILD_ENVIRONMENT(environ);
  const int begun = lr_exec_begin(path);
  const int result = real_execve(path, argv, child);
  CHILD_ENVIRONMENT_END();
  return failed(begun, result);
}

LOGREC_API int execvp(const char *file, char *const argv[]);
LR_OWN int execvp(const char *file, char *const argv[]) {
  ORIGINAL(execvp_function, EXECVP, execvp);
  ORIGINAL(execve_function, EXECVPE, execvpe);
  CHILD_ENVIRONMENT(environ);
  const int begun = lr_exec_begin(file);
  const int result = child == environ ? real_execvp(file, argv) : real_execvpe(file, argv, child);
  CHILD_ENVIRONMENT_END();
  return failed(begun, result);
}

LOGREC_API int execvpe(const char *file, char *const argv[], char *const envp[]);
LR_OWN int execvpe(const char *file, char *const argv[], char *const envp[]) {
  ORIGINAL(execve_function, EXECVPE, execvpe);
  CHILD_ENVIRONMENT(envp);
  const int begun = lr_exec_begin(file);
  const int result = real_execvpe(file, argv, child);
  CHILD_ENVIRONMENT_END();
  return failed(begun, result);
}

LOGREC_API int fexecve(int fd, char *const argv[], char *const envp[]);
LR_OWN int fexecve(int fd, char *const argv[], char *const envp[]) {
  ORIGINAL(fexecve_function, FEXECVE, fexecve);
  CHILD_ENVIRONMENT(envp);
  const int begun = lr_exec_begin(argv[0] ? argv[0] : "");
  const int result = real_fexecve(fd, argv, child);
  CHILD_ENVIRONMENT_END();
  return failed(begun, result);
}

#if defined(__GLIBC__)
typedef int (*execveat_function)(int, const char *, char *const[], char *const[], int);
LOGREC_API int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags);
LR_OWN int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags) {
  ORIGINAL(execveat_function, EXECVEAT, execveat);
  if (!real_execveat) {
    program_errno = ENOSYS;
    return -1;
  }
  CHILD_ENVIRONMENT(envp);
  const int begun = lr_exec_begin(path);
  const int result = real_execveat(fd, path, argv, child, flags);
  CHILD_ENVIRONMENT_END();
  return failed(begun, result);
}
#endif

typedef int (*spawn_function)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                              char *const[], char *const[]);
LOGREC_API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);
LR_OWN int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  ORIGINAL(spawn_function, POSIX_SPAWN, posix_spawn);
  CHILD_ENVIRONMENT(envp);
  const int result = real_posix_spawn(pid, path, actions, attributes, argv, child);
  CHILD_ENVIRONMENT_END();
  return result;
}

LOGREC_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);
LR_OWN int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
  ORIGINAL(spawn_function, POSIX_SPAWNP, posix_spawnp);
  CHILD_ENVIRONMENT(envp);
  const int result = real_posix_spawnp(pid, file, actions, attributes, argv, child);
  CHILD_ENVIRONMENT_END();
  return result;
}

/* The variadic forms gather their arguments on the stack, as the C library
 * does: they may run between vfork and exec. */
#define GATHER(first, last)                                       \
  size_t n = 1;                                                   \
  va_list list;                                                   \
  va_start(list, last);                                           \
  while (va_arg(list, char *)) n++;                               \
  va_end(list);                                                   \
  char *argv[n + 1];                                              \
  argv[0] = (char *)(uintptr_t)(first);                           \
  va_start(list, last);                                           \
  for (size_t i = 1; i <= n; i++) argv[i] = va_arg(list, char *)

LOGREC_API int execl(const char *path, const char *arg, ...);
LR_OWN int execl(const char *path, const char *arg, ...) {
  GATHER(arg, arg);
  va_end(list);
  return execv(path, argv);
}

LOGREC_API int execlp(const char *file, const char *arg, ...);
LR_OWN int execlp(const char *file, const char *arg, ...) {
  GATHER(arg, arg);
  va_end(list);
  return execvp(file, argv);
}

LOGREC_API int execle(const char *path, const char *arg, ...);
LR_OWN int execle(const char *path, const char *arg, ...) {
  GATHER(arg, arg);
  char *const *envp = va_arg(list, char *const *);
  va_end(list);
  return execve(path, argv, envp);
}

#endif
