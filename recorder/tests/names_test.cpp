// names_test.cpp: the plain names of symbols, which LOGREC_INCLUDE and
// LOGREC_EXCLUDE compare with. Prints "N passed, N failed".

extern "C" {
#include "../src/demangle.h"
}
#include "check.h"

#include <cstring>
#include <memory>

static const struct {
  const char *symbol, *plain;  // "": none
} names[] = {
    {"_ZN3app7Counter3addEi", "app::Counter::add"},
    {"_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector::size"},
    {"_ZNKSt6vectorISsSaIS5_EE4sizeEv", "std::vector::size"},
    {"_ZSteqIcSaIcEEbRKSaIT_ES4_", "std::operator=="},
    {"_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiSt4lessIS5_ESaISt4pairIKS5_iEEEixERS9_", "std::map::operator[]"},
    {"_ZN1a1VplERKS0_", "a::V::operator+"},
    {"_ZN1aplERKNS_1VES2_", "a::operator+"},
    {"_ZN1AC1Ev", "A::A"},
    {"_ZN1AC2IiEET_", "A::A"},
    {"_ZN3BoxIiLi3EED2Ev", "Box::~Box"},
    {"_ZNSt10unique_ptrI3FooSt14default_deleteIS0_EEC1IS2_vEEPS0_", "std::unique_ptr::unique_ptr"},
    {"_ZNSt5tupleIJiR3FooDpT_EEC1IJS1_iEEEv", "std::tuple::tuple"},
    {"_ZNSaIcEC1ERKS_", "std::allocator::allocator"},
    {"_ZNSs6appendEPKc", "std::basic_string::append"},
    {"_ZNKSs4sizeEv", "std::basic_string::size"},
    {"_ZNSolsEi", "std::basic_ostream::operator<<"},
    {"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", "std::operator<<"},
    {"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_assignERKS4_", "std::__cxx11::basic_string::_M_assign"},
    {"_ZZN1A1fEvENKUlvE_clEv", "A::f::{lambda}::operator()"},
    {"_ZZZ4mainENKUliE_clEiENKUlvE0_clEv", "main::{lambda}::operator()::{lambda}::operator()"},
    {"_ZZ4mainEN1L1gEv", "main::L::g"},
    {"_ZZN1A1fERKSt6vectorIiSaIiEEEN5Local3runEvE1x", "A::f::Local::run"},
    {"_ZN12_GLOBAL__N_14leafEi", "(anonymous namespace)::leaf"},
    {"_ZN12_GLOBAL__N_1L5innerEv", "(anonymous namespace)::inner"},
    {"_ZL6statici", "static"},
    {"_ZN1AcvbEv", "A::operator bool"},
    {"_ZN1AcvPKcEv", "A::operator"},
    {"_ZN1AcvN3app1BEEv", "A::operator"},
    {"_ZN1AclEi", "A::operator()"},
    {"_ZN1AixEm", "A::operator[]"},
    {"_ZN1AnwEm", "A::operator new"},
    {"_ZN1AdaEPv", "A::operator delete[]"},
    {"_ZnwmSt11align_val_t", "operator new"},
    {"_Zli3_kmx", "operator\"\" _km"},
    {"_ZN1AssERKS_", "A::operator<=>"},
    {"_ZNKR1A3getB5cxx11Ev", "A::get"},
    {"_ZN1AB3abi3runEv", "A::run"},
    {"_Z1fIXadL_Z1gvEEEvv", "f"},
    {"_Z3sumIJiLj5EEEvDpT_", "sum"},
    {"_Z1fIPFvicEM1AKFivEA4_iEvv", "f"},
    {"_Z5applyIZ4mainEUliE_EvT_", "apply"},
    {"_ZN1XIXplLi1ELi2EEE3runEv", "X::run"},
    {"_ZN1XIXsr3std7is_sameIT_iEE5valueEE3runEv", "X::run"},
    {"_ZNSt8functionIFviEEclEi", "std::function::operator()"},
    {"_ZThn16_N1B1fEv", "B::f"},
    {"_ZTv0_n24_N1B1fEv", "B::f"},
    {"_ZTchn16_h8_N1B1fEv", "B::f"},
    {"_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_", "std::move"},
    {"_ZNSt3__16vectorIiNS_9allocatorIiEEE9push_backEOi", "std::__1::vector::push_back"},
    {"_ZN1AUt_1fEv", "A::{unnamed}::f"},
    {"_ZN1AaSEOS_.cold", "A::operator="},
    {"_ZN5boost4asio6detail9schedulerC1ERNS0_17execution_contextEib", "boost::asio::detail::scheduler::scheduler"},
    {"_ZN3app3mapIZNS_1fEvEUlvE_E3runEv", "app::map::run"},
    {"main", ""},
    {"_ZTV1A", ""},
    {"_ZN1A", ""},
    {"_ZN3appI", ""},
    {"_Z999999999a", ""},
    {"_ZS0_", ""},
};

// plain keeps the symbol and the name in memory of just their size, for
// sanitizers.
static std::string plain(const std::string &symbol, size_t size) {
  std::unique_ptr<char[]> in(new char[symbol.size() + 1]), out(new char[size]);
  memcpy(in.get(), symbol.c_str(), symbol.size() + 1);
  return lr_plain_name(in.get(), out.get(), size) ? out.get() : "";
}

static std::string repeat(const char *s, int n) {
  std::string all;
  while (n-- > 0) all += s;
  return all;
}

int main() {
  for (const auto &n : names) {
    caseFailed = false;
    const std::string got = plain(n.symbol, 512);
    CHECK(got == n.plain, "%s: \"%s\", want \"%s\"", n.symbol, got.c_str(), n.plain);
    // Whatever is cut off or changed, nothing outside is touched.
    const std::string symbol = n.symbol;
    for (size_t i = 0; i <= symbol.size(); i++) {
      plain(symbol.substr(0, i), 512);
      plain(symbol, i + 1);
      for (char c : std::string("IEZNSTXLF_09\377")) {
        std::string other = symbol;
        other[i < symbol.size() ? i : 0] = c;
        plain(other, 512);
      }
    }
    caseFailed ? failed++ : passed++;
  }
  caseFailed = false;
  for (const char *s : {"N", "Z", "I", "1aI", "1fIX", "1fIJ", "1aIN1a", "P", "F", "1fIXad", "1fILA_", "ZN1aE", "N1acv"})
    CHECK(plain("_Z" + repeat(s, 100000), 512).empty(), "%s, again and again", s);
  CHECK(plain("_Z1f" + repeat("P", 100000) + "i", 512) == "f", "pointers");
  CHECK(plain("_ZN" + repeat("1a", 1000) + "E", 512).empty(), "a name that is too long");
  caseFailed ? failed++ : passed++;
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
