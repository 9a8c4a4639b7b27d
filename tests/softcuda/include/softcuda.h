// Makes CUDA C++ compile with g++ into a module image of the soft driver. Included before everything else.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "softcuda_abi.h"

#define __SOFTCUDA__ 1
// __global__ and __shared__ stay in the text: soft_nvcc.py rewrites them after preprocessing. Global variables are not known: for a
// kernel that uses one, its address is an illegal one.
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define SOFT_UNCOUNTED __attribute__((no_sanitize("thread"), noinline))   // accesses inside are not those of the kernel

extern "C" { __attribute__((visibility("default"))) soft_state __soft_state = {SOFT_ABI, __CUDA_ARCH__ / 10}; }
#define threadIdx (__soft_state.thread)
#define blockIdx (__soft_state.block)
#define blockDim (__soft_state.block_dim)
#define gridDim (__soft_state.grid_dim)

inline void __syncthreads() { __soft_state.barrier(0); }
inline void __syncwarp(unsigned = ~0u) { __soft_state.barrier(1); }
SOFT_UNCOUNTED inline void soft_count(int counter, unsigned amount) { __soft_state.counters[counter] += amount; }

// ---- a warp's lanes see each other's values: put, wait, get, wait
SOFT_UNCOUNTED inline int soft_lane() { return __soft_state.linear_thread & 31; }
template <class T> SOFT_UNCOUNTED void soft_put(const T &value) {
    static_assert(sizeof value <= SOFT_WARP_BYTES, "does not fit the exchange area");
    memcpy(__soft_state.exchange[__soft_state.linear_thread >> 5][soft_lane()], &value, sizeof value);
    __syncwarp();
}
template <class T> SOFT_UNCOUNTED const T &soft_get(int lane) {
    return *(const T *)__soft_state.exchange[__soft_state.linear_thread >> 5][lane];
}

// ---- alignment: g++ -fsanitize=alignment calls this where a type asks for more than the address has; only this much of what it
// is told matters here
struct soft_mismatch { const char *file; unsigned line, column; const void *type; unsigned char log_alignment, use; };
extern "C" SOFT_UNCOUNTED __attribute__((used)) void __ubsan_handle_type_mismatch_v1(const soft_mismatch *what, const void *address) {
    __soft_state.misaligned(address, 1u << what->log_alignment);
}

// ---- kernels: what the driver must know to call one
template <int...> struct soft_numbers {};
template <int N, int... I> struct soft_range : soft_range<N - 1, N - 1, I...> {};
template <int... I> struct soft_range<0, I...> { typedef soft_numbers<I...> type; };

template <class... A> struct soft_parameters {
    // Natural alignment, as nvcc and PyCUDA lay parameters out; k == count: the end.
    static constexpr unsigned offset(unsigned k) {
        const unsigned size[] = {sizeof(A)..., 0}, align[] = {alignof(A)..., 1};
        unsigned at = 0;
        for (unsigned i = 0; i < k; i++) at = (at + align[i] - 1) / align[i] * align[i] + size[i];
        return (at + align[k] - 1) / align[k] * align[k];
    }
    template <int... I> SOFT_UNCOUNTED static void go(void (*function)(A...), const char *from, soft_numbers<I...>) {
        (void)from;
        function(*(const A *)(from + offset(I))...);
    }
    static void call(void (*function)(), const char *from) {
        go((void (*)(A...))function, from, typename soft_range<sizeof...(A)>::type());
    }
};
template <class... A> soft_kernel soft_describe(const char *name, void (*function)(A...)) {
    static_assert(sizeof...(A) <= SOFT_MAX_PARAMETERS, "too many parameters");
    typedef soft_parameters<A...> P;
    const unsigned size[] = {sizeof(A)..., 0};
    soft_kernel kernel = {name, (void (*)())function, P::call, P::offset(sizeof...(A)), sizeof...(A), {}, {}};
    for (unsigned i = 0; i < sizeof...(A); i++) {
        kernel.offset[i] = P::offset(i);
        kernel.size[i] = size[i];
    }
    return kernel;
}
// ---- every load and store: g++ -fsanitize=thread calls these; its own runtime is not linked
#define SOFT_HOOK(NAME, BYTES, KIND) SOFT_UNCOUNTED __attribute__((used)) void __tsan_##NAME(void *p) { \
        if (__soft_state.access) __soft_state.access(p, BYTES, KIND); }
#define SOFT_HOOKS(BYTES) \
    SOFT_HOOK(read##BYTES, BYTES, SOFT_CACHED) SOFT_HOOK(write##BYTES, BYTES, SOFT_WRITE) \
    SOFT_HOOK(unaligned_read##BYTES, BYTES, SOFT_CACHED) SOFT_HOOK(unaligned_write##BYTES, BYTES, SOFT_WRITE)
extern "C" {
SOFT_HOOKS(1) SOFT_HOOKS(2) SOFT_HOOKS(4) SOFT_HOOKS(8) SOFT_HOOKS(16)
SOFT_UNCOUNTED __attribute__((used)) void __tsan_read_range(void *p, unsigned long n) { if (__soft_state.access) __soft_state.access(p, (unsigned)n, SOFT_CACHED); }
SOFT_UNCOUNTED __attribute__((used)) void __tsan_write_range(void *p, unsigned long n) { if (__soft_state.access) __soft_state.access(p, (unsigned)n, SOFT_WRITE); }
__attribute__((used)) void __tsan_init() {}
__attribute__((used)) void __tsan_func_entry(void *) {}
__attribute__((used)) void __tsan_func_exit() {}
}
