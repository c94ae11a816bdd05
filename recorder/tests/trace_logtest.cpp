// trace_logtest.cpp: compares a trace of LogTest with LogTest's truth.
// trace_logtest TRACE TRUTH WAY; WAY says what recorded besides the objects:
// objects (nothing), cyg-gcc, cyg-clang.
//
// The objects' events must be the truth's lines, one for one, each address with
// one name. Of the hooks' events: every object lies in a call that a hook
// recorded; with cyg hooks that call is the object's function, each call of it
// holds one object, and it has a leave (but with clang not where an exception
// ended it).

#include "trace_read.h"

#include <fstream>
#include <set>
#include <sstream>

using std::string;

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const Trace t(argv[1]);
  const string way = argv[3];
  const bool cyg = way != "objects";
  int wrong = 0;
  const auto fail = [&wrong](const string &what) {
    if (wrong++ < 10) printf("  %s\n", what.c_str());
  };
  if (!t.ok()) fail(t.error);
  std::map<uint64_t, std::vector<std::pair<bool, string>>> truth;
  std::ifstream file(argv[2]);
  string line;
  size_t lines = 0;
  while (std::getline(file, line)) {
    if (line[0] == '#') continue;
    std::istringstream fields(line);
    string thread, event, name;
    std::getline(fields, thread, '\t');
    std::getline(fields, event, '\t');
    std::getline(fields, name, '\t');
    truth[std::stoull(thread)].push_back({event == "enter", name});
    lines++;
  }
  if (lines < 1000 || t.streams.size() != truth.size()) fail("threads or lines are missing");
  std::map<uint64_t, string> names, hookNames;
  std::map<uint64_t, std::pair<size_t, size_t>> hookCalls;  // calls, and objects directly in them
  size_t objects = 0, hooked = 0, withoutLeave = 0;
  for (auto &s : t.streams) {
    const auto &want = truth[s.second.thread];
    size_t next = 0;
    struct Call {
      uint64_t address;
      bool object;
    };
    std::vector<Call> open;
    for (const TraceEvent &e : s.second.events) {
      if (e.kind != TraceEvent::Enter && e.kind != TraceEvent::Leave) continue;
      const bool object = e.addressKind == 1;
      if (e.kind == TraceEvent::Enter) {
        open.push_back({e.address, object});
        if (!object) {
          hooked++;
          hookCalls[e.address].first++;
          continue;
        }
        if (cyg) {
          size_t i = open.size() - 1;
          while (i > 0 && open[i - 1].object) i--;
          if (i == 0) {
            fail("an object in no hook's call: " + (next < want.size() ? want[next].second : string()));
          } else {
            const uint64_t f = open[i - 1].address;
            hookCalls[f].second++;
            if (next < want.size()) {
              const string &known = hookNames[f];
              if (known.empty()) hookNames[f] = want[next].second;
              else if (known != want[next].second) fail("a hook's function is " + known + " and " + want[next].second);
            }
          }
        }
      } else {
        size_t i = open.size();
        while (i > 0 && (open[i - 1].address != e.address || open[i - 1].object != object)) i--;
        if (i == 0) {
          fail("a stray leave");
          continue;
        }
        withoutLeave += open.size() - i;
        open.resize(i - 1);
        if (!object) continue;
      }
      objects++;
      if (next >= want.size()) {
        fail("more events than the truth has");
        break;
      }
      if (want[next].first != (e.kind == TraceEvent::Enter)) fail("enter for leave: " + want[next].second);
      string &known = names[e.address];
      if (known.empty()) known = want[next].second;
      else if (known != want[next].second) fail("an address is " + known + " and " + want[next].second);
      next++;
    }
    if (next != want.size()) fail("fewer events than the truth has");
    if (!open.empty()) fail("calls are open");
  }
  if (cyg)
    for (auto &f : hookCalls)
      if (f.second.second && f.second.first != f.second.second) fail("calls without an object: " + hookNames[f.first]);
  if (way == "cyg-gcc" && withoutLeave) fail("calls without a leave");
  printf("  %s: %zu objects' events, %zu hooks' calls, %zu without leave, %.2f bytes an event\n", way.c_str(), objects,
         hooked, withoutLeave, double(t.eventBytes) / double(t.events));
  return wrong != 0;
}
