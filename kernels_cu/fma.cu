/*ert
summary = "fused multiply-adds in registers"
measures = "compute"
op = "fma"
precisions = ["fp64", "fp32", "fp16", "bf16"]
[requires]
"bf16:min_cc" = "8.0"
[parameters]
ERT_CHAINS = { default = 8, values = [4, 8], doc = "independent chains per thread" }
ERT_STEPS = { default = 64, values = [64], doc = "operations of one chain in one trip" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [2, 4], doc = "resident blocks per SM" }
[trip]
flops = "2 * ERT_STEPS * ERT_CHAINS * pack"
[instructions]
fma = "ERT_STEPS * ERT_CHAINS"
*/
#include "chains.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    run_chains<ERT_PRECISION, ERT_PRECISION>(operands, results, repeats,
        [](const ERT_PRECISION &x, const ERT_PRECISION *k, int odd) { return multiply_add(x, k[2 * odd], k[2 * odd + 1]); });
}
