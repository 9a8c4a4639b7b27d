/*ert
summary = "tensor cores through mma.sync m16n8k8, the shape of Turing"
measures = "compute"
op = "mma"
path = "tensor"
precisions = ["fp16"]
[requires]
arch = ["sm_75"]
[parameters]
ERT_TILES = { default = 8, values = [4, 8], doc = "independent accumulator tiles per warp" }
ERT_STEPS = { default = 4, values = [4], doc = "multiplications of one tile in one trip" }
ERT_THREADS = { default = 128, values = [128], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [2, 4], doc = "resident blocks per SM" }
[trip]
flops = "2 * 16 * 8 * 8 // 32 * ERT_STEPS * ERT_TILES"
[instructions]
mma = "ERT_STEPS * ERT_TILES"
*/
#include "mma.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    run_tiles<ERT_PRECISION, 2, 1, 4, fp32>(operands, results, repeats,
                                        [](fp32 *d, const ERT_PRECISION *a, const ERT_PRECISION *b) { mma_k8(d, a, b); });
}
