// trace_dump.cpp: prints a trace, for whoever works on the recorder.
// trace_dump FILE [-e]: records of the process and sums; with -e all events.

#include "trace_read.h"

static std::string hex(const std::string &bytes) {
  std::string s;
  for (const char c : bytes) s += "0123456789abcdef"[uint8_t(c) >> 4], s += "0123456789abcdef"[uint8_t(c) & 15];
  return s;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  const Trace t(argv[1]);
  printf("pid %u state %u flags %u rate %llu end %llu of %llu\n", t.pid, t.state, t.flags, (unsigned long long)t.rate,
         (unsigned long long)t.end, (unsigned long long)t.fileSize);
  for (const TraceRecord &r : t.records) printf("record %u at %lld, %zu bytes\n", r.type, (long long)(r.time - t.begin), r.body.size());
  if (const TraceRecord *r = t.find(14))
    if (r->body.size() >= 20) printf("crash %u %x\n", Trace::u32(r->body, 4), Trace::u32(r->body, 16));
  for (const TraceModule &m : t.modules)
    printf("module %u %llx +%llx bias %llx %s %s\n", m.number, (unsigned long long)m.base, (unsigned long long)m.size,
           (unsigned long long)m.bias, m.identity.c_str(), m.path.c_str());
  for (auto &s : t.streams) {
    printf("stream %u thread %llu: %zu events, %llu chunks, %llu closed, %llu lost, %llu bytes, open %zu\n", s.first,
           (unsigned long long)s.second.thread, s.second.events.size(), (unsigned long long)s.second.chunks,
           (unsigned long long)s.second.closed, (unsigned long long)s.second.lost, (unsigned long long)s.second.bytes,
           s.second.open.empty() ? 0 : s.second.open.begin()->second.size());
    if (argc > 2)
      for (const TraceEvent &e : s.second.events)
        printf("  %12lld %u %s %llx %u%s site %llx %s\n", (long long)(e.time - t.begin), e.level,
               (const char *[]){"enter", "leave", "mark", "counter", "stack", "lost", "switch", "left", "arguments", "result"}[e.kind], (unsigned long long)e.address,
               e.addressKind, e.top ? " top" : "", (unsigned long long)e.site, e.kind < TraceEvent::Arguments ? e.more->text.c_str() : hex(e.more->text).c_str());
  }
  printf("%llu events, %.2f bytes an event\n", (unsigned long long)t.events,
         t.events ? double(t.eventBytes) / double(t.events) : 0.0);
  if (!t.ok()) printf("error: %s\n", t.error.c_str());
  return t.ok() ? 0 : 1;
}
