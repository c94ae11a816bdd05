/* convention.h: the calling convention that decides from which registers hooks take values (values.h). It declares
 * nothing, so that files whose functions must not use vector registers can test it before they include other headers. */

#ifndef LOGREC_CONVENTION_H
#define LOGREC_CONVENTION_H

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__)
#define LR_HAVE_PLANS 1
#define LR_CONVENTION "sysv"
#define LR_MACHINE "x86-64"
/* LOGREC_ASSEMBLED is for clang-cl, which does not compile C and assembly files in one command: it says that
 * hooks_cyg_windows.S and hooks_fentry_windows.S are linked as well. */
#elif defined(__x86_64__) && defined(_WIN32) && (!defined(_MSC_VER) || (defined(__clang__) && defined(LOGREC_ASSEMBLED)))
#define LR_HAVE_PLANS 1
#define LR_CONVENTION "win64"
#define LR_MACHINE "x86-64"
#elif defined(__i386__) && defined(__ELF__) && defined(__linux__)
#define LR_HAVE_PLANS 1
#define LR_CONVENTION "x86"
#define LR_MACHINE "x86"
#elif defined(__i386__) && defined(_WIN32) && !defined(_MSC_VER)
#define LR_HAVE_PLANS 1
#define LR_CONVENTION "win32"
#define LR_MACHINE "x86"
#elif defined(__aarch64__) && defined(__ELF__) && defined(__linux__) && defined(__LP64__) && !defined(__AARCH64EB__)
#define LR_HAVE_PLANS 1
#define LR_CONVENTION "aapcs64"
#define LR_MACHINE "arm64"
#else
#define LR_HAVE_PLANS 0
#endif

/* 1 on x86-64. Elsewhere only the slow path takes values, and LOGREC_VALUES=raw is not available. */
#if LR_HAVE_PLANS && defined(__x86_64__)
#define LR_HAVE_ALL_PLANS 1
#else
#define LR_HAVE_ALL_PLANS 0
#endif

/* 1 where values are taken in the middle of functions, at the hooks of -finstrument-functions. */
#if LR_HAVE_ALL_PLANS || (LR_HAVE_PLANS && defined(__i386__) && defined(__ELF__))
#define LR_HAVE_HOOK_PLANS 1
#else
#define LR_HAVE_HOOK_PLANS 0
#endif

/* 1 where calls that end with a jump are told (jumps.h), which needs to see a longjmp. */
#if LR_HAVE_ALL_PLANS && defined(__linux__) && !defined(LOGREC_NO_INTERPOSE)
#define LR_HAVE_JUMPS 1
#else
#define LR_HAVE_JUMPS 0
#endif

#endif
