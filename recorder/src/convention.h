/* convention.h: the calling convention by whose registers hooks take values (values.h). It declares nothing, so that
 * files whose functions must not touch vector registers can ask first. */

#ifndef LOGREC_CONVENTION_H
#define LOGREC_CONVENTION_H

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__)
#define LR_HAVE_PLANS 1
#define LR_CONVENTION "sysv"
#elif defined(__x86_64__) && defined(_WIN32) && !defined(_MSC_VER)
#define LR_HAVE_PLANS 1
#define LR_CONVENTION "win64"
#else
#define LR_HAVE_PLANS 0
#endif

#endif
