// trace_settings_test.h: cases of trace_test.cpp about what is recorded at all: settings, lists of functions, triggers,
// the switch. Included by it, behind its own.

static void testSwitch() {
  const Outcome o = run({"switch"});
  const Trace t = one(o);
  CHECK(enters(t, o.told.at("leaf")) == 15, "%llu", (ull)enters(t, o.told.at("leaf")));
  CHECK(t.count(9) == 2, "%zu switches", t.count(9));
  const Outcome off = run({"calls", "10"}, {"LOGREC=off"});
  CHECK(off.status == 0 && traces().empty(), "%zu traces while off", traces().size());
}

// Calls that ended while recording was off are not open afterwards.
static void testSwitches() {
  const Outcome o = run({"switches"});
  const Trace t = one(o);
  const auto of = [&o](const TraceEvent &e) -> string {
    for (const char *name : {"leaf", "branch", "pauses", "around", "directly", "scoped", "again", "waits", "restarts"})
      if (isFunction(e, o.told.at(name))) return name;
    return "";
  };
  CHECK(t.streams.size() == 2, "%zu streams", t.streams.size());
  string all;
  for (auto &s : t.streams) {
    all += all.empty() ? "" : " / ";
    for (const TraceEvent &e : s.second.events)
      if (e.kind == TraceEvent::Enter && !of(e).empty()) all += string(e.around, '.') + of(e) + " ";
    for (auto &open : s.second.open) CHECK(open.second.empty(), "stream %u: %zu calls open", s.first, open.second.size());
    CHECK(s.second.lost == 0, "%llu lost", (ull)s.second.lost);
  }
  // The second time the enter of resumes is missing, and with it what could tell
  // the leaf's place.
  string second = "around .leaf .pauses .leaf .leaf ";
  if (all.find(".pauses ..leaf") != string::npos) second.insert(second.find(" .leaf .leaf") + 1, ".");
  CHECK(all == "around .leaf .pauses .leaf " + second + "directly .leaf scoped .leaf again .leaf again again .leaf "
               " / waits .waits ..waits ...waits restarts .branch ..leaf ..leaf ",
        "%s", all.c_str());
  CHECK(leaves(t, o.told.at("around")) == 2, "around: %llu leaves", (ull)leaves(t, o.told.at("around")));
  for (const char *name : {"directly", "scoped", "restarts"})
    CHECK(leaves(t, o.told.at(name)) == 1, "%s: %llu leaves", name, (ull)leaves(t, o.told.at(name)));
}

static void testShort() {
  const Outcome o = run({"short"}, {"LOGREC_MIN=100us"});
  const Trace t = one(o);
  CHECK(t.minimum == 100000 && t.flags & 4, "header");
  CHECK(enters(t, o.told.at("leaf")) < 30 && enters(t, o.told.at("branch")) < 30, "short calls were kept");
  CHECK(enters(t, o.told.at("deep")) > 10, "%llu", (ull)enters(t, o.told.at("deep")));
  for (auto &s : t.streams) CHECK(s.second.open.begin()->second.empty(), "open");
}

static void testLists() {
  Outcome o = run({"calls", "50"}, {"LOGREC_EXCLUDE=leaf"});
  {
    const Trace t = one(o);
    CHECK(enters(t, o.told.at("leaf")) == 0 && enters(t, o.told.at("branch")) == 1, "exclude");
    sound(t);
  }
  o = run({"calls", "50"}, {"LOGREC_INCLUDE= nothing , *!br* ,\tleaves"});
  {
    const Trace t = one(o);
    CHECK(enters(t, o.told.at("leaf")) == 0 && t.events == (unseen ? 1u : 2u), "include: %llu events", (ull)t.events);
  }
  o = run({"plugins", plugins + "/libA.so", plugins + "/libB.so"}, {"LOGREC_EXCLUDE=libA.so!"});
  {
    const Trace t = one(o);
    CHECK(enters(t, o.told.at("pluginA")) == 3 * 5 || enters(t, o.told.at("pluginB")) > 0, "module");
    for (const TraceEvent &e : t.streams.begin()->second.events)
      if (e.kind == TraceEvent::Enter) {
        const TraceModule *m = t.moduleOf(e.address, e.time);
        CHECK(m && m->path != plugins + "/libA.so", "an event of libA");
      }
  }
  o = run({"plugins", plugins + "/libA.so", plugins + "/libB.so"}, {"LOGREC_INCLUDE=(anonymous namespace)::*"});
  {
    const Trace t = one(o);
    CHECK(enters(t, o.told.at("pluginA")) == 0 && t.events >= 23, "%llu events", (ull)t.events);
  }
}

// Recording that begins and ends by itself, and calls that are left out by where they are.
static void testTriggers() {
  const struct {
    vector<string> environment;
    uint64_t branches, leafs, ends; // ends: leaves of leaf, where they are seen
  } cases[] = {{{"LOGREC_DEPTH=1"}, 1, 0, 0},
               {{"LOGREC_DEPTH=2"}, 1, 50, 50},
               {{"LOGREC_INSIDE=branch"}, 1, 50, 50},
               {{"LOGREC_INSIDE=branch", "LOGREC_EXCLUDE=branch"}, 0, 50, 50},
               {{"LOGREC_INSIDE=branch", "LOGREC_DEPTH=1"}, 1, 0, 0},
               {{"LOGREC_INSIDE=leaf", "LOGREC_DEPTH=1"}, 0, 50, 50},
               {{"LOGREC_INSIDE=deep"}, 0, 0, 0},
               {{"LOGREC_FROM=leaf"}, 0, 50, 50},
               {{"LOGREC_FROM=deep"}, 0, 0, 0},
               {{"LOGREC_UNTIL=leaf"}, 1, 1, 0},
               {{"LOGREC_FROM=leaf", "LOGREC_UNTIL=leaf"}, 0, 50, 0},
               {{"LOGREC_FROM=branch", "LOGREC_UNTIL=leaf", "LOGREC_EXCLUDE=branch"}, 0, 1, 0},
               {{"LOGREC_AFTER=100s"}, 0, 0, 0},
               {{"LOGREC_AFTER=0ns", "LOGREC_FOR=100s"}, 1, 50, 50},
               {{"LOGREC_FROM=branch", "LOGREC_FOR=100s"}, 1, 50, 50}};
  for (const auto &c : cases) {
    // Where ends are not seen, what ran before main may be taken for open, and counts as a step.
    if (unseen && c.environment[0].compare(0, 12, "LOGREC_DEPTH") == 0) continue;
    const Outcome o = run({"calls", "50"}, c.environment);
    const Trace t = one(o);
    const uint64_t branches = enters(t, o.told.at("branch")), leafs = enters(t, o.told.at("leaf")), ends = leaves(t, o.told.at("leaf"));
    CHECK(branches == c.branches && leafs == c.leafs && (unseen || ends == c.ends), "%s: %llu, %llu, %llu", c.environment[0].c_str(),
          (ull)branches, (ull)leafs, (ull)ends);
    // A leave without its enter is none that was seen.
    CHECK(leaves(t, o.told.at("branch")) <= branches, "%s: a leave alone", c.environment[0].c_str());
  }
}

// A module's symbols are read at the first look-up in it, and not again; and it
// stays the same module though its file has gone, or the working folder has
// changed by which it was found.
static void testListsFile() {
  const string before = subject;
  subject = folder + ".subject";
  for (const char *list : {"LOGREC_INCLUDE=leaf", "LOGREC_EXCLUDE=*many*"}) {
    if (system(("cp '" + before + "' '" + subject + "'").c_str()) != 0) exit(2);
    const Outcome o = run({"gonefile", plugins, plugins + "/libB.so"}, {list});
    const Trace t = one(o);
    sound(t);
    CHECK(enters(t, o.told.at("leaf")) == 2 && t.events < 40, "%s: %llu events, %llu of leaf", list, (ull)t.events,
          (ull)enters(t, o.told.at("leaf")));
    size_t programs = 0, libraries = 0;
    for (const TraceModule &m : t.modules) {
      programs += m.flags & 1;
      libraries += m.path == plugins + "/./libA.so" && m.end == ~uint64_t(0);
    }
    CHECK(programs == 1 && libraries == 1, "%zu times the program, %zu times the library", programs, libraries);
  }
  subject = before;
}

// A forked child has the lists, too.
static void testListsFork() {
  const Outcome o = run({"fork", "fork"}, {"LOGREC_EXCLUDE=leaf"});
  CHECK(o.status == 0, "status %#x", o.status);
  const vector<string> names = traces();
  CHECK(names.size() == 2, "%zu traces", names.size());
  for (const string &name : names) {
    const Trace t(name);
    CHECK(t.ok() && enters(t, o.told.at("leaf")) == 0 && enters(t, o.told.at("branch")) == 1, "%s: %llu of branch, %llu of leaf",
          t.error.c_str(), (ull)enters(t, o.told.at("branch")), (ull)enters(t, o.told.at("leaf")));
  }
  const string third = folder + ".so";
  if (system(("cp '" + plugins + "/libA.so' '" + third + "'").c_str()) != 0) exit(2);
  const Outcome p = run({"forkplugins", plugins + "/libA.so", plugins + "/libB.so", third}, {"LOGREC_INCLUDE=pluginA"});
  CHECK(p.status == 0, "status %#x", p.status);
  uint64_t calls = 0;
  for (const string &name : traces()) calls += enters(Trace(name), p.told.at("pluginA"));
  CHECK(calls == 1, "%llu calls of the child's library", (ull)calls);
}

// What is left out stays so where many threads look functions up at once, and
// where what they found is forgotten meanwhile.
static void testListsThreads() {
  for (int i = 0; i < 6 && !caseFailed; i++) {
    Args args = {"many", i % 2 ? "30" : "3"};
    if (i % 2) args.push_back(plugins + "/libA.so");
    const Outcome o = run(args, {"LOGREC_EXCLUDE=*many*,libA.so!"});
    const Trace t = one(o);
    std::set<uint64_t> left;
    for (auto &f : o.told)
      if (f.first.compare(0, 4, "many") == 0) left.insert(f.second);
    uint64_t wrong = 0;
    for (auto &s : t.streams)
      for (const TraceEvent &e : s.second.events)
        if (e.kind == TraceEvent::Enter) {
          auto at = left.upper_bound(e.address);
          wrong += at != left.begin() && isFunction(e, *--at);
        }
    CHECK(left.size() == 256 && wrong == 0, "%zu functions, %llu calls recorded", left.size(), (ull)wrong);
    CHECK(enters(t, o.told.at("leaf")) == 8, "%llu of leaf", (ull)enters(t, o.told.at("leaf")));
  }
}

// A setting that is not understood is said in one line, and the default taken.
static void testSettings() {
  const string longest = "LOGREC_EXCLUDE=" + string(4095, 'x'), tooLong = longest + "x";
  const struct {
    const char *setting, *says;
    uint64_t minimum, ring;
    unsigned flags;
  } cases[] = {{"LOGREC_MIN=10us", "", 10000, 0, 4},
               {"LOGREC_MIN=1.5us", "", 1500, 0, 4},
               {"LOGREC_MIN=0.25ms", "", 250000, 0, 4},
               {"LOGREC_MIN=500", "", 500, 0, 4},
               {"LOGREC_MIN=500ns", "", 500, 0, 4},
               {"LOGREC_MIN=2s", "", 2000000000, 0, 4},
               {"LOGREC_MIN=", "", 0, 0, 0},
               {"LOGREC_MIN=10parsec", "LOGREC_MIN", 0, 0, 0},
               {"LOGREC_MIN=10 us", "LOGREC_MIN", 0, 0, 0},
               {"LOGREC_MIN=10xs", "LOGREC_MIN", 0, 0, 0},
               {"LOGREC_MIN=1.5.5us", "LOGREC_MIN", 0, 0, 0},
               {"LOGREC_MIN=abc", "LOGREC_MIN", 0, 0, 0},
               {"LOGREC_MIN=-1s", "LOGREC_MIN", 0, 0, 0},
               {"LOGREC_MIN=9999999999999999999999s", "LOGREC_MIN", 0, 0, 0},
               {"LOGREC_DEPTH=0", "LOGREC_DEPTH", 0, 0, 0},
               {"LOGREC_DEPTH=2x", "LOGREC_DEPTH", 0, 0, 0},
               {"LOGREC_DEPTH=99999999999", "LOGREC_DEPTH", 0, 0, 0},
               {"LOGREC_AFTER=soon", "LOGREC_AFTER", 0, 0, 0},
               {"LOGREC_FOR=1h", "LOGREC_FOR", 0, 0, 0},
               {"LOGREC_FOR=1000s", "", 0, 0, 0},
               {"LOGREC_SITES=1", "", 0, 0, 2},
               {"LOGREC_SITES=0", "", 0, 0, 0},
               {"LOGREC_SITES=yes", "LOGREC_SITES", 0, 0, 0},
               {"LOGREC_SNAPSHOT_SIGNAL=USR1", "", 0, 0, 0},
               {"LOGREC_SNAPSHOT_SIGNAL=SEGV", "LOGREC_SNAPSHOT_SIGNAL", 0, 0, 0},
               {"LOGREC_FLIE=x", "LOGREC_FLIE is no setting", 0, 0, 0},
               {"LOGREC_SITE=1", "LOGREC_SITE is no setting", 0, 0, 0},
               {"LOGREC_=1", "LOGREC_ is no setting", 0, 0, 0},
               {"LOGRECORD=1", "", 0, 0, 0},
               {"LOGREC= on , ring:2 ,", "", 0, 2 << 20, 1},
               {"LOGREC=on", "", 0, 0, 0},
               {"LOGREC=onn", "LOGREC is", 0, 0, 0},
               {"LOGREC=offf", "LOGREC is", 0, 0, 0},
               {"LOGREC=ring", "", 0, 1 << 20, 1},
               {"LOGREC=on,ring:2", "", 0, 2 << 20, 1},
               {"LOGREC=ring:abc", "LOGREC=ring:MB", 0, 1 << 20, 1},
               {"LOGREC=ring:2x", "LOGREC=ring:MB", 0, 1 << 20, 1},
               {"LOGREC=ring:1.5", "LOGREC=ring:MB", 0, 1 << 20, 1},
               {"LOGREC=ring:-1", "LOGREC=ring:MB", 0, 1 << 20, 1},
               {"LOGREC=ring:0", "LOGREC=ring:MB", 0, 1 << 20, 1},
               {"LOGREC=ring:", "LOGREC=ring:MB", 0, 1 << 20, 1},
               {"LOGREC=ring:4096", "", 0, 4ull << 30, 1},
               {"LOGREC=ring:100000", "LOGREC=ring:MB", 0, 4ull << 30, 1},
               {"LOGREC=Yes", "", 0, 0, 0},
               {longest.c_str(), "", 0, 0, 0},
               {tooLong.c_str(), "LOGREC_EXCLUDE is longer", 0, 0, 0}};
  for (const auto &c : cases) {
    const Outcome o = run({"calls", "3"}, {c.setting});
    const bool says = !o.err.empty();
    CHECK(says == (c.says[0] != 0) && o.err.find(says ? string("logrec: ") + c.says : "") == 0 &&
              std::count(o.err.begin(), o.err.end(), '\n') == says,
          "%s: %s", c.setting, o.err.c_str());
    const Trace t = one(o, true);
    CHECK(t.minimum == c.minimum && t.ring == c.ring && (t.flags & 7) == c.flags, "%s: minimum %llu, ring %llu, flags %x", c.setting,
          (ull)t.minimum, (ull)t.ring, unsigned(t.flags));
  }
  for (const char *off : {"LOGREC=off", "LOGREC=Off", "LOGREC=0", "LOGREC=no", "LOGREC=FALSE", "LOGREC=off,ring:4"}) {
    const Outcome o = run({"calls", "3"}, {off});
    CHECK(o.status == 0 && o.err.empty() && traces().empty(), "%s: %s", off, o.err.c_str());
  }
}

static void testSites() {
  const Outcome o = run({"calls", "1000"}, {"LOGREC_SITES=1"});
  const Trace t = one(o);
  sound(t);
  std::set<uint64_t> sites;
  for (const TraceEvent &e : t.streams.begin()->second.events)
    if (e.kind == TraceEvent::Enter && isFunction(e, o.told.at("leaf"))) {
      CHECK(e.site - o.told.at("branch") < 512, "site %llx", (ull)e.site);
      sites.insert(e.site);
    }
  CHECK(sites.size() == 1, "%zu sites", sites.size());
}
