// mma.sync as a collective of one warp, with the fragment layouts of the PTX manual.
#pragma once
#include "ptx_mma.cuh"
#include "softcuda_float.h"

// m16n8 with COLUMNS registers of k per row: A register i holds row g (+ 8 for odd i), k register q (+ 4 for i >= 2), where
// g = lane / 4 and q = lane % 4; B register i column g, k register q + 4 i; D element i row g (+ 8 for i >= 2), column 2 q + i % 2.
template <class T, int A, int B, class S> SOFT_UNCOUNTED inline void soft_mma_m16n8(S *d, const T *a, const T *b) {
    typedef soft_elements<T> E;
    struct fragment { u32 a[A], b[B]; } mine;
    memcpy(mine.a, a, sizeof mine.a), memcpy(mine.b, b, sizeof mine.b);
    soft_put(mine);
    const int lane = soft_lane(), g = lane / 4, q = lane % 4;
    for (int i = 0; i < 4; i++) {
        const int row = g + 8 * (i / 2), column = 2 * q + i % 2;
        S total = d[i];
        for (int k = 0; k < 4 * B; k++) {
            const u32 x = soft_get<fragment>(row % 8 * 4 + k % 4).a[row / 8 + 2 * (k / 4)];
            const u32 y = soft_get<fragment>(column * 4 + k % 4).b[k / 4];
            for (int e = 0; e < E::COUNT; e++) total += E::at(x, e) * E::at(y, e);
        }
        d[i] = total;
    }
    if (!lane) soft_count(E::COUNTER, 2 * 16 * 8 * 4 * B * E::COUNT);
    __syncwarp();
}
template <class T> inline void mma(typename accumulator<T>::type *d, const T *a, const T *b) { soft_mma_m16n8<T, 4, 2>(d, a, b); }
inline void mma_k8(fp32 *d, const fp16 *a, const fp16 *b) { soft_mma_m16n8<fp16, 2, 1>(d, a, b); }

// m8n8k4 on doubles: A row g, k q; B column g, k q; D row g, columns 2 q and 2 q + 1.
SOFT_UNCOUNTED inline void mma_k4(fp64 *d, fp64 a, fp64 b) {
    struct fragment { fp64 a, b; } mine = {a, b};
    soft_put(mine);
    const int lane = soft_lane(), g = lane / 4, q = lane % 4;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++)
            d[i] = __builtin_fma(soft_get<fragment>(4 * g + k).a, soft_get<fragment>(4 * (2 * q + i) + k).b, d[i]);
    if (!lane) soft_count(SOFT_MMA_FP64, 2 * 8 * 8 * 4);
    __syncwarp();
}
