// shapes.h: LogTest's library, a DLL or shared object that logs too.

#ifndef LOGTEST_SHAPES_H
#define LOGTEST_SHAPES_H

#include "truth.h"

namespace shapes {

class SHAPES_API Shape {
 public:
  explicit Shape(int id);
  virtual ~Shape();
  virtual int area() const = 0;
  int describe(int times) const;

 protected:
  int id_;
};

class SHAPES_API Named {
 public:
  virtual ~Named() {}
  virtual int label(int prefix) = 0;
};

class SHAPES_API Circle : public Shape {
 public:
  Circle(int id, int radius) : Shape(id), radius_(radius) {}
  int area() const override;

 private:
  int radius_;
};

// Square's label is reached through its second base: a call through a thunk.
class SHAPES_API Square : public Shape, public Named {
 public:
  Square(int id, int side) : Shape(id), side_(side) {}
  int area() const override;
  int label(int prefix) override;

 private:
  int side_;
};

SHAPES_API int scale(int value);
SHAPES_API double scale(double value);

typedef int (*Visitor)(int value);
// Calls back into the program for 0, 1, … count - 1.
SHAPES_API int visit(int count, Visitor visitor);

// Defined here, so that the program and the library have it both.
inline int clamp(int value, int limit) {
  LOGTEST_FUNCTION("shapes::clamp");
  return value > limit ? limit : value;
}

}  // namespace shapes

extern "C" SHAPES_API int logtest_sum(int a, int b);

#endif
