/* readv.h comes before each source of the recorder that qemu runs: it reads memory by the library of readv.c, if that is loaded. */
#if !defined(__ASSEMBLER__)
#include "../../../recorder/src/own_linux.h"

__attribute__((weak, visibility("default"))) long read_own(const struct iovec *own, const struct iovec *parts, long count);

__attribute__((always_inline, no_instrument_function)) static inline long system_or_library(long n, long a, long b, long c, long d, long e, long f) {
  if (n == SYS_process_vm_readv && read_own) return read_own((const struct iovec *)b, (const struct iovec *)d, e);
  return lr_system(n, a, b, c, d, e, f);
}
#define lr_system system_or_library
#endif
