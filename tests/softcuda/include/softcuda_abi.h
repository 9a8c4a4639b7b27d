// The contract between the driver library and a module image (an ordinary shared object made from a .cu file).
#pragma once
#include <stdint.h>

enum { SOFT_ABI = 3, SOFT_MAX_PARAMETERS = 24, SOFT_WARP_BYTES = 64 };

// What an access is: a write; a load that L1 may serve; an instruction for shared memory alone; the tensor cores fetching operands
// from there, which is not counted.
enum { SOFT_WRITE = 1, SOFT_CACHED = 2, SOFT_SHARED = 4, SOFT_TENSOR = 8 };

// What a launch is counted by. FLOPs: one FMA is 2; those of lone additions and multiplications are also counted apart, for
// each takes the place of an FMA. ``SOFT_CACHED_BYTES`` are the loads that L1 may serve.
enum {
    SOFT_FP64, SOFT_FP32, SOFT_FP16, SOFT_BF16, SOFT_INT32, SOFT_INT8,
    SOFT_MMA_FP64, SOFT_MMA_TF32, SOFT_MMA_FP16, SOFT_MMA_BF16, SOFT_MMA_FP8, SOFT_MMA_INT8,
    SOFT_LONE_FP64, SOFT_LONE_FP32, SOFT_LONE_FP16, SOFT_LONE_BF16,
    SOFT_LOADS, SOFT_STORES, SOFT_LOAD_BYTES, SOFT_STORE_BYTES, SOFT_CACHED_BYTES, SOFT_SHARED_BYTES, SOFT_COUNTERS
};

struct soft_uint3 { unsigned x, y, z; };

// One per image: the thread that runs now, and the way back into the driver.
struct soft_state {
    int abi, architecture;                                   // 90 for sm_90
    soft_uint3 thread, block, block_dim, grid_dim;
    int linear_thread;
    char *dynamic_shared;

    char *(*shared)(const void *key, unsigned bytes, unsigned alignment);   // where a variable of shared memory lies
    void (*barrier)(int warp);                               // 0: the block waits; 1: the warp waits
    void (*access)(const void *address, unsigned bytes, int kind);
    void (*misaligned)(const void *address, unsigned alignment);
    uint64_t counters[SOFT_COUNTERS];
    alignas(16) char exchange[32][32][SOFT_WARP_BYTES];      // warp, lane, bytes
};

struct soft_kernel {
    const char *name;
    void (*function)();
    void (*call)(void (*function)(), const char *parameters);
    unsigned parameter_bytes, parameter_count, offset[SOFT_MAX_PARAMETERS], size[SOFT_MAX_PARAMETERS];
};
