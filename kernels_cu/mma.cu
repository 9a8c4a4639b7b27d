/*ert
summary = "tensor cores through mma.sync m16n8, 32 bytes of k"
measures = "compute"
op = "mma"
path = "tensor"
precisions = ["fp16", "bf16", "tf32", "int8", "fp8"]
[requires]
min_cc = "8.0"
# Elsewhere fp8 is emulated: unpacked to fp16, two HMMA.
"fp8:arch" = ["sm_89", "sm_120a"]
[parameters]
ERT_TILES = { default = 8, values = [4, 8], doc = "independent accumulator tiles per warp" }
ERT_STEPS = { default = 4, values = [4], doc = "multiplications of one tile in one trip" }
ERT_THREADS = { default = 128, values = [128], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [2, 4], doc = "resident blocks per SM" }
[trip]
flops = "2 * 16 * 8 * (32 // element_bytes) // 32 * ERT_STEPS * ERT_TILES"
[instructions]
mma = "ERT_STEPS * ERT_TILES"
*/
#include "mma.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    typedef accumulator<ERT_PRECISION>::type S;
    run_tiles<ERT_PRECISION, 4, 2, 4, S>(operands, results, repeats,
                                     [](S *d, const ERT_PRECISION *a, const ERT_PRECISION *b) { mma(d, a, b); });
}
