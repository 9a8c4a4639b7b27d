// The virtual clock: how long a launch would take on a device with the planted ceilings.
#pragma once
#include "fibers.h"

// What a launch does, over all its blocks.
struct Work {
    double counters[SOFT_COUNTERS] = {};
    double block_bytes = 0, all_bytes = 0;                   // distinct global memory: of one block, of all together
    double blocks = 0, threads = 0;
    std::map<CUdeviceptr, double> reach;                     // of each allocation: how far into it the last line touched begins
};

// Ceilings a device's settings may plant: fp64 .. int8, mma_fp64 .. mma_int8 (FLOP/s), dram, dram_write, l2bw, l1bw, smembw
// (byte/s), l2far (byte/s of what a working set has beyond l2near bytes: the far half of L2), lat_l1, lat_l2, lat_dram (s per
// dependent load of a lone thread), overhead (s per launch), l1, l2 (capacities, byte),
// cap_s, cap_clock: after so many seconds of one kernel without a pause, the clock falls to this share (power cap).
double modelled_s(const Device &device, const Work &work, double clock_share);

// The share of its clock at which a device runs its next launch.
double clock_share_now(const Device &device);

// A copy inside the device, which reads and writes DRAM.
double modelled_copy_s(const Device &device, double bytes);
