// ERT_FLOPS operations on each element that passes through: half as many FMAs, and one addition where it is odd.
#pragma once
#include "common.cuh"

// Longer chains than this run as a loop of chunks: 64 KiB of straight code would measure the fetching of instructions.
enum { CHUNK = 32, CHUNKS = ERT_FLOPS / 2 / CHUNK, ELEMENTS = ERT_VECTOR_BYTES / (int)sizeof(ERT_PRECISION) };

typedef lanes<ERT_PRECISION> registers;

template <int COUNT>
__device__ __forceinline__ void multiply_add_each(registers (&x)[ERT_UNROLL], const ERT_PRECISION (&a)[2], const ERT_PRECISION (&b)[2]) {
#pragma unroll
    for (int k = 0; k < COUNT; k++)
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++)
#pragma unroll
            for (int j = 0; j < ELEMENTS; j++) x[i].lane[j] = multiply_add(x[i].lane[j], a[k % 2], b[k % 2]);
}

__device__ __forceinline__ void work_on(registers (&x)[ERT_UNROLL], const ERT_PRECISION (&a)[2], const ERT_PRECISION (&b)[2]) {
    if (ERT_FLOPS % 2)
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++)
#pragma unroll
            for (int j = 0; j < ELEMENTS; j++) x[i].lane[j] = sum(x[i].lane[j], b[0]);
    if (CHUNKS <= 1) multiply_add_each<ERT_FLOPS / 2>(x, a, b);
    else
#pragma unroll 1
        for (int chunk = 0; chunk < CHUNKS; chunk++) multiply_add_each<CHUNK>(x, a, b);
}
