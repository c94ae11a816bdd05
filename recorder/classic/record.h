// The record of the classic log, and text for its modules file.

namespace logparser_recorder {

// A Record is what LogDetails.dat consists of, in the program's byte order.
struct Record {
  uintptr_t address;
  uint32_t thread;
  uint32_t tick;  // milliseconds, modulo 2^32
  uint8_t enter;  // 1 enter, 0 leave
  uint8_t padding[sizeof(uintptr_t) == 8 ? 7 : 3];
};
static_assert(sizeof(Record) == (sizeof(uintptr_t) == 8 ? 24 : 16), "the record has no other size");

static const char kFirstLine[] = "# LogParser modules file 1: base size pointer-size identity timestamp path\n";

// A Text is a string under construction in somebody else's buffer. What does
// not fit is left out. It allocates nothing: the recorder may be running
// below the program's own malloc.
struct Text {
  char *data;
  size_t length, capacity;

  Text(char *buffer, size_t size) : data(buffer), length(0), capacity(size - 1) { data[0] = 0; }
  void add(char c) {
    if (length < capacity) {
      data[length++] = c;
      data[length] = 0;
    }
  }
  void add(const char *s) {
    while (*s) add(*s++);
  }
  void decimal(uint64_t n, int digits = 1) {
    char b[20];
    int i = 0;
    do {
      b[i++] = char('0' + n % 10);
      n /= 10;
    } while (n || i < digits);
    while (i) add(b[--i]);
  }
  void hex(uint64_t n, int digits, bool upper = false) {
    const char *names = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    while (digits > 0) add(names[n >> 4 * --digits & 15]);
  }
  // A module's line up to its identity.
  void range(uint64_t base, uint64_t size) {
    add("0x");
    hex(base, int(2 * sizeof(void *)));
    add(" 0x");
    hex(size, size >> 32 ? 16 : 8);
    add(' ');
    decimal(sizeof(void *));
    add(' ');
  }
  void dateAndTime(unsigned year, unsigned month, unsigned day, unsigned hour, unsigned minute, unsigned second,
                   unsigned milliseconds) {
    decimal(year, 4);
    add('-');
    decimal(month, 2);
    add('-');
    decimal(day, 2);
    add('T');
    decimal(hour, 2);
    add(':');
    decimal(minute, 2);
    add(':');
    decimal(second, 2);
    add('.');
    decimal(milliseconds, 3);
    add('\n');
  }
  // What an older pair is renamed with: ".20261121T112233Z", ".20261121T112233Z-2".
  void pairSuffix(unsigned year, unsigned month, unsigned day, unsigned hour, unsigned minute, unsigned second,
                  int attempt) {
    add('.');
    decimal(year, 4);
    decimal(month, 2);
    decimal(day, 2);
    add('T');
    decimal(hour, 2);
    decimal(minute, 2);
    decimal(second, 2);
    add('Z');
    if (attempt > 1) {
      add('-');
      decimal(unsigned(attempt));
    }
  }
};

// How a modules file mentions a module last.
enum Mention { kNever, kListed, kGone };

// lastMention looks for a module's line, which ends in '\n', in a part of a modules file.
static Mention lastMention(const char *part, size_t size, const char *line, size_t length) {
  const size_t base = size_t(static_cast<const char *>(memchr(line, ' ', length)) - line);
  Mention last = kNever;
  while (size > 0) {
    const void *end = memchr(part, '\n', size);
    const size_t n = end ? size_t(static_cast<const char *>(end) - part) + 1 : size;
    if (n == length && memcmp(part, line, n) == 0) {
      last = kListed;
    } else if (n > 8 + base && memcmp(part, "# gone ", 7) == 0 && memcmp(part + n - 1 - base, line, base) == 0) {
      last = kGone;
    }
    part += n;
    size -= n;
  }
  return last;
}

// addChanges writes into a modules file what is different in `now`, the lines of the modules that
// are loaded: which came, and which of those listed are gone. bytes is how long the log is.
// write(data, n) appends to the file, of which `file` has the contents.
template <class Write>
static void addChanges(const char *file, size_t size, const char *now, size_t nowSize, uint32_t tick, uint64_t bytes,
                       Write write) {
  char buffer[96];
  for (size_t at = 0, n; at < size; at += n) {
    const char *line = file + at;
    const void *end = memchr(line, '\n', size - at);
    n = end ? size_t(static_cast<const char *>(end) - line) + 1 : size - at;
    if (!end || n < 3 || line[0] != '0' || line[1] != 'x' || !memchr(line, ' ', n)) continue;
    if (lastMention(line + n, size - at - n, line, n) != kNever || lastMention(now, nowSize, line, n) != kNever) continue;
    Text t(buffer, sizeof buffer);
    t.add("# gone ");
    t.decimal(tick);
    t.add(' ');
    t.decimal(bytes);
    t.add(' ');
    for (size_t i = 0; line[i] != ' '; i++) t.add(line[i]);
    t.add('\n');
    write(t.data, t.length);
  }
  bool came = size == 0;  // those that were there at the start need no word
  for (size_t at = 0, n; at < nowSize; at += n) {
    const char *line = now + at;
    n = size_t(static_cast<const char *>(memchr(line, '\n', nowSize - at)) - line) + 1;
    if (lastMention(file, size, line, n) == kListed) continue;
    if (!came) {
      Text t(buffer, sizeof buffer);
      t.add("# came ");
      t.decimal(tick);
      t.add(' ');
      t.decimal(bytes);
      t.add('\n');
      write(t.data, t.length);
      came = true;
    }
    write(line, n);
  }
}

}  // namespace logparser_recorder
