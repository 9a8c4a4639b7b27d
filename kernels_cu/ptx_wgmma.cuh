// Hopper's tensor cores: wgmma m64n256, both operands described to the hardware where they lie in shared memory.
#pragma once
#include "precision.cuh"
#include "ptx_mma.cuh"

// Both operands are K-major without swizzle: core matrices of 8 rows by 16 bytes, 128 contiguous bytes each; two of them
// span the 32 bytes of k (128 bytes apart), the next 8 rows follow 256 bytes on.
enum { CORE_K_STRIDE = 128, CORE_ROW_STRIDE = 256 };

#ifdef __SOFTCUDA__
#include "softcuda_wgmma.h"
#else

// PTX ISA, "Matrix descriptor": address, leading and stride offsets in units of 16 bytes, 14 bits each.
__device__ __forceinline__ u64 matrix_descriptor(const void *p) {
    const u64 address = __cvta_generic_to_shared(p);
    return ((address & 0x3ffff) >> 4) | (u64)(CORE_K_STRIDE >> 4) << 16 | (u64)(CORE_ROW_STRIDE >> 4) << 32;
}

// Makes ordinary stores to shared memory visible to the tensor cores.
__device__ __forceinline__ void fence_shared_for_tensor_cores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

#define ERT_8(C, i) C(d[i]), C(d[i + 1]), C(d[i + 2]), C(d[i + 3]), C(d[i + 4]), C(d[i + 5]), C(d[i + 6]), C(d[i + 7])
#define ERT_32(C, i) ERT_8(C, i), ERT_8(C, i + 8), ERT_8(C, i + 16), ERT_8(C, i + 24)
#define ERT_128_REGISTERS(C) ERT_32(C, 0), ERT_32(C, 32), ERT_32(C, 64), ERT_32(C, 96)
#define ERT_128_NAMES                                                                                                  \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                                                           \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"                                                 \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"                                                 \
    "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"                                                 \
    "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"                                                 \
    "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"                                                 \
    "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,"                                     \
    "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

// SCALES: the immediate operands after the descriptors, which differ from type to type (PTX ISA, "wgmma.mma_async").
template <class T> __device__ __forceinline__ void wgmma(typename accumulator<T>::type *d, u64 a, u64 b);
#define ERT_WGMMA(TYPE, SHAPE, SUM, CONSTRAINT, SCALES)                                                                \
    template <> __device__ __forceinline__ void wgmma<TYPE>(SUM * d, u64 a, u64 b) {                                   \
        asm volatile("wgmma.mma_async.sync.aligned." SHAPE " {" ERT_128_NAMES "}, %128, %129, " SCALES ";"             \
                     : ERT_128_REGISTERS(CONSTRAINT) : "l"(a), "l"(b));                                                \
    }
ERT_WGMMA(bf16, "m64n256k16.f32.bf16.bf16", fp32, "+f", "1, 1, 1, 0, 0")
ERT_WGMMA(fp16, "m64n256k16.f32.f16.f16", fp32, "+f", "1, 1, 1, 0, 0")
ERT_WGMMA(tf32, "m64n256k8.f32.tf32.tf32", fp32, "+f", "1, 1, 1")
ERT_WGMMA(fp8, "m64n256k32.f32.e4m3.e4m3", fp32, "+f", "1, 1, 1")
ERT_WGMMA(int8, "m64n256k32.s32.s8.s8", int32, "+r", "1")

#endif
