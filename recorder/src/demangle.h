/* demangle.h: the plain name of a function of C++, out of the one that the
 * Itanium ABI gives its symbol: _ZN3app7CounterIiE3addEi is app::Counter::add.
 *
 * Scopes are kept; parameters, template arguments and ABI tags are left out. An
 * operator is app::operator+, a lambda f::{lambda}::operator(), a thunk has the
 * name of what it calls. Names come from files that nobody has checked: each
 * character is looked at once, recursion is bounded, nothing is allocated.
 * https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling */

#ifndef LOGREC_DEMANGLE_H
#define LOGREC_DEMANGLE_H

#include "platform.h"

#include <string.h>

struct lr_mangled {
  const char *s; /* what is left */
  char *name;
  size_t n, size;
  size_t last;   /* where in name its last part begins */
  int quiet;     /* within what is left out */
  int depth;
};
enum { LR_MANGLED_DEPTH = 48 };

/* All return 0 where they do not understand the name. */
LR_OWN static int lr_m_name(struct lr_mangled *m);
LR_OWN static int lr_m_type(struct lr_mangled *m);
LR_OWN static int lr_m_expression(struct lr_mangled *m);

LR_OWN static int lr_m_digit(char c) { return c >= '0' && c <= '9'; }

LR_OWN static int lr_m_take(struct lr_mangled *m, const char *word) {
  const size_t n = strlen(word);
  if (strncmp(m->s, word, n) != 0) return 0;
  m->s += n;
  return 1;
}

/* lr_m_of takes two characters that are among those of a list with spaces. */
LR_OWN static int lr_m_of(struct lr_mangled *m, const char *list) {
  for (; *list; list += list[2] ? 3 : 2)
    if (m->s[0] == list[0] && m->s[1] == list[1]) {
      m->s += 2;
      return 1;
    }
  return 0;
}

LR_OWN static int lr_m_part(struct lr_mangled *m, const char *before, const char *text, size_t length) {
  const size_t more = strlen(before);
  if (m->quiet) return 1;
  if (length >= m->size || m->n + more + length + 3 > m->size) return 0;
  if (m->n) memcpy(m->name + m->n, "::", 2), m->n += 2;
  m->last = m->n;
  memcpy(m->name + m->n, before, more);
  memmove(m->name + m->n + more, text, length);
  m->n += more + length;
  return 1;
}

/* A sequence number, which may be missing, and its end. */
LR_OWN static int lr_m_sequence(struct lr_mangled *m) {
  while (lr_m_digit(*m->s) || (*m->s >= 'A' && *m->s <= 'Z')) m->s++;
  return lr_m_take(m, "_");
}

LR_OWN static void lr_m_number(struct lr_mangled *m) {
  lr_m_take(m, "n");
  while (lr_m_digit(*m->s)) m->s++;
}

LR_OWN static int lr_m_source(struct lr_mangled *m, const char *before) {
  size_t length = 0;
  while (lr_m_digit(*m->s) && length < 65536) length = length * 10 + (size_t)(*m->s++ - '0');
  if (!length || memchr(m->s, 0, length)) return 0;
  const char *text = m->s;
  m->s += length;
  if (length >= 10 && memcmp(text, "_GLOBAL_", 8) == 0 && text[9] == 'N') return lr_m_part(m, "", "(anonymous namespace)", 21);
  return lr_m_part(m, before, text, length);
}

/* Types or expressions up to an E. */
LR_OWN static int lr_m_list(struct lr_mangled *m, int (*each)(struct lr_mangled *)) {
  while (!lr_m_take(m, "E"))
    if (!each(m)) return 0;
  return 1;
}

/* A function's name and its types; up to the E, if it is within another. */
LR_OWN static int lr_m_encoding(struct lr_mangled *m) {
  if (!lr_m_name(m)) return 0;
  m->quiet++;
  while (*m->s && *m->s != 'E' && *m->s != '.')
    if (!lr_m_type(m)) return 0;
  m->quiet--;
  return 1;
}

LR_OWN static int lr_m_literal(struct lr_mangled *m) {
  if (!lr_m_take(m, "L")) return 0;
  if (lr_m_take(m, "_Z")) return lr_m_encoding(m) && lr_m_take(m, "E");
  if (!lr_m_type(m)) return 0;
  while (*m->s && *m->s != 'E') m->s++;
  return lr_m_take(m, "E");
}

LR_OWN static int lr_m_argument(struct lr_mangled *m) {
  if (*m->s == 'L') return lr_m_literal(m);
  if (lr_m_take(m, "X")) return lr_m_expression(m) && lr_m_take(m, "E");
  if (lr_m_take(m, "J")) {
    if (++m->depth > LR_MANGLED_DEPTH) return 0;
    const int ok = lr_m_list(m, lr_m_argument);
    m->depth--;
    return ok;
  }
  /* The parameter's own declaration may stand before the argument. */
  if (lr_m_take(m, "Ty")) return 1;
  if (lr_m_take(m, "Tn")) return lr_m_type(m);
  return lr_m_type(m);
}

LR_OWN static int lr_m_arguments(struct lr_mangled *m) {
  if (!lr_m_take(m, "I")) return 1;
  m->quiet++;
  const int ok = lr_m_list(m, lr_m_argument);
  m->quiet--;
  return ok;
}

LR_OWN static int lr_m_substitution(struct lr_mangled *m) {
  static const struct {
    const char *code, *scope, *name;
  } known[] = {{"Sa", "std", "allocator"},     {"Sb", "std", "basic_string"},  {"Ss", "std", "basic_string"},
               {"Si", "std", "basic_istream"}, {"So", "std", "basic_ostream"}, {"Sd", "std", "basic_iostream"}};
  if (lr_m_take(m, "St")) return lr_m_part(m, "", "std", 3);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (lr_m_take(m, known[i].code))
      return lr_m_part(m, "", known[i].scope, strlen(known[i].scope)) && lr_m_part(m, "", known[i].name, strlen(known[i].name));
  /* What it stands for is not kept. A function's own name, which is the first
   * thing in a symbol, does not refer back. */
  return m->quiet && lr_m_take(m, "S") && lr_m_sequence(m);
}

static const char *const lr_m_operators[] = {
    "nw new", "na new[]", "dl delete", "da delete[]", "aw co_await", "co~", "pl+", "ps+", "mi-", "ng-", "ml*", "de*", "dv/",
    "rm%", "an&", "ad&", "or|", "eo^", "aS=", "pL+=", "mI-=", "mL*=", "dV/=", "rM%=", "aN&=", "oR|=", "eO^=", "ls<<", "rs>>",
    "lS<<=", "rS>>=", "eq==", "ne!=", "lt<", "gt>", "le<=", "ge>=", "ss<=>", "nt!", "aa&&", "oo||", "pp++", "mm--", "cm,",
    "pm->*", "pt->", "cl()", "ix[]", "qu?"};

static const char *const lr_m_builtins[] = {
    "vvoid", "wwchar_t", "bbool", "cchar", "asigned char", "hunsigned char", "sshort", "tunsigned short", "iint", "junsigned int",
    "llong", "munsigned long", "xlong long", "yunsigned long long", "n__int128", "ounsigned __int128", "ffloat", "ddouble",
    "elong double", "g__float128", "z..."};

LR_OWN static int lr_m_operator(struct lr_mangled *m) {
  if (lr_m_take(m, "li")) return lr_m_source(m, "operator\"\" ");
  if (lr_m_take(m, "cv")) {
    /* A type of one word is said, of others only that it is a conversion. */
    const char *type = "";
    for (size_t i = 0; i < sizeof lr_m_builtins / sizeof *lr_m_builtins; i++)
      if (*m->s == lr_m_builtins[i][0]) type = lr_m_builtins[i] + 1;
    if (lr_m_digit(*m->s)) {
      if (!lr_m_source(m, "operator ")) return 0;
      return lr_m_arguments(m);
    }
    m->quiet++;
    const int ok = lr_m_type(m);
    m->quiet--;
    return ok && lr_m_part(m, *type ? "operator " : "operator", type, strlen(type));
  }
  for (size_t i = 0; i < sizeof lr_m_operators / sizeof *lr_m_operators; i++) {
    const char *o = lr_m_operators[i];
    if (m->s[0] != o[0] || m->s[1] != o[1]) continue;
    m->s += 2;
    return lr_m_part(m, "operator", o + 2, strlen(o + 2));
  }
  return 0;
}

LR_OWN static int lr_m_unqualified(struct lr_mangled *m) {
  int ok;
  lr_m_take(m, "L");
  if (lr_m_digit(*m->s)) {
    ok = lr_m_source(m, "");
  } else if ((*m->s == 'C' || *m->s == 'D') && (lr_m_digit(m->s[1]) || (*m->s == 'C' && m->s[1] == 'I'))) {
    const char *before = *m->s == 'D' ? "~" : "";
    const int inherited = m->s[1] == 'I';
    if (!m->s[2] && inherited) return 0;
    m->s += inherited ? 3 : 2;
    m->quiet += inherited;
    ok = !inherited || lr_m_type(m);
    m->quiet -= inherited;
    ok = ok && lr_m_part(m, before, m->name + m->last, m->n - m->last);
  } else if (lr_m_take(m, "Ut")) {
    lr_m_number(m);
    ok = lr_m_take(m, "_") && lr_m_part(m, "", "{unnamed}", 9);
  } else if (lr_m_take(m, "Ul")) {
    m->quiet++;
    ok = lr_m_list(m, lr_m_type);
    m->quiet--;
    lr_m_number(m);
    ok = ok && lr_m_take(m, "_") && lr_m_part(m, "", "{lambda}", 8);
  } else {
    ok = lr_m_operator(m);
  }
  m->quiet++;
  while (ok && lr_m_take(m, "B")) ok = lr_m_source(m, "");
  m->quiet--;
  return ok;
}

LR_OWN static int lr_m_nested(struct lr_mangled *m) {
  while (*m->s && strchr("rVKROH", *m->s)) m->s++;
  for (int first = 1; !lr_m_take(m, "E"); first = 0) {
    int ok;
    if (*m->s == 'I') ok = !first && lr_m_arguments(m);
    else if (*m->s == 'S') ok = lr_m_substitution(m);
    else if (*m->s == 'T') ok = m->quiet && lr_m_take(m, "T") && lr_m_sequence(m);
    else if (lr_m_take(m, "M")) ok = !first;
    else if (lr_m_of(m, "Dt DT")) ok = m->quiet && lr_m_expression(m) && lr_m_take(m, "E");
    else ok = lr_m_unqualified(m);
    if (!ok) return 0;
  }
  return 1;
}

LR_OWN static int lr_m_local(struct lr_mangled *m) {
  if (!lr_m_encoding(m) || !lr_m_take(m, "E")) return 0;
  if (!lr_m_take(m, "s")) {
    if (lr_m_take(m, "d")) {
      lr_m_number(m);
      if (!lr_m_take(m, "_")) return 0;
    }
    if (!lr_m_name(m)) return 0;
  }
  if (lr_m_take(m, "__")) {
    lr_m_number(m);
    return lr_m_take(m, "_");
  }
  if (m->s[0] == '_' && lr_m_digit(m->s[1])) m->s += 2;
  return 1;
}

LR_OWN static int lr_m_name(struct lr_mangled *m) {
  int ok;
  if (++m->depth > LR_MANGLED_DEPTH) return 0;
  if (lr_m_take(m, "N")) {
    ok = lr_m_nested(m);
  } else if (lr_m_take(m, "Z")) {
    ok = lr_m_local(m);
  } else if (*m->s == 'S' && m->s[1] != 't') {
    ok = lr_m_substitution(m) && lr_m_arguments(m);
  } else {
    ok = (*m->s != 'S' || lr_m_substitution(m)) && lr_m_unqualified(m) && lr_m_arguments(m);
  }
  m->depth--;
  return ok;
}

LR_OWN static int lr_m_type_here(struct lr_mangled *m) {
  for (;;) {
    while (*m->s && strchr("rVKPROCG", *m->s)) m->s++;
    if (!lr_m_take(m, "U")) break;
    if (!lr_m_source(m, "") || !lr_m_arguments(m)) return 0;
  }
  if (*m->s && strchr("vwbcahstijlmxynofdegz", *m->s)) return m->s++, 1;
  if (lr_m_take(m, "u")) return lr_m_source(m, "") && lr_m_arguments(m);
  if (lr_m_of(m, "Dd De Df Dh Di Ds Du Da Dc Dn")) return 1;
  if (lr_m_take(m, "Dp")) return lr_m_type(m);
  if (lr_m_of(m, "Dt DT")) return lr_m_expression(m) && lr_m_take(m, "E");
  if (lr_m_take(m, "DF")) {
    lr_m_number(m);
    return lr_m_take(m, "_") || lr_m_take(m, "b") || lr_m_take(m, "x");
  }
  if (lr_m_of(m, "DB DU")) {
    lr_m_number(m);
    return lr_m_take(m, "_");
  }
  if (lr_m_take(m, "Dv")) {
    lr_m_number(m);
    return lr_m_take(m, "_") && lr_m_type(m);
  }
  if (lr_m_of(m, "Do Dx")) return lr_m_type(m);
  if (lr_m_take(m, "DO")) return lr_m_expression(m) && lr_m_take(m, "E") && lr_m_type(m);
  if (lr_m_take(m, "Dw")) return lr_m_list(m, lr_m_type) && lr_m_type(m);
  if (lr_m_take(m, "F")) {
    lr_m_take(m, "Y");
    while (!lr_m_take(m, "E")) {
      if (lr_m_take(m, "RE") || lr_m_take(m, "OE")) return 1;
      if (!lr_m_type(m)) return 0;
    }
    return 1;
  }
  if (lr_m_take(m, "A")) {
    if (lr_m_digit(*m->s)) lr_m_number(m);
    else if (*m->s != '_' && !lr_m_expression(m)) return 0;
    return lr_m_take(m, "_") && lr_m_type(m);
  }
  if (lr_m_take(m, "M")) return lr_m_type(m) && lr_m_type(m);
  if (lr_m_of(m, "Ts Tu Te")) return lr_m_name(m);
  if (lr_m_take(m, "T")) return lr_m_sequence(m) && lr_m_arguments(m);
  return lr_m_name(m);
}

LR_OWN static int lr_m_type(struct lr_mangled *m) {
  if (++m->depth > LR_MANGLED_DEPTH) return 0;
  m->quiet++;
  const int ok = lr_m_type_here(m);
  m->quiet--;
  m->depth--;
  return ok;
}

/* A name in an expression: of a function or a member, without its scope. */
LR_OWN static int lr_m_unresolved(struct lr_mangled *m) {
  lr_m_take(m, "on");
  lr_m_take(m, "dn");
  return lr_m_unqualified(m) && lr_m_arguments(m);
}

LR_OWN static int lr_m_expression_here(struct lr_mangled *m) {
  lr_m_take(m, "gs");
  if (*m->s == 'L') return lr_m_literal(m);
  if (*m->s == 'T') return lr_m_type(m);
  if (lr_m_take(m, "fpT")) return 1;
  if (lr_m_take(m, "fp") || (m->s[0] == 'f' && m->s[1] == 'L' && lr_m_digit(m->s[2]))) {
    if (lr_m_take(m, "fL")) {
      lr_m_number(m);
      if (!lr_m_take(m, "p")) return 0;
    }
    while (*m->s && strchr("rVK", *m->s)) m->s++;
    return lr_m_sequence(m);
  }
  if (lr_m_of(m, "fl fr")) return *m->s && m->s[1] ? (m->s += 2, lr_m_expression(m)) : 0;
  if (lr_m_of(m, "fL fR")) return *m->s && m->s[1] ? (m->s += 2, lr_m_expression(m) && lr_m_expression(m)) : 0;
  if (lr_m_take(m, "cv"))
    return lr_m_type(m) && (lr_m_take(m, "_") ? lr_m_list(m, lr_m_expression) : lr_m_expression(m));
  if (lr_m_take(m, "tl")) return lr_m_type(m) && lr_m_list(m, lr_m_expression);
  if (lr_m_of(m, "il cl cp")) return lr_m_list(m, lr_m_expression);
  if (lr_m_of(m, "st ti at")) return lr_m_type(m);
  if (lr_m_take(m, "sZ")) return lr_m_expression(m);
  if (lr_m_take(m, "sP")) return lr_m_list(m, lr_m_argument);
  if (lr_m_of(m, "dc sc cc rc")) return lr_m_type(m) && lr_m_expression(m);
  if (lr_m_of(m, "dt pt")) return lr_m_expression(m) && lr_m_unresolved(m);
  if (lr_m_take(m, "tr")) return 1;
  if (lr_m_take(m, "srN")) {
    if (!lr_m_type(m)) return 0;
    while (!lr_m_take(m, "E"))
      if (!lr_m_unresolved(m)) return 0;
    return lr_m_unresolved(m);
  }
  if (lr_m_take(m, "sr")) {
    /* Either a type, or scopes and an E. */
    if (!lr_m_digit(*m->s)) return lr_m_type(m) && lr_m_unresolved(m);
    while (!lr_m_take(m, "E"))
      if (!lr_m_unresolved(m)) return 0;
    return lr_m_unresolved(m);
  }
  if (lr_m_of(m, "pp mm")) return lr_m_take(m, "_"), lr_m_expression(m);
  if (lr_m_of(m, "ps ng ad de co nt dl da te sz az nx sp tw aw")) return lr_m_expression(m);
  if (lr_m_take(m, "qu")) return lr_m_expression(m) && lr_m_expression(m) && lr_m_expression(m);
  if (lr_m_of(m, "pl mi ml dv rm an or eo aS pL mI mL dV rM aN oR eO ls rs lS rS eq ne lt gt le ge ss aa oo cm pm ix ds"))
    return lr_m_expression(m) && lr_m_expression(m);
  return lr_m_unresolved(m);
}

LR_OWN static int lr_m_expression(struct lr_mangled *m) {
  if (++m->depth > LR_MANGLED_DEPTH) return 0;
  m->quiet++;
  const int ok = lr_m_expression_here(m);
  m->quiet--;
  m->depth--;
  return ok;
}

/* lr_plain_name writes the plain name of a symbol; 0 for what is none of C++,
 * or not understood. */
LR_OWN static int lr_plain_name(const char *symbol, char *name, size_t size) {
  struct lr_mangled m = {symbol, name, 0, size, 0, 0, 0};
  if (!lr_m_take(&m, "_Z")) return 0;
  if (m.s[0] == 'T') {
    const int both = m.s[1] == 'c';
    if (both) m.s += 2;
    for (int i = 0; i < 1 + both; i++) {
      if (!both && !lr_m_take(&m, "T")) return 0;
      const int two = *m.s == 'v';
      if (!lr_m_take(&m, "h") && !lr_m_take(&m, "v")) return 0;
      for (int k = 0; k < 1 + two; k++) {
        lr_m_number(&m);
        if (!lr_m_take(&m, "_")) return 0;
      }
    }
  }
  if (!lr_m_name(&m) || !m.n) return 0;
  name[m.n] = 0;
  return 1;
}

#endif
