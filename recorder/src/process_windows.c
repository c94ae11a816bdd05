/* process_windows.c: the process: its ids, command line, environment and folders, and where messages go.
 *
 * Nothing here takes a lock. Functions that return static memory are called at the start, with the lock or before
 * there are other threads. */

#include "system_windows.h"

#if defined(_WIN32)

int lr_under_wine;
typedef LONG(NTAPI *query_process)(HANDLE, int, void *, ULONG, ULONG *);
static query_process ntdll_query_process;
static char system_description[128];

LR_OWN void *lr_function(const char *module, const char *name) {
  const HMODULE m = GetModuleHandleA(module);
  const FARPROC p = m ? GetProcAddress(m, name) : NULL;
  void *f;
  memcpy(&f, &p, sizeof f);
  return f;
}

LR_OWN uint32_t plat_pid(void) { return GetCurrentProcessId(); }

LR_OWN void plat_process(struct plat_process *p) {
  memset(p, 0, sizeof *p);
  p->pid = GetCurrentProcessId();
  /* PROCESS_BASIC_INFORMATION */
  struct {
    LONG status;
    void *peb;
    ULONG_PTR affinity;
    LONG priority;
    ULONG_PTR pid, parent;
  } basic;
  if (ntdll_query_process && ntdll_query_process(GetCurrentProcess(), 0, &basic, sizeof basic, NULL) >= 0)
    p->parent = (uint32_t)basic.parent;
  FILETIME begun, t[3];
  if (GetProcessTimes(GetCurrentProcess(), &begun, &t[0], &t[1], &t[2]))
    p->started = (uint64_t)begun.dwHighDateTime << 32 | begun.dwLowDateTime;
  wchar_t path[PATH_CHARACTERS];
  DWORD n = PATH_CHARACTERS;
  if (QueryFullProcessImageNameW(GetCurrentProcess(), 0, path, &n)) lr_to_utf8(p->path, sizeof p->path, path, n);
  memcpy(p->system, system_description, sizeof system_description);
}

/* plat_command_line divides the line as the C runtime does. */
LR_OWN size_t plat_command_line(char *buffer, size_t size) {
  const wchar_t *s = GetCommandLineW();
  static wchar_t argument[32768];
  const size_t room = sizeof argument / sizeof *argument;
  size_t used = 0;
  for (int first = 1; s && (*s || first); first = 0) {
    size_t n = 0;
    int quoted = 0;
    while (*s && (quoted || (*s != ' ' && *s != '\t')) && n + 1 < room) {
      size_t slashes = 0;
      while (!first && s[slashes] == '\\') slashes++;
      if (!slashes && *s != '"') {
        argument[n++] = *s++;
        continue;
      }
      const int quote = s[slashes] == '"';
      for (size_t i = quote ? slashes / 2 : slashes; i > 0 && n + 1 < room; i--) argument[n++] = '\\';
      s += slashes;
      if (!quote) continue;
      if (slashes % 2 || (!first && quoted && s[1] == '"')) {
        if (!(slashes % 2)) s++;
        argument[n++] = '"';
      } else {
        quoted = !quoted;
      }
      s++;
    }
    if (used + 2 > size) break;
    used += lr_to_utf8(buffer + used, size - used, argument, n) + 1;
    while (*s == ' ' || *s == '\t') s++;
  }
  return used;
}

LR_OWN int plat_environment_known(void) { return 1; }
LR_OWN int plat_raised_rights(void) { return 0; }
LR_OWN int plat_told_before(void) { return 0; }
LR_OWN int plat_is_null(const char *path) {
  const char *name = path;
  for (const char *c = path; *c; c++)
    if (*c == '/' || *c == '\\') name = c + 1;
  return strlen(name) == 3 && (name[0] | 32) == 'n' && (name[1] | 32) == 'u' && (name[2] | 32) == 'l';
}

LR_OWN const char *plat_variable(size_t *at) {
  static wchar_t *block;
  static char text[3 * 128];
  if (*at == 0) block = GetEnvironmentStringsW();
  if (!block) return NULL;
  const wchar_t *s = block + *at;
  const size_t n = lr_wide_length(s);
  if (!n) {
    FreeEnvironmentStringsW(block);
    block = NULL;
    return NULL;
  }
  *at += n + 1;
  lr_to_utf8(text, sizeof text, s, n);
  return text;
}

LR_OWN const char *plat_environment(const char *name, char *buffer, size_t size, int *fits) {
  static wchar_t value[PATH_CHARACTERS];
  wchar_t wide[64];
  lr_from_utf8(wide, 64, name);
  const DWORD n = GetEnvironmentVariableW(wide, value, PATH_CHARACTERS);
  *fits = !n || (n < PATH_CHARACTERS && lr_to_utf8(buffer, size, value, n) + 4 < size);
  return n && *fits ? buffer : NULL;
}

LR_OWN void plat_make_absolute(char *path, size_t size) {
  static wchar_t relative[PATH_CHARACTERS], full[PATH_CHARACTERS];
  lr_from_utf8(relative, PATH_CHARACTERS, path);
  const DWORD n = GetFullPathNameW(relative, PATH_CHARACTERS, full, NULL);
  if (n && n < PATH_CHARACTERS && 3 * (size_t)n < size) lr_to_utf8(path, size, full, n);
}

LR_OWN int plat_is_special(const char *path) {
  (void)path;
  return 0;
}

LR_OWN int plat_is_folder(const char *path) {
  wchar_t name[PATH_CHARACTERS];
  if (!lr_system_path(name, path)) return 0;
  const DWORD a = GetFileAttributesW(name);
  return a != INVALID_FILE_ATTRIBUTES && (a & FILE_ATTRIBUTE_DIRECTORY);
}

/* Nothing filters system calls. */
LR_OWN void plat_bar(void) {}
LR_OWN void plat_unbar(void) {}

LR_OWN void plat_message(const char *line) {
  static char text[4700];
  size_t n = strlen(line);
  if (n > sizeof text - 2) n = sizeof text - 2;
  memcpy(text, line, n);
  text[n++] = '\n';
  text[n] = 0;
  DWORD done;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)n, &done, NULL);
}

LR_OWN static void describe_system(void) {
  struct {
    ULONG size, major, minor, build, platform;
    wchar_t service_pack[128];
  } version;
  typedef LONG(NTAPI *get_version)(void *);
  typedef const char *(__cdecl *get_wine)(void);
  get_version os;
  get_wine wine;
  void *f = lr_function("ntdll.dll", "RtlGetVersion");
  memcpy(&os, &f, sizeof os);
  f = lr_function("ntdll.dll", "wine_get_version");
  memcpy(&wine, &f, sizeof wine);
  lr_under_wine = f != NULL;
  memset(&version, 0, sizeof version);
  version.size = sizeof version;
  if (os) os(&version);
  const ULONG numbers[] = {version.major, version.minor, version.build};
  char *out = system_description;
  char *const end = system_description + sizeof system_description - 1;
  for (const char *s = "Windows "; *s; s++) *out++ = *s;
  for (int i = 0; i < 3; i++) {
    char digits[12];
    int n = 0;
    ULONG v = numbers[i];
    do digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    if (i) *out++ = '.';
    while (n) *out++ = digits[--n];
  }
#if defined(_M_X64) || defined(__x86_64__)
  const char *more[] = {" x64", "", ""};
#elif defined(_M_IX86) || defined(__i386__)
  const char *more[] = {" x86", "", ""};
#else
  const char *more[] = {" arm64", "", ""};
#endif
  if (wine) more[1] = " (wine ", more[2] = wine();
  for (int i = 0; i < 3; i++)
    for (const char *s = more[i]; *s && out < end; s++) *out++ = *s;
  if (wine && out < end) *out++ = ')';
  *out = 0;
}

LR_OWN void lr_start_process(void) {
  void *f = lr_function("ntdll.dll", "NtQueryInformationProcess");
  memcpy(&ntdll_query_process, &f, sizeof f);
  describe_system();
}

#endif
