/* Functions that call others, and each other through the linkage table. */
extern int report(const char *text);
extern int counted(int n);

static __attribute__((noinline)) int helper(int n)
{
	return n * 3 + (n > 4 ? report("helper") : 0);
}

int area(int n)
{
	return helper(n) + counted(n);
}

__attribute__((weak)) int scaled(int n)
{
	return area(n) * 2;
}

int last(int n)
{
	return n > 2 ? counted(n + 1) : report("last");
}
