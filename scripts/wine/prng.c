/* The one function of bcryptprimitives.dll that Go programs call. wine before
   version 9 does not have the library, and every Go program ends at its start.
   For test prefixes only. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length); /* RtlGenRandom */

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *buffer, SIZE_T length)
{
	return SystemFunction036(buffer, (ULONG)length);
}
