/* Stores: through the caches, or past them (non-temporal) where the target has such an instruction. */
#ifndef ERT_STORE_H
#define ERT_STORE_H

#include "ert.h"

#ifndef ERT_NONTEMPORAL
#define ERT_NONTEMPORAL 0
#endif

#if !ERT_NONTEMPORAL
static inline void ert_store(char *to, ert_bits value) { *(ert_bits *)to = value; }
#elif defined(__x86_64__)
/* In assembly: the header with the intrinsics takes longer to read than all else of a kernel to compile. */
#if defined(__AVX512F__) && ERT_VECTOR_BYTES == 64
#define ERT_STREAM "vmovntdq %1, %0"
#define ERT_REGISTER "v"
#elif defined(__AVX__)
#define ERT_STREAM "vmovntdq %1, %0"
#define ERT_REGISTER "x"
#else
#define ERT_STREAM "movntdq %1, %0"
#define ERT_REGISTER "x"
#endif
static inline void ert_store(char *to, ert_bits value) { __asm__(ERT_STREAM : "=m"(*(ert_bits *)to) : ERT_REGISTER(value)); }
#else
/* aarch64 has only a pair store with this hint; half of each vector goes to each side. */
static inline void ert_store(char *to, ert_bits value) {
    __asm__ volatile("stnp %d1, %d2, [%0]" : : "r"(to), "w"(value), "w"(__builtin_shufflevector(value, value, 1, 0)) : "memory");
}
#endif

/* Non-temporal stores are weakly ordered: a pass has ended when the last one is visible. */
static inline void ert_finish_stores(void) {
#if ERT_NONTEMPORAL && defined(__x86_64__)
    __asm__ volatile("sfence" : : : "memory");
#elif ERT_NONTEMPORAL
    __asm__ volatile("dmb ishst" : : : "memory");
#endif
}

#endif
