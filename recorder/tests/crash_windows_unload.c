/* crash_windows_unload.c [FILE]: loads the DLL that this is with MODULE, which is linked with the recorder and records,
 * unloads it and aborts by way of ucrtbase.dll, which the DLL's recorder is linked with, too. Without FILE it only
 * aborts: it must end in the same way. */

#include <windows.h>

#if defined(MODULE)
__declspec(dllexport) void recorded(void);
void recorded(void) { __asm__ volatile(""); }
#else
__declspec(dllimport) void _o_abort(void);

int main(int argc, char **argv) {
  enum { NOT_LOADED = 77, NO_FUNCTION, NOT_UNLOADED };
  if (argc > 1) {
    const HMODULE m = LoadLibraryA(argv[1]);
    if (!m) return NOT_LOADED;
    const FARPROC recorded = GetProcAddress(m, "recorded");
    if (!recorded) return NO_FUNCTION;
    recorded();
    if (!FreeLibrary(m) || GetModuleHandleA(argv[1])) return NOT_UNLOADED;
  }
  _o_abort();
  return 0;
}
#endif
