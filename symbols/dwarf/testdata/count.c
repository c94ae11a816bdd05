/* A unit of another language. */
int report(const char *text, int n);

static inline __attribute__((always_inline)) int half(int n)
{
	return n / 2 + report("half", n);
}

static __attribute__((noinline)) int third(int n)
{
	return half(n) / 3;
}

int counted(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += third(i) + half(i);
	return sum;
}
