// values_wanted.h: what values_test wants to read of the calls that values_subject makes in kinds(): the bytes of ARGUMENTS and
// RESULT with their kind before them, in hexadecimal digits; "-" for no record, "*" for anything.

#ifndef VALUES_WANTED_H
#define VALUES_WANTED_H

#include <string>
#include <vector>

using std::string;
using std::vector;

static string repeated(const char *s, int n) {
  string r;
  while (n-- > 0) r += s;
  return r;
}

struct Want {
  const char *name;
  int index;
  string arguments, result;
};

static vector<Want> wanted() {
  const string longer = repeated("6c", 1024), cut = "14007465787420";
  return {{"vs_sum", 0, "010003000000fcffffff", "0100ffffffff"},
          {"vs_small", 0, "01000163feff", "01000100"},
          {"vs_floats", 0, "01000000c03f0000000000000240", "01000000000000000e40"},
          {"vs_six", 0, "0100" "ffffffff" "0000000000010000" "fdff" "04000000" "65" "faffffffffffffff" "00", "01005f00000000010000"},
          {"vs_odd", 0, "0100" "01" "f9ffffffffffffff" "00", "01000100"},
          {"vs_two", 0, "0100" "fbffffffffffffff" "faff", "0100" "fcffffffffffffff" "f9ff"},
          {"vs_three", 0, "010078797a00", "01007a797800"},
          {"vs_nothing", 0, "01006e00", "-"},
          {"vs_mixed", 0, "0100" "ffffffff" "0000000000000440" "fdffffffffffffff" "00009040", "010000004040"},
          {"vs_stack", 0, "010001000000000000000700000000000000f8ff", "01000f00000000000000"},
          {"vs_pair", 0, "01002800000000000000000000000000f43f", "010029000000000000000000000000000440"},
          {"vs_big", 0, "0100010000000000000002000000000000000300000000000000", "01000400000000000000"},
          {"vs_extended", 0, "010001000000", "0100abaaaaaaaaaaaaaafd3f000000000000"},
          {"vs_hidden", 0, "010005000000", "01000005000000000000000a000000000000000f0000000000000000"},
          {"vs_text", 0, "01000500706c61696effff00", "010004006c61696e"},
          {"vs_text", 1, "01000000fdff" + repeated("6c", 64), "*"},
          {"vs_string", 0, "01000800" "696e20706c616365" "2d00" "612074657874207468617420697320746f6f206c", "010035000000"},
          {"vs_string", 1, "01002d00" "612074657874207468617420697320746f6f206c" "0800" "696e20706c616365", "010035000000"},
          {"vs_view", 0, "01000400766965770000", "01000400000000000000"},
          {"vs_memory", 0, "010000140000001e00000000", "010001000000"},
          {"vs_memory", 1, "01000100", "010001000000"},
          {"vs_memory", 2, "01000200", "010001000000"},
          {"vs_tail", 0, "010009000000", "0400"},
          // What was written behind its pointers, of the inner call and of the one around it.
          {"vs_out", 0, "010001000000", "010001000000" "05006f75746572" "01" "01" "1800" "612074657874207468617420" "6973206e6f742073" "00ffffffffffffffff"},
          {"vs_out", 1, "010000000000", "010000000000" "0500696e6e6572" "000a00000000000000" "0000000000000000000a000000000000006400000000000000"
                                        "050073686f7274" "000000000000000000" "00"},
          // The third text has no room, so neither it nor the number behind it is there.
          {"vs_many", 0, "0100fdff" + longer + "fdff" + repeated("6c", 1000), "010007000000"}};
}

#endif
