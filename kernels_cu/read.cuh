// The body of every kernel that only reads global memory: LOAD says how.
#pragma once
#include "common.cuh"

// One loop over all repeats: of a set that L1 holds a block has few trips, and a loop around them would cost as much as they do.
template <vector (*LOAD)(const vector *)>
__device__ __forceinline__ void read_all_tiles(const void *a, void *results, u64 trips, u64 repeats) {
    u32 total[4] = {0, 0, 0, 0};
    const vector *const first = (const vector *)a + first_vector(ERT_UNROLL), *p = first;
    const vector *const end = first + trips * vectors_per_trip(ERT_UNROLL);
#pragma unroll 1
    for (u64 left = repeats * trips; left > 0; left--) {
        vector in_flight[ERT_UNROLL];
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++) in_flight[i] = LOAD(p + i * ERT_THREADS);
#pragma unroll
        for (int i = 0; i < ERT_UNROLL; i++) add_bits(total, in_flight[i]);
        p += vectors_per_trip(ERT_UNROLL);
        if (p == end) p = first;
    }
    ((u32 *)results)[global_thread()] = total[0] + total[1] + total[2] + total[3];
}
