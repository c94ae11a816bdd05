/* start_linux.c: what the system tells the recorder of: the program's begin and end, forks,
 * the ends of threads, the signal for snapshots.
 *
 * Nothing here takes a lock; what it calls does. */

#include "lookup_linux.h"

#include "libcalls.h"
#include "logrec.h"
#include "patch.h"

#if !defined(_WIN32)

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_key_t exit_key;
static int have_key;

/* ---- functions of the C library's ---- */

typedef void (*handler)(void);
#if defined(LOGREC_NO_INTERPOSE)
LR_OWN static int at_fork(handler before, handler parent, handler child) { return pthread_atfork(before, parent, child); }
LR_OWN static int create_key(void (*at_exit)(void *)) { return pthread_key_create(&exit_key, at_exit); }
LR_OWN static void set_key(void *value) { pthread_setspecific(exit_key, value); }
LR_OWN static void delete_key(void) { pthread_key_delete(exit_key); }
#else
extern void *__dso_handle __attribute__((visibility("hidden")));

LR_OWN static int at_fork(handler before, handler parent, handler child) {
  static int (*of_module)(handler, handler, handler, void *);
  static int (*plain)(handler, handler, handler);
  LR_LIBRARY(of_module, __register_atfork);
  if (of_module) return of_module(before, parent, child, __dso_handle);
  LR_LIBRARY(plain, pthread_atfork);
  return plain ? plain(before, parent, child) : -1;
}

static int (*key_create)(pthread_key_t *, void (*)(void *));
static int (*key_set)(pthread_key_t, const void *);
static int (*key_delete)(pthread_key_t);
LR_OWN static int create_key(void (*at_exit)(void *)) {
  LR_LIBRARY(key_create, pthread_key_create);
  LR_LIBRARY(key_set, pthread_setspecific);
  LR_LIBRARY(key_delete, pthread_key_delete);
  return key_create && key_set && key_delete ? key_create(&exit_key, at_exit) : -1;
}
LR_OWN static void set_key(void *value) { key_set(exit_key, value); }
LR_OWN static void delete_key(void) { key_delete(exit_key); }
#endif

/* ---- what the system tells ---- */

LR_OWN static void thread_exit(void *t) {
  if (lr_self_get() == t) lr_thread_exit(t);
}

LR_OWN void plat_on_thread_exit(struct lr_thread *t) {
  if (lr_load(&have_key)) set_key(t);
}

#if !defined(LOGREC_NO_INTERPOSE)
LR_OWN int plat_preloaded(void) { return lr_preloaded() != NULL; }
#else
LR_OWN int plat_preloaded(void) { return 0; }
#endif

LR_OWN static void before_fork(void) { lr_fork_before(); }
LR_OWN static void parent_after_fork(void) { lr_fork_parent(); }
LR_OWN static void child_after_fork(void) {
  struct plat_saved saved;
  plat_slow_begin(&saved);
  /* Before Linux 4.14 that did not notice. */
  lr_fork_child();
  plat_slow_end(&saved);
}

/* It calls the public function, so that logrec.c is linked out of an archive: libraries that the program loads may
 * need it. */
LR_OWN static void snapshot_handler(int number) {
  (void)number;
  logrec_snapshot(NULL);
}

/* Turns recording off, or on again. */
LR_OWN static void switch_handler(int number) {
  (void)number;
  struct plat_saved saved;
  const int on = lr_relaxed(&lr_settings.off);
  plat_slow_begin(&saved);
  if (on) lr_patch_all(LR_SLED_ON, 1);
  plat_slow_end(&saved);
  logrec_switch(on);
  plat_slow_begin(&saved);
  if (!on) lr_patch_all(LR_SLED_HELD, 1);
  plat_slow_end(&saved);
}

/* handle sets a handler of the recorder for a signal. */
LR_OWN static void handle(int number, void (*handler)(int)) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = handler;
  a.sa_flags = SA_RESTART;
  sigfillset(&a.sa_mask);
  if (number) lr_set_action(number, &a);
}

LR_OWN void plat_start(void) {
  static int done;
  if (done) return;
  done = 1;
#if !defined(LOGREC_NO_INTERPOSE)
  lr_find_originals();
#endif
  at_fork(before_fork, parent_after_fork, child_after_fork);
  if (create_key(thread_exit) == 0) lr_store(&have_key, 1);
  handle(lr_settings.snapshot_signal, snapshot_handler);
  handle(lr_settings.switch_signal, switch_handler);
}

/* has_work tells whether something is to be done before the first event: crashes are caught, functions patched, or lines seen. */
LR_OWN static int has_work(void) {
  return lr_settings.patch || lr_settings.output || lr_settings.libcalls[0] || lr_settings.crash != LR_CRASH_UNSET || lr_settings.report[0];
}

/* on_main_stack tells, without a system call, whether this is the program's first thread: what the kernel gave it lies where its
 * stack begins. */
LR_OWN static int on_main_stack(void) {
  enum { NEAR = 1 << 26 };
  return lr_auxiliary(AT_RANDOM) - lr_frame() < NEAR;
}

/* Before other constructors where the linker sorts by priority, and after
 * other destructors; calls outside are recorded all the same. */
__attribute__((constructor(101))) LR_OWN static void begin(void) {
  struct plat_saved saved;
  if (!lr_begun()) return;
  lr_find_standard_error();
  lr_read_settings();
  plat_start();
  if (on_main_stack()) lr_main_block = lr_thread_block();
  /* Where the program has recorded already, the room could not be kept yet. */
  const int running = lr_load(&lr_global.state) == LR_RUNNING;
  /* A program without hooks is left in peace: it may have a filter of system calls from its start on. */
  if (!running && !has_work()) return;
  plat_slow_begin(&saved);
  plat_crash_catch(running);
  plat_crash_thread_begin();
  if (running && plat_lock()) {
    lr_crash_reserve();
    plat_unlock();
  }
  /* What the main thread recorded before. */
  struct lr_thread *t = lr_self_get();
  if (t != &lr_nobody) plat_on_thread_exit(t);
  lr_patch_look();
  lr_libcalls_look();
  lr_output_watch();
  plat_slow_end(&saved);
}

#if !defined(LOGREC_NO_INTERPOSE)
/* tell_of_nothing says that the preloaded library found nothing to record. It says so only at a terminal, and
 * not if a program with the library has started this one, or if this one has started others: then those may
 * be what is to be recorded. */
LR_OWN static void tell_of_nothing(void) {
  const char *const library = lr_preloaded();
  struct rusage children;
  struct stat s;
  uint32_t parent;
  if (fstat(2, &s) < 0 || !S_ISCHR(s.st_mode) || !lr_is_terminal(2)) return;
  if (getrusage(RUSAGE_CHILDREN, &children) < 0 || children.ru_maxrss || lr_has_mapped((uint32_t)syscall(SYS_getppid), library, &parent)) return;
  plat_message("logrec: nothing was recorded: the program calls no hooks; build it with -finstrument-functions");
}
#endif

__attribute__((destructor(101))) LR_OWN static void end(void) {
  const int error = program_errno;
  lr_end();
#if !defined(LOGREC_NO_INTERPOSE)
  /* A filter of system calls may be there by now. */
  if (lr_load(&lr_global.state) == LR_NOT_STARTED && !lr_relaxed(&lr_settings.off) && !lr_load(&lr_patch_refused) && lr_preloaded()) tell_of_nothing();
#endif
  /* The recorder may be part of a library that is unloaded while the process goes on. */
  if (lr_load(&have_key)) {
    lr_store(&have_key, 0);
    delete_key();
  }
  program_errno = error;
}

#endif
