/* The C part of the program. */
extern int counter;
static int hidden(int x) { return x + 1; }
__attribute__((noinline)) int plain(int x) { return hidden(x) * 2; }
int unused(int x) { return x - 1; }
#ifdef _MSC_VER
int _fltused; /* the linker asks for it where floating point is used */
#endif
