/* report_windows.c: the report of a crash, written by another program while this one waits for it.
 *
 * The other program is started early, when the recorder begins to catch crashes: starting a program takes the heap,
 * which a crash may have damaged. It waits for the path of the log, which comes through a pipe. It inherits its end
 * of that pipe and nothing else, and nobody inherits the other end: when the recorded program ends, in whatever way,
 * the pipe is closed, and the waiting program ends, too. */

#include "system_windows.h"

#if defined(_WIN32)

enum { COMMAND = 3 * PATH_CHARACTERS };

/* The program's end of the pipe, and the process at the other one. NULL: there is none. */
static HANDLE pipe, helper;

/* environment_for is this process's environment without the recorder's settings. */
LR_OWN static wchar_t *environment_for(void) {
  wchar_t *const all = GetEnvironmentStringsW();
  size_t n = 0, used = 0;
  if (!all) return NULL;
  while (all[n]) n += lr_wide_length(all + n) + 1;
  wchar_t *const block = plat_pages((n + 2) * sizeof *block, 0);
  for (const wchar_t *s = all; block && *s; s += lr_wide_length(s) + 1) {
    static const wchar_t name[] = L"LOGREC";
    size_t i = 0;
    while (name[i] && s[i] == name[i]) i++;
    if (!name[i] && (s[i] == '_' || s[i] == '=')) continue;
    const size_t k = lr_wide_length(s) + 1;
    memcpy(block + used, s, k * sizeof *s);
    used += k;
  }
  FreeEnvironmentStringsW(all);
  return block;
}

/* add_quoted adds an argument as C runtimes read it. */
LR_OWN static size_t add_quoted(wchar_t *line, size_t at, const wchar_t *s) {
  size_t slashes = 0;
  line[at++] = '"';
  for (; *s && at + 2 * slashes + 4 < COMMAND; s++) {
    slashes = *s == '\\' ? slashes + 1 : 0;
    line[at++] = *s;
  }
  /* No path has a quote, but one may end with backslashes. */
  while (slashes--) line[at++] = '\\';
  line[at++] = '"';
  line[at++] = ' ';
  return at;
}

LR_OWN static size_t add_argument(wchar_t *line, size_t at, const char *s) {
  static wchar_t wide[PATH_CHARACTERS];
  lr_from_utf8(wide, PATH_CHARACTERS, s);
  return add_quoted(line, at, wide);
}

/* start_helper starts the command with a pipe as its input; 0 where that fails. */
LR_OWN static int start_helper(HANDLE input) {
  static wchar_t line[COMMAND], command[PATH_CHARACTERS];
  static union {
    uint64_t aligned;
    uint8_t bytes[512];
  } attributes;
  SIZE_T size = sizeof attributes;
  STARTUPINFOEXW s;
  PROCESS_INFORMATION p;
  LPPROC_THREAD_ATTRIBUTE_LIST const list = (LPPROC_THREAD_ATTRIBUTE_LIST)(void *)attributes.bytes;
  HANDLE inherited[] = {input};
  if (!lr_system_path(command, lr_settings.report) || !InitializeProcThreadAttributeList(list, 1, 0, &size)) return 0;
  size_t n = add_argument(line, 0, lr_settings.report);
  n = add_argument(line, n, "crash");
  n = add_argument(line, n, "--when-told");
  n = add_argument(line, n, "--report");
  n = add_argument(line, n, lr_settings.report_folder);
  line[n] = 0;
  memset(&s, 0, sizeof s);
  s.StartupInfo.cb = sizeof s;
  s.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
  s.StartupInfo.hStdInput = input;
  s.lpAttributeList = list;
  wchar_t *const environment = environment_for();
  const int done = environment && UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, inherited, sizeof inherited, NULL, NULL) &&
                   CreateProcessW(command, line, NULL, NULL, TRUE,
                                  CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT, environment, NULL,
                                  &s.StartupInfo, &p);
  DeleteProcThreadAttributeList(list);
  plat_pages_free(environment, 0);
  if (!done) return 0;
  CloseHandle(p.hThread);
  helper = p.hProcess;
  return 1;
}

LR_OWN void plat_report_prepare(void) {
  static int done;
  SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
  HANDLE input;
  if (!lr_settings.report[0] || done) return;
  done = 1;
  if (!CreatePipe(&input, &pipe, &inherited, 0)) return;
  SetHandleInformation(pipe, HANDLE_FLAG_INHERIT, 0);
  if (!start_helper(input)) {
    CloseHandle(pipe);
    pipe = NULL;
    lr_tell("logrec: LOGREC_REPORT cannot be started: no report will be written");
  }
  CloseHandle(input);
}

LR_OWN int lr_report_wanted(void) { return helper != NULL; }

/* The other threads run on meanwhile, whatever dies says: a thread that is stopped may hold a lock that is needed to
 * end the process. */
LR_OWN void plat_report(const char *log, int dies) {
  DWORD done;
  (void)dies;
  if (!helper) return;
  if (WriteFile(pipe, log, (DWORD)strlen(log), &done, NULL)) {
    /* Nothing more will be sent. */
    CloseHandle(pipe);
    pipe = NULL;
    if (WaitForSingleObject(helper, (DWORD)lr_settings.report_seconds * 1000) == WAIT_OBJECT_0) return;
  }
  TerminateProcess(helper, 1);
}

LR_OWN void lr_report_release(void) {
  if (!helper) return;
  if (pipe) CloseHandle(pipe);
  CloseHandle(helper);
  pipe = helper = NULL;
}

#endif
