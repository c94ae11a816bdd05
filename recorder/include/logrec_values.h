/* logrec_values.h: arguments and results of calls, told by the program itself; C++11, and C11 with
 * gcc or clang.
 *
 *	int area(int w, int h) {
 *	  LOGREC_ARGS(w, h);
 *	  return LOGREC_RETURN(w * h);
 *	}
 *
 * Both belong to the innermost call of the thread that is open: by whatever way in (logrec.h), the function
 * that they stand in must be recorded. The macros' arguments are evaluated once, in any case, also
 * if nothing is recorded. Values are integers, bool, characters, floating numbers (long double as double),
 * enumerations, pointers, texts (char pointers and arrays; C++: std::string, std::string_view), 255 of them at
 * most. Of a text 256 bytes are kept.
 *
 * A char pointer may point anywhere: where it is not safe to try it is read by a system call that fails where
 * there is nothing, at about a microsecond. Arrays and strings are copied at once.
 *
 * C++: a type of your own is shown as the text that an overload in its namespace writes, which is called
 * only if something is recorded:
 *
 *	void logrec_write(logrec::Text &t, const Point &p) { t.print("%d, %d", p.x, p.y); }
 *
 * LOGREC_RETURN(x) is x: a variable as a reference, anything else by moving it. A variable that cannot be
 * copied wants std::move(x), a bit-field +x. C: LOGREC_ARGS takes up to 12 values; no bit-fields.
 *
 * With LOGREC_VALUES=off in the environment none of it is written. */

#ifndef LOGPARSER_LOGREC_VALUES_H
#define LOGPARSER_LOGREC_VALUES_H

#include "logrec.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* What the macros make of a place in the source; the recorder fills in the first two when it is come by. */
struct logrec_place {
  uint32_t id, log;
  uint32_t line;
  const char *function, *file, *text;
};

/* The kinds of its values: docs/formats.md, PLACE. single: 1 if texts are a cell each, a pointer,
 * else they are two: pointer and length, ~0 if that is not known. */
struct logrec_types {
  const uint8_t *codes;
  const char *const *names; /* of the types, within texts of the compiler; may be NULL */
  uint16_t count, single;
};

/* A value is a cell, its bytes the first ones of it. */
LOGREC_API void logrec_arguments(struct logrec_place *place, const struct logrec_types *types, const uint64_t *cells);
LOGREC_API void logrec_result(struct logrec_place *place, const struct logrec_types *types, const uint64_t *cells);
/* The same of numbers only that have 16 bytes or fewer together, one behind the other in two words, of which the
 * rest is 0. */
LOGREC_API void logrec_arguments_packed(struct logrec_place *place, const struct logrec_types *types, uint64_t first, uint64_t second, unsigned bytes);
LOGREC_API void logrec_result_packed(struct logrec_place *place, const struct logrec_types *types, uint64_t first, uint64_t second, unsigned bytes);
/* The same where one word has them all. */
LOGREC_API void logrec_arguments_word(struct logrec_place *place, const struct logrec_types *types, uint64_t word);
LOGREC_API void logrec_result_word(struct logrec_place *place, const struct logrec_types *types, uint64_t word);
/* 1 if such values are recorded now. */
LOGREC_API int logrec_takes_values(void);

enum {
  LOGREC_BOOL = 1,
  LOGREC_CHAR,
  LOGREC_I8,
  LOGREC_U8,
  LOGREC_I16,
  LOGREC_U16,
  LOGREC_I32,
  LOGREC_U32,
  LOGREC_I64,
  LOGREC_U64,
  LOGREC_F32,
  LOGREC_F64,
  LOGREC_POINTER,
  LOGREC_TEXT,
  LOGREC_OWN_TEXT,
  LOGREC_ENUM = 64 /* plus the code of what it is kept in */
};

#if defined(__cplusplus)
}
#endif

#if defined(__GNUC__)
#define LOGREC_PLACE_(text) \
  (__extension__({ \
    static struct logrec_place logrec_place_ = {0, 0, __LINE__, __func__, __FILE__, text}; \
    &logrec_place_; \
  }))
#elif defined(__cplusplus)
#define LOGREC_PLACE_(text) \
  ([](const char *function) { \
    static struct logrec_place place = {0, 0, __LINE__, function, __FILE__, text}; \
    return &place; \
  }(__func__))
#endif

#if defined(__cplusplus)

#include <stdarg.h>
#include <stdio.h>

#include <string>
#include <type_traits>
#if __cplusplus >= 201703L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#include <string_view>
#define LOGREC_HAS_VIEW 1
#endif

#if defined(__GNUC__)
#define LOGREC_INLINE_ inline __attribute__((always_inline, no_instrument_function))
#define LOGREC_HIDDEN_ __attribute__((no_instrument_function))
#define LOGREC_SIGNATURE_ __PRETTY_FUNCTION__
#else
#define LOGREC_INLINE_ __forceinline
#define LOGREC_HIDDEN_
#define LOGREC_SIGNATURE_ __FUNCSIG__
#endif

namespace logrec {

/* A text under construction; what does not fit is left out. */
class Text {
 public:
  LOGREC_HIDDEN_ Text() : size_(0) {}
  LOGREC_HIDDEN_ void add(const char *s, size_t n) {
    if (n > sizeof data_ - size_) n = sizeof data_ - size_;
    memcpy(data_ + size_, s, n);
    size_ += n;
  }
#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3), no_instrument_function))
#endif
  void print(const char *format, ...) {
    char line[256];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (n > 0) add(line, size_t(n) < sizeof line ? size_t(n) : sizeof line - 1);
  }
  LOGREC_HIDDEN_ const char *data() const { return data_; }
  LOGREC_HIDDEN_ size_t size() const { return size_; }

 private:
  char data_[256];
  size_t size_;
};

namespace values {

template <class T>
LOGREC_HIDDEN_ const char *signature() { return LOGREC_SIGNATURE_; }

template <class T>
struct Integer {
  static const uint8_t width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : sizeof(T) == 4 ? 4 : 6;
  static const uint8_t code = std::is_same<T, bool>::value   ? uint8_t(LOGREC_BOOL)
                              : std::is_same<T, char>::value ? uint8_t(LOGREC_CHAR)
                                                             : uint8_t(LOGREC_I8 + width + (std::is_signed<T>::value ? 0 : 1));
};
template <class T, bool = std::is_enum<T>::value>
struct Enum {
  typedef T kept;
};
template <class T>
struct Enum<T, true> {
  typedef typename std::underlying_type<T>::type kept;
};

/* A Kind says how a type's values are told: its code, bytes (0 for texts), and cells of a value. That of
 * types that are not known here is Own: the text of logrec_write. */
struct Scalar { static const uint16_t cells = 1, own = 0; };
struct Characters { static const uint8_t code = LOGREC_TEXT; static const uint16_t cells = 2, own = 0; };

template <class T, class = void>
struct Kind {
  static const uint8_t code = LOGREC_OWN_TEXT;
  static const uint16_t cells = 2, own = 1;
  static LOGREC_INLINE_ void put(uint64_t *cell, const T &v, Text *&text) {
    /* Where this does not compile, the type has no logrec_write(logrec::Text &, const T &) in its namespace. */
    logrec_write(*text, v);
    cell[0] = uint64_t(reinterpret_cast<uintptr_t>(text->data()));
    cell[1] = text++->size();
  }
};
template <class T>
struct Kind<T, typename std::enable_if<(std::is_integral<T>::value || std::is_enum<T>::value) && sizeof(T) <= 8>::type> : Scalar {
  static const uint8_t code = uint8_t(Integer<typename Enum<T>::kept>::code + (std::is_enum<T>::value ? int(LOGREC_ENUM) : 0));
  static LOGREC_INLINE_ void put(uint64_t *cell, const T &v, Text *&) { *cell = uint64_t(v); }
};
template <class T>
struct Kind<T, typename std::enable_if<std::is_floating_point<T>::value>::type> : Scalar {
  typedef typename std::conditional<sizeof(T) == 4, float, double>::type kept;
  static const uint8_t code = sizeof(T) == 4 ? LOGREC_F32 : LOGREC_F64;
  static LOGREC_INLINE_ void put(uint64_t *cell, const T &v, Text *&) {
    const kept k = kept(v);
    *cell = 0;
    memcpy(cell, &k, sizeof k);
  }
};
template <class T>
struct Kind<T, typename std::enable_if<std::is_pointer<T>::value &&
                                       !std::is_same<typename std::remove_cv<typename std::remove_pointer<T>::type>::type, char>::value>::type> : Scalar {
  static const uint8_t code = LOGREC_POINTER;
  static LOGREC_INLINE_ void put(uint64_t *cell, const T &v, Text *&) { *cell = uint64_t(reinterpret_cast<uintptr_t>(v)); }
};
template <class T>
struct Kind<T, typename std::enable_if<std::is_same<T, decltype(nullptr)>::value>::type> : Scalar {
  static const uint8_t code = LOGREC_POINTER;
  static LOGREC_INLINE_ void put(uint64_t *cell, const T &, Text *&) { *cell = 0; }
};
template <class T>
struct Kind<T, typename std::enable_if<std::is_pointer<T>::value &&
                                       std::is_same<typename std::remove_cv<typename std::remove_pointer<T>::type>::type, char>::value>::type> : Characters {
  static LOGREC_INLINE_ void put(uint64_t *cell, const T &v, Text *&) {
    cell[0] = uint64_t(reinterpret_cast<uintptr_t>(v));
    cell[1] = ~uint64_t(0);
  }
};
template <size_t N>
struct Kind<char[N], void> : Characters {
  static LOGREC_INLINE_ void put(uint64_t *cell, const char (&v)[N], Text *&) {
    size_t n = 0;
    while (n < N && v[n]) n++;
    cell[0] = uint64_t(reinterpret_cast<uintptr_t>(v));
    cell[1] = n;
  }
};
template <class T>
struct Whole : Characters {
  static LOGREC_INLINE_ void put(uint64_t *cell, const T &v, Text *&) {
    cell[0] = uint64_t(reinterpret_cast<uintptr_t>(v.data()));
    cell[1] = v.size();
  }
};
template <class R, class A>
struct Kind<std::basic_string<char, R, A>, void> : Whole<std::basic_string<char, R, A> > {};
#if defined(LOGREC_HAS_VIEW)
template <class R>
struct Kind<std::basic_string_view<char, R>, void> : Whole<std::basic_string_view<char, R> > {};
#endif

template <class... T>
struct Sum;
template <>
struct Sum<> {
  static const uint16_t cells = 0, own = 0;
};
template <class F, class... T>
struct Sum<F, T...> {
  static const uint16_t cells = Kind<F>::cells + Sum<T...>::cells, own = Kind<F>::own + Sum<T...>::own;
};

/* The bytes of a value by its code; of texts more than can be packed. */
enum { MOST_PACKED = 16 };
template <uint8_t code>
struct Bytes {
  static const unsigned kept = code & (LOGREC_ENUM - 1);
  static const unsigned count = kept <= LOGREC_U8                                                                 ? 1
                                : kept <= LOGREC_U16                                                              ? 2
                                : kept <= LOGREC_U32 || kept == LOGREC_F32                                        ? 4
                                : kept == LOGREC_I64 || kept == LOGREC_U64 || kept == LOGREC_F64 || kept == LOGREC_POINTER ? 8
                                                                                                                  : MOST_PACKED + 1;
};
template <class... T>
struct Packed;
template <>
struct Packed<> {
  static const unsigned bytes = 0;
};
template <class F, class... T>
struct Packed<F, T...> {
  static const unsigned rest = Packed<T...>::bytes;
  static const unsigned bytes = rest > MOST_PACKED ? rest : Bytes<Kind<F>::code>::count + rest;
};

template <unsigned at>
LOGREC_INLINE_ void pack(uint64_t *) {}
template <unsigned at, class F, class... T>
LOGREC_INLINE_ void pack(uint64_t *words, const F &first, const T &...rest) {
  typedef Kind<typename std::remove_cv<F>::type> K;
  const unsigned bytes = Bytes<K::code>::count, bits = 8 * (at % 8);
  uint64_t cell;
  Text *none = 0;
  K::put(&cell, first, none);
  if (bytes < 8) cell &= ~(~uint64_t(0) << (8 * bytes % 64));
  words[at / 8] |= cell << bits;
  if (bits + 8 * bytes > 64) words[1] |= cell >> ((64 - bits) % 64);
  pack<at + bytes>(words, rest...);
}

LOGREC_INLINE_ void fill(uint64_t *, Text *) {}
template <class F, class... T>
LOGREC_INLINE_ void fill(uint64_t *cells, Text *texts, const F &first, const T &...rest) {
  Kind<typename std::remove_cv<F>::type>::put(cells, first, texts);
  fill(cells + Kind<typename std::remove_cv<F>::type>::cells, texts, rest...);
}

struct Arguments {
  static LOGREC_INLINE_ void cells(struct logrec_place *p, const struct logrec_types *t, const uint64_t *cells) { logrec_arguments(p, t, cells); }
  static LOGREC_INLINE_ void packed(struct logrec_place *p, const struct logrec_types *t, const uint64_t *w, unsigned n) {
    if (n <= 8) logrec_arguments_word(p, t, w[0]);
    else logrec_arguments_packed(p, t, w[0], w[1], n);
  }
};
struct Result {
  static LOGREC_INLINE_ void cells(struct logrec_place *p, const struct logrec_types *t, const uint64_t *cells) { logrec_result(p, t, cells); }
  static LOGREC_INLINE_ void packed(struct logrec_place *p, const struct logrec_types *t, const uint64_t *w, unsigned n) {
    if (n <= 8) logrec_result_word(p, t, w[0]);
    else logrec_result_packed(p, t, w[0], w[1], n);
  }
};

template <class Record, bool packed>
struct Write {
  template <class... T>
  static LOGREC_INLINE_ void values(struct logrec_place *place, const struct logrec_types *types, const T &...values) {
    uint64_t words[2] = {0, 0};
    pack<0>(words, values...);
    Record::packed(place, types, words, Packed<typename std::remove_cv<T>::type...>::bytes);
  }
};
template <class Record>
struct Write<Record, false> {
  template <class... T>
  static LOGREC_INLINE_ void values(struct logrec_place *place, const struct logrec_types *types, const T &...values) {
    typedef Sum<typename std::remove_cv<T>::type...> All;
    if (All::own && !logrec_takes_values()) return;
    uint64_t cells[All::cells];
    Text texts[All::own ? All::own : 1];
    fill(cells, texts, values...);
    Record::cells(place, types, cells);
  }
};

template <class Record, class... T>
LOGREC_INLINE_ void record(struct logrec_place *place, const T &...values) {
  static_assert(sizeof...(T) >= 1 && sizeof...(T) <= 255, "1 to 255 values");
  static const uint8_t codes[] = {Kind<typename std::remove_cv<T>::type>::code...};
  static const char *const names[] = {signature<typename std::remove_cv<T>::type>()...};
  static const struct logrec_types types = {codes, names, uint16_t(sizeof...(T)), 0};
  Write<Record, Packed<typename std::remove_cv<T>::type...>::bytes <= MOST_PACKED>::values(place, &types, values...);
}

template <class T>
LOGREC_INLINE_ T returned(struct logrec_place *place, T &&value) {
  record<Result>(place, value);
  return static_cast<T &&>(value);
}

}  // namespace values
}  // namespace logrec

#define LOGREC_ARGS(...) ::logrec::values::record< ::logrec::values::Arguments>(LOGREC_PLACE_(#__VA_ARGS__), __VA_ARGS__)
#define LOGREC_RETURN(...) ::logrec::values::returned(LOGREC_PLACE_(#__VA_ARGS__), __VA_ARGS__)

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && defined(__GNUC__)

#define LOGREC_CELL_FUNCTION_(name, type) \
  __attribute__((always_inline, no_instrument_function, unused)) static inline uint64_t logrec_cell_##name(type v)
LOGREC_CELL_FUNCTION_(signed, int64_t) { return (uint64_t)v; }
LOGREC_CELL_FUNCTION_(unsigned, uint64_t) { return v; }
LOGREC_CELL_FUNCTION_(pointer, const volatile void *) { return (uint64_t)(uintptr_t)v; }
LOGREC_CELL_FUNCTION_(f32, float) {
  uint64_t cell = 0;
  memcpy(&cell, &v, sizeof v);
  return cell;
}
LOGREC_CELL_FUNCTION_(f64, double) {
  uint64_t cell;
  memcpy(&cell, &v, sizeof v);
  return cell;
}
LOGREC_CELL_FUNCTION_(extended, long double) { return logrec_cell_f64((double)v); }
#undef LOGREC_CELL_FUNCTION_

#define LOGREC_CODE_(x) \
  _Generic((x), _Bool: LOGREC_BOOL, char: LOGREC_CHAR, signed char: LOGREC_I8, unsigned char: LOGREC_U8, short: LOGREC_I16, \
      unsigned short: LOGREC_U16, int: LOGREC_I32, unsigned: LOGREC_U32, long: sizeof(long) == 8 ? LOGREC_I64 : LOGREC_I32, \
      unsigned long: sizeof(long) == 8 ? LOGREC_U64 : LOGREC_U32, long long: LOGREC_I64, unsigned long long: LOGREC_U64, \
      float: LOGREC_F32, double: LOGREC_F64, long double: LOGREC_F64, char *: LOGREC_TEXT, const char *: LOGREC_TEXT, default: LOGREC_POINTER)
#define LOGREC_CELL_(x) \
  _Generic((x), _Bool: logrec_cell_unsigned, char: logrec_cell_signed, signed char: logrec_cell_signed, \
      unsigned char: logrec_cell_unsigned, short: logrec_cell_signed, unsigned short: logrec_cell_unsigned, int: logrec_cell_signed, \
      unsigned: logrec_cell_unsigned, long: logrec_cell_signed, unsigned long: logrec_cell_unsigned, long long: logrec_cell_signed, \
      unsigned long long: logrec_cell_unsigned, float: logrec_cell_f32, double: logrec_cell_f64, long double: logrec_cell_extended, \
      default: logrec_cell_pointer)(x)

#define LOGREC_EACH_1_(m, a) m(a)
#define LOGREC_EACH_2_(m, a, ...) m(a), LOGREC_EACH_1_(m, __VA_ARGS__)
#define LOGREC_EACH_3_(m, a, ...) m(a), LOGREC_EACH_2_(m, __VA_ARGS__)
#define LOGREC_EACH_4_(m, a, ...) m(a), LOGREC_EACH_3_(m, __VA_ARGS__)
#define LOGREC_EACH_5_(m, a, ...) m(a), LOGREC_EACH_4_(m, __VA_ARGS__)
#define LOGREC_EACH_6_(m, a, ...) m(a), LOGREC_EACH_5_(m, __VA_ARGS__)
#define LOGREC_EACH_7_(m, a, ...) m(a), LOGREC_EACH_6_(m, __VA_ARGS__)
#define LOGREC_EACH_8_(m, a, ...) m(a), LOGREC_EACH_7_(m, __VA_ARGS__)
#define LOGREC_EACH_9_(m, a, ...) m(a), LOGREC_EACH_8_(m, __VA_ARGS__)
#define LOGREC_EACH_10_(m, a, ...) m(a), LOGREC_EACH_9_(m, __VA_ARGS__)
#define LOGREC_EACH_11_(m, a, ...) m(a), LOGREC_EACH_10_(m, __VA_ARGS__)
#define LOGREC_EACH_12_(m, a, ...) m(a), LOGREC_EACH_11_(m, __VA_ARGS__)
#define LOGREC_TWELFTH_(a, b, c, d, e, f, g, h, i, j, k, l, m, ...) m
#define LOGREC_EACH_(m, ...) \
  LOGREC_TWELFTH_(__VA_ARGS__, LOGREC_EACH_12_, LOGREC_EACH_11_, LOGREC_EACH_10_, LOGREC_EACH_9_, LOGREC_EACH_8_, LOGREC_EACH_7_, \
                  LOGREC_EACH_6_, LOGREC_EACH_5_, LOGREC_EACH_4_, LOGREC_EACH_3_, LOGREC_EACH_2_, LOGREC_EACH_1_, 0)(m, __VA_ARGS__)

/* Puts a number behind those that are in the words, and returns where the next one goes. */
__attribute__((always_inline, no_instrument_function, unused)) static inline unsigned logrec_pack_(uint64_t *words, unsigned at, uint64_t cell, unsigned code) {
  const unsigned bytes = code <= LOGREC_U8                                                                   ? 1
                         : code <= LOGREC_U16                                                                ? 2
                         : code <= LOGREC_U32 || code == LOGREC_F32                                          ? 4
                         : code == LOGREC_I64 || code == LOGREC_U64 || code == LOGREC_F64 || code == LOGREC_POINTER ? 8
                                                                                                             : 17;
  if (at + bytes > 16) return 17;
  if (bytes < 8) cell &= ~(~(uint64_t)0 << 8 * bytes);
  words[at / 8] |= cell << 8 * (at % 8);
  if (at % 8 + bytes > 8) words[1] |= cell >> 8 * (8 - at % 8);
  return at + bytes;
}
#define LOGREC_PUT_(x) logrec_at_ = logrec_pack_(logrec_words_, logrec_at_, *logrec_cell_++, LOGREC_CODE_(x))

#define LOGREC_ARGS(...) \
  do { \
    static const uint8_t logrec_codes_[] = {LOGREC_EACH_(LOGREC_CODE_, __VA_ARGS__)}; \
    static const struct logrec_types logrec_types_ = {logrec_codes_, NULL, sizeof logrec_codes_, 1}; \
    const uint64_t logrec_cells_[] = {LOGREC_EACH_(LOGREC_CELL_, __VA_ARGS__)}; \
    const uint64_t *logrec_cell_ = logrec_cells_; \
    uint64_t logrec_words_[2] = {0, 0}; \
    unsigned logrec_at_ = 0; \
    LOGREC_EACH_(LOGREC_PUT_, __VA_ARGS__); \
    struct logrec_place *const logrec_here_ = LOGREC_PLACE_(#__VA_ARGS__); \
    if (logrec_at_ <= 8) logrec_arguments_word(logrec_here_, &logrec_types_, logrec_words_[0]); \
    else if (logrec_at_ <= 16) logrec_arguments_packed(logrec_here_, &logrec_types_, logrec_words_[0], logrec_words_[1], logrec_at_); \
    else logrec_arguments(logrec_here_, &logrec_types_, logrec_cells_); \
  } while (0)
#define LOGREC_RETURN(...) \
  __extension__({ \
    static const uint8_t logrec_codes_[] = {LOGREC_CODE_(((void)0, __VA_ARGS__))}; \
    static const struct logrec_types logrec_types_ = {logrec_codes_, NULL, 1, 1}; \
    const __typeof__(((void)0, __VA_ARGS__)) logrec_result_ = (__VA_ARGS__); \
    const uint64_t logrec_cells_[] = {LOGREC_CELL_(logrec_result_)}; \
    uint64_t logrec_words_[2] = {0, 0}; \
    const unsigned logrec_at_ = logrec_pack_(logrec_words_, 0, logrec_cells_[0], logrec_codes_[0]); \
    struct logrec_place *const logrec_here_ = LOGREC_PLACE_(#__VA_ARGS__); \
    if (logrec_at_ <= 8) logrec_result_word(logrec_here_, &logrec_types_, logrec_words_[0]); \
    else if (logrec_at_ <= 16) logrec_result_packed(logrec_here_, &logrec_types_, logrec_words_[0], logrec_words_[1], logrec_at_); \
    else logrec_result(logrec_here_, &logrec_types_, logrec_cells_); \
    logrec_result_; \
  })

#endif

#endif
