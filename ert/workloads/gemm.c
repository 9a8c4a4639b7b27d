/* C = A B for this thread's rows of A and C; all matrices row by row. Blocked for registers (MR rows times NR vectors of C) and for the
 * first cache (KC rows of a panel of B, packed). operands: n, then k, as uint64_t; array: A (rows x k), B (k x n), C (rows x n);
 * bytes: rows. rows is a multiple of MR, n of NR vectors, k of KC. */
#include "ert.h"

#if ERT_VECTOR_BYTES == 64
enum { MR = 8, NR = 3 }; /* 24 of 32 registers hold C */
#else
enum { MR = 4, NR = 3 }; /* 12 of 16 */
#endif
enum { LANES = ERT_VECTOR_BYTES / sizeof(ert_scalar), WIDTH = NR * LANES, KC = 96 };

typedef ert_scalar ert_loose __attribute__((vector_size(ERT_VECTOR_BYTES), aligned(1), may_alias));

static void pack(ert_scalar *panel, const ert_scalar *b, uint64_t n) {
    for (int row = 0; row < KC; row++)
        for (int v = 0; v < NR; v++)
            *(ert_vec *)(panel + row * WIDTH + v * LANES) = *(const ert_loose *)(b + row * n + v * LANES);
}

static void multiply(const ert_scalar *a, uint64_t k, const ert_scalar *panel, ert_scalar *c, uint64_t n, int is_first) {
    ert_vec sum[MR][NR];
    ERT_UNROLL_FULLY
    for (int i = 0; i < MR; i++)
        ERT_UNROLL_FULLY
        for (int v = 0; v < NR; v++) sum[i][v] = is_first ? (ert_vec){0} : (ert_vec) * (const ert_loose *)(c + i * n + v * LANES);
    for (int row = 0; row < KC; row++) {
        ert_vec b[NR];
        ERT_UNROLL_FULLY
        for (int v = 0; v < NR; v++) {
            b[v] = *(const ert_vec *)(panel + row * WIDTH + v * LANES);
            ERT_IN_REGISTER(b[v]); /* loaded once, not once per row: the load ports would be the limit */
        }
        ERT_UNROLL_FULLY
        for (int i = 0; i < MR; i++)
            ERT_UNROLL_FULLY
            for (int v = 0; v < NR; v++) sum[i][v] += a[i * k + row] * b[v];
    }
    ERT_UNROLL_FULLY
    for (int i = 0; i < MR; i++)
        ERT_UNROLL_FULLY
        for (int v = 0; v < NR; v++) *(ert_loose *)(c + i * n + v * LANES) = sum[i][v];
}

uint64_t ert_kernel(const ert_work *work) {
    const uint64_t *size = (const uint64_t *)work->operands, n = size[0], k = size[1], rows = work->bytes;
    ert_scalar panel[KC * WIDTH] __attribute__((aligned(64)));
    for (uint64_t pass = 0; pass < work->passes; pass++) {
        const ert_scalar *a = (const ert_scalar *)work->array[0], *b = (const ert_scalar *)work->array[1];
        ert_scalar *c = (ert_scalar *)work->array[2];
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c) : : "memory");
        for (uint64_t deep = 0; deep < k; deep += KC)
            for (uint64_t right = 0; right < n; right += WIDTH) {
                pack(panel, b + deep * n + right, n);
                for (uint64_t down = 0; down < rows; down += MR)
                    multiply(a + down * k + deep, k, panel, c + down * n + right, n, deep == 0);
            }
    }
    return work->passes;
}
