// Shared memory of a block: ROWS rows of one 16-byte vector per thread, filled with random numbers.
#pragma once
#include "common.cuh"

enum { ROW_BYTES = ERT_THREADS * 16, WARP_ROW_BYTES = 32 * 16 };

// A warp moves on by one warp's width each trip: the lanes stay free of bank conflicts, and an address that moves is not
// hoisted out of the loop.
__device__ __forceinline__ u32 next_offset(u32 offset) { return (offset + WARP_ROW_BYTES) % ROW_BYTES; }

template <int ROWS> __device__ __forceinline__ shared_address fill_shared(vector128 *memory, const void *operands) {
#pragma unroll
    for (int i = 0; i < ROWS; i++) memory[i * ERT_THREADS + threadIdx.x] = operand<vector128>(operands, ROWS, i);
    __syncthreads();
    return shared_window(memory);
}
