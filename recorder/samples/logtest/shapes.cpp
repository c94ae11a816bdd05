#include "Logger.h"
#include "shapes.h"

namespace shapes {

namespace {

LOGTEST_NOINLINE int rounded(double value) {
  LOGTEST_FUNCTION("shapes::(anonymous namespace)::rounded");
  return int(value + 0.5);
}

}  // namespace

Shape::Shape(int id) : id_(id) { LOGTEST_FUNCTION("shapes::Shape::Shape"); }

Shape::~Shape() { LOGTEST_FUNCTION("shapes::Shape::~Shape"); }

int Shape::describe(int times) const {
  LOGTEST_FUNCTION("shapes::Shape::describe");
  int sum = 0;
  for (int i = 0; i < times; i++) sum += area() + scale(i);
  return sum + id_;
}

int Circle::area() const {
  LOGTEST_FUNCTION("shapes::Circle::area");
  return rounded(scale(3.14159) * radius_ * radius_);
}

int Square::area() const {
  LOGTEST_FUNCTION("shapes::Square::area");
  return clamp(side_ * side_, 1000);
}

int Square::label(int prefix) {
  LOGTEST_FUNCTION("shapes::Square::label");
  return prefix * 100 + id_;
}

int scale(int value) {
  LOGTEST_FUNCTION("shapes::scale");
  return value * 2;
}

double scale(double value) {
  LOGTEST_FUNCTION("shapes::scale");
  return value * 2.5;
}

int visit(int count, Visitor visitor) {
  LOGTEST_FUNCTION("shapes::visit");
  int sum = 0;
  for (int i = 0; i < count; i++) sum += visitor(i);
  return sum;
}

}  // namespace shapes

int logtest_sum(int a, int b) {
  LOGTEST_FUNCTION("logtest_sum");
  return shapes::clamp(a, 50) + b;
}
