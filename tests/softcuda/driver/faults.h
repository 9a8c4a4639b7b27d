// Faults on demand, from SOFTCUDA_FAULTS or softcuda_faults(): "oom@3,illegal@5,throttle@7-9,busy".
#pragma once

// kind@k: the k-th allocation (oom) or launch since the process began, counted from 1; kind@a-b: a range; kind: always.
//   oom        cuMemAlloc answers out of memory
//   refused    the launch answers at once that it wants too many resources; the context stays healthy
//   failed     unspecified launch failure, at the next call; stays until the primary context is reset
//   illegal    illegal address, likewise
//   lost       the device falls off the bus: every call fails from then on
//   skipped    the launch succeeds and runs nothing
//   throttle   clocks at 60 %, and NVML says SwPowerCap
//   busy       no context can be made: the device is in exclusive use
//   full       no context can be made: its memory is taken
//   ordinal    no context can be made: there is no such device
bool fault(const char *kind, long count);
constexpr double THROTTLED_CLOCK = 0.6;
