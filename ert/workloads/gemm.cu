/*ert
summary = "C = A B, n x n, n a multiple of 64: tiles of 64 x 64 in shared memory, 4 x 4 of C in the registers of a thread"
measures = "compute"
op = "fma"
precisions = ["fp32", "fp64"]
arrays = 3
[trip]
flops = "2 * 16"
bytes_loaded = "0"
*/
#include "precision.cuh"

enum { TILE = 64, DEEP = 16, SIDE = 4, WIDTH = TILE / SIDE, THREADS = WIDTH * WIDTH };

extern "C" __global__ void __launch_bounds__(THREADS) ERT_KERNEL(const ERT_PRECISION *a, const ERT_PRECISION *b, ERT_PRECISION *c, u64 n) {
    __shared__ ERT_PRECISION rows[DEEP][TILE + 1], columns[DEEP][TILE];
    const u64 top = (u64)blockIdx.y * TILE, left = (u64)blockIdx.x * TILE;
    const u32 x = threadIdx.x % WIDTH, y = threadIdx.x / WIDTH;
    ERT_PRECISION sum[SIDE][SIDE] = {};
    for (u64 k = 0; k < n; k += DEEP) {
        for (u32 i = threadIdx.x; i < TILE * DEEP; i += THREADS) {
            rows[i % DEEP][i / DEEP] = a[(top + i / DEEP) * n + k + i % DEEP];
            columns[i / TILE][i % TILE] = b[(k + i / TILE) * n + left + i % TILE];
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEEP; d++)
#pragma unroll
            for (int i = 0; i < SIDE; i++)
#pragma unroll
                for (int j = 0; j < SIDE; j++) sum[i][j] += rows[d][y * SIDE + i] * columns[d][x + j * WIDTH];
        __syncthreads();
    }
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) c[(top + y * SIDE + i) * n + left + x + j * WIDTH] = sum[i][j];
}
