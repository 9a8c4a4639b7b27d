// What kernels_cu/ptx.cuh does in PTX, in C++: loads, stores and arithmetic, counted.
#pragma once
#include "softcuda_float.h"
#include "softcuda_mma.h"

// ---- memory
SOFT_UNCOUNTED inline vector load_ca(const vector *p) {
    __soft_state.access(p, sizeof *p, SOFT_CACHED);
    return *p;
}
SOFT_UNCOUNTED inline vector load_cg(const vector *p) {
    __soft_state.access(p, sizeof *p, 0);
    return *p;
}
SOFT_UNCOUNTED inline void store(vector *p, const vector &value) {
    __soft_state.access(p, sizeof *p, SOFT_WRITE);
    *p = value;
}
SOFT_UNCOUNTED inline u32 load_hop_ca(const void *base, u32 at) {
    const u32 *p = (const u32 *)((const char *)base + at);
    __soft_state.access(p, sizeof *p, SOFT_CACHED);
    return *p;
}

typedef char *shared_address;
inline shared_address shared_window(const void *p) { return (char *)p; }
SOFT_UNCOUNTED inline vector128 load_shared(shared_address at) {
    __soft_state.access(at, sizeof(vector128), SOFT_SHARED);
    return *(const vector128 *)at;
}
SOFT_UNCOUNTED inline void store_shared(shared_address at, const vector128 &value) {
    __soft_state.access(at, sizeof value, SOFT_SHARED | SOFT_WRITE);
    *(vector128 *)at = value;
}

// ---- arithmetic, rounded once as the hardware does
#define SOFT_OPERATIONS(TYPE, NAME, LANES, FMA, ADD, MUL)                                                              \
    SOFT_UNCOUNTED inline TYPE multiply_add(TYPE x, TYPE y, TYPE z) { soft_count(SOFT_##NAME, 2 * LANES); return FMA; } \
    SOFT_UNCOUNTED inline TYPE sum(TYPE x, TYPE y) {                                                                   \
        soft_count(SOFT_##NAME, LANES), soft_count(SOFT_LONE_##NAME, LANES);                                           \
        return ADD;                                                                                                    \
    }                                                                                                                  \
    SOFT_UNCOUNTED inline TYPE product(TYPE x, TYPE y) {                                                               \
        soft_count(SOFT_##NAME, LANES), soft_count(SOFT_LONE_##NAME, LANES);                                           \
        return MUL;                                                                                                    \
    }
SOFT_OPERATIONS(fp64, FP64, 1, __builtin_fma(x, y, z), x + y, x * y)
SOFT_OPERATIONS(fp32, FP32, 1, __builtin_fmaf(x, y, z), x + y, x * y)
SOFT_OPERATIONS(fp16, FP16, 2, (soft_pairwise<soft_half>(x, y, z)), (soft_pairwise<soft_half>(x, soft_half::ones(), y)),
                (soft_pairwise<soft_half>(x, y, soft_half::zeros())))
SOFT_OPERATIONS(bf16, BF16, 2, (soft_pairwise<soft_bfloat>(x, y, z)), (soft_pairwise<soft_bfloat>(x, soft_bfloat::ones(), y)),
                (soft_pairwise<soft_bfloat>(x, y, soft_bfloat::zeros())))

SOFT_UNCOUNTED inline fp32x2 multiply_add(fp32x2 x, fp32x2 y, fp32x2 z) {
    soft_count(SOFT_FP32, 4);
    float a[2], b[2], c[2];
    memcpy(a, &x, 8), memcpy(b, &y, 8), memcpy(c, &z, 8);
    for (int i = 0; i < 2; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    memcpy(&z, c, 8);
    return z;
}
SOFT_UNCOUNTED inline int32 multiply_add(int32 x, int32 y, int32 z) {
    soft_count(SOFT_INT32, 2);
    return (int32)((u32)x * (u32)y + (u32)z);
}
SOFT_UNCOUNTED inline int32 dot4(int8 x, int8 y, int32 z) {
    soft_count(SOFT_INT8, 8);
    for (int i = 0; i < 4; i++) z = (int32)((u32)z + (u32)((signed char)(x.quad >> 8 * i) * (signed char)(y.quad >> 8 * i)));
    return z;
}
