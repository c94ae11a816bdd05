// trace_module.cpp: a library that trace_test loads, unloads and replaces by
// another of the same size. NAME is its function.

// The subject's, if it wants to know that a library is being loaded.
extern "C" __attribute__((weak)) void subjectLoading();

extern "C" __attribute__((visibility("default"), noinline)) int NAME(int x) { return x + 1; }

namespace {

__attribute__((noinline)) int inConstructor(int x) { return x * 2; }

struct Static {
  int value;
  Static() : value(inConstructor(3)) {
    if (subjectLoading) subjectLoading();
  }
  ~Static() { value = inConstructor(value); }
};
Static object;

}  // namespace
