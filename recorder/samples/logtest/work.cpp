#include "work.h"

#include <stdarg.h>

#include "shapes.h"

static LOGTEST_NOINLINE int globalHelper(int x) {
  LOGTEST_FUNCTION("globalHelper");
  return x ^ 5;
}

namespace app {

namespace {

class Hidden {
 public:
  static int twist(int x) {
    LOGTEST_FUNCTION("app::(anonymous namespace)::Hidden::twist");
    return x * 31 + 1;
  }
};

}  // namespace

LOGTEST_NOINLINE int factorial(int n) {
  LOGTEST_FUNCTION("app::factorial");
  return n < 2 ? 1 : n * factorial(n - 1);
}

int isOdd(int n);

LOGTEST_NOINLINE int isEven(int n) {
  LOGTEST_FUNCTION("app::isEven");
  return n == 0 ? 1 : isOdd(n - 1);
}

LOGTEST_NOINLINE int isOdd(int n) {
  LOGTEST_FUNCTION("app::isOdd");
  return n == 0 ? 0 : isEven(n - 1);
}

// The truth keeps template arguments, so somebody has to spell them.
template <class T>
struct Spelled;
template <>
struct Spelled<int> {
  static const char *twice() { return "app::twice<int>"; }
};
template <>
struct Spelled<double> {
  static const char *twice() { return "app::twice<double>"; }
};

template <class T>
LOGTEST_NOINLINE T twice(T value) {
  LOGTEST_FUNCTION(Spelled<T>::twice());
  return value + value;
}

template <class A, class B>
class Pair {
 public:
  Pair(A a, B b) : a_(a), b_(b) {}
  LOGTEST_NOINLINE int sum() const {
    LOGTEST_FUNCTION("app::Pair<int,double>::sum");
    return int(a_ + A(b_));
  }

 private:
  A a_;
  B b_;
};

template <int N>
struct Power {
  static int of(int x) {
    LOGTEST_FUNCTION(N == 3 ? "app::Power<3>::of" : N == 2 ? "app::Power<2>::of" : "app::Power<1>::of");
    return x * Power<N - 1>::of(x);
  }
};
template <>
struct Power<0> {
  static int of(int) {
    LOGTEST_FUNCTION("app::Power<0>::of");
    return 1;
  }
};

class Vector {
 public:
  Vector(int x, int y) : x_(x), y_(y) {}
  Vector operator+(const Vector &o) const {
    LOGTEST_FUNCTION("app::Vector::operator+");
    return Vector(x_ + o.x_, y_ + o.y_);
  }
  bool operator<(const Vector &o) const {
    LOGTEST_FUNCTION("app::Vector::operator<");
    return length() < o.length();
  }
  int operator[](int i) const {
    LOGTEST_FUNCTION("app::Vector::operator[]");
    return i ? y_ : x_;
  }
  int length() const {
    LOGTEST_FUNCTION("app::Vector::length");
    return x_ * x_ + y_ * y_;
  }

 private:
  int x_, y_;
};

struct Adder {
  int base;
  int operator()(int x) const {
    LOGTEST_FUNCTION("app::Adder::operator()");
    return base + x;
  }
};

// Inlined into its caller in every build, and through another inlined one.
static LOGTEST_INLINE int inlinedInner(int x) {
  LOGTEST_FUNCTION("app::inlinedInner");
  return x * 7 + 1;
}

static LOGTEST_INLINE int inlinedOuter(int x) {
  LOGTEST_FUNCTION("app::inlinedOuter");
  return inlinedInner(x) - inlinedInner(x + 1);
}

LOGTEST_NOINLINE int callsInlined(int x) {
  LOGTEST_FUNCTION("app::callsInlined");
  int sum = 0;
  for (int i = 0; i < 2; i++) sum += inlinedOuter(x + i) + inlinedInner(i);
  return sum;
}

// Small and called once: inlined where the optimizer sees fit.
static int perhapsInlined(int x) {
  LOGTEST_FUNCTION("app::perhapsInlined");
  return x + 9;
}

// Its last act is a call: a jump, were it not for the object.
LOGTEST_NOINLINE int endsWithCall(int x) {
  LOGTEST_FUNCTION("app::endsWithCall");
  return factorial(x);
}

// No object of its own, and a tail call to a function that has one.
LOGTEST_NOINLINE int jumpsOn(int x) { return endsWithCall(x); }

LOGTEST_NOINLINE int sumOf(int count, ...) {
  LOGTEST_FUNCTION("app::sumOf");
  va_list list;
  va_start(list, count);
  int sum = 0;
  for (int i = 0; i < count; i++) sum += va_arg(list, int);
  va_end(list);
  return sum;
}

LOGTEST_NOINLINE int withLambdas(int x) {
  LOGTEST_FUNCTION("app::withLambdas");
  auto plain = [](int y) {
    LOGTEST_FUNCTION("app::withLambdas::<lambda>");
    return y + 1;
  };
  auto capturing = [x, plain](int y) {
    LOGTEST_FUNCTION("app::withLambdas::<lambda>");
    return plain(y) * x;
  };
  return plain(x) + capturing(x);
}

LOGTEST_NOINLINE int withLocalClass(int x) {
  LOGTEST_FUNCTION("app::withLocalClass");
  struct Local {
    int value;
    int run(int y) const {
      LOGTEST_FUNCTION("app::withLocalClass::Local::run");
      return value + y;
    }
  };
  const Local local = {x};
  return local.run(3);
}

static LOGTEST_NOINLINE int visitor(int x) {
  LOGTEST_FUNCTION("app::visitor");
  return twice(x) + 1;
}

#if defined(LOGTEST_EXCEPTIONS)

LOGTEST_NOINLINE int thrower(int x) {
  LOGTEST_FUNCTION("app::thrower");
  if (x >= 0) throw x;
  return x;
}

static LOGTEST_INLINE int throwsInlined(int x) {
  LOGTEST_FUNCTION("app::throwsInlined");
  return thrower(x) + 1;
}

LOGTEST_NOINLINE int passesOn(int x) {
  LOGTEST_FUNCTION("app::passesOn");
  return throwsInlined(x) + 1;
}

LOGTEST_NOINLINE int throwsAgain(int x) {
  LOGTEST_FUNCTION("app::throwsAgain");
  try {
    return passesOn(x);
  } catch (int) {
    factorial(2);
    throw;
  }
}

LOGTEST_NOINLINE int catches(int x) {
  LOGTEST_FUNCTION("app::catches");
  try {
    return throwsAgain(x);
  } catch (int caught) {
    return caught;
  }
}

#endif

LOGTEST_NOINLINE int useShapes(int round) {
  LOGTEST_FUNCTION("app::useShapes");
  const shapes::Circle circle(1, 2 + round);
  shapes::Square *square = new shapes::Square(2, 3 + round);
  shapes::Named *named = square;
  shapes::Shape *shape = square;
  int sum = circle.describe(2) + shape->describe(1) + named->label(4);
  delete shape;
  return sum + shapes::visit(2, visitor) + logtest_sum(round, 60) + shapes::clamp(sum, 70);
}

LOGTEST_NOINLINE int useTemplates(int round) {
  LOGTEST_FUNCTION("app::useTemplates");
  const Pair<int, double> pair(round, 2.5);
  return twice(round) + int(twice(1.5)) + pair.sum() + Power<3>::of(2);
}

LOGTEST_NOINLINE int useOperators(int round) {
  LOGTEST_FUNCTION("app::useOperators");
  const Vector a(round, 2), b(3, 4);
  const Adder adder = {round};
  const Vector c = a + b;
  return (a < b) + c[1] + adder(6);
}

LOGTEST_NOINLINE int work(int round) {
  LOGTEST_FUNCTION("app::work");
  int sum = factorial(4 + round) + isEven(5) + callsInlined(round) + perhapsInlined(round);
  pauseMilliseconds(3);
  sum += jumpsOn(3) + sumOf(3, 1, 2, round) + withLambdas(round) + withLocalClass(round);
  sum += useTemplates(round) + useOperators(round) + globalHelper(round) + Hidden::twist(round);
#if defined(LOGTEST_EXCEPTIONS)
  sum += catches(round);
#endif
  pauseMilliseconds(2);
  return sum + useShapes(round);
}

}  // namespace app
