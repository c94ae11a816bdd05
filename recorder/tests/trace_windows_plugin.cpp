// trace_windows_plugin.cpp: a library that is loaded and unloaded, and records
// from its constructor to its destructor. PLUGIN names its function.

extern "C" __attribute__((noinline)) void PLUGIN() { __asm__ volatile(""); }

struct Life {
  Life() { PLUGIN(); }
  ~Life() { PLUGIN(); }
};
static Life life;

extern "C" __declspec(dllexport) int plugin() {
  PLUGIN();
  return 5;
}

extern "C" __declspec(dllexport) void *pluginFunction() { return reinterpret_cast<void *>(&PLUGIN); }
