// dialog.cpp: the LogTest of the article that the project stems from, a dialog with buttons whose handlers log and say
// their name. A fourth button crashes. MFC calls handlers by a map of messages, here it is a switch.
//
// "make logtest" builds it with the classic recorder, for you to click. recorder/tests/trace_windows.sh builds it so, and
// with three compilers for the trace recorder (LOGPARSER_TRACE), has click.cpp click, and reads the logs. With LOGTEST_QUIET no
// message boxes are shown.

#include <stdlib.h>
#include <windows.h>

#include "Logger.h"

// The buttons. Ok and Cancel have the numbers that the system gives them, for Enter and Escape.
enum { BUTTON2 = 1002, CRASH = 1003 };

class CLogTestDlg {
 public:
  INT_PTR DoModal();

 private:
  static INT_PTR CALLBACK procedure(HWND window, UINT message, WPARAM w, LPARAM l);
  void OnBnClickedButton2();
  void OnBnClickedOk();
  void OnBnClickedCancel();
  void OnBnClickedCrash();
  void show(const wchar_t *text);

  HWND window_ = nullptr;
  int clicks_ = 0;
  void *volatile nothing_ = nullptr;
};

void CLogTestDlg::show(const wchar_t *text) {
  LogEnterLeave LogObj;
  clicks_++;
#if defined(LOGTEST_QUIET)
  SetWindowTextW(window_, text);
#else
  MessageBoxW(window_, text, L"LogTest", MB_OK);
#endif
}

void CLogTestDlg::OnBnClickedButton2() {
  LogEnterLeave LogObj;
  show(L"CLogTestDlg::OnBnClickedButton2()");
}

void CLogTestDlg::OnBnClickedOk() {
  LogEnterLeave LogObj;
  show(L"CLogTestDlg::OnBnClickedOk()");
}

void CLogTestDlg::OnBnClickedCancel() {
  LogEnterLeave LogObj;
  show(L"CLogTestDlg::OnBnClickedCancel()");
  EndDialog(window_, clicks_);
}

void CLogTestDlg::OnBnClickedCrash() {
  LogEnterLeave LogObj;
  // By abort: what a processor's exception does in here differs. Windows 10 ends the program, wine goes on.
  if (!nothing_) abort();  // crashes
}

INT_PTR CALLBACK CLogTestDlg::procedure(HWND window, UINT message, WPARAM w, LPARAM l) {
  if (message == WM_INITDIALOG) {
    SetWindowLongPtrW(window, GWLP_USERDATA, l);
    reinterpret_cast<CLogTestDlg *>(l)->window_ = window;
    return TRUE;
  }
  auto *const self = reinterpret_cast<CLogTestDlg *>(GetWindowLongPtrW(window, GWLP_USERDATA));
  if (message != WM_COMMAND || !self) return FALSE;
  switch (LOWORD(w)) {
    case BUTTON2: self->OnBnClickedButton2(); return TRUE;
    case IDOK: self->OnBnClickedOk(); return TRUE;
    case IDCANCEL: self->OnBnClickedCancel(); return TRUE;
    case CRASH: self->OnBnClickedCrash(); return TRUE;
  }
  return FALSE;
}

// A resource, put together here: so no compiler of resources is needed.
class Template {
 public:
  Template(const wchar_t *title, WORD items) {
    const DLGTEMPLATE head = {WS_POPUP | WS_CAPTION | WS_SYSMENU | WS_VISIBLE | DS_CENTER, 0, items, 0, 0, 150, 72};
    put(&head, sizeof head);
    word(0);  // no menu
    word(0);  // the usual class
    text(title);
  }
  void button(WORD id, const wchar_t *name, short x, short y) {
    const DLGITEMTEMPLATE item = {WS_CHILD | WS_VISIBLE | WS_TABSTOP, 0, x, y, 60, 16, id};
    size_ = (size_ + 3) & ~size_t(3);
    put(&item, sizeof item);
    word(0xffff);
    word(0x80);  // a button
    text(name);
    word(0);
  }
  const DLGTEMPLATE *get() const { return reinterpret_cast<const DLGTEMPLATE *>(bytes_); }

 private:
  void put(const void *p, size_t n) {
    for (size_t i = 0; i < n && size_ < sizeof bytes_; i++) bytes_[size_++] = static_cast<const unsigned char *>(p)[i];
  }
  void word(WORD w) { put(&w, sizeof w); }
  void text(const wchar_t *s) {
    do put(s, sizeof *s);
    while (*s++);
  }
  alignas(8) unsigned char bytes_[1024] = {};
  size_t size_ = 0;
};

INT_PTR CLogTestDlg::DoModal() {
  LogEnterLeave LogObj;
  Template t(L"LogTest", 4);
  t.button(BUTTON2, L"Button2", 10, 12);
  t.button(CRASH, L"Crash", 80, 12);
  t.button(IDOK, L"OK", 10, 40);
  t.button(IDCANCEL, L"Cancel", 80, 40);
  return DialogBoxIndirectParamW(GetModuleHandleW(nullptr), t.get(), nullptr, procedure, reinterpret_cast<LPARAM>(this));
}

// The status is how many clicks Button2, Ok and Cancel got, or 255 where there is no dialog.
int main() {
  LogEnterLeave LogObj;
  CLogTestDlg dialog;
  return int(dialog.DoModal()) & 255;
}
