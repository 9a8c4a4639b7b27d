/*ert
summary = "y += s * x at every stride-th element"
measures = "bandwidth"
op = "update"
precisions = ["fp32", "fp64"]
arrays = 2
[trip]
flops = "2"
bytes_loaded = "2 * element_bytes"
bytes_stored = "element_bytes"
*/
#include "precision.cuh"

extern "C" __global__ void ERT_KERNEL(ERT_PRECISION s, const ERT_PRECISION *x, ERT_PRECISION *y, u64 count, u64 stride) {
    const u64 threads = (u64)gridDim.x * blockDim.x;
#pragma unroll 4
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) y[i * stride] += s * x[i * stride];
}
