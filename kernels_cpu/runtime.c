#define _GNU_SOURCE
#include "runtime.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#define ERT_RELAX() __builtin_ia32_pause()
#else
#define ERT_RELAX() __asm__ volatile("yield")
#endif

typedef enum { ERT_RUN, ERT_FILL, ERT_PING_PONG, ERT_QUIT } ert_order;

struct ert_pool {
    int threads;
    int refused;                /* errno of a thread that could not be pinned */
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    uint64_t generation;
    int running;
    ert_order order;
    _Alignas(128) uint64_t arrived; /* barrier: counts up for ever, so it needs no reset */
    _Alignas(128) uint64_t ball;    /* ping-pong */
    ert_kernel_function *kernel;
    const ert_job *jobs;
    const ert_sampling *sampling;
    ert_stamp *stamps;
    unsigned char *vote, is_late; /* for wait_for_quiet; thread 0 decides about time */
    double waited_s;
    double *clock_hz;           /* recent_clock_hz, a cache line or two per thread */
    char *const *fill_start;
    const uint64_t *fill_bytes;
    const double *table;
    uint64_t table_mask, seed;
    int player[2];
    uint64_t rounds;
    double round_trip_s;
};

typedef struct {
    ert_pool *pool;
    int index, cpu;
} ert_member;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A waiting thread gives its core away after a while: with fewer cores than threads the barrier must still open. */
static void wait_until(const uint64_t *counter, uint64_t value) {
    for (uint64_t spins = 0; __atomic_load_n(counter, __ATOMIC_ACQUIRE) < value; spins++) {
        if (spins < 20000) ERT_RELAX();
        else sched_yield();
    }
}

static void barrier(ert_pool *pool) {
    uint64_t ticket = __atomic_add_fetch(&pool->arrived, 1, __ATOMIC_ACQ_REL);
    uint64_t full = (ticket + (uint64_t)pool->threads - 1) / (uint64_t)pool->threads * (uint64_t)pool->threads;
    wait_until(&pool->arrived, full);
}

/* Cycles per second of a chain of dependent register-register adds: one cycle each on every core this runs on.
 * Adds of constants would not do (Golden Cove folds them), nor vector adds (two cycles on Zen 5). */
static double add_chain_hz(void) {
    enum { STEPS = 24576, PER_TURN = 64 };
    uint64_t x = 1, y = 3;
    double start = now_s();
    for (uint64_t i = 0; i < STEPS; i += PER_TURN)
#if defined(__x86_64__)
        __asm__ volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(y) : "cc");
#else
        __asm__ volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(y));
#endif
    return (double)STEPS / (now_s() - start);
}

/* The same of dependent 32-bit multiplies, three cycles each on x86-64 since Nehalem and the first Zen (Fog, instruction tables). Light
 * work on the core's other hyperthread takes an issue slot now and then: that holds up a chain of adds by 2 to 3 %, this one by a
 * quarter of it, and many kernels not at all. 0 where no number of cycles holds for all cores (on AArch64 it is two to five). */
static double multiply_chain_hz(void) {
#if defined(__x86_64__)
    enum { STEPS = 8192, CYCLES = 3, PER_TURN = 64 };
    uint32_t x = 1, y = 3;
    double start = now_s();
    for (uint64_t i = 0; i < STEPS; i += PER_TURN) __asm__ volatile(".rept 64\n\timul %1, %0\n\t.endr" : "+r"(x) : "r"(y) : "cc");
    return (double)STEPS * CYCLES / (now_s() - start);
#else
    return 0;
#endif
}

/* Core clock: whatever disturbs a chain makes it look slow, so the fastest of them. A core whose multiplies take another number of
 * cycles than three would be far off; so they are believed only as far as a disturbance may have slowed the adds. */
static double measure_clock_hz(void) {
    enum { CHAINS = 2 };
    const double most_slowed = 0.05;
    double adds_hz = 0, multiplies_hz = 0;
    for (int chain = 0; chain < CHAINS; chain++) {
        double hz = add_chain_hz();
        if (hz > adds_hz) adds_hz = hz;
        hz = multiply_chain_hz();
        if (hz > multiplies_hz) multiplies_hz = hz;
    }
    return multiplies_hz > adds_hz && adds_hz > (1 - most_slowed) * multiplies_hz ? multiplies_hz : adds_hz;
}

/* Instructions per second of independent load-and-add work. It fills issue slots and load ports, so whatever else runs on the same
 * physical core (the other hyperthread may belong to a neighbour's virtual machine, which no counter in a guest shows) slows it at once. */
static double measure_width_hz(void) {
    enum { STEPS = 65536, PER_TURN = 64 };
    static const uint64_t memory[4];
    uint64_t a = 0, b = 0, c = 0, d = 0;
    double start = now_s();
    for (uint64_t i = 0; i < STEPS; i += PER_TURN)
#if defined(__x86_64__)
        __asm__ volatile(".rept 16\n\tadd (%4), %0\n\tadd 8(%4), %1\n\tadd 16(%4), %2\n\tadd 24(%4), %3\n\t.endr"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : "r"(memory) : "cc");
#else
        __asm__ volatile(".rept 16\n\tldr %0, [%4]\n\tldr %1, [%4, 8]\n\tadd %2, %2, %2\n\tadd %3, %3, %3\n\t.endr"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : "r"(memory));
#endif
    return (double)STEPS / (now_s() - start);
}

/* The clock a thread's widths are divided by: the highest seen lately. Disturbance only ever makes the chain look slow, and a clock
 * that is too low makes a busy core look quiet; so a new low is believed a tenth of a percent at a time. */
static double recent_clock_hz(ert_pool *pool, int index, double measured_hz) {
    enum { CACHE_LINE_DOUBLES = 16 };
    double *kept = &pool->clock_hz[index * CACHE_LINE_DOUBLES];
    double decayed = *kept * 0.999;
    *kept = measured_hz > decayed ? measured_hz : decayed;
    return *kept;
}

/* Probe until every thread's core is quiet or the call's patience is used up. All threads see the same votes, so all decide alike:
 * a vote is written before the second barrier, read after it, and written again only after the next first one. */
static void wait_for_quiet(ert_pool *pool, int index, ert_stamp *stamp) {
    stamp->clock_before_hz = measure_clock_hz();
    double clock_hz = recent_clock_hz(pool, index, stamp->clock_before_hz), entered_s = now_s();
    for (int quiet = 0; !quiet;) {
        barrier(pool);
        stamp->width_before = measure_width_hz() / clock_hz;
        pool->vote[index] = stamp->width_before >= pool->sampling->gate;
        if (index == 0) pool->is_late = pool->waited_s + now_s() - entered_s >= pool->sampling->patience_s;
        barrier(pool);
        quiet = 1;
        for (int t = 0; t < pool->threads; t++) quiet &= pool->vote[t];
        quiet |= pool->is_late;
    }
    if (index == 0) pool->waited_s += now_s() - entered_s;
}

static void take_sample(ert_pool *pool, int index, uint64_t sample) {
    const ert_job *job = &pool->jobs[index];
    ert_stamp *stamp = &pool->stamps[sample * (uint64_t)pool->threads + (uint64_t)index];
    ert_kernel_function *kernel = pool->kernel;
    ert_work work = job->work;
    uint64_t chunk = (job->first_chunk + sample * job->calls) % job->chunks, trips = 0;
    wait_for_quiet(pool, index, stamp);
    if (job->warm_passes) {
        work.passes = job->warm_passes;
        kernel(&work);
        work.passes = job->work.passes;
    }
    barrier(pool);
    stamp->start_s = now_s();
    for (uint64_t call = 0; call < job->calls; call++) {
        for (int a = 0; a < 3; a++) work.array[a] = job->work.array[a] + chunk * job->work.bytes;
        trips += kernel(&work);
        chunk = chunk + 1 < job->chunks ? chunk + 1 : 0;
    }
    stamp->stop_s = now_s();
    double width_hz = measure_width_hz();
    stamp->clock_after_hz = measure_clock_hz();
    stamp->width_after = width_hz / recent_clock_hz(pool, index, stamp->clock_after_hz);
    stamp->trips = trips;
}

static void run_job(ert_pool *pool, int index) {
    for (uint64_t sample = 0; sample < pool->sampling->samples; sample++) take_sample(pool, index, sample);
}

/* Every 8 bytes are one normal number drawn from a table by xorshift64* (Vigna 2016): no two lines are alike. */
static void fill_random(ert_pool *pool, int index) {
    double *to = (double *)pool->fill_start[index];
    uint64_t n = pool->fill_bytes[index] / sizeof(double);
    uint64_t x = pool->seed + 0x9e3779b97f4a7c15u * (uint64_t)(index + 1);
    for (uint64_t i = 0; i < n; i++) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        to[i] = pool->table[(x * 0x2545f4914f6cdd1du) >> 40 & pool->table_mask];
    }
}

static void ping_pong(ert_pool *pool, int index) {
    int me = index == pool->player[0] ? 0 : index == pool->player[1] ? 1 : -1;
    barrier(pool);
    double start = now_s();
    for (uint64_t round = 0; me >= 0 && round < pool->rounds; round++) {
        wait_until(&pool->ball, 2 * round + (uint64_t)me);
        __atomic_store_n(&pool->ball, 2 * round + (uint64_t)me + 1, __ATOMIC_RELEASE);
    }
    if (me == 0) {
        wait_until(&pool->ball, 2 * pool->rounds);
        pool->round_trip_s = (now_s() - start) / (double)pool->rounds;
    }
}

static int pin_to(int cpu) {
    cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
    size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
    if (!set) return ENOMEM;
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    int error = pthread_setaffinity_np(pthread_self(), size, set);
    CPU_FREE(set);
    return error;
}

static void report_done(ert_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    if (--pool->running == 0) pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
}

static void *member_main(void *argument) {
    ert_member member = *(ert_member *)argument;
    ert_pool *pool = member.pool;
    free(argument);
    int error = pin_to(member.cpu);
    if (error) __atomic_store_n(&pool->refused, error, __ATOMIC_RELEASE);
    report_done(pool);
    for (uint64_t seen = 0;;) {
        pthread_mutex_lock(&pool->lock);
        while (pool->generation == seen) pthread_cond_wait(&pool->wake, &pool->lock);
        seen = pool->generation;
        ert_order order = pool->order;
        pthread_mutex_unlock(&pool->lock);
        if (order == ERT_QUIT) return NULL;
        if (order == ERT_RUN) run_job(pool, member.index);
        if (order == ERT_FILL) fill_random(pool, member.index);
        if (order == ERT_PING_PONG) ping_pong(pool, member.index);
        report_done(pool);
    }
}

static void wait_done(ert_pool *pool) {
    while (pool->running) pthread_cond_wait(&pool->done, &pool->lock);
}

static void give_order(ert_pool *pool, ert_order order) {
    pthread_mutex_lock(&pool->lock);
    pool->order = order;
    pool->running = pool->threads;
    pool->generation++;
    pthread_cond_broadcast(&pool->wake);
    if (order != ERT_QUIT) wait_done(pool);
    pthread_mutex_unlock(&pool->lock);
}

/* Threads pinned one to each CPU; NULL with errno set if one could not be started or pinned. */
ert_pool *ert_pool_create(int threads, const int *cpus) {
    ert_pool *pool = aligned_alloc(128, (sizeof *pool + 127) / 128 * 128);
    if (!pool) return NULL;
    *pool = (ert_pool){.threads = threads, .thread = calloc((size_t)threads, sizeof(pthread_t)), .vote = calloc((size_t)threads, 1), .clock_hz = calloc((size_t)threads, 128)};
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    pthread_mutex_lock(&pool->lock);
    int started = 0, error = 0;
    for (; started < threads && !error; started++) {
        ert_member *member = malloc(sizeof *member);
        *member = (ert_member){pool, started, cpus[started]};
        pool->running++;
        error = pthread_create(&pool->thread[started], NULL, member_main, member);
        if (error) {
            free(member);
            pool->running--;
            started--;
        }
    }
    wait_done(pool);
    pthread_mutex_unlock(&pool->lock);
    if (!error) error = __atomic_load_n(&pool->refused, __ATOMIC_ACQUIRE);
    if (!error) return pool;
    pool->threads = started;
    ert_pool_destroy(pool);
    errno = error;
    return NULL;
}

void ert_pool_destroy(ert_pool *pool) {
    give_order(pool, ERT_QUIT);
    for (int t = 0; t < pool->threads; t++) pthread_join(pool->thread[t], NULL);
    free(pool->thread);
    free(pool->vote);
    free(pool->clock_hz);
    free(pool);
}

/* sampling->samples samples, each between barriers; stamps[sample][thread]. */
void ert_pool_run(ert_pool *pool, ert_kernel_function *kernel, const ert_job *jobs, const ert_sampling *sampling, ert_stamp *stamps) {
    pool->kernel = kernel;
    pool->jobs = jobs;
    pool->sampling = sampling;
    pool->stamps = stamps;
    pool->waited_s = 0;
    give_order(pool, ERT_RUN);
}

/* First touch by the thread that will use it, with random numbers. */
void ert_pool_fill(ert_pool *pool, char *const *start, const uint64_t *bytes, const double *table, uint64_t table_mask, uint64_t seed) {
    pool->fill_start = start;
    pool->fill_bytes = bytes;
    pool->table = table;
    pool->table_mask = table_mask;
    pool->seed = seed;
    give_order(pool, ERT_FILL);
}

/* Seconds for one cache line to go from thread a to thread b and back. */
double ert_pool_ping_pong(ert_pool *pool, int a, int b, uint64_t rounds) {
    pool->player[0] = a;
    pool->player[1] = b;
    pool->rounds = rounds;
    pool->ball = 0;
    give_order(pool, ERT_PING_PONG);
    return pool->round_trip_s;
}
