/*ert
summary = "32-bit integer multiply-adds in registers"
measures = "compute"
op = "fma"
precisions = ["int32"]
[parameters]
ERT_CHAINS = { default = 8, values = [4, 8], doc = "independent chains per thread" }
ERT_STEPS = { default = 64, values = [64], doc = "operations of one chain in one trip" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [2, 4], doc = "resident blocks per SM" }
[trip]
flops = "2 * ERT_STEPS * ERT_CHAINS"
[instructions]
imad = "ERT_STEPS * ERT_CHAINS"
*/
#include "chains.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {
    run_chains<int32, int32>(operands, results, repeats,
        [](const int32 &x, const int32 *k, int odd) { return multiply_add(x, k[2 * odd], k[2 * odd + 1]); });
}
