/* values_api.c: LOGREC_ARGS and LOGREC_RETURN in C11. */

#include "logrec_values.h"

struct node {
  int v;
};
enum color { RED, GREEN = 5 };

void values_in_c(void);
static double c_numbers(short s, unsigned char c, float f) {
  logrec_enter("numbers");
  LOGREC_ARGS(s, c, f, 2.5, (_Bool)1, 3.5L, -1L, 1ull << 63, GREEN);
  const double r = LOGREC_RETURN(s + 0.5);
  logrec_leave("numbers");
  return r;
}
static const char *c_texts(char *s, const struct node *n) {
  logrec_enter("texts");
  LOGREC_ARGS(s, n, "a literal", (const char *)0, (char *)8);
  const char *const r = LOGREC_RETURN("result");
  logrec_leave("texts");
  return r;
}

void values_in_c(void) {
  static char s[] = "changing";
  c_numbers(-2, 200, 1.5f);
  c_texts(s, (const struct node *)64);
}
