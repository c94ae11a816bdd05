// trace_read.h: a strict reader of traces for the recorder's tests, written
// from docs/formats.md alone. What the format does not allow is an error; the
// only damage it forgives is none at all.

#ifndef LOGREC_TESTS_TRACE_READ_H
#define LOGREC_TESTS_TRACE_READ_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

// What few events have.
struct TraceMore {
  std::string text;                 // of a Mark, the name of a Counter, what Arguments and a Result hold
  int64_t value;                    // of a Counter; of a Left: how many calls; of a Stack: its flags; of Arguments and a Result: 1 if
                                    // the record's first word has their place
  uint64_t depth;                   // of a Stack
  std::vector<uint64_t> functions;  // of a Stack: address * 2 + kind
};

// Tests read millions of these: each has no more than most need.
struct TraceEvent {
  enum Kind : uint8_t { Enter, Leave, Mark, Counter, Stack, Lost, Switch, Left, Arguments, Result } kind;
  uint8_t addressKind;  // 0 entry, 1 return
  uint8_t level;
  bool top;         // a leave of 2 bytes: address is that of the top call
  uint32_t stack;   // the number of the stack that it is on
  uint64_t time, address, site;
  uint32_t around;  // of an enter: how many calls it is in
  const TraceMore *more;  // it lives as long as the Trace, and is never null
};

struct TraceStream {
  uint64_t thread;
  std::vector<TraceEvent> events;  // all levels, by time
  std::map<unsigned, std::vector<uint64_t>> open;  // level: address * 2 + kind
  uint64_t lost, chunks, closed, bytes;
};

struct TraceModule {
  uint32_t number, flags;
  uint64_t base, size, bias, begin, end;
  std::string path, identity;

  bool holds(uint64_t address, uint64_t time) const { return address - base < size && begin <= time && time < end; }
};

struct TraceRecord {
  unsigned type;
  uint64_t time;
  std::string body;
};

class Trace {
 public:
  std::string error;
  uint32_t flags, pid, state, why;
  uint64_t rate, ring, minimum, begin, end, fileSize, eventBytes, events;
  std::map<uint32_t, TraceStream> streams;
  std::vector<TraceRecord> records;
  std::vector<TraceModule> modules;
  std::map<uint32_t, std::string> images;

  bool ok() const { return error.empty(); }
  Trace(Trace &&) = default;

  static bool isTrace(const std::string &path) {
    char magic[8] = {};
    if (FILE *f = fopen(path.c_str(), "rb")) {
      const size_t n = fread(magic, 1, 8, f);
      fclose(f);
      return n == 8 && memcmp(magic, "\x89LPT\r\n\x1a\n", 8) == 0;
    }
    return false;
  }

  explicit Trace(const std::string &path)
      : flags(), pid(), state(), rate(), ring(), minimum(), begin(), end(), fileSize(), eventBytes(), events() {
    if (FILE *f = fopen(path.c_str(), "rb")) {
      fseek(f, 0, SEEK_END);
      data_.resize(size_t(ftell(f)));
      rewind(f);
      if (fread(&data_[0], 1, data_.size(), f) != data_.size()) error = "not read";
      fclose(f);
    } else {
      error = "not opened: " + path;
    }
    fileSize = data_.size();
    if (ok()) read();
    // A copy of half a file would be dear.
    data_.clear();
    data_.shrink_to_fit();
  }

  const TraceRecord *find(unsigned type, size_t n = 0) const {
    for (const TraceRecord &r : records)
      if (r.type == type && n-- == 0) return &r;
    return nullptr;
  }
  size_t count(unsigned type) const {
    size_t n = 0;
    for (const TraceRecord &r : records) n += r.type == type;
    return n;
  }
  const TraceModule *moduleOf(uint64_t address, uint64_t time) const {
    for (const TraceModule &m : modules)
      if (m.holds(address, time)) return &m;
    return nullptr;
  }
  static uint32_t u32(const std::string &s, size_t at) { return get<uint32_t>(s.data() + at); }
  static uint64_t u64(const std::string &s, size_t at) { return get<uint64_t>(s.data() + at); }
  static std::string text(const std::string &s, size_t *at) {
    const uint32_t n = u32(s, *at);
    *at += 4 + n;
    return s.substr(*at - n, n);
  }

 private:
  std::string data_;
  std::deque<TraceMore> more_;  // the first is that of all events without

  // more adds what the event has more than others.
  TraceMore *more(TraceEvent *e) {
    more_.push_back(TraceMore());
    e->more = &more_.back();
    return &more_.back();
  }

  template <class T>
  static T get(const char *p) {
    T v;
    memcpy(&v, p, sizeof v);
    return v;
  }
  template <class T>
  T at(uint64_t offset) const {
    return get<T>(data_.data() + offset);
  }

  __attribute__((format(printf, 2, 3))) void fail(const char *format, ...) {
    if (!ok()) return;
    char line[512];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    error = line;
  }

  uint32_t checksum(uint64_t offset, size_t n) const {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ uint8_t(data_[offset + i])) * 16777619u;
    return h;
  }

  struct Key {
    uint32_t stream;
    unsigned level;
    bool operator<(const Key &o) const { return stream != o.stream ? stream < o.stream : level < o.level; }
  };

  void read() {
    if (data_.size() < 4096) return fail("%zu bytes", data_.size());
    if (memcmp(data_.data(), "\x89LPT\r\n\x1a\n", 8) != 0) return fail("magic");
    if (at<uint16_t>(8) != 1 || at<uint16_t>(10) != 4) return fail("version");
    if (at<uint32_t>(12) != 4096 || at<uint32_t>(16) != 4096) return fail("header sizes");
    if (at<uint32_t>(80) != checksum(0, 80)) return fail("checksum of the header");
    flags = at<uint32_t>(20);
    pid = at<uint32_t>(28);
    begin = at<uint64_t>(40);
    rate = at<uint64_t>(48);
    minimum = at<uint64_t>(64);
    ring = at<uint64_t>(72);
    state = at<uint32_t>(84);
    why = at<uint32_t>(96);
    end = at<uint64_t>(88);
#if defined(TRACE_OF_WINDOWS)
    // The size of its pointers.
    const unsigned system = 2, pointer = TRACE_OF_WINDOWS;
#elif defined(_WIN32)
    const unsigned system = 2, pointer = sizeof(void *);
#else
    const unsigned system = 1, pointer = sizeof(void *);
#endif
    if (at<uint8_t>(24) != pointer || at<uint8_t>(25) != system) return fail("pointer size, system");
    if (end > data_.size()) return fail("end %llu of %zu", (unsigned long long)end, data_.size());
    more_.push_back(TraceMore());
    std::map<Key, std::vector<std::pair<uint32_t, uint64_t>>> chunks;
    for (uint64_t o = 4096; o < end;) {
      if (at<uint32_t>(o) != 0x4354504c) {
        // Killed while the last chunk was being made.
        if (at<uint32_t>(o) == 0 && state == 0) break;
        return fail("offset %llu: no chunk", (unsigned long long)o);
      }
      const uint32_t size = at<uint32_t>(o + 4);
      if (size < 4096 || size % 4096 || size > end - o) return fail("offset %llu: size", (unsigned long long)o);
      if (at<uint32_t>(o + 40) != checksum(o, 40)) return fail("offset %llu: checksum", (unsigned long long)o);
      if (at<uint32_t>(o + 44) > size - 64) return fail("offset %llu: used", (unsigned long long)o);
      const unsigned kind = at<uint8_t>(o + 8);
      if (kind == 1) process(o);
      else if (kind == 2) chunks[Key{at<uint32_t>(o + 12), at<uint8_t>(o + 9)}].push_back({at<uint32_t>(o + 16), o});
      else fail("offset %llu: kind", (unsigned long long)o);
      o += size;
    }
    for (auto &c : chunks) {
      std::sort(c.second.begin(), c.second.end());
      for (size_t i = 0; i < c.second.size() && ok(); i++) {
        const uint32_t expected = i ? c.second[i - 1].first + 1 : flags & 1 ? c.second[0].first : 0;
        if (c.second[i].first != expected) return fail("stream %u: chunk %u is missing", c.first.stream, expected);
        chunk(c.second[i].second, c.first, i == 0 && c.second[0].first != 0);
      }
    }
    const auto earlier = [](const TraceEvent &a, const TraceEvent &b) { return a.time < b.time; };
    for (auto &s : streams)
      if (!std::is_sorted(s.second.events.begin(), s.second.events.end(), earlier))
        std::stable_sort(s.second.events.begin(), s.second.events.end(), earlier);
  }

  void process(uint64_t o) {
    const uint64_t last = o + 64 + at<uint32_t>(o + 44);
    for (uint64_t p = o + 64; p < last && ok();) {
      const uint32_t length = at<uint32_t>(p);
      if (length < 16 || length % 8 || length > last - p) return fail("offset %llu: record", (unsigned long long)p);
      TraceRecord r;
      r.type = at<uint16_t>(p + 4);
      r.time = at<uint64_t>(p + 8);
      r.body = data_.substr(p + 16, length - 16);
      if (r.type == 3) {
        TraceModule m;
        m.number = u32(r.body, 0);
        m.flags = u32(r.body, 4);
        m.base = u64(r.body, 8);
        m.size = u64(r.body, 16);
        m.bias = u64(r.body, 24);
        m.begin = r.time;
        m.end = ~uint64_t(0);
        size_t i = 56;
        m.path = text(r.body, &i);
        m.identity = text(r.body, &i);
        for (const TraceModule &other : modules)
          if (other.end > m.begin && m.base < other.base + other.size && other.base < m.base + m.size)
            fail("%s overlaps %s", m.path.c_str(), other.path.c_str());
        modules.push_back(m);
      } else if (r.type == 4) {
        bool known = false;
        for (TraceModule &m : modules)
          if (m.number == u32(r.body, 0)) known = true, m.end = r.time;
        if (!known) fail("module %u was unloaded and not loaded", u32(r.body, 0));
      } else if (r.type == 12) {
        images[u32(r.body, 0)] = r.body.substr(20, u32(r.body, 16));
      }
      records.push_back(r);
      p += length;
    }
  }

  void chunk(uint64_t o, const Key &key, bool middle) {
    TraceStream &s = streams[key.stream];
    s.thread = at<uint64_t>(o + 24);
    s.chunks++;
    s.closed += at<uint32_t>(o + 56) & 1;
    s.lost += at<uint32_t>(o + 20);
    s.bytes += at<uint32_t>(o + 44);
    eventBytes += at<uint32_t>(o + 44);
    std::vector<uint64_t> &own = s.open[key.level];
    // Of other stacks than the thread's own a chunk tells itself what is open.
    std::map<uint32_t, std::vector<uint64_t>> others;
    std::vector<uint64_t> *stack = &own;
    uint32_t on = 0;
    bool begins = true, switched = false;
#define open (*stack)
    uint64_t now = at<uint64_t>(o + 32), site = 0;
    struct {
      uint64_t base;
      uint8_t kind;
      bool set;
    } window[8] = {};
    const char *const begin = data_.data() + o + 64, *const end = begin + at<uint32_t>(o + 44);
    for (const char *p = begin; p < end && ok();) {
      const unsigned long long where = (unsigned long long)(p - data_.data());
      const uint16_t word = get<uint16_t>(p);
      TraceEvent e = {};
      e.more = &more_.front();
      e.level = uint8_t(key.level);
      e.stack = on;
      const bool first = begins;
      begins = false;
      const unsigned opens = word & 3 ? 0 : word >> 2 & 63;
      if (first && !middle && !at<uint32_t>(o + 20) && opens != 9 && opens != 48 && !open.empty())
        return fail("offset %llu: a chunk begins with no STACK, and %zu calls are open", where, open.size());
      if (word & 3) switched = false;
      if (word & 1) {
        now += word >> 1;
        if (open.empty()) return fail("offset %llu: a leave and no call is open", where);
        e.kind = TraceEvent::Leave;
        e.address = open.back() >> 1;
        e.addressKind = uint8_t(open.back() & 1);
        e.top = true;
        e.time = now;
        open.pop_back();
        s.events.push_back(e);
        events++;
        p += 2;
        continue;
      }
      if (word & 2) {
        if (end - p < 6) return fail("offset %llu: torn", where);
        const uint32_t v = get<uint32_t>(p);
        now += get<uint16_t>(p + 4);
        if (!window[v >> 2 & 7].set) return fail("offset %llu: window %u is not set", where, v >> 2 & 7);
        e.kind = TraceEvent::Enter;
        e.address = window[v >> 2 & 7].base + (v >> 5);
        e.addressKind = window[v >> 2 & 7].kind;
        e.site = site;
        site = 0;
        e.time = now;
        e.around = uint32_t(open.size());
        open.push_back(e.address << 1 | e.addressKind);
        s.events.push_back(e);
        events++;
        p += 6;
        continue;
      }
      if (word == 0) {
        p += 2;
        continue;
      }
      const unsigned raw = word >> 2 & 63, type = raw < 56 ? raw : raw & ~3u; /* two bits are of the number of a place */
      size_t n = size_t(type < 56 ? word >> 8 : word >> 8 & 15) * 2, head = 2;
      if (n == 0) {
        n = get<uint32_t>(p + 2);
        head = 6;
      }
      if (n < head || n % 2 || n > size_t(end - p)) return fail("offset %llu: length %zu", where, n);
      const char *b = p + head;
      switch (type) {
        case 1: {
          uint64_t v = 0;
          memcpy(&v, b, n - 2);
          now += v << 15;
          break;
        }
        case 2: {
          const unsigned w = get<uint16_t>(b);
          window[w & 7].base = get<uint64_t>(b + 2);
          window[w & 7].kind = w >> 3 & 1;
          window[w & 7].set = true;
          break;
        }
        case 7: {
          now += get<uint16_t>(b);
          const uint32_t v = get<uint32_t>(b + 2);
          if (!window[v & 7].set) return fail("offset %llu: window %u is not set", where, v & 7);
          e.kind = TraceEvent::Leave;
          e.address = window[v & 7].base + (v >> 5);
          e.addressKind = window[v & 7].kind;
          e.time = now;
          s.events.push_back(e);
          events++;
          const uint64_t f = e.address << 1 | e.addressKind;
          for (size_t i = open.size(); i-- > 0;)
            if (open[i] == f) {
              open.resize(i);
              break;
            }
          break;
        }
        case 8: {
          const uint32_t v = get<uint32_t>(b);
          if (n != 6 || !window[v & 7].set || window[v & 7].kind != 1) return fail("offset %llu: site", where);
          site = window[v & 7].base + (v >> 5);
          break;
        }
        case 9: {
          const unsigned f = get<uint16_t>(b);
          TraceMore &m = *more(&e);
          m.value = f;
          m.depth = get<uint32_t>(b + 2);
          const uint32_t k = get<uint32_t>(b + 6);
          if ((on == 0 && !first && !switched) || k > m.depth || n != head + 10 + k * (f & 1 ? 16 : 8))
            return fail("offset %llu: stack", where);
          for (uint32_t i = 0; i < k; i++) m.functions.push_back(get<uint64_t>(b + 10 + 8 * i));
          // What was open before says the same, unless it says that it is not so.
          if (at<uint32_t>(o + 20) && first && !(f & 2)) return fail("offset %llu: lost, and not stated", where);
          if (f & 2) {
            open.resize(size_t(m.depth - k), 0);
            open.insert(open.end(), m.functions.begin(), m.functions.end());
          } else if (on == 0 && !middle && !open.empty()) {
            if (open.size() != m.depth || !std::equal(m.functions.begin(), m.functions.end(), open.end() - k))
              return fail("offset %llu: the stack is another: depth %zu, recorded %llu", where, open.size(),
                          (unsigned long long)m.depth);
          } else {
            open.assign(size_t(m.depth - k), 0);
            open.insert(open.end(), m.functions.begin(), m.functions.end());
          }
          e.kind = TraceEvent::Stack;
          e.time = now;
          s.events.push_back(e);
          break;
        }
        case 10: {
          now += get<uint16_t>(b);
          e.kind = TraceEvent::Mark;
          more(&e)->text.assign(b + 4, get<uint16_t>(b + 2));
          e.time = now;
          s.events.push_back(e);
          break;
        }
        case 11: {
          now += get<uint16_t>(b);
          e.kind = TraceEvent::Counter;
          TraceMore *m = more(&e);
          m->value = get<int64_t>(b + 4);
          m->text.assign(b + 12, uint8_t(b[3]));
          e.time = now;
          s.events.push_back(e);
          break;
        }
        case 12:
        case 13: {
          if (n < head + 2 || get<uint16_t>(b) == 1) return fail("offset %llu: values", where);
          e.kind = type == 12 ? TraceEvent::Arguments : TraceEvent::Result;
          more(&e)->text.assign(b, n - head);
          e.time = now;
          s.events.push_back(e);
          break;
        }
        /* These get the kind, and the place, that version 1.1 has before the values. */
        case 15:
        case 16: {
          e.kind = type == 15 ? TraceEvent::Arguments : TraceEvent::Result;
          more(&e)->text.assign("\1\0", 2).append(b, n - head);
          e.time = now;
          s.events.push_back(e);
          break;
        }
        case 56:
        case 60: {
          e.kind = type == 56 ? TraceEvent::Arguments : TraceEvent::Result;
          const char place = char((word >> 2 & 3) | word >> 12 << 2);
          TraceMore *m = more(&e);
          m->text.assign("\3\0", 2).append(1, place).append(3, 0).append(b, n - head);
          m->value = 1;
          e.time = now;
          s.events.push_back(e);
          break;
        }
        case 48: {
          if (n != 8 || key.level != 0) return fail("offset %llu: switch", where);
          if (first && get<uint16_t>(b) != 0) return fail("offset %llu: a chunk begins later", where);
          now += get<uint16_t>(b);
          on = get<uint32_t>(b + 2);
          stack = on ? &others[on] : &own;
          e.kind = TraceEvent::Switch;
          e.stack = on;
          e.time = now;
          s.events.push_back(e);
          begins = first;
          break;
        }
        case 49: {
          const uint32_t v = get<uint32_t>(b);
          if (n != 6 || v == 0 || v > open.size()) return fail("offset %llu: %u calls left of %zu", where, v, open.size());
          open.resize(open.size() - v);
          e.kind = TraceEvent::Left;
          more(&e)->value = v;
          e.time = now;
          s.events.push_back(e);
          break;
        }
        case 14:
          s.lost += get<uint32_t>(b);
          break;
        default:
          return fail("offset %llu: type %u", where, type);
      }
      switched = type == 48;
      p += n;
    }
#undef open
  }
};

#endif
