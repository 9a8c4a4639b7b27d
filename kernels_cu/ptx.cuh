// All the PTX of the project, so that kernels read as plain C++ and a host compiler can take a fallback for each of it.
//
// Loads and stores are volatile: they happen exactly where and as often as written. Arithmetic is not: its results are
// stored, so it cannot vanish, and the scheduler stays free.
#pragma once
#include "precision.cuh"

#ifdef __SOFTCUDA__
#include "softcuda_ptx.h"
#else

// ---- global memory. ca: kept in L1; cg: L1 bypassed.
#define ERT_LOAD(NAME, OPERATOR) ERT_LOAD_WIDTH(NAME, OPERATOR)
#if ERT_VECTOR_BYTES == 32
#define ERT_LOAD_WIDTH(NAME, OPERATOR)                                                                                 \
    __device__ __forceinline__ vector NAME(const vector *p) {                                                          \
        vector v;                                                                                                      \
        asm volatile("ld.global" OPERATOR ".v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"                                   \
                     : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]), "=r"(v.word[4]),            \
                       "=r"(v.word[5]), "=r"(v.word[6]), "=r"(v.word[7]) : "l"(p));                                    \
        return v;                                                                                                      \
    }
__device__ __forceinline__ void store(vector *p, const vector &v) {
    asm volatile("st.global.v8.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8};" ::"l"(p), "r"(v.word[0]), "r"(v.word[1]),
                 "r"(v.word[2]), "r"(v.word[3]), "r"(v.word[4]), "r"(v.word[5]), "r"(v.word[6]), "r"(v.word[7]));
}
#else
#define ERT_LOAD_WIDTH(NAME, OPERATOR)                                                                                 \
    __device__ __forceinline__ vector NAME(const vector *p) {                                                          \
        vector v;                                                                                                      \
        asm volatile("ld.global" OPERATOR ".v4.b32 {%0,%1,%2,%3}, [%4];"                                               \
                     : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(p));                   \
        return v;                                                                                                      \
    }
__device__ __forceinline__ void store(vector *p, const vector &v) {
    asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]),
                 "r"(v.word[3]));
}
#endif
ERT_LOAD(load_ca, ".ca")
ERT_LOAD(load_cg, ".cg")

// One hop of a pointer chase: the offset of the next line, read from offset ``at``.
__device__ __forceinline__ u32 load_hop_ca(const void *base, u32 at) {
    u32 next;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(next) : "l"((const char *)base + at));
    return next;
}

// ---- shared memory, addressed in the shared window so that one instruction needs one register of address
typedef u32 shared_address;
__device__ __forceinline__ shared_address shared_window(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ vector128 load_shared(shared_address at) {
    vector128 v;
    asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "r"(at));
    return v;
}
__device__ __forceinline__ void store_shared(shared_address at, const vector128 &v) {
    asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]),
                 "r"(v.word[3]));
}

// ---- vector arithmetic
__device__ __forceinline__ fp64 multiply_add(fp64 x, fp64 y, fp64 z) { return __fma_rn(x, y, z); }
__device__ __forceinline__ fp32 multiply_add(fp32 x, fp32 y, fp32 z) { return __fmaf_rn(x, y, z); }
__device__ __forceinline__ fp64 sum(fp64 x, fp64 y) { return __dadd_rn(x, y); }
__device__ __forceinline__ fp32 sum(fp32 x, fp32 y) { return __fadd_rn(x, y); }
__device__ __forceinline__ fp64 product(fp64 x, fp64 y) { return __dmul_rn(x, y); }
__device__ __forceinline__ fp32 product(fp32 x, fp32 y) { return __fmul_rn(x, y); }
__device__ __forceinline__ int32 multiply_add(int32 x, int32 y, int32 z) {
    asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(z) : "r"(x), "r"(y), "r"(z));
    return z;
}
__device__ __forceinline__ int32 dot4(int8 x, int8 y, int32 z) {
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(z) : "r"(x.quad), "r"(y.quad), "r"(z));
    return z;
}
#define ERT_PAIR_FMA(TYPE, SUFFIX)                                                                                     \
    __device__ __forceinline__ TYPE multiply_add(TYPE x, TYPE y, TYPE z) {                                             \
        asm("fma.rn." SUFFIX " %0, %1, %2, %3;" : "=r"(z.pair) : "r"(x.pair), "r"(y.pair), "r"(z.pair));               \
        return z;                                                                                                      \
    }
#define ERT_PAIR_OPERATION(NAME, OPERATION, TYPE, SUFFIX)                                                              \
    __device__ __forceinline__ TYPE NAME(TYPE x, TYPE y) {                                                             \
        asm(OPERATION ".rn." SUFFIX " %0, %1, %2;" : "=r"(x.pair) : "r"(x.pair), "r"(y.pair));                         \
        return x;                                                                                                      \
    }
ERT_PAIR_FMA(fp16, "f16x2")
ERT_PAIR_FMA(bf16, "bf16x2")
ERT_PAIR_OPERATION(sum, "add", fp16, "f16x2")
ERT_PAIR_OPERATION(product, "mul", fp16, "f16x2")
#if __CUDA_ARCH__ >= 900
ERT_PAIR_OPERATION(sum, "add", bf16, "bf16x2")
ERT_PAIR_OPERATION(product, "mul", bf16, "bf16x2")
#else
// Before Hopper bfloat16 has an FMA only: x * 1 + y.
__device__ __forceinline__ bf16 sum(bf16 x, bf16 y) { return multiply_add(x, bf16{0x3f803f80u}, y); }
#endif
__device__ __forceinline__ fp32x2 multiply_add(fp32x2 x, fp32x2 y, fp32x2 z) {
    asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(z.pair) : "l"(x.pair), "l"(y.pair), "l"(z.pair));
    return z;
}

#endif
