// check.h: what the tests' programs share: CHECK, the count of cases, and the
// content of a file. Include it once in a program.

#ifndef LOGREC_TESTS_CHECK_H
#define LOGREC_TESTS_CHECK_H

#include <stdio.h>

#include <string>

static int passed, failed;
static bool caseFailed;

// The rest of the arguments is what printf takes, and says what was found.
#define CHECK(condition, ...)                          \
  do {                                                 \
    if (!(condition)) {                                \
      caseFailed = true;                               \
      printf("  line %d: %s: ", __LINE__, #condition); \
      printf(__VA_ARGS__);                             \
      printf("\n");                                    \
    }                                                  \
  } while (0)

// content is empty where there is no such file.
inline std::string content(const std::string &path) {
  std::string s;
  if (FILE *f = fopen(path.c_str(), "rb")) {
    char b[65536];
    size_t n;
    while ((n = fread(b, 1, sizeof b, f)) > 0) s.append(b, n);
    fclose(f);
  }
  return s;
}

#endif
