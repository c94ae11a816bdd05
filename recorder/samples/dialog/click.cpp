// click.cpp: click.exe PREFIX ID...: waits for a window whose title begins so, and clicks its controls of these numbers, one after another.
// Where "box" follows a number, a message box is waited for after the click, and closed.

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
    if (i + 1 < argc && strcmp(argv[i + 1], "box") == 0) {
      PostMessageA(button, BM_CLICK, 0, 0);
      HWND box = wanted.found;
      for (int ms = 0; box == wanted.found && ms < MOST_MS; ms += STEP_MS) {
        Sleep(STEP_MS);
        box = GetLastActivePopup(wanted.found);
      }
      if (box == wanted.found) return 5;
      SendMessageA(box, WM_COMMAND, IDOK, 0);
      for (int ms = 0; IsWindow(box) && ms < MOST_MS; ms += STEP_MS) Sleep(STEP_MS);
      i++;
      continue;
    }
    // A button that is clicked tells its window, as the mouse would have it; one that ends the program answers nothing.
    DWORD_PTR result;
    SendMessageTimeoutA(button, BM_CLICK, 0, 0, SMTO_ABORTIFHUNG, 5000, &result);
  }
  return 0;
}
