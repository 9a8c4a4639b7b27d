// Tensor cores through mma.sync: D += A * B on one warp, fragments as the PTX manual lays them out.
#pragma once
#include "precision.cuh"

// Accumulators are fp32 for every floating-point type, as in training and in GEMM libraries, and int32 for int8.
template <class T> struct accumulator { typedef fp32 type; };
template <> struct accumulator<int8> { typedef int32 type; };

#ifndef __SOFTCUDA__

// m16n8k(32 bytes of k): A is four registers, B two, D four.
#define ERT_MMA(TYPE, FIELD, SHAPE, SUM, CONSTRAINT)                                                                   \
    __device__ __forceinline__ void mma(SUM *d, const TYPE *a, const TYPE *b) {                                        \
        asm("mma.sync.aligned." SHAPE " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"                            \
            : CONSTRAINT(d[0]), CONSTRAINT(d[1]), CONSTRAINT(d[2]), CONSTRAINT(d[3])                                   \
            : "r"(a[0].FIELD), "r"(a[1].FIELD), "r"(a[2].FIELD), "r"(a[3].FIELD), "r"(b[0].FIELD), "r"(b[1].FIELD));   \
    }
ERT_MMA(fp16, pair, "m16n8k16.row.col.f32.f16.f16.f32", fp32, "+f")
ERT_MMA(bf16, pair, "m16n8k16.row.col.f32.bf16.bf16.f32", fp32, "+f")
ERT_MMA(tf32, word, "m16n8k8.row.col.f32.tf32.tf32.f32", fp32, "+f")
ERT_MMA(fp8, quad, "m16n8k32.row.col.f32.e4m3.e4m3.f32", fp32, "+f")
ERT_MMA(int8, quad, "m16n8k32.row.col.s32.s8.s8.s32", int32, "+r")

// m16n8k8: all that Turing has. A is two registers, B one.
__device__ __forceinline__ void mma_k8(fp32 *d, const fp16 *a, const fp16 *b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0].pair), "r"(a[1].pair), "r"(b[0].pair));
}

// m8n8k4 on doubles: A and B are one register, D two.
__device__ __forceinline__ void mma_k4(fp64 *d, fp64 a, fp64 b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
}

// m16n8k16 on doubles: A is eight registers, B four, D four.
__device__ __forceinline__ void mma_k16(fp64 *d, const fp64 *a, const fp64 *b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7,%8,%9,%10,%11},{%12,%13,%14,%15},{%0,%1,%2,%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}

#else

// m16n8k16 on doubles as the m8n8k4 it is made of: registers alternate between the upper and lower eight rows of A, every pair is
// four of k.
inline void mma_k4(fp64 *d, fp64 a, fp64 b);
inline void mma_k16(fp64 *d, const fp64 *a, const fp64 *b) {
    for (int i = 0; i < 8; i++) mma_k4(d + i % 2 * 2, a[i], b[i / 2]);
}

#endif
