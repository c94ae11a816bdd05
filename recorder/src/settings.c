/* settings.c: how the recorder is set, by the environment.
 *
 * lr_read_settings takes no lock: it is called before the program's threads begin, or with the
 * lock, and does its work once. A signal handler may call it. */

#include "core.h"

/* All settings; a new one also raises LR_SETTINGS. A program that this one starts with another environment gets those that are set
 * (exec_linux.c). */
const char *const lr_setting_names[LR_SETTINGS + 1] = {"LOGREC",          "LOGREC_FILE",        "LOGREC_INCLUDE",      "LOGREC_EXCLUDE",
                                        "LOGREC_MIN",      "LOGREC_SITES",       "LOGREC_PERMISSIONS",  "LOGREC_COMMAND_LINE",
                                        "LOGREC_CHILDREN", "LOGREC_SNAPSHOT_SIGNAL", "LOGREC_CRASH", "LOGREC_VALUES", "LOGREC_PATCH", "LOGREC_SWITCH_SIGNAL",
                                        "LOGREC_FROM",     "LOGREC_UNTIL",       "LOGREC_INSIDE",       "LOGREC_DEPTH",
                                        "LOGREC_AFTER",    "LOGREC_FOR",         "LOGREC_LIBCALLS",    "LOGREC_OUTPUT",
                                        "LOGREC_REPORT",  "LOGREC_REPORT_FOLDER", "LOGREC_REPORT_SECONDS", NULL};

LR_OWN void lr_tell(const char *line) {
  static enum { NOT_ASKED, FIRST, NOT_FIRST } asked;
  if (asked == NOT_ASKED) asked = plat_told_before() ? NOT_FIRST : FIRST;
  if (asked == FIRST) plat_message(line);
}

LR_OWN static int equals(const char *s, size_t n, const char *word) { return strlen(word) == n && memcmp(s, word, n) == 0; }

LR_OWN static uint64_t number(const char **s) {
  uint64_t v = 0;
  while (**s >= '0' && **s <= '9' && v < (uint64_t)1 << 50) v = v * 10 + (uint64_t)(*(*s)++ - '0');
  return v;
}

/* duration understands 500, 500ns, 10us, 1.5ms, 1s; 0 for what it does not. */
LR_OWN static int duration(const char *s, uint64_t *ns) {
  const uint64_t second = 1000000000;
  if (*s < '0' || *s > '9') return 0;
  const uint64_t whole = number(&s);
  uint64_t part = 0, digit = second;
  if (*s == '.')
    for (s++; *s >= '0' && *s <= '9'; s++) part += (uint64_t)(*s - '0') * (digit /= 10);
  uint64_t unit;
  if (!*s || equals(s, strlen(s), "ns")) unit = 1;
  else if (equals(s, strlen(s), "us")) unit = 1000;
  else if (equals(s, strlen(s), "ms")) unit = 1000000;
  else if (equals(s, strlen(s), "s")) unit = second;
  else return 0;
  if (whole > ((uint64_t)1 << 62) / unit) return 0;
  *ns = whole * unit + part * unit / second;
  return 1;
}

/* permissions understands 600 and 0644; the owner may always read and write. */
LR_OWN static int permissions(const char *s, unsigned *mode) {
  unsigned v = 0;
  const size_t n = strlen(s);
  if (n < 3 || n > 4 || (n == 4 && s[0] != '0')) return 0;
  for (; *s; s++) {
    if (*s < '0' || *s > '7') return 0;
    v = v << 3 | (unsigned)(*s - '0');
  }
  if (v & ~0666u || (v & 0600) != 0600) return 0;
  *mode = v;
  return 1;
}

/* one_of tells whether s is one of the words, whatever its case. */
LR_OWN static int one_of(const char *s, size_t n, const char *const *words) {
  char small[8] = "";
  for (size_t i = 0; n < sizeof small && i < n; i++) small[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] + 32 : s[i]);
  for (; *words; words++)
    if (n && equals(*words, strlen(*words), small)) return 1;
  return 0;
}

LR_OWN const char *lr_next_item(const char *list, const char **begin, size_t *n) {
  const char *end = list;
  while (*end && *end != ',') end++;
  const char *const next = *end ? end + 1 : end;
  while (list < end && (*list == ' ' || *list == '\t')) list++;
  while (end > list && (end[-1] == ' ' || end[-1] == '\t')) end--;
  *begin = list;
  *n = (size_t)(end - list);
  return next;
}

/* parse_mode reads LOGREC: words with commas between. */
LR_OWN static void parse_mode(const char *list) {
  static const char *const offs[] = {"off", "0", "no", "false", NULL}, *const ons[] = {"on", "1", "yes", "true", NULL};
  enum { MOST_MB = 4096 };
  while (*list) {
    const char *s;
    size_t n;
    list = lr_next_item(list, &s, &n);
    if (one_of(s, n, offs)) {
      lr_settings.off = 1;
    } else if (n >= 4 && memcmp(s, "ring", 4) == 0 && (n == 4 || s[4] == ':')) {
      const char *end = s + 4;
      uint64_t mb = 1;
      if (n > 4) end++, mb = number(&end);
      lr_settings.ring = 1;
      if (end != s + n || mb == 0) {
        lr_tell("logrec: LOGREC=ring:MB has a number of megabytes from 1 to 4096: 1 is taken");
        mb = 1;
      } else if (mb > MOST_MB) {
        lr_tell("logrec: LOGREC=ring:MB has a number of megabytes from 1 to 4096: 4096 is taken");
        mb = MOST_MB;
      }
      lr_settings.ring_bytes = mb << 20;
    } else if (n && !one_of(s, n, ons)) {
      lr_tell("logrec: LOGREC is off, on or ring[:MB]: the word that is none of them is left out");
    }
  }
}

/* parse_crash reads LOGREC_CRASH: words with commas between. */
LR_OWN static void parse_crash(const char *list) {
  static const char *const words[] = {"off", "first", "last", NULL};
  while (*list) {
    const char *s;
    size_t n;
    list = lr_next_item(list, &s, &n);
    int i = 0;
    while (words[i] && !equals(s, n, words[i])) i++;
    if (words[i]) lr_settings.crash = LR_CRASH_OFF + i;
    else if (equals(s, n, "no-stack")) lr_settings.crash_no_stack = 1;
    else if (n) lr_tell("logrec: LOGREC_CRASH is off, first or last, and no-stack: the word that is none of them is left out");
  }
}

/* read_values reads LOGREC_VALUES: a word, or where the plan is. The plan itself is read when recording
 * begins. */
LR_OWN static void read_values(const char *s) {
  if (equals(s, strlen(s), "off")) {
    lr_settings.values = LR_VALUES_OFF;
  } else if (equals(s, strlen(s), "raw")) {
    lr_settings.values = LR_VALUES_RAW;
  } else {
    lr_settings.values = LR_VALUES_PLAN;
    memcpy(lr_settings.plan, s, strlen(s) + 1);
    plat_make_absolute(lr_settings.plan, sizeof lr_settings.plan);
  }
}

/* setting returns the value of an environment variable until the next one is asked
 * for, or NULL. */
LR_OWN static const char *setting(const char *name) {
  static char value[sizeof lr_settings.file], line[128];
  int fits;
  const char *s = plat_environment(name, value, sizeof value, &fits);
  if (fits) return s;
  struct lr_body b = {(uint8_t *)line, 0, sizeof line - 1};
  lr_put(&b, "logrec: ", 8);
  lr_put(&b, name, strlen(name));
  lr_put(&b, " is longer than 4095 bytes: it is left out", 42);
  line[b.length] = 0;
  lr_tell(line);
  return NULL;
}

/* tell_unknown tells of the first variable that looks like a setting and is none. */
LR_OWN static void tell_unknown(void) {
  static const char begin[] = "logrec: ", end[] = " is no setting of this recorder: it is left out";
  static char line[128];
  size_t at = 0;
  const char *s;
  int told = 0;
  while ((s = plat_variable(&at))) {
    if (told || strncmp(s, "LOGREC", 6) != 0 || !(s[6] == '=' || s[6] == '_')) continue;
    const char *const *name = lr_setting_names;
    const size_t n = strcspn(s, "=");
    while (*name && !equals(s, n, *name)) name++;
    if (*name || n > 64) continue;
    told = 1;
    struct lr_body b = {(uint8_t *)line, 0, sizeof line - 1};
    lr_put(&b, begin, sizeof begin - 1);
    /* It may hold anything. */
    for (size_t i = 0; i < n; i++) lr_put(&b, s[i] > ' ' && s[i] < 127 ? s + i : "?", 1);
    lr_put(&b, end, sizeof end - 1);
    line[b.length] = 0;
    lr_tell(line);
  }
}

LR_OWN static void read_list(const char *name, char *to) {
  const char *const s = setting(name);
  if (s) memcpy(to, s, strlen(s) + 1);
}

/* read_triggers reads when recording begins and ends by itself, and which calls are seen. */
LR_OWN static void read_triggers(void) {
  read_list("LOGREC_FROM", lr_settings.from);
  read_list("LOGREC_UNTIL", lr_settings.until);
  read_list("LOGREC_INSIDE", lr_settings.inside);
  read_list("LOGREC_LIBCALLS", lr_settings.libcalls);
  const char *s = setting("LOGREC_DEPTH");
  if (s && *s) {
    const uint64_t depth = number(&s);
    if (*s || !depth || depth >> 31) lr_tell("logrec: LOGREC_DEPTH is a number of calls from 1 on: all depths are recorded");
    else lr_settings.depth = (uint32_t)depth;
  }
  s = setting("LOGREC_AFTER");
  if (s && *s && !duration(s, &lr_settings.after))
    lr_tell("logrec: LOGREC_AFTER is a time, such as 500ms or 10s: recording begins at once");
  s = setting("LOGREC_FOR");
  if (s && *s && !duration(s, &lr_settings.lasts)) lr_tell("logrec: LOGREC_FOR is a time, such as 500ms or 10s: recording goes on");
  lr_triggers_choose();
}

/* read_report reads LOGREC_REPORT, the command that writes reports, where to, and how long it may take. */
LR_OWN static void read_report(void) {
  enum { USUAL = 10, MOST = 3600 };
  const char *s = setting("LOGREC_REPORT_SECONDS");
  const char *end = s ? s : "";
  const uint64_t seconds = number(&end);
  const int is_number = s && end != s && !*end && seconds > 0 && seconds <= MOST;
  if (s && *s && !is_number) lr_tell("logrec: LOGREC_REPORT_SECONDS is a number from 1 to 3600: 10 is taken");
  lr_settings.report_seconds = is_number ? (int)seconds : USUAL;
  s = setting("LOGREC_REPORT");
  if (!s || !*s) return;
  memcpy(lr_settings.report, s, strlen(s) + 1);
  plat_make_absolute(lr_settings.report, sizeof lr_settings.report);
  s = setting("LOGREC_REPORT_FOLDER");
  if (!s || !*s) return;
  memcpy(lr_settings.report_folder, s, strlen(s) + 1);
  plat_make_absolute(lr_settings.report_folder, sizeof lr_settings.report_folder);
}

LR_OWN void lr_read_settings(void) {
  static int done;
  if (done || !plat_environment_known()) return;
  done = 1;
  const char *s = setting("LOGREC");
  if (s) parse_mode(s);
  s = setting("LOGREC_FILE");
  if (s) memcpy(lr_settings.file, s, strlen(s) + 1);
  read_list("LOGREC_INCLUDE", lr_settings.include);
  read_list("LOGREC_EXCLUDE", lr_settings.exclude);
  s = setting("LOGREC_MIN");
  if (s && *s && !duration(s, &lr_settings.minimum))
    lr_tell("logrec: LOGREC_MIN is a time, such as 500ns, 10us, 1.5ms or 1s: no call is dropped");
  s = setting("LOGREC_SITES");
  lr_settings.sites = s && equals(s, strlen(s), "1");
  if (s && *s && !lr_settings.sites && !equals(s, strlen(s), "0")) lr_tell("logrec: LOGREC_SITES is 0 or 1: call sites are left out");
  s = setting("LOGREC_CHILDREN");
  lr_settings.no_children = s && equals(s, strlen(s), "0");
  if (s && *s && !lr_settings.no_children && !equals(s, strlen(s), "1"))
    lr_tell("logrec: LOGREC_CHILDREN is 0 or 1: programs that this one starts are recorded");
  s = setting("LOGREC_COMMAND_LINE");
  lr_settings.no_command_line = s && equals(s, strlen(s), "0");
  if (s && *s && !lr_settings.no_command_line && !equals(s, strlen(s), "1"))
    lr_tell("logrec: LOGREC_COMMAND_LINE is 0 or 1: the command line is recorded");
  s = setting("LOGREC_PERMISSIONS");
  if (s && *s && !permissions(s, &lr_settings.permissions))
    lr_tell("logrec: LOGREC_PERMISSIONS is three octal digits, such as 600 or 644, of reading and writing: 640 is taken");
  s = setting("LOGREC_CRASH");
  if (s) parse_crash(s);
  read_report();
  s = setting("LOGREC_VALUES");
  if (s && *s) read_values(s);
  s = setting("LOGREC_SNAPSHOT_SIGNAL");
  if (s && *s) {
    lr_settings.snapshot_signal = plat_signal(s);
    if (!lr_settings.snapshot_signal)
      lr_tell("logrec: LOGREC_SNAPSHOT_SIGNAL is a signal that a program may ignore, such as USR1 or 10, and that tells of no fault: none is taken");
  }
  s = setting("LOGREC_SWITCH_SIGNAL");
  if (s && *s) {
    lr_settings.switch_signal = plat_signal(s);
    if (!lr_settings.switch_signal || lr_settings.switch_signal == lr_settings.snapshot_signal) {
      lr_settings.switch_signal = 0;
      lr_tell("logrec: LOGREC_SWITCH_SIGNAL is a signal that a program may ignore, such as USR2 or 12, and that is not LOGREC_SNAPSHOT_SIGNAL: none is taken");
    }
  }
  s = setting("LOGREC_PATCH");
  lr_settings.patch = s && equals(s, strlen(s), "1");
  if (s && *s && !lr_settings.patch && !equals(s, strlen(s), "0")) lr_tell("logrec: LOGREC_PATCH is 0 or 1: nothing is patched");
  s = setting("LOGREC_OUTPUT");
  lr_settings.output = s && equals(s, strlen(s), "1");
  if (s && *s && !lr_settings.output && !equals(s, strlen(s), "0")) lr_tell("logrec: LOGREC_OUTPUT is 0 or 1: what the program prints is left out");
  read_triggers();
  if (!plat_raised_rights()) tell_unknown();
  lr_choose_mode();
}
