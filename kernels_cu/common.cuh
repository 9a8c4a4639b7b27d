// What every kernel shares: its arguments, its place in the grid, and how operands are found.
//
// The compiler is given -DERT_KERNEL=<name>, -DPRECISION=<type of precision.cuh>, -DVECTOR_BYTES=16|32 and one -D for
// every parameter of the facts header.
#pragma once
#include "precision.cuh"
#include "ptx.cuh"

// operands   OPERAND_BYTES of seeded random normal numbers, then COEFFICIENT_ROWS rows of four coefficients
// results    written once at the end, so that nothing can be optimised away and every launch can be told from one that failed
// a, b, c    the arrays that share the working set
// trips      trips of the hot loop in one repeat;  repeats  passes over the working set
#define ERT_ARGUMENTS const void *operands, void *results, void *a, void *b, void *c, u64 trips, u64 repeats
#define ERT_GLOBAL extern "C" __global__ void __launch_bounds__(ERT_THREADS, ERT_BLOCKS_PER_SM)

enum { OPERAND_BYTES = 1 << 20, COEFFICIENT_ROWS = 256, COEFFICIENTS = 4 };

// A block works on tiles of ERT_THREADS * ERT_UNROLL vectors: neighbours touch neighbouring vectors, and a thread's ERT_UNROLL
// accesses differ by a constant, so that no instruction is spent on their addresses.
__device__ __forceinline__ u64 first_vector(u32 unroll) { return (u64)blockIdx.x * blockDim.x * unroll + threadIdx.x; }
__device__ __forceinline__ u64 vectors_per_trip(u32 unroll) { return (u64)gridDim.x * blockDim.x * unroll; }
__device__ __forceinline__ u64 global_thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

// Where the index-th of ``count`` values of this thread lies: beside those of its neighbours, so that what a block fetches
// before its loop and leaves behind it moves in whole lines and takes no time that counts.
__device__ __forceinline__ u64 slot(u32 count, u32 index) {
    return ((u64)blockIdx.x * count + index) * ERT_THREADS + threadIdx.x;
}

// The index-th of ``count`` random operands of this thread; the table repeats.
template <class T> __device__ __forceinline__ T operand(const void *operands, u32 count, u32 index) {
    return ((const T *)operands)[slot(count, index) % (OPERAND_BYTES / sizeof(T))];
}

// Coefficients differ from thread to thread and are unknown to the compiler; |a| < 1 keeps every chain finite.
template <class T> __device__ __forceinline__ T coefficient(const void *operands, u32 index) {
    const T *rows = (const T *)((const char *)operands + OPERAND_BYTES);
    return rows[(threadIdx.x % COEFFICIENT_ROWS) * COEFFICIENTS + index];
}

// Sums of raw bits are exact in any order, so a read is verified to the last bit, and to the last repeat.
__device__ __forceinline__ void add_bits(u32 *sum, const vector &value) {
#pragma unroll
    for (int i = 0; i < (int)(sizeof(vector) / 4); i++) sum[i % 4] += value.word[i];
}

// What a kernel leaves behind whose results lie in the arrays: each block says how many repeats it has done.
__device__ __forceinline__ void sign_off(void *results, u64 repeats) {
    if (threadIdx.x == 0) ((u64 *)results)[blockIdx.x] = repeats;
}
