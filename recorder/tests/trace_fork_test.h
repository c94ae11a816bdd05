// trace_fork_test.h: cases of trace_test.cpp about programs that fork: each child has a trace of its own, and
// both are to be read. Included by it, behind its own.

static void forkCase(const char *how) {
  const Outcome o = run({"fork", how});
  CHECK(o.status == 0, "status %#x", o.status);
  const vector<string> names = traces();
  CHECK(names.size() == 2, "%zu traces", names.size());
  for (const string &name : names) {
    const Trace t(name);
    CHECK(t.ok(), "%s", t.error.c_str());
    const bool child = t.pid == o.told.at("child");
    CHECK(child || t.pid == uint32_t(o.pid), "pid %u", t.pid);
    CHECK(enters(t, o.told.at("leaf")) == (child ? 20 : 11), "%llu", (ull)enters(t, o.told.at("leaf")));
    CHECK(t.count(7) == (child || how[0] == 'r' ? 0 : 1), "FORK");
    if (!child && how[0] == 'f') CHECK(Trace::u32(t.find(7)->body, 0) == o.told.at("child"), "FORK's pid");
    CHECK(t.state == 1, "state %u", t.state);
    if (child && how[0] == 'f' && !unseen)
      for (auto &s : t.streams) CHECK(s.second.open.begin()->second.empty(), "open calls in the child");
  }
}

static void testFork() { forkCase("fork"); }

static void testRawFork() { forkCase("raw"); }

// A child says all calls that are open in it: no other chunk does.
static void testForkDeep() {
  const Outcome o = run({"forkdeep", "3000"});
  CHECK(o.status == 0, "status %#x", o.status);
  size_t children = 0;
  for (const string &name : traces()) {
    const Trace t(name);
    CHECK(t.ok(), "%s", t.error.c_str());
    if (t.pid != o.told.at("child")) continue;
    children++;
    const TraceEvent &e = t.streams.begin()->second.events.at(0);
    size_t deep = 0;
    for (uint64_t f : e.more->functions) deep += f >> 1 == o.told.at("forksdeep") || (f & 1 && (f >> 1) - o.told.at("forksdeep") < 16);
    CHECK(e.kind == TraceEvent::Stack && deep == 3001 && e.more->depth == e.more->functions.size(), "%zu calls of %llu, %zu of forksDeep",
          e.more->functions.size(), (ull)e.more->depth, deep);
  }
  CHECK(children == 1, "%zu children", children);
}

static void testForkHandlers() {
  const Outcome o = run({"forkhandlers"});
  CHECK(o.status == 0, "status %#x: that many children failed", o.status);
  const vector<string> names = traces();
  CHECK(names.size() == 101, "%zu traces", names.size());
  const uint64_t leaf = o.told.count("leaf") ? o.told.at("leaf") : 0;
  unsigned lacking = 0;
  for (const string &name : names) {
    const Trace t(name);
    CHECK(t.ok(), "%s", t.error.c_str());
    lacking += enters(t, leaf) < 1000;
  }
  CHECK(lacking == 0, "%u traces lack calls", lacking);
}

// What fork needs was found before: it does not wait for the loader.
static void testForkLoading() {
  const Outcome o = run({"forkloading", plugins + "/libA.so"});
  const Trace t = one(o);
  CHECK(t.count(7) == 1, "FORK");
}

static void testRawForkFirst() {
  const Outcome o = run({"forkfirst"});
  CHECK(o.status == 0, "status %#x", o.status);
  const vector<string> names = traces();
  CHECK(names.size() == 2, "%zu traces", names.size());
  for (const string &name : names) {
    const Trace t(name);
    const bool child = t.pid == o.told.at("child");
    CHECK(t.ok() && enters(t, o.told.at("leaf")) == (child ? 20000u : 30001u), "%s: %llu", t.error.c_str(),
          (ull)enters(t, o.told.at("leaf")));
  }
}

static void testNamespaces() {
  const Outcome o = run({"namespaces"});
  CHECK(o.status == 0, "status %#x", o.status);
  if (o.told.count("noright")) {
    printf("  no right to make namespaces\n");
    return;
  }
  std::multiset<uint64_t> calls;
  for (const string &name : traces()) calls.insert(enters(Trace(name), o.told.at("leaf")));
  CHECK(calls == (std::multiset<uint64_t>{1, 10001, 20000}), "%zu traces", calls.size());
}

// The child's open calls are the forking thread's.
static void testForkThread() {
  const Outcome o = run({"forkthread"});
  CHECK(o.status == 0, "status %#x", o.status);
  size_t children = 0;
  for (const string &name : traces()) {
    const Trace t(name);
    CHECK(t.ok(), "%s", t.error.c_str());
    if (t.pid != o.told.at("child")) continue;
    children++;
    CHECK(t.streams.size() == 2, "%zu threads", t.streams.size());
    for (auto &s : t.streams) {
      const TraceEvent &e = s.second.events.at(0);
      size_t forks = 0;
      for (uint64_t f : e.more->functions) forks += f >> 1 == o.told.at("forksthread") || (f & 1 && (f >> 1) - o.told.at("forksthread") < 16);
      const bool forked = s.second.thread == t.pid;
      CHECK((e.kind == TraceEvent::Stack) == forked && forks == forked, "thread %llu: %zu open calls of forksThread",
            (ull)s.second.thread, forks);
    }
  }
  CHECK(children == 1, "%zu children", children);
}
