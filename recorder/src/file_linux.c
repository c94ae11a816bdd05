/* file_linux.c: the log's file, how it is mapped, and copies for snapshots.
 *
 * All is called with the lock, but lr_read_file and lr_within_limit, which need none, and lr_file_fault, which is the
 * crash handler's. The C library's functions here are those that a signal handler may call. */

#include "system_linux.h"

#if !defined(_WIN32)

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#if !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

static int last_error;

LR_OWN const char *plat_error(void) {
  switch (last_error) {
    case ENOSPC: return "no space left on the disk";
    case EDQUOT: return "the disk quota is used up";
    case EFBIG: return "the file may not grow any more";
    case EACCES: return "permission denied";
    case ENOENT: return "no such folder";
    case EROFS: return "the file system is read-only";
    case EMFILE:
    case ENFILE: return "too many open files";
    case EEXIST: return "files of all names exist";
    case ENOMEM: return "no address space for the mapping";
    case EBADF: return "its descriptor was closed";
    case ESTALE: return "somebody has truncated it";
    default: return "it cannot be written";
  }
}

LR_OWN uint32_t plat_why(void) {
  switch (last_error) {
    case ENOSPC: return LRF_WHY_FULL;
    case EDQUOT: return LRF_WHY_QUOTA;
    case EFBIG: return LRF_WHY_SIZE;
    case ENOMEM: return LRF_WHY_MEMORY;
    case ESTALE: return LRF_WHY_TRUNCATED;
    case EBADF: return LRF_WHY_CLOSED;
    default: return LRF_WHY_UNKNOWN;
  }
}

/* failed keeps what went wrong for plat_error and returns which of PLAT_... it is. */
LR_OWN static int failed(int error) {
  last_error = error;
  switch (error) {
    case EEXIST: return PLAT_EXISTS;
    case ENOSPC:
    case EDQUOT: return PLAT_FULL;
    default: return PLAT_ERROR;
  }
}

/* Bytes below zeroed were put into memory by write_zeros, or in use before. */
static struct {
  int fd;
  uint64_t size, zeroed;
} file = {-1, 0, 0};

/* The file is mapped piece by piece, as it grows: memory that is not touched costs nothing, but the program's address
 * space may have a limit, or get one later. A chunk lies in one piece whole; two pieces may have a page both. */
enum { PIECES = 2048 };
static struct piece {
  uint64_t offset, size;
  uint8_t *base;
} pieces[PIECES];
static uint32_t piece_count;
static uint64_t mapped; /* all of them, bytes */

/* A file is not larger than what the addresses of a program without a limit have room for. */
static const uint64_t largest_file = sizeof(void *) == 8 ? (uint64_t)1 << 40 : (uint64_t)1 << 30;

/* dup_above moves a descriptor to the first that is free from least on. A limit below that is raised for this
 * moment, if it may be: descriptors above a limit stay open, and the program has all of those below. */
LR_OWN static int dup_above(int fd, int least) {
  struct rlimit raised, was;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, least);
  if (high >= 0 || getrlimit(RLIMIT_NOFILE, &raised) != 0 || raised.rlim_cur > (rlim_t)least || raised.rlim_max <= (rlim_t)least) return high;
  raised.rlim_cur = (rlim_t)least + 1;
  if (prlimit(0, RLIMIT_NOFILE, &raised, &was) != 0) return high;
  high = fcntl(fd, F_DUPFD_CLOEXEC, least);
  prlimit(0, RLIMIT_NOFILE, &was, NULL);
  return high;
}

/* Out of the way of programs that close all descriptors they know of, or that
 * expect the next one to have a certain number: 700 or above, or as high as their limit lets it be. Never one of the first
 * three, which the program may have closed: what it prints would be written there. */
LR_OWN static int move_up(int fd) {
  enum { HIGH = 700, STANDARD = 3 };
  if (fd < 0) return fd;
  int high = dup_above(fd, HIGH);
  struct rlimit limit;
  if (high < 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    for (int least = limit.rlim_cur < HIGH ? (int)limit.rlim_cur - 1 : HIGH; high < 0 && least > fd && least >= STANDARD; least--)
      high = fcntl(fd, F_DUPFD_CLOEXEC, least);
  if (high < 0 && fd >= STANDARD) return fd;
  close(fd);
  if (high < 0) errno = EMFILE;
  return high;
}

LR_OWN size_t lr_read_file(const char *path, char *buffer, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t n = 0;
  while (n < size) {
    const ssize_t k = read(fd, buffer + n, size - n);
    if (k <= 0) break;
    n += (size_t)k;
  }
  close(fd);
  return n;
}

LR_OWN char *plat_read_whole(const char *path, size_t most, size_t *size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return NULL;
  struct stat s;
  char *text = NULL;
  if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0 && (uint64_t)s.st_size <= most) text = plat_pages((size_t)s.st_size, 0);
  size_t n = 0;
  while (text && n < (size_t)s.st_size) {
    const ssize_t k = read(fd, text + n, (size_t)s.st_size - n);
    if (k <= 0) break;
    n += (size_t)k;
  }
  close(fd);
  *size = n;
  return text;
}

/* mapped_at returns where bytes of the file are mapped; NULL where they are not, or not together. */
LR_OWN static uint8_t *mapped_at(uint64_t offset, uint64_t size) {
  for (uint32_t i = piece_count; i > 0; i--) {
    const struct piece *const p = &pieces[i - 1];
    if (offset >= p->offset && offset + size <= p->offset + p->size) return p->base + (offset - p->offset);
  }
  return NULL;
}

/* map_piece maps the file from a chunk on: as much as there is of the file, a step or, of large files, more, so that there
 * are not too many pieces; less where the address space has a limit. */
LR_OWN static int map_piece(uint64_t offset, uint64_t size) {
  enum { PART = 8, MOST_STEPS = 64, LEAST = 1 << 20 };
  const uint64_t page = (uint64_t)lr_page_size(), begin = offset / page * page;
  const uint64_t least = (offset + size - begin + page - 1) / page * page;
  uint64_t steps = offset / PART / PLAT_STEP;
  if (steps < 1) steps = 1;
  if (steps > MOST_STEPS) steps = MOST_STEPS;
  uint64_t n = steps * PLAT_STEP - begin % PLAT_STEP;
  for (uint64_t end = LEAST; end < PLAT_STEP; end *= 2)
    if (begin + least <= end && begin < end) {
      n = end - begin;
      break;
    }
  const uint64_t room = lr_address_room();
  /* Threads need room, too. */
  if (n > room / 4) n = room / 4 / page * page;
  if (n < least) n = least;
  if (piece_count == PIECES || mapped + n > largest_file) return EFBIG;
  if (n > room) return ENOMEM;
  for (;;) {
    void *const p = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.fd, (off_t)begin);
    if (p != MAP_FAILED) {
      const struct piece made = {begin, n, p};
      pieces[piece_count] = made;
      lr_store(&piece_count, piece_count + 1);
      mapped += n;
      lr_has_mapped_bytes((int64_t)n);
      /* Core dumps stay small: what is in the file need not be in them. */
      madvise(p, (size_t)n, MADV_DONTDUMP);
      return 0;
    }
    if (n == least) return errno;
    n = n / 2 / page * page;
    if (n < least) n = least;
  }
}

LR_OWN int lr_within_limit(uint64_t size) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

/* usual are the permissions of a new file if nobody has said what they are: values may be secrets. */
LR_OWN static unsigned usual(void) { return lr_settings.values >= LR_VALUES_RAW ? 0600 : 0640; }

/* create makes a new file, and puts the name by which it was made into *path. A program with raised rights (setuid, setgid, file
 * capabilities) shows it to nobody else, and puts a log and its snapshots only where
 * the user who started it may write: into the working folder, if access, which asks
 * for the real user, says so. The name is then the path's last part, so that nobody
 * puts another folder in the place of that one meanwhile. */
LR_OWN static int create(const char **path, int flags) {
  flags |= O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY;
  if (!plat_raised_rights()) return open(*path, flags, lr_settings.permissions ? lr_settings.permissions : usual());
  const char *name = strrchr(lr_global.path, '/');
  const size_t folder = name ? (size_t)(name + 1 - lr_global.path) : 0;
  if (strncmp(*path, lr_global.path, folder) == 0 && !strchr(*path + folder, '/')) {
    if (access(".", W_OK | X_OK) < 0) return -1;
    *path += folder;
  }
  return open(*path, flags, 0600);
}

LR_OWN int plat_file_create(const char *path) {
  lr_watch_for_forks();
  const int fd = create(&path, O_RDWR);
  if (fd < 0) return failed(errno);
  file.fd = move_up(fd);
  file.size = file.zeroed = 0;
  int error = file.fd < 0 ? errno : map_piece(0, LRF_HEADER_SIZE);
  if (!error) return PLAT_OK;
  unlink(path);
  if (file.fd >= 0) close(file.fd);
  file.fd = -1;
  return failed(error) == PLAT_EXISTS ? PLAT_ERROR : failed(error);
}

/* 1: the end of the file is missing, and nothing is written into the rest any more. */
static uint32_t truncated;

/* same_file guards against a program that closed our descriptor, or put a file
 * of its own in its place. */
LR_OWN static int same_file(void) {
  struct stat now;
  static dev_t device;
  static ino_t inode;
  if (fstat(file.fd, &now) < 0) return 0;
  if (file.size == 0) {
    device = now.st_dev;
    inode = now.st_ino;
  }
  return now.st_dev == device && now.st_ino == inode;
}

struct range {
  uintptr_t low, high;
};

/* see_first finds the mapping that the file's first piece lies in, maybe together with others. */
LR_OWN static int see_first(uintptr_t low, uintptr_t high, void *context) {
  struct range *const r = context;
  const uintptr_t base = (uintptr_t)pieces[0].base;
  if (base - low >= high - low) return 0;
  r->low = low;
  r->high = high;
  return 1;
}

LR_OWN static int reopen(void) {
  /* The mapping holds the file; /proc has a name for it. */
  char name[80] = "/proc/self/map_files/";
  char *p = name + strlen(name);
  struct range found = {0, 0};
  lr_each_mapping(see_first, &found);
  const uint64_t range[2] = {found.low, found.high};
  for (int i = 0; i < 2; i++) {
    int digits = 1;
    while (digits < 16 && range[i] >> 4 * digits) digits++;
    while (digits--) *p++ = "0123456789abcdef"[range[i] >> 4 * digits & 15];
    *p++ = i ? 0 : '-';
  }
  int fd = open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0 && !plat_raised_rights()) fd = open(lr_global.path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  file.fd = move_up(fd);
  return same_file();
}

/* write_zeros puts pages of the file into memory, from offset to end, and into the
 * mapping: that costs less than half of a fault a page. The system takes memory for
 * what is written at a time in one piece, where that begins at a multiple of its
 * size, and one fault maps the piece. Larger pieces save nothing more and are
 * harder to find. */
enum { ZEROS_PIECE = 256 << 10, ZEROS_LEAST = 16384 };

/* What the log of a process that lives short has room in; then the file doubles, up
 * to a step a time, so that one that is killed leaves no more zeros than it wrote. */
enum { LEAST_SIZE = 32768 };

LR_OWN static int write_zeros(uint64_t offset, uint64_t end) {
  enum { PART = 65536, PARTS = ZEROS_PIECE / PART };
  static const char zeros[PART];
  const uint64_t begin = offset;
  while (offset < end) {
    uint64_t left = ZEROS_PIECE - offset % ZEROS_PIECE;
    if (left > end - offset) left = end - offset;
    struct iovec v[PARTS];
    int n = 0;
    for (; left > 0; n++) {
      v[n].iov_base = (void *)(uintptr_t)zeros;
      v[n].iov_len = left < PART ? (size_t)left : PART;
      left -= v[n].iov_len;
    }
    const ssize_t k = pwritev(file.fd, v, n, (off_t)offset);
    if (k <= 0) {
      if (k < 0 && errno == EINTR) continue;
      last_error = k < 0 ? errno : ENOSPC;
      return 0;
    }
    offset += (uint64_t)k;
  }
  /* In the piece that is in use. */
  const struct piece *const p = &pieces[piece_count - 1];
  const uint64_t from = begin > p->offset ? begin : p->offset, to = end < p->offset + p->size ? end : p->offset + p->size;
  if (from < to) madvise(p->base + (from - p->offset), (size_t)(to - from), MADV_POPULATE_WRITE);
  return 1;
}

LR_OWN void *plat_file_extend(uint64_t offset, uint32_t size, int exact, int *why) {
  const uint64_t end = offset + size;
  const int unmapped = mapped_at(offset, size) ? 0 : map_piece(offset, size);
  if (unmapped) {
    *why = failed(unmapped);
    return NULL;
  }
  const int grows = end > file.size, needs_zeros = size >= ZEROS_LEAST && end > file.zeroed;
  if ((grows || needs_zeros) && !lr_within_limit(end)) {
    *why = failed(EFBIG);
    return NULL;
  }
  if ((grows || needs_zeros) && !same_file() && !reopen()) {
    *why = failed(EBADF);
    return NULL;
  }
  struct stat now;
  if ((grows || needs_zeros) && (lr_load(&truncated) || fstat(file.fd, &now) < 0 || (uint64_t)now.st_size < file.size)) {
    *why = failed(ESTALE);
    return NULL;
  }
  if (grows) {
    const uint64_t larger_step = (end + PLAT_STEP - 1) / PLAT_STEP * PLAT_STEP;
    uint64_t larger = file.size ? 2 * file.size : LEAST_SIZE;
    if (exact || larger < end) larger = end;
    if (larger > larger_step) larger = larger_step;
    if (!lr_within_limit(larger)) larger = end;
    int error = 0;
    if (larger > LEAST_SIZE) error = posix_fallocate(file.fd, (off_t)file.size, (off_t)(larger - file.size));
    /* To write zeros takes the space, too, and to touch and to cut off what is allocated
     * but not written takes long. */
    else if (write_zeros(file.size, larger)) file.zeroed = larger;
    else error = last_error;
    if (error == ENOSPC && larger > end) {
      larger = end;
      error = posix_fallocate(file.fd, (off_t)file.size, (off_t)(larger - file.size));
    }
    if (error) {
      /* What was allocated of it is given back. */
      const int cut = ftruncate(file.fd, (off_t)file.size);
      (void)cut;
      *why = failed(error);
      return NULL;
    }
    file.size = larger;
  }
  if (needs_zeros) {
    /* Behind offset nobody has written yet. */
    const uint64_t from = offset > file.zeroed ? offset : file.zeroed;
    uint64_t to = (end + ZEROS_PIECE - 1) / ZEROS_PIECE * ZEROS_PIECE;
    if (to > file.size) to = file.size;
    if (!lr_within_limit(to)) to = end;
    if (!write_zeros(from, to)) {
      *why = failed(last_error);
      return NULL;
    }
    file.zeroed = to;
  }
  return mapped_at(offset, size);
}

LR_OWN void plat_file_trim(uint64_t size) {
  if (file.fd < 0 || size >= file.size || lr_load(&truncated) || (!same_file() && !reopen())) return;
  if (ftruncate(file.fd, (off_t)size) < 0) return;
  file.size = size;
  if (file.zeroed > size) file.zeroed = size;
}

/* put_memory puts memory in the place of a part of a piece: nobody reads what is written there. 1: done. */
LR_OWN static int put_memory(const struct piece *p, uint64_t from, uint64_t to) {
  return from >= to || mmap(p->base + (from - p->offset), (size_t)(to - from), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

LR_OWN int lr_file_fault(int number, const siginfo_t *info) {
  const uintptr_t at = (uintptr_t)info->si_addr;
  const uint32_t n = lr_load(&piece_count);
  const struct piece *p = pieces;
  if (number != SIGBUS || info->si_code <= 0) return 0;
  while (p < pieces + n && at - (uintptr_t)p->base >= p->size) p++;
  if (p == pieces + n) return 0;
  const int error = errno;
  const uint64_t page = lr_page_size(), here = p->offset + (at - (uintptr_t)p->base) / page * page;
  struct stat now;
  uint64_t end = fstat(file.fd, &now) == 0 && same_file() ? ((uint64_t)now.st_size + page - 1) / page * page : here;
  const int cut = here >= end; /* else it cannot be read, or has grown again */
  if (end > here) end = here;
  int done = 1;
  for (p = pieces; p < pieces + n && done; p++) {
    const uint64_t piece_end = p->offset + p->size;
    if (piece_end > end) done = put_memory(p, p->offset > end ? p->offset : end, piece_end);
  }
  if (done && !__atomic_exchange_n(&truncated, 1, __ATOMIC_ACQ_REL)) {
    last_error = cut ? ESTALE : EIO;
    lr_file_failed(PLAT_ERROR);
  }
  errno = error;
  return done;
}

LR_OWN void plat_file_forget(void) {
  /* Memory stays where a hook that the fork interrupted may write. Should there be
   * none, it must not be the file any more. */
  for (const struct piece *p = pieces; p < pieces + piece_count; p++) {
    const uint64_t page = lr_page_size(), end = p->offset + p->size;
    uint64_t used = (file.size + page - 1) / page * page;
    if (used < p->offset) used = p->offset;
    if (used > end) used = end;
    if (used < end) munmap(p->base + (used - p->offset), (size_t)(end - used));
    if (!put_memory(p, p->offset, used)) munmap(p->base, (size_t)(used - p->offset));
  }
  if (file.fd >= 0 && same_file()) close(file.fd);
  file.fd = -1;
  file.size = file.zeroed = 0;
  piece_count = 0;
  mapped = 0;
  truncated = 0;
}

LR_OWN int plat_file_private(void) {
  struct stat s;
  if (lr_settings.permissions) return 1;
  if (file.fd < 0 || (!same_file() && !reopen()) || fstat(file.fd, &s) < 0) return 0;
  return !(s.st_mode & 077) || fchmod(file.fd, s.st_mode & 0700) == 0;
}

LR_OWN const void *plat_file_at(uint64_t offset) {
  /* A chunk may lie in the piece behind the one that has its first page. */
  const struct lrf_chunk *const c = (const struct lrf_chunk *)mapped_at(offset, sizeof *c);
  return c ? mapped_at(offset, c->size) : NULL;
}

static int copy_fd = -1;
static uint64_t copied;
LR_OWN int plat_copy_begin(const char *path) {
  copied = 0;
  copy_fd = move_up(create(&path, O_WRONLY));
  return copy_fd >= 0 ? PLAT_OK : failed(errno);
}
LR_OWN int plat_copy_write(const void *p, size_t n) {
  const char *b = p;
  copied += n;
  if (!lr_within_limit(copied)) {
    last_error = EFBIG;
    return 0;
  }
  while (n > 0) {
    const ssize_t k = write(copy_fd, b, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) {
      last_error = errno;
      return 0;
    }
    b += k;
    n -= (size_t)k;
  }
  return 1;
}
LR_OWN int plat_copy_end(int ok) {
  const int closed = close(copy_fd) == 0;
  copy_fd = -1;
  return ok && closed;
}

#endif
