// click.cpp: click.exe PREFIX ID...: waits for a window whose title begins so, and clicks its controls of these numbers, one after another.

#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum { MOST_MS = 30000, STEP_MS = 50 };

struct Wanted {
  const char *prefix;
  HWND found;
};

static BOOL CALLBACK look(HWND window, LPARAM l) {
  auto *const wanted = reinterpret_cast<Wanted *>(l);
  char title[64] = "";
  GetWindowTextA(window, title, sizeof title);
  if (strncmp(title, wanted->prefix, strlen(wanted->prefix)) == 0 && IsWindowVisible(window)) wanted->found = window;
  return !wanted->found;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  Wanted wanted = {argv[1], nullptr};
  for (int ms = 0; !wanted.found && ms < MOST_MS; ms += STEP_MS) {
    EnumWindows(look, reinterpret_cast<LPARAM>(&wanted));
    if (!wanted.found) Sleep(STEP_MS);
  }
  if (!wanted.found) return 3;
  for (int i = 2; i < argc; i++) {
    const HWND button = GetDlgItem(wanted.found, atoi(argv[i]));
    if (!button) return 4;
    // A button that is clicked tells its window, as the mouse would have it; one that ends the program answers nothing.
    DWORD_PTR result;
    SendMessageTimeoutA(button, BM_CLICK, 0, 0, SMTO_ABORTIFHUNG, 5000, &result);
  }
  return 0;
}
