/* Stores: through the caches, or past them (non-temporal) where the target has such an instruction. */
#ifndef ERT_STORE_H
#define ERT_STORE_H

#include "ert.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef ERT_NONTEMPORAL
#define ERT_NONTEMPORAL 0
#endif

#if !ERT_NONTEMPORAL
static inline void ert_store(char *to, ert_bits value) { *(ert_bits *)to = value; }
#elif defined(__AVX512F__) && ERT_VECTOR_BYTES == 64
static inline void ert_store(char *to, ert_bits value) { _mm512_stream_si512((__m512i *)to, (__m512i)value); }
#elif defined(__AVX__) && ERT_VECTOR_BYTES == 32
static inline void ert_store(char *to, ert_bits value) { _mm256_stream_si256((__m256i *)to, (__m256i)value); }
#elif defined(__x86_64__)
static inline void ert_store(char *to, ert_bits value) { _mm_stream_si128((__m128i *)to, (__m128i)value); }
#else
/* aarch64 has only a pair store with this hint; half of each vector goes to each side. */
static inline void ert_store(char *to, ert_bits value) {
    __asm__ volatile("stnp %d1, %d2, [%0]" : : "r"(to), "w"(value), "w"(__builtin_shufflevector(value, value, 1, 0)) : "memory");
}
#endif

/* Non-temporal stores are weakly ordered: a pass has ended when the last one is visible. */
static inline void ert_finish_stores(void) {
#if ERT_NONTEMPORAL && defined(__x86_64__)
    _mm_sfence();
#elif ERT_NONTEMPORAL
    __asm__ volatile("dmb ishst" : : : "memory");
#endif
}

#endif
