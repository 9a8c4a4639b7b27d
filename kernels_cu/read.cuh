// The body of every kernel that only reads global memory: LOAD says how.
#pragma once
#include "common.cuh"

template <vector (*LOAD)(const vector *)>
__device__ __forceinline__ void read_all_tiles(const void *a, void *results, u64 trips, u64 repeats) {
    u32 total[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (u64 repeat = 0; repeat < repeats; repeat++) {
        const vector *p = (const vector *)a + first_vector(ERT_UNROLL);
#pragma unroll 1
        for (u64 trip = 0; trip < trips; trip++, p += vectors_per_trip(ERT_UNROLL)) {
            vector in_flight[ERT_UNROLL];
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) in_flight[i] = LOAD(p + i * ERT_THREADS);
#pragma unroll
            for (int i = 0; i < ERT_UNROLL; i++) add_bits(total, in_flight[i]);
        }
    }
    ((u32 *)results)[global_thread()] = total[0] + total[1] + total[2] + total[3];
}
