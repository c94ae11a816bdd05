// A function whose cold part has inlined calls of its own.
extern "C" int report(const char *text, int n);
extern "C" __attribute__((cold)) int complain(const char *text, int n);

namespace app {

static inline __attribute__((always_inline)) int scaled(int n)
{
	return complain("scaled", n * 3) + n;
}

static inline __attribute__((always_inline)) int refused(int n)
{
	int bad = scaled(n);
	if (bad > 5)
		bad += complain("refused", bad);
	return bad;
}

int busy(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		if (n * i == 77) {
			sum += complain("busy", sum);
			sum += refused(i);
		}
		sum += report("busy", i * i);
		if (sum == n)
			return refused(sum) + 1;
	}
	return sum;
}

} // namespace app
