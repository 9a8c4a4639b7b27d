// ERT_CHAINS independent chains of one operation in registers, ERT_STEPS long in one trip of the loop.
//
// Four coefficients a0 b0 a1 b1 alternate, so that operands change from step to step.
#pragma once
#include "common.cuh"

// T: what a chain holds; OPERATION(x, step, coefficient) -> x
template <class T, class C, class OPERATION>
__device__ __forceinline__ void run_chains(const void *operands, void *results, u64 repeats, OPERATION operation) {
    T x[ERT_CHAINS];
    C k[COEFFICIENTS];
#pragma unroll
    for (int i = 0; i < COEFFICIENTS; i++) k[i] = coefficient<C>(operands, i);
#pragma unroll
    for (int i = 0; i < ERT_CHAINS; i++) x[i] = operand<T>(operands, ERT_CHAINS, i);
#pragma unroll 1
    for (u64 repeat = 0; repeat < repeats; repeat++)
#pragma unroll
        for (int step = 0; step < ERT_STEPS; step++)
#pragma unroll
            for (int i = 0; i < ERT_CHAINS; i++) x[i] = operation(x[i], k, step % 2);
#pragma unroll
    for (int i = 0; i < ERT_CHAINS; i++) ((T *)results)[slot(ERT_CHAINS, i)] = x[i];
}
