/* readv.c: process_vm_readv for programs that qemu runs, which has no such system call. Linux on arm64 has it. The recorder that
 * is built with readv.h asks this library, where it is loaded. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static long raw(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

/* As the system does it, a part is copied whole or not at all. */
long read_own(const struct iovec *own, const struct iovec *parts, long count);
long read_own(const struct iovec *own, const struct iovec *parts, long count) {
  char *const to = own->iov_base;
  const long fd = raw(SYS_openat, AT_FDCWD, (long)"/proc/self/mem", O_RDONLY | O_CLOEXEC, 0, 0, 0);
  long all = 0;
  if (fd < 0) return fd;
  for (long i = 0; i < count; i++) {
    const long n = (long)parts[i].iov_len;
    if (raw(SYS_pread64, fd, (long)(to + all), n, (long)parts[i].iov_base, 0, 0) != n) break;
    all += n;
  }
  raw(SYS_close, fd, 0, 0, 0, 0, 0);
  return all ? all : -EFAULT;
}
