// tcgen05 without the asynchrony: tensor memory is an array, one thread multiplies.
#pragma once
#include "softcuda_wgmma.h"

static u32 soft_tensor_memory[MMA_M][TENSOR_COLUMNS];

inline u64 tcgen05_descriptor(const void *p) { return matrix_descriptor(p); }
inline void tensor_memory_take(u32 *address) { *address = 0; }
inline void tensor_memory_give(u32) {}
inline void barrier_start(u64 *barrier) { *barrier = 0; }
inline void barrier_wait(u64 *) { __syncthreads(); }
inline void tcgen05_fence() {}
inline void tcgen05_commit(u64 *) {}
inline bool elect_one() { return soft_lane() == 0; }

// An address is lane << 16 | column; a warp reads one lane per thread.
SOFT_UNCOUNTED inline u32 tensor_memory_read(u32 address) { return soft_tensor_memory[(address >> 16) + soft_lane()][address & 0xffff]; }

template <class T> SOFT_UNCOUNTED void tcgen05_mma(u32 d, u64 a, u64 b, u32 accumulate) {
    typedef typename accumulator<T>::type S;
    __soft_state.access((const void *)a, MMA_M * 32, SOFT_TENSOR), __soft_state.access((const void *)b, MMA_N * 32, SOFT_TENSOR);
    for (int row = 0; row < MMA_M; row++)
        for (int column = 0; column < MMA_N; column++) {
            u32 &slot = soft_tensor_memory[row][d + column];
            S total = accumulate ? soft_bits<S>(slot) : 0;
            soft_dot_row<T>(total, a, row, b, column);
            slot = soft_bits<u32>(total);
        }
    soft_count(soft_elements<T>::COUNTER, 2 * MMA_M * MMA_N * 8 * soft_elements<T>::COUNT);
}
