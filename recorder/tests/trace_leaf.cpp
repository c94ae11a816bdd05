// trace_leaf.cpp: a library without hooks, which has the leaf of trace_subject.cpp: calls of it are calls into a library.
extern "C" int leaf(int x);
extern "C" __attribute__((noinline)) int leaf(int x) {
  __asm__ volatile("" ::: "memory");
  return x + 1;
}
