/* c = a + b. */
#include "ert.h"

typedef ert_scalar ert_loose __attribute__((vector_size(ERT_VECTOR_BYTES), aligned(1), may_alias));
enum { UNROLL = 4, STEP = UNROLL * ERT_VECTOR_BYTES };

uint64_t ert_kernel(const ert_work *work) {
    for (uint64_t pass = 0; pass < work->passes; pass++) {
        const char *a = work->array[0], *b = work->array[1];
        char *c = work->array[2];
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c) : : "memory");
        for (uint64_t at = 0; at < work->bytes; at += STEP) {
            ERT_UNROLL_FULLY
            for (int v = 0; v < UNROLL; v++) {
                const int here = v * ERT_VECTOR_BYTES;
                *(ert_loose *)(c + at + here) = *(const ert_loose *)(a + at + here) + *(const ert_loose *)(b + at + here);
            }
        }
    }
    return work->passes;
}
