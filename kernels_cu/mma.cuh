// ERT_TILES independent accumulator tiles per warp, ERT_STEPS multiplications of each in one trip.
#pragma once
#include "common.cuh"
#include "ptx_mma.cuh"

// A, B, D registers per lane; MULTIPLY(d, a, b). Every tile has its own A and every step its own B: equal operands would
// let the compiler merge multiplications.
template <class T, int A, int B, int D, class S, class MULTIPLY>
__device__ __forceinline__ void run_tiles(const void *operands, void *results, u64 repeats, MULTIPLY multiply) {
    T a[ERT_TILES][A], b[ERT_STEPS][B];
    S d[ERT_TILES][D];
    const u32 count = ERT_TILES * A + ERT_STEPS * B;
#pragma unroll
    for (int t = 0; t < ERT_TILES; t++) {
#pragma unroll
        for (int i = 0; i < A; i++) a[t][i] = operand<T>(operands, count, t * A + i);
#pragma unroll
        for (int i = 0; i < D; i++) d[t][i] = 0;
    }
#pragma unroll
    for (int s = 0; s < ERT_STEPS; s++)
#pragma unroll
        for (int i = 0; i < B; i++) b[s][i] = operand<T>(operands, count, ERT_TILES * A + s * B + i);
#pragma unroll 1
    for (u64 repeat = 0; repeat < repeats; repeat++)
#pragma unroll
        for (int s = 0; s < ERT_STEPS; s++)
#pragma unroll
            for (int t = 0; t < ERT_TILES; t++) multiply(d[t], a[t], b[s]);
#pragma unroll
    for (int t = 0; t < ERT_TILES; t++)
#pragma unroll
        for (int i = 0; i < D; i++) ((S *)results)[slot(ERT_TILES * D, t * D + i)] = d[t][i];
}
