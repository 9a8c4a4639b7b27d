// Runs one block of CUDA threads on this one CPU thread.
#pragma once
#include <unordered_set>
#include "state.h"

struct Shape { unsigned x, y, z; uint64_t count() const { return (uint64_t)x * y * z; } };

// A launch under way: what access() needs to judge an address, and the lines touched if somebody wants them.
struct Running {
    Function *function = nullptr;
    const char *parameters = nullptr;
    int error = OK;
    std::unordered_set<uint64_t> *lines = nullptr;           // numbers of 128-byte lines of global memory
};
Running &running();

// Runs every thread of a block, at its barriers in turn; the error of the first that failed.
int run_block(Shape block, soft_uint3 index);

bool is_on_a_stack(uintptr_t address);
// The shared memory of the block that runs: taken anew for a launch, poisoned for a block; its variables are placed as they are met.
char *clear_shared(unsigned dynamic_bytes);
void poison_shared();
char *place_shared(const void *key, unsigned bytes, unsigned alignment);
bool is_shared(uintptr_t address, unsigned bytes);
void stop_thread(int error);
void wait_at_barrier(int warp);
