/*ert
summary = "nothing: what a launch costs"
measures = "launch"
op = "empty"
precisions = ["int32"]
[parameters]
ERT_THREADS = { default = 32, values = [32], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 1, values = [1], doc = "blocks per SM" }
[trip]
flops = "0"
*/
#include "common.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) {}
