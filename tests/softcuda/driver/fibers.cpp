#include "fibers.h"
#include <sys/mman.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// soft_switch(save, load): store this fiber's stack pointer in *save and go on where ``load`` left off.
extern "C" void soft_switch(void **save, void *load);
#if defined(__x86_64__)
asm(R"(.text
.type soft_switch,@function
soft_switch:
    push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15
    mov %rsp,(%rdi)
    mov %rsi,%rsp
    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp
    ret
)");
#elif defined(__aarch64__)
asm(R"(.text
.type soft_switch,%function
soft_switch:
    sub sp,sp,#160
    stp x19,x20,[sp];       stp x21,x22,[sp,#16];   stp x23,x24,[sp,#32];   stp x25,x26,[sp,#48]
    stp x27,x28,[sp,#64];   stp x29,x30,[sp,#80]
    stp d8,d9,[sp,#96];     stp d10,d11,[sp,#112];  stp d12,d13,[sp,#128];  stp d14,d15,[sp,#144]
    mov x9,sp
    str x9,[x0]
    mov sp,x1
    ldp x19,x20,[sp];       ldp x21,x22,[sp,#16];   ldp x23,x24,[sp,#32];   ldp x25,x26,[sp,#48]
    ldp x27,x28,[sp,#64];   ldp x29,x30,[sp,#80]
    ldp d8,d9,[sp,#96];     ldp d10,d11,[sp,#112];  ldp d12,d13,[sp,#128];  ldp d14,d15,[sp,#144]
    add sp,sp,#160
    ret
)");
#endif

static const size_t STACK_BYTES = 256 << 10;
enum Status { FRESH, READY, WAITING_FOR_BLOCK, WAITING_FOR_WARP, FINISHED };
struct Fiber { Status status = FRESH; void *stack_pointer = nullptr; char *stack = nullptr; };

static std::vector<Fiber> fibers;
static std::vector<char *> free_stacks;
static int current;
static void *scheduler;

Running &running() {
    static Running it;
    return it;
}

static void leave(Status status) {
    fibers[current].status = status;
    soft_switch(&fibers[current].stack_pointer, scheduler);
}

static void run_thread() {
    const soft_kernel *kernel = running().function->kernel;
    kernel->call(kernel->function, running().parameters);
    leave(FINISHED);
    abort();
}

void wait_at_barrier(int warp) { leave(warp ? WAITING_FOR_WARP : WAITING_FOR_BLOCK); }

void stop_thread(int error) {
    running().error = error;
    leave(FINISHED);
}

bool is_on_a_stack(uintptr_t address) {
    uintptr_t stack = (uintptr_t)fibers[current].stack;
    return address >= stack && address < stack + STACK_BYTES;
}

// A stack as soft_switch leaves it: saved registers below the address to return to.
static void prepare(Fiber &fiber) {
    if (free_stacks.empty())
        free_stacks.push_back((char *)mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    fiber.stack = free_stacks.back();
    free_stacks.pop_back();
    void **top = (void **)(fiber.stack + STACK_BYTES - 64);
#if defined(__x86_64__)
    top[-1] = nullptr;
    top[-2] = (void *)run_thread;
    fiber.stack_pointer = top - 8;
#else
    memset((char *)top - 160, 0, 160);
    top[-20 + 11] = (void *)run_thread;
    fiber.stack_pointer = (char *)top - 160;
#endif
}

static void give_back(Fiber &fiber) {
    if (fiber.stack) free_stacks.push_back(fiber.stack);
    fiber.stack = nullptr;
}

static void resume(int thread, Shape block) {
    soft_state *state = running().function->module->state;
    current = thread;
    state->linear_thread = thread;
    unsigned t = (unsigned)thread;
    state->thread = {t % block.x, t / block.x % block.y, t / block.x / block.y};
    Fiber &fiber = fibers[thread];
    if (fiber.status == FRESH) prepare(fiber);
    fiber.status = READY;
    soft_switch(&scheduler, fiber.stack_pointer);
    if (fibers[thread].status == FINISHED) give_back(fibers[thread]);
}

// Threads run on once all of their warp, or all of the block, wait (those that have returned do not count).
static void open_barriers(int threads, int alive) {
    int at_block_barrier = 0;
    for (int warp = 0; warp < threads; warp += 32) {
        int in_warp = 0, waiting = 0, end = warp + 32 < threads ? warp + 32 : threads;
        for (int t = warp; t < end; t++) {
            in_warp += fibers[t].status != FINISHED;
            waiting += fibers[t].status == WAITING_FOR_WARP;
            at_block_barrier += fibers[t].status == WAITING_FOR_BLOCK;
        }
        for (int t = warp; t < end && waiting == in_warp; t++)
            if (fibers[t].status == WAITING_FOR_WARP) fibers[t].status = READY;
    }
    if (at_block_barrier == alive)
        for (Fiber &fiber : fibers)
            if (fiber.status == WAITING_FOR_BLOCK) fiber.status = READY;
}

int run_block(Shape block, soft_uint3 index) {
    Running &launch = running();
    launch.function->module->state->block = index;
    int threads = (int)block.count(), alive = threads;
    poison_shared();
    fibers.assign(threads, Fiber());
    while (alive && !launch.error) {
        bool moved = false;
        for (int t = 0; t < threads && !launch.error; t++) {
            if (fibers[t].status != FRESH && fibers[t].status != READY) continue;
            resume(t, block);
            moved = true;
            alive -= fibers[t].status == FINISHED;
        }
        open_barriers(threads, alive);
        if (alive && !moved) {
            fprintf(stderr, "softcuda: %s: threads wait at different barriers\n", launch.function->kernel->name);
            launch.error = LAUNCH_FAILED;
        }
    }
    for (Fiber &fiber : fibers) give_back(fiber);
    return launch.error;
}
