// wgmma without the asynchrony: each thread computes its own part of D from shared memory.
#pragma once
#include "softcuda_float.h"

inline u64 matrix_descriptor(const void *p) { return (u64)p; }
inline void fence_shared_for_tensor_cores() {}
inline void wgmma_fence() {}
inline void wgmma_commit() {}
inline void wgmma_wait() {}

// Register ``k`` (of the 8 that span 32 bytes) of one row of a K-major matrix in core matrices of 8 rows by 16 bytes.
SOFT_UNCOUNTED inline u32 soft_core_register(u64 matrix, int row, int k) {
    return *(const u32 *)(matrix + row / 8 * CORE_ROW_STRIDE + row % 8 * 16 + k / 4 * CORE_K_STRIDE + k % 4 * 4);
}

template <class T, class S> SOFT_UNCOUNTED void soft_dot_row(S &total, u64 a, int row, u64 b, int column) {
    typedef soft_elements<T> E;
    for (int k = 0; k < 8; k++) {
        const u32 x = soft_core_register(a, row, k), y = soft_core_register(b, column, k);
        for (int e = 0; e < E::COUNT; e++) total += E::at(x, e) * E::at(y, e);
    }
}

// D of m64n256: warp w has rows 16 w .. 16 w + 15; register i row lane / 4 (+ 8 for i / 2 odd), column 8 (i / 4) + 2 (lane % 4) + i % 2.
template <class T> SOFT_UNCOUNTED void wgmma(typename accumulator<T>::type *d, u64 a, u64 b) {
    __soft_state.access((const void *)a, 64 * 32, SOFT_TENSOR), __soft_state.access((const void *)b, 256 * 32, SOFT_TENSOR);
    const int thread = __soft_state.linear_thread % 128, lane = thread % 32;
    for (int i = 0; i < 128; i++)
        soft_dot_row<T>(d[i], a, thread / 32 * 16 + lane / 4 + i / 2 % 2 * 8, b, i / 4 * 8 + lane % 4 * 2 + i % 2);
    soft_count(soft_elements<T>::COUNTER, 2 * 256 * 8 * soft_elements<T>::COUNT / 2);
}
