/* text_windows.c: UTF-8 and the system's wchar_t, and paths as the system takes them.
 *
 * No locks; nothing here wants the loader's. */

#include "system_windows.h"

#if defined(_WIN32)

LR_OWN size_t lr_to_utf8(char *out, size_t size, const wchar_t *s, size_t n) {
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t c = s[i];
    if (c >= 0xd800 && c < 0xdc00 && i + 1 < n && s[i + 1] >= 0xdc00 && s[i + 1] < 0xe000)
      c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)s[++i] - 0xdc00);
    const int length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (k + (size_t)length >= size) break;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int j = length - 1; j > 0; j--) {
      out[k + (size_t)j] = (char)(0x80 | (c & 0x3f));
      c >>= 6;
    }
    out[k] = (char)(lead[length] | c);
    k += (size_t)length;
  }
  out[k] = 0;
  return k;
}

LR_OWN size_t lr_from_utf8(wchar_t *out, size_t size, const char *s) {
  size_t k = 0;
  while (*s && k + 2 < size) {
    uint32_t c = (uint8_t)*s++;
    int more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    c &= more == 0 ? 0xffu : more == 1 ? 0x1fu : more == 2 ? 0x0fu : 0x07u;
    while (more-- > 0 && ((uint8_t)*s & 0xc0) == 0x80) c = c << 6 | ((uint8_t)*s++ & 0x3f);
    if (c < 0x10000) {
      out[k++] = (wchar_t)c;
    } else {
      out[k++] = (wchar_t)(0xd800 + ((c - 0x10000) >> 10));
      out[k++] = (wchar_t)(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  out[k] = 0;
  return k;
}

LR_OWN size_t lr_wide_length(const wchar_t *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

LR_OWN int lr_system_path(wchar_t *out, const char *path) {
  wchar_t plain[PATH_CHARACTERS];
  const size_t n = lr_from_utf8(plain, PATH_CHARACTERS, path);
  if (n < 240 || (plain[0] == '\\' && plain[1] == '\\' && plain[2] == '?')) {
    memcpy(out, plain, (n + 1) * sizeof *plain);
    return 1;
  }
  static const wchar_t local[] = L"\\\\?\\", remote[] = L"\\\\?\\UNC";
  wchar_t full[PATH_CHARACTERS];
  const DWORD length = GetFullPathNameW(plain, PATH_CHARACTERS - 16, full, NULL);
  if (!length || length >= PATH_CHARACTERS - 16) return 0;
  const int unc = full[0] == '\\' && full[1] == '\\';
  const wchar_t *prefix = unc ? remote : local, *rest = unc ? full + 1 : full;
  const size_t k = lr_wide_length(prefix);
  memcpy(out, prefix, k * sizeof *out);
  memcpy(out + k, rest, (lr_wide_length(rest) + 1) * sizeof *out);
  return 1;
}

#endif
