// classes.cpp: functions, methods and a class hierarchy, to see what they are called with and what they return.
// Behind each call stands what LogParser shows of it, at -O0 and at -O2. (Without -fno-optimize-sibling-calls a
// function may end by a jump to another, and what it returned is not seen.)
//
//	g++ -g -O2 -fno-optimize-sibling-calls -pg -mfentry -minstrument-return=call classes.cpp -o classes -L. -llogrec
//	logparse record --sites --values '*' --values '!std::*' ./classes
//	logparse show classes.rec

#include <cstdio>
#include <string>

// What an optimizer would take out is to be seen.
#if defined(__clang__)
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif

enum class Unit { Metre, Foot };

class Account {
 public:
  KEPT explicit Account(const std::string &owner) : owner(owner) {}
  KEPT virtual ~Account() {}
  KEPT virtual bool deposit(long cents) {
    balance += cents;
    return true;
  }
  KEPT long total() const { return balance; }
  KEPT static double inUnits(long cents, Unit unit) { return unit == Unit::Metre ? cents / 100.0 : cents / 30.48; }

 protected:
  std::string owner;
  long balance = 0;
};

class Savings : public Account {
 public:
  KEPT Savings(const std::string &owner, double rate) : Account(owner), rate(rate) {}  //= Account::Account(this = 0x, std::string const& owner = "Ada")
  KEPT bool deposit(long cents) override {
    return cents > 0 && Account::deposit(cents + static_cast<long>(cents * rate));  //= Account::deposit(this = 0x, long cents = 1050) = true
  }

 private:
  double rate;
};

KEPT int leaf(int n) { return n + 1; }
KEPT int sum(int a, int b, int c) {
  return leaf(a) + leaf(b) + c;  //= leaf(int n = 14) = 15 //= leaf(int n = 20) = 21
}

int main() {
  Savings savings("Ada", 0.05);              //= Savings::Savings(this = 0x, std::string const& owner = "Ada", double rate = 0.05)
  Account *account = &savings;
  bool done = account->deposit(1000);        //= Savings::deposit(this = 0x, long cents = 1000) = true
  done = account->deposit(-1) || done;       //= Savings::deposit(this = 0x, long cents = -1) = false
  long cents = account->total();             //= Account::total(this = 0x) = 1050
  double units = Account::inUnits(cents, Unit::Metre);  //= Account::inUnits(long cents = 1050, Unit unit = Metre) = 10.5
  int n = sum(14, 20, 26);                   //= sum(int a = 14, int b = 20, int c = 26) = 62
  std::printf("%d %ld %g %d\n", done, cents, units, n);
}
