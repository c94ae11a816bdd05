// trace_switch_subject.h: cases of trace_subject.cpp that switch the recording off and on. Included by it, behind its
// own helpers.

// The recording is switched off and on in calls of different shape, and calls
// begin and end meanwhile.
LOGGED static void pauses() {
  logrec_switch(0);
  __asm__ volatile("");
}

LOGGED static int resumes(int x) {
  volatile int room[40];
  room[x] = x;
  logrec_switch(1);
  if (x == 7) leaf(x);
  return room[x] + 1;
}

LOGGED static int around(int n) {
  leaf(1);
  pauses();
  branch(3);
  const int x = resumes(n);
  return leaf(x) + 1;
}

LOGGED static int directly() {
  logrec_switch(0);
  branch(3);
  logrec_switch(1);
  return leaf(3) + 1;
}

LOGGED static int again(int n) {
  if (n == 0) logrec_switch(0);
  return leaf(n) + 1;
}

struct Pause {
  LOGGED Pause() { logrec_switch(0); }
  LOGGED ~Pause() { logrec_switch(1); }
};

LOGGED static int scoped(int n) {
  {
    Pause p;
    branch(n);
  }
  return leaf(n) + 1;
}

LOGGED static void waitsInside(int n) {
  if (n > 0) return waitsInside(n - 1), leaf(1), (void)0;
  reach(1);
  await(2);
}

LOGGED static int restarts() { return branch(2) + 1; }

// Another thread's calls end while this one has switched the recording off.
QUIET static void *switchedBelow(void *) {
  waitsInside(3);
  reach(3);
  await(4);
  restarts();
  return nullptr;
}

QUIET static int switches() {
  around(5);
  around(7);
  directly();
  scoped(2);
  again(1);
  again(0);
  logrec_switch(1);
  again(2);
  pthread_t t;
  pthread_create(&t, nullptr, switchedBelow, nullptr);
  await(1);
  logrec_switch(0);
  reach(2);
  await(3);
  logrec_switch(1);
  reach(4);
  pthread_join(t, nullptr);
  return 0;
}

QUIET static int switchedOnce() {
  branch(10);
  if (logrec_switch(0) != 1) return 3;
  branch(1000);
  if (logrec_switch(1) != 0) return 3;
  branch(5);
  return 0;
}

// switchCase runs the case that argv names, or returns -1 where it is none of
// these.
QUIET static int switchCase(char **argv) {
  tellFunction("pauses", pauses);
  tellFunction("around", around);
  tellFunction("directly", directly);
  tellFunction("scoped", scoped);
  tellFunction("again", again);
  tellFunction("waits", waitsInside);
  tellFunction("restarts", restarts);
  if (strcmp(argv[1], "switch") == 0) return switchedOnce();
  if (strcmp(argv[1], "switches") == 0) return switches();
  return -1;
}
