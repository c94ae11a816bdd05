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

}  // namespace logparser_recorder
