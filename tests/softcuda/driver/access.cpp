// Every load and store of a kernel comes by here: counted, and stopped where it hits nothing that was allocated.
#include <cstdio>
#include "fibers.h"
#include "launch.h"

static const int LINE_BITS = 7;
// The allocation hit last, which is nearly always hit again.
static CUdeviceptr last_start, last_end;

static void say_who() {
    const soft_state *state = running().function->module->state;
    fprintf(stderr, " in %s, block (%u,%u,%u) thread (%u,%u,%u)\n", running().function->kernel->name, state->block.x, state->block.y,
            state->block.z, state->thread.x, state->thread.y, state->thread.z);
}

static void refuse(const void *address, unsigned bytes, int kind) {
    fprintf(stderr, "softcuda: illegal %s of %u bytes at %p", kind & SOFT_WRITE ? "write" : "read", bytes, address);
    say_who();
    stop_thread(ILLEGAL_ADDRESS);
}

static void misaligned(const void *address, unsigned alignment) {
    fprintf(stderr, "softcuda: access to %p, which is not a multiple of %u,", address, alignment);
    say_who();
    stop_thread(MISALIGNED_ADDRESS);
}

static void access(const void *pointer, unsigned bytes, int kind) {
    soft_state *state = running().function->module->state;
    CUdeviceptr address = (CUdeviceptr)pointer;
    if (kind & (SOFT_SHARED | SOFT_TENSOR)) {
        if (!is_shared(address, bytes)) refuse(pointer, bytes, kind);
        if (kind & SOFT_SHARED) state->counters[SOFT_SHARED_BYTES] += bytes;
        return;
    }
    if (address < last_start || address + bytes > last_end) {
        if (address >= (CUdeviceptr)state && address < (CUdeviceptr)(state + 1)) return;   // threadIdx and its like
        if (is_on_a_stack(address)) return;
        if (is_shared(address, bytes)) {
            state->counters[SOFT_SHARED_BYTES] += bytes;
            return;
        }
        if (!is_inside(address, bytes)) return refuse(pointer, bytes, kind);
        auto found = --driver().allocations.upper_bound(address);
        last_start = found->first;
        last_end = found->first + found->second.bytes;
    }
    bool is_write = kind & SOFT_WRITE;
    state->counters[is_write ? SOFT_STORES : SOFT_LOADS]++;
    state->counters[is_write ? SOFT_STORE_BYTES : SOFT_LOAD_BYTES] += bytes;
    if (kind & SOFT_CACHED) state->counters[SOFT_CACHED_BYTES] += bytes;
    if (running().lines) running().lines->insert(address >> LINE_BITS);
}

void attach_runtime(soft_state *state) {
    state->shared = place_shared;
    state->barrier = wait_at_barrier;
    state->access = access;
    state->misaligned = misaligned;
}

void forget_last_allocation() { last_start = last_end = 0; }
