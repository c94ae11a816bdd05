/* A Windows program that crashes, walks its own stack as the system does it, prints what it
   finds, and writes a minidump. */
#include <windows.h>
#include <dbghelp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static volatile long sink;
static long *volatile nowhere;

NOINLINE long leaf(long *p, long n) { return *p + n; }
NOINLINE long saves(long *p, long a, long b, long c) {
	long x = leaf(p, a), y = leaf(p, b), z = leaf(p, c);
	sink = x * y * z;
	return x + y + z + sink;
}
NOINLINE long roomy(long *p, size_t size) {
	char *room = __builtin_alloca(size);
	memset(room, 1, size);
	long v = saves(p, room[0], room[1], room[2]);
	sink = room[size / 2];
	return v;
}
NOINLINE long large(long *p) {
	char room[70000];
	memset(room, (int)sink, sizeof room);
	long v = roomy(p, 500 + (size_t)sink);
	sink = room[v & 1023];
	return v;
}
static int compare(const void *a, const void *b) {
	sink = large(nowhere);
	return *(const char *)a - *(const char *)b;
}

static LONG WINAPI crashed(EXCEPTION_POINTERS *e) {
	CONTEXT c = *e->ContextRecord;
	for (int i = 0; i < 64 && c.Rip; i++) {
		printf("%p\n", (void *)c.Rip);
		DWORD64 base, frame;
		void *data;
		RUNTIME_FUNCTION *f = RtlLookupFunctionEntry(c.Rip, &base, NULL);
		if (f) {
			RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, c.Rip, f, &c, &data, &frame, NULL);
		} else {
			c.Rip = *(DWORD64 *)c.Rsp;
			c.Rsp += 8;
		}
	}
	fflush(stdout);
	HANDLE file = CreateFileA("crash.dmp", GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
	MINIDUMP_EXCEPTION_INFORMATION info = {GetCurrentThreadId(), e, FALSE};
	MiniDumpWriteDump(GetCurrentProcess(), GetCurrentProcessId(), file, MiniDumpNormal, &info, NULL, NULL);
	CloseHandle(file);
	ExitProcess(3);
	return EXCEPTION_EXECUTE_HANDLER;
}

int main(void) {
	char text[] = "dcba";
	SetUnhandledExceptionFilter(crashed);
	qsort(text, 4, 1, compare);
	return text[0];
}
