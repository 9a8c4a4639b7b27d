/* y += a x at every ERT_STRIDE-th element. The arrays may begin anywhere: every access is made as for unaligned data. */
#include "ert.h"

typedef ert_scalar ert_loose __attribute__((vector_size(ERT_VECTOR_BYTES), aligned(1), may_alias));
typedef ert_scalar ert_loose_scalar __attribute__((aligned(1), may_alias));
enum { UNROLL = 4, STEP = UNROLL * ERT_VECTOR_BYTES };

uint64_t ert_kernel(const ert_work *work) {
    const ert_scalar a = *(const ert_scalar *)work->operands;
    for (uint64_t pass = 0; pass < work->passes; pass++) {
        const char *x = work->array[0];
        char *y = work->array[1];
        /* The compiler must not see that the passes repeat the same work. */
        __asm__ volatile("" : "+r"(x), "+r"(y) : : "memory");
#if ERT_STRIDE == 1
        for (uint64_t at = 0; at < work->bytes; at += STEP) {
            ERT_UNROLL_FULLY
            for (int v = 0; v < UNROLL; v++)
                *(ert_loose *)(y + at + v * ERT_VECTOR_BYTES) += a * *(const ert_loose *)(x + at + v * ERT_VECTOR_BYTES);
        }
#else
        for (uint64_t at = 0; at < work->bytes; at += ERT_STRIDE * sizeof(ert_scalar))
            *(ert_loose_scalar *)(y + at) += a * *(const ert_loose_scalar *)(x + at);
#endif
    }
    return work->passes;
}
