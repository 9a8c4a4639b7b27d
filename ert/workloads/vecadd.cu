/*ert
summary = "c = a + b"
measures = "bandwidth"
op = "triad"
precisions = ["fp32", "fp64"]
arrays = 3
[trip]
flops = "1"
bytes_loaded = "2 * element_bytes"
bytes_stored = "element_bytes"
*/
#include "precision.cuh"

extern "C" __global__ void ERT_KERNEL(const ERT_PRECISION *a, const ERT_PRECISION *b, ERT_PRECISION *c, u64 count) {
    const u64 threads = (u64)gridDim.x * blockDim.x;
#pragma unroll 4
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) c[i] = a[i] + b[i];
}
