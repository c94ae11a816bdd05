/* demangle.c: the plain name of a function of C++, out of the one that the
 * Itanium ABI gives its symbol: _ZN3app7CounterIiE3addEi is app::Counter::add.
 *
 * Scopes are kept; parameters, template arguments and ABI tags are left out. An
 * operator is app::operator+, a lambda f::{lambda}::operator(), a thunk has the
 * name of what it calls. Names come from files that nobody has checked: each
 * character is looked at once, recursion is bounded, nothing is allocated.
 * It takes no lock, and any thread or signal handler may call it.
 *
 * A function parse_x takes an x of the grammar from the front of what is left, and returns 0
 * where there is none or it does not understand it. Within parameters and the like,
 * counted by quiet, nothing is added to the name.
 * https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling */

#include "demangle.h"

#include "core.h"

struct mangled {
  const char *s; /* what is left */
  char *name;
  size_t n, size;
  size_t last;   /* where in name its last part begins */
  int quiet;     /* within what is left out */
  int depth;
};
enum { MOST_DEPTH = 48 };

LR_OWN static int parse_name(struct mangled *m);
LR_OWN static int parse_type(struct mangled *m);
LR_OWN static int parse_expression(struct mangled *m);

LR_OWN static int is_digit(char c) { return c >= '0' && c <= '9'; }

LR_OWN static int take(struct mangled *m, const char *word) {
  const size_t n = strlen(word);
  if (strncmp(m->s, word, n) != 0) return 0;
  m->s += n;
  return 1;
}

/* take_one_of takes one of the words of a list, two characters each, with spaces between. */
LR_OWN static int take_one_of(struct mangled *m, const char *list) {
  for (; *list; list += list[2] ? 3 : 2)
    if (m->s[0] == list[0] && m->s[1] == list[1]) {
      m->s += 2;
      return 1;
    }
  return 0;
}

LR_OWN static int add_part(struct mangled *m, const char *before, const char *text, size_t length) {
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
LR_OWN static int skip_sequence(struct mangled *m) {
  while (is_digit(*m->s) || (*m->s >= 'A' && *m->s <= 'Z')) m->s++;
  return take(m, "_");
}

LR_OWN static void skip_number(struct mangled *m) {
  take(m, "n");
  while (is_digit(*m->s)) m->s++;
}

LR_OWN static int parse_source(struct mangled *m, const char *before) {
  size_t length = 0;
  while (is_digit(*m->s) && length < 65536) length = length * 10 + (size_t)(*m->s++ - '0');
  if (!length || memchr(m->s, 0, length)) return 0;
  const char *text = m->s;
  m->s += length;
  if (length >= 10 && memcmp(text, "_GLOBAL_", 8) == 0 && text[9] == 'N') return add_part(m, "", "(anonymous namespace)", 21);
  return add_part(m, before, text, length);
}

/* Types or expressions up to an E. */
LR_OWN static int parse_list(struct mangled *m, int (*each)(struct mangled *)) {
  while (!take(m, "E"))
    if (!each(m)) return 0;
  return 1;
}

/* A function's name and its types; up to the E, if it is within another. */
LR_OWN static int parse_encoding(struct mangled *m) {
  if (!parse_name(m)) return 0;
  m->quiet++;
  while (*m->s && *m->s != 'E' && *m->s != '.')
    if (!parse_type(m)) return 0;
  m->quiet--;
  return 1;
}

LR_OWN static int parse_literal(struct mangled *m) {
  if (!take(m, "L")) return 0;
  if (take(m, "_Z")) return parse_encoding(m) && take(m, "E");
  if (!parse_type(m)) return 0;
  while (*m->s && *m->s != 'E') m->s++;
  return take(m, "E");
}

LR_OWN static int parse_argument(struct mangled *m) {
  if (*m->s == 'L') return parse_literal(m);
  if (take(m, "X")) return parse_expression(m) && take(m, "E");
  if (take(m, "J")) {
    if (++m->depth > MOST_DEPTH) return 0;
    const int ok = parse_list(m, parse_argument);
    m->depth--;
    return ok;
  }
  /* The parameter's own declaration may stand before the argument. */
  if (take(m, "Ty")) return 1;
  if (take(m, "Tn")) return parse_type(m);
  return parse_type(m);
}

LR_OWN static int parse_arguments(struct mangled *m) {
  if (!take(m, "I")) return 1;
  m->quiet++;
  const int ok = parse_list(m, parse_argument);
  m->quiet--;
  return ok;
}

LR_OWN static int parse_substitution(struct mangled *m) {
  static const struct {
    const char *code, *scope, *name;
  } known[] = {{"Sa", "std", "allocator"},     {"Sb", "std", "basic_string"},  {"Ss", "std", "basic_string"},
               {"Si", "std", "basic_istream"}, {"So", "std", "basic_ostream"}, {"Sd", "std", "basic_iostream"}};
  if (take(m, "St")) return add_part(m, "", "std", 3);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (take(m, known[i].code))
      return add_part(m, "", known[i].scope, strlen(known[i].scope)) && add_part(m, "", known[i].name, strlen(known[i].name));
  /* What it stands for is not kept. A function's own name, which is the first
   * thing in a symbol, does not refer back. */
  return m->quiet && take(m, "S") && skip_sequence(m);
}

static const char *const operators[] = {
    "nw new", "na new[]", "dl delete", "da delete[]", "aw co_await", "co~", "pl+", "ps+", "mi-", "ng-", "ml*", "de*", "dv/",
    "rm%", "an&", "ad&", "or|", "eo^", "aS=", "pL+=", "mI-=", "mL*=", "dV/=", "rM%=", "aN&=", "oR|=", "eO^=", "ls<<", "rs>>",
    "lS<<=", "rS>>=", "eq==", "ne!=", "lt<", "gt>", "le<=", "ge>=", "ss<=>", "nt!", "aa&&", "oo||", "pp++", "mm--", "cm,",
    "pm->*", "pt->", "cl()", "ix[]", "qu?"};

static const char *const builtins[] = {
    "vvoid", "wwchar_t", "bbool", "cchar", "asigned char", "hunsigned char", "sshort", "tunsigned short", "iint", "junsigned int",
    "llong", "munsigned long", "xlong long", "yunsigned long long", "n__int128", "ounsigned __int128", "ffloat", "ddouble",
    "elong double", "g__float128", "z..."};

LR_OWN static int parse_operator(struct mangled *m) {
  if (take(m, "li")) return parse_source(m, "operator\"\" ");
  if (take(m, "cv")) {
    /* A type of one word is said, of others only that it is a conversion. */
    const char *type = "";
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
      if (*m->s == builtins[i][0]) type = builtins[i] + 1;
    if (is_digit(*m->s)) {
      if (!parse_source(m, "operator ")) return 0;
      return parse_arguments(m);
    }
    m->quiet++;
    const int ok = parse_type(m);
    m->quiet--;
    return ok && add_part(m, *type ? "operator " : "operator", type, strlen(type));
  }
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    const char *o = operators[i];
    if (m->s[0] != o[0] || m->s[1] != o[1]) continue;
    m->s += 2;
    return add_part(m, "operator", o + 2, strlen(o + 2));
  }
  return 0;
}

LR_OWN static int parse_unqualified(struct mangled *m) {
  int ok;
  take(m, "L");
  if (is_digit(*m->s)) {
    ok = parse_source(m, "");
  } else if ((*m->s == 'C' || *m->s == 'D') && (is_digit(m->s[1]) || (*m->s == 'C' && m->s[1] == 'I'))) {
    const char *before = *m->s == 'D' ? "~" : "";
    const int inherited = m->s[1] == 'I';
    if (!m->s[2] && inherited) return 0;
    m->s += inherited ? 3 : 2;
    m->quiet += inherited;
    ok = !inherited || parse_type(m);
    m->quiet -= inherited;
    ok = ok && add_part(m, before, m->name + m->last, m->n - m->last);
  } else if (take(m, "Ut")) {
    skip_number(m);
    ok = take(m, "_") && add_part(m, "", "{unnamed}", 9);
  } else if (take(m, "Ul")) {
    m->quiet++;
    ok = parse_list(m, parse_type);
    m->quiet--;
    skip_number(m);
    ok = ok && take(m, "_") && add_part(m, "", "{lambda}", 8);
  } else {
    ok = parse_operator(m);
  }
  m->quiet++;
  while (ok && take(m, "B")) ok = parse_source(m, "");
  m->quiet--;
  return ok;
}

LR_OWN static int parse_nested(struct mangled *m) {
  while (*m->s && strchr("rVKROH", *m->s)) m->s++;
  for (int first = 1; !take(m, "E"); first = 0) {
    int ok;
    if (*m->s == 'I') ok = !first && parse_arguments(m);
    else if (*m->s == 'S') ok = parse_substitution(m);
    else if (*m->s == 'T') ok = m->quiet && take(m, "T") && skip_sequence(m);
    else if (take(m, "M")) ok = !first;
    else if (take_one_of(m, "Dt DT")) ok = m->quiet && parse_expression(m) && take(m, "E");
    else ok = parse_unqualified(m);
    if (!ok) return 0;
  }
  return 1;
}

LR_OWN static int parse_local(struct mangled *m) {
  if (!parse_encoding(m) || !take(m, "E")) return 0;
  if (!take(m, "s")) {
    if (take(m, "d")) {
      skip_number(m);
      if (!take(m, "_")) return 0;
    }
    if (!parse_name(m)) return 0;
  }
  if (take(m, "__")) {
    skip_number(m);
    return take(m, "_");
  }
  if (m->s[0] == '_' && is_digit(m->s[1])) m->s += 2;
  return 1;
}

LR_OWN static int parse_name(struct mangled *m) {
  int ok;
  if (++m->depth > MOST_DEPTH) return 0;
  if (take(m, "N")) {
    ok = parse_nested(m);
  } else if (take(m, "Z")) {
    ok = parse_local(m);
  } else if (*m->s == 'S' && m->s[1] != 't') {
    ok = parse_substitution(m) && parse_arguments(m);
  } else {
    ok = (*m->s != 'S' || parse_substitution(m)) && parse_unqualified(m) && parse_arguments(m);
  }
  m->depth--;
  return ok;
}

LR_OWN static int parse_type_here(struct mangled *m) {
  for (;;) {
    while (*m->s && strchr("rVKPROCG", *m->s)) m->s++;
    if (!take(m, "U")) break;
    if (!parse_source(m, "") || !parse_arguments(m)) return 0;
  }
  if (*m->s && strchr("vwbcahstijlmxynofdegz", *m->s)) return m->s++, 1;
  if (take(m, "u")) return parse_source(m, "") && parse_arguments(m);
  if (take_one_of(m, "Dd De Df Dh Di Ds Du Da Dc Dn")) return 1;
  if (take(m, "Dp")) return parse_type(m);
  if (take_one_of(m, "Dt DT")) return parse_expression(m) && take(m, "E");
  if (take(m, "DF")) {
    skip_number(m);
    return take(m, "_") || take(m, "b") || take(m, "x");
  }
  if (take_one_of(m, "DB DU")) {
    skip_number(m);
    return take(m, "_");
  }
  if (take(m, "Dv")) {
    skip_number(m);
    return take(m, "_") && parse_type(m);
  }
  if (take_one_of(m, "Do Dx")) return parse_type(m);
  if (take(m, "DO")) return parse_expression(m) && take(m, "E") && parse_type(m);
  if (take(m, "Dw")) return parse_list(m, parse_type) && parse_type(m);
  if (take(m, "F")) {
    take(m, "Y");
    while (!take(m, "E")) {
      if (take(m, "RE") || take(m, "OE")) return 1;
      if (!parse_type(m)) return 0;
    }
    return 1;
  }
  if (take(m, "A")) {
    if (is_digit(*m->s)) skip_number(m);
    else if (*m->s != '_' && !parse_expression(m)) return 0;
    return take(m, "_") && parse_type(m);
  }
  if (take(m, "M")) return parse_type(m) && parse_type(m);
  if (take_one_of(m, "Ts Tu Te")) return parse_name(m);
  if (take(m, "T")) return skip_sequence(m) && parse_arguments(m);
  return parse_name(m);
}

LR_OWN static int parse_type(struct mangled *m) {
  if (++m->depth > MOST_DEPTH) return 0;
  m->quiet++;
  const int ok = parse_type_here(m);
  m->quiet--;
  m->depth--;
  return ok;
}

/* A name in an expression: of a function or a member, without its scope. */
LR_OWN static int parse_unresolved(struct mangled *m) {
  take(m, "on");
  take(m, "dn");
  return parse_unqualified(m) && parse_arguments(m);
}

LR_OWN static int parse_expression_here(struct mangled *m) {
  take(m, "gs");
  if (*m->s == 'L') return parse_literal(m);
  if (*m->s == 'T') return parse_type(m);
  if (take(m, "fpT")) return 1;
  if (take(m, "fp") || (m->s[0] == 'f' && m->s[1] == 'L' && is_digit(m->s[2]))) {
    if (take(m, "fL")) {
      skip_number(m);
      if (!take(m, "p")) return 0;
    }
    while (*m->s && strchr("rVK", *m->s)) m->s++;
    return skip_sequence(m);
  }
  if (take_one_of(m, "fl fr")) return *m->s && m->s[1] ? (m->s += 2, parse_expression(m)) : 0;
  if (take_one_of(m, "fL fR")) return *m->s && m->s[1] ? (m->s += 2, parse_expression(m) && parse_expression(m)) : 0;
  if (take(m, "cv"))
    return parse_type(m) && (take(m, "_") ? parse_list(m, parse_expression) : parse_expression(m));
  if (take(m, "tl")) return parse_type(m) && parse_list(m, parse_expression);
  if (take_one_of(m, "il cl cp")) return parse_list(m, parse_expression);
  if (take_one_of(m, "st ti at")) return parse_type(m);
  if (take(m, "sZ")) return parse_expression(m);
  if (take(m, "sP")) return parse_list(m, parse_argument);
  if (take_one_of(m, "dc sc cc rc")) return parse_type(m) && parse_expression(m);
  if (take_one_of(m, "dt pt")) return parse_expression(m) && parse_unresolved(m);
  if (take(m, "tr")) return 1;
  if (take(m, "srN")) {
    if (!parse_type(m)) return 0;
    while (!take(m, "E"))
      if (!parse_unresolved(m)) return 0;
    return parse_unresolved(m);
  }
  if (take(m, "sr")) {
    /* Either a type, or scopes and an E. */
    if (!is_digit(*m->s)) return parse_type(m) && parse_unresolved(m);
    while (!take(m, "E"))
      if (!parse_unresolved(m)) return 0;
    return parse_unresolved(m);
  }
  if (take_one_of(m, "pp mm")) return take(m, "_"), parse_expression(m);
  if (take_one_of(m, "ps ng ad de co nt dl da te sz az nx sp tw aw")) return parse_expression(m);
  if (take(m, "qu")) return parse_expression(m) && parse_expression(m) && parse_expression(m);
  if (take_one_of(m, "pl mi ml dv rm an or eo aS pL mI mL dV rM aN oR eO ls rs lS rS eq ne lt gt le ge ss aa oo cm pm ix ds"))
    return parse_expression(m) && parse_expression(m);
  return parse_unresolved(m);
}

LR_OWN static int parse_expression(struct mangled *m) {
  if (++m->depth > MOST_DEPTH) return 0;
  m->quiet++;
  const int ok = parse_expression_here(m);
  m->quiet--;
  m->depth--;
  return ok;
}

LR_OWN int lr_plain_name(const char *symbol, char *name, size_t size) {
  struct mangled m = {symbol, name, 0, size, 0, 0, 0};
  if (!take(&m, "_Z")) return 0;
  if (m.s[0] == 'T') {
    const int both = m.s[1] == 'c';
    if (both) m.s += 2;
    for (int i = 0; i < 1 + both; i++) {
      if (!both && !take(&m, "T")) return 0;
      const int two = *m.s == 'v';
      if (!take(&m, "h") && !take(&m, "v")) return 0;
      for (int k = 0; k < 1 + two; k++) {
        skip_number(&m);
        if (!take(&m, "_")) return 0;
      }
    }
  }
  if (!parse_name(&m) || !m.n) return 0;
  name[m.n] = 0;
  return 1;
}
