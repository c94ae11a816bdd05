/* zone_linux.c: how far local time is ahead of UTC, by TZ and the files of time zones.
 *
 * localtime would allocate memory, and set variables of the C library that the program may read (tzname, timezone).
 * Static memory: for the start. */

#include "system_linux.h"

#if defined(__linux__)

enum { HOUR = 3600, DAY = 86400 };

/* ---- rules: CET-1CEST,M3.5.0,M10.5.0/3 ---- */

/* number reads decimal digits, at most as many as there are in a year or an hour. */
LR_OWN static int32_t number(const char **s) {
  int32_t v = 0;
  for (int n = 0; **s >= '0' && **s <= '9' && n < 4; (*s)++, n++) v = v * 10 + (**s - '0');
  return v;
}

/* name skips a zone's name; 0: there is none. */
LR_OWN static int name(const char **s) {
  const char *const begin = *s;
  if (**s == '<') {
    while (**s && **s != '>') (*s)++;
    if (**s) (*s)++;
  } else {
    while ((**s >= 'A' && **s <= 'Z') || (**s >= 'a' && **s <= 'z')) (*s)++;
  }
  return *s - begin >= 3;
}

/* seconds reads [+-]hh[:mm[:ss]]. */
LR_OWN static int32_t seconds(const char **s) {
  const int negative = **s == '-';
  if (**s == '-' || **s == '+') (*s)++;
  int32_t v = 0;
  for (int32_t unit = HOUR; unit; unit /= 60) {
    v += number(s) * unit;
    if (**s != ':') break;
    (*s)++;
  }
  return negative ? -v : v;
}

LR_OWN static int is_leap(int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }
LR_OWN static int64_t days_before(int64_t year) { return (year - 1970) * 365 + (year - 1969) / 4 - (year - 1901) / 100 + (year - 1601) / 400; }

/* day_of reads a day of a year, Jn, n or Mm.w.d, and its time: in seconds after the year's begin. */
LR_OWN static int64_t day_of(const char **s, int64_t year) {
  static const uint8_t length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int64_t day;
  if (**s == 'M') {
    (*s)++;
    const int month = number(s), week = **s == '.' ? ((*s)++, number(s)) : 1, weekday = **s == '.' ? ((*s)++, number(s)) : 0;
    int64_t first = 0;
    for (int m = 1; m < month && m < 12; m++) first += length[m - 1] + (m == 2 && is_leap(year));
    const int last = month >= 1 && month <= 12 ? length[month - 1] + (month == 2 && is_leap(year)) : 31;
    /* The first of January 1970 was a Thursday. */
    const int64_t begins = (days_before(year) + first + 4) % 7;
    day = (weekday - begins + 7) % 7 + 7 * (week - 1);
    while (day >= last) day -= 7;
    day += first;
  } else if (**s == 'J') {
    (*s)++;
    day = number(s);
    day -= !(day > 59 && is_leap(year));
  } else {
    day = number(s);
  }
  int32_t time = 2 * HOUR;
  if (**s == '/') {
    (*s)++;
    time = seconds(s);
  }
  return day * DAY + time;
}

/* by_rule finds the offset at a time; 0: it is no rule. */
LR_OWN static int by_rule(const char *s, int64_t now, int32_t *offset) {
  if (!name(&s) || (*s != '-' && *s != '+' && (*s < '0' || *s > '9'))) return 0;
  const int32_t standard = -seconds(&s);
  *offset = standard;
  if (!name(&s)) return 1;
  const int32_t summer = *s && *s != ',' ? -seconds(&s) : standard + HOUR;
  if (*s != ',') s = ",M3.2.0,M11.1.0";
  const int64_t local = now + standard;
  int64_t year = 1970 + local / (365 * DAY + DAY / 4);
  while (days_before(year) * DAY > local) year--;
  while (days_before(year + 1) * DAY <= local) year++;
  s++;
  const int64_t begin = days_before(year) * DAY + day_of(&s, year) - standard;
  if (*s == ',') s++;
  const int64_t end = days_before(year) * DAY + day_of(&s, year) - summer;
  const int is_summer = begin < end ? now >= begin && now < end : now >= begin || now < end;
  if (is_summer) *offset = summer;
  return 1;
}

/* ---- files ---- */

LR_OWN static uint32_t big32(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }
LR_OWN static int64_t big64(const uint8_t *p) { return (int64_t)((uint64_t)big32(p) << 32 | big32(p + 4)); }

enum { HEAD = 44 };

/* by_file finds the offset in a file of n bytes, behind which there is a 0. Nothing in it is trusted. */
LR_OWN static void by_file(const uint8_t *p, size_t n, int64_t now, int32_t *offset) {
  size_t width = 4;
  for (int second = 0;; second = 1) {
    if (n < HEAD || memcmp(p, "TZif", 4) != 0) return;
    const size_t times = big32(p + 32), types = big32(p + 36), texts = big32(p + 40);
    const size_t leaps = big32(p + 28), standards = big32(p + 24), utcs = big32(p + 20);
    if ((times | types | texts | leaps | standards | utcs) > n) return;
    const size_t size = HEAD + times * (width + 1) + types * 6 + texts + leaps * (width + 4) + standards + utcs;
    if (size > n) return;
    const int newer = p[4] >= '2';
    if (newer && !second) {
      p += size, n -= size, width = 8;
      continue;
    }
    const uint8_t *const time = p + HEAD, *const type = time + times * width, *const all = type + times;
    size_t i = times;
    while (i > 0 && (width == 8 ? big64(time + (i - 1) * 8) : (int32_t)big32(time + (i - 1) * 4)) > now) i--;
    if (i == times && newer && n > size + 1 && by_rule((const char *)p + size + 1, now, offset)) return;
    const size_t is = i ? type[i - 1] : 0;
    if (is < types) *offset = (int32_t)big32(all + is * 6);
    return;
  }
}

LR_OWN int32_t lr_offset_of_zone(const char *zone, int64_t now) {
  static char path[512], text[65536];
  int32_t offset = 0;
  if (zone && *zone == ':') zone++;
  else if (zone && by_rule(zone, now, &offset)) return offset;
  if (zone && !*zone) return 0;
  struct lr_text t = {path, 0, sizeof path};
  if (!zone) lr_text_add(&t, "/etc/localtime");
  else if (*zone != '/') lr_text_add(&t, "/usr/share/zoneinfo/");
  if (zone) lr_text_add(&t, zone);
  const size_t n = lr_read_file(path, text, sizeof text - 1);
  text[n] = 0;
  by_file((const uint8_t *)text, n, now, &offset);
  return offset;
}

#endif
