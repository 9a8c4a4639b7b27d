// What the soft driver must catch. Where ``at`` is 0 every kernel stays within the memory that is its own and aligned; elsewhere
// it goes ``at`` elements, or bytes, too far.
#include "ptx.cuh"
#include "ptx_wgmma.cuh"

extern "C" __global__ void read_global(float *results, const float *array, int at) {
    results[threadIdx.x] = array[(int)threadIdx.x + at];
}

extern "C" __global__ void write_global(float *results, float *array, int at) { array[(int)threadIdx.x + at] = results[threadIdx.x]; }

extern "C" __global__ void read_static(float *results, const float *, int at) {
    __shared__ float before[32], memory[32], after[32];
    before[threadIdx.x] = memory[threadIdx.x] = after[threadIdx.x] = 1;
    __syncthreads();
    results[threadIdx.x] = before[threadIdx.x] + memory[(int)threadIdx.x + at] + after[threadIdx.x];
}

extern "C" __global__ void write_static(float *results, const float *, int at) {
    __shared__ float before[32], memory[32], after[32];
    memory[(int)threadIdx.x + at] = 1;
    before[threadIdx.x] = after[threadIdx.x] = 1;
    __syncthreads();
    results[threadIdx.x] = before[threadIdx.x] + memory[threadIdx.x] + after[threadIdx.x];
}

extern "C" __global__ void read_dynamic(float *results, const float *, int at) {
    extern __shared__ __align__(16) float memory[];
    __shared__ float beside[32];
    memory[threadIdx.x] = beside[threadIdx.x] = 1;
    __syncthreads();
    results[threadIdx.x] = memory[(int)threadIdx.x + at] + beside[threadIdx.x];
}

extern "C" __global__ void write_dynamic(float *results, const float *, int at) {
    extern __shared__ float memory[];
    memory[(int)threadIdx.x + at] = 1;
    __syncthreads();
    results[threadIdx.x] = memory[threadIdx.x];
}

// ``ld.shared`` and ``st.shared`` of 128 bits, eight threads for 128 bytes.
extern "C" __global__ void read_shared_128(float *results, const float *, int at) {
    __shared__ vector128 memory[8];
    if (threadIdx.x < 8) {
        store_shared(shared_window(memory + threadIdx.x), vector128{{threadIdx.x}});
        results[threadIdx.x] = load_shared(shared_window(memory + (int)threadIdx.x + at)).word[0];
    }
}

extern "C" __global__ void write_shared_128(float *results, const float *, int at) {
    __shared__ vector128 memory[8];
    if (threadIdx.x < 8) store_shared(shared_window(memory + (int)threadIdx.x + at), vector128{{threadIdx.x}});
}

// The tensor cores fetch 64 and 256 rows of 32 bytes.
extern "C" __global__ void multiply_tiles(float *results, const float *, int at) {
    __shared__ __align__(1024) u32 tiles[(64 + 256) * 32 / 4];
    float sums[128] = {};
    wgmma<bf16>(sums, matrix_descriptor(tiles), matrix_descriptor(tiles + 64 * 32 / 4 + at));
    results[threadIdx.x] = sums[0];
}

// An instruction for shared memory that is given the address of something else.
extern "C" __global__ void read_shared_elsewhere(float *results, const float *array, int at) {
    __shared__ vector128 memory[1];
    if (!threadIdx.x) results[0] = load_shared(at ? (shared_address)array : shared_window(memory)).word[0];
}

extern "C" __global__ void read_128(float *results, const float *array, int at) {
    if (!threadIdx.x) results[0] = load_cg((const vector *)((const char *)array + at)).word[0];
}

extern "C" __global__ void write_128(float *results, float *array, int at) {
    if (!threadIdx.x) store((vector *)((char *)array + at), vector{{1, 2, 3, 4}});
}

extern "C" __global__ void assign_128(vector128 *results, const float *array, int at) {
    if (!threadIdx.x) results[0] = *(const vector128 *)((const char *)array + at);
}

extern "C" __global__ void read_unwritten(float *results, const float *, int) {
    __shared__ float memory[32];
    results[threadIdx.x] = memory[threadIdx.x];
    __syncthreads();
    memory[threadIdx.x] = 1;
}
