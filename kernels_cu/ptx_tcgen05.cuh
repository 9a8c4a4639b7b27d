// Blackwell's tensor cores: tcgen05.mma m128n256, operands in shared memory, accumulators in tensor memory.
#pragma once
#include "precision.cuh"
#include "ptx_mma.cuh"
#include "ptx_wgmma.cuh"

// PTX ISA, "Instruction descriptor" of tcgen05: types of D (bit 4), A (7) and B (10), N / 8 (17), M / 16 (24).
enum { TENSOR_COLUMNS = 512, MMA_M = 128, MMA_N = 256, SIZE_BITS = MMA_N / 8 << 17 | MMA_M / 16 << 24 };
template <class T> struct instruction;
template <> struct instruction<fp16> { static const u32 bits = SIZE_BITS | 1 << 4; };
template <> struct instruction<bf16> { static const u32 bits = SIZE_BITS | 1 << 4 | 1 << 7 | 1 << 10; };
template <> struct instruction<tf32> { static const u32 bits = SIZE_BITS | 1 << 4 | 2 << 7 | 2 << 10; };
template <> struct instruction<fp8> { static const u32 bits = SIZE_BITS | 1 << 4; };
template <> struct instruction<int8> { static const u32 bits = SIZE_BITS | 2 << 4 | 1 << 7 | 1 << 10; };

#ifdef __SOFTCUDA__
#include "softcuda_tcgen05.h"
#else

// As for wgmma; bit 46 is a constant the architecture asks for.
__device__ __forceinline__ u64 tcgen05_descriptor(const void *p) { return matrix_descriptor(p) | 1ull << 46; }

// One warp takes all of the SM's tensor memory; its address lands in shared memory.
__device__ __forceinline__ void tensor_memory_take(u32 *address) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"((u32)__cvta_generic_to_shared(address)),
                 "r"((u32)TENSOR_COLUMNS) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}
__device__ __forceinline__ void tensor_memory_give(u32 address) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"((u32)TENSOR_COLUMNS));
}
__device__ __forceinline__ void barrier_start(u64 *barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"((u32)__cvta_generic_to_shared(barrier)) : "memory");
}
__device__ __forceinline__ void barrier_wait(u64 *barrier) {
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
                 "@!done bra again; }" ::"r"((u32)__cvta_generic_to_shared(barrier)) : "memory");
}
__device__ __forceinline__ void tcgen05_fence() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
// The barrier completes when every multiplication issued before has.
__device__ __forceinline__ void tcgen05_commit(u64 *barrier) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 ::"r"((u32)__cvta_generic_to_shared(barrier)) : "memory");
}
__device__ __forceinline__ u32 tensor_memory_read(u32 address) {
    u32 value;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n tcgen05.wait::ld.sync.aligned;" : "=r"(value) : "r"(address));
    return value;
}

// True for one lane of a converged warp; the compiler then knows that what follows is done by one thread.
__device__ __forceinline__ bool elect_one() {
    u32 elected;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(elected));
    return elected;
}
// Issued by one thread. accumulate = 0: D = A B, else D += A B.
template <class T> __device__ __forceinline__ void tcgen05_mma(u32 d, u64 a, u64 b, u32 accumulate);
#define ERT_TCGEN05(TYPE, KIND)                                                                                        \
    template <> __device__ __forceinline__ void tcgen05_mma<TYPE>(u32 d, u64 a, u64 b, u32 accumulate) {               \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"                                                         \
                     "tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p; }"                                  \
                     ::"r"(d), "l"(a), "l"(b), "r"(instruction<TYPE>::bits), "r"(accumulate) : "memory");              \
    }
ERT_TCGEN05(fp16, "f16")
ERT_TCGEN05(bf16, "f16")
ERT_TCGEN05(tf32, "tf32")
ERT_TCGEN05(fp8, "f8f6f4")
ERT_TCGEN05(int8, "i8")

#endif
