/*ert
summary = "read one array past L1, every SM its own slice"
measures = "bandwidth"
op = "read"
precisions = ["fp32"]
levels = ["L2", "DRAM"]
arrays = 1
[parameters]
ERT_UNROLL = { default = 4, values = [4, 8], doc = "loads in flight per thread" }
ERT_THREADS = { default = 256, values = [256], doc = "threads per block" }
ERT_BLOCKS_PER_SM = { default = 4, values = [4], doc = "resident blocks per SM" }
[trip]
bytes_loaded = "ERT_UNROLL * vector_bytes"
[instructions]
load = "ERT_UNROLL"
store = "0"
*/
#include "read.cuh"

ERT_GLOBAL ERT_KERNEL(ERT_ARGUMENTS) { read_all_tiles<load_cg>(a, results, trips, repeats); }
