/* The pool of pinned threads that runs kernels and takes their time stamps. */
#ifndef ERT_RUNTIME_H
#define ERT_RUNTIME_H

#include "ert.h"

/* What one thread saw in one sample.
 * start_s, stop_s            CLOCK_MONOTONIC around the kernel
 * clock_before_hz, _after_   core clock just before and just after
 * width_before, _after       instructions per cycle of the width probe just before and just after
 * trips                      trips the kernel says it ran
 */
typedef struct {
    double start_s, stop_s;
    double clock_before_hz, clock_after_hz;
    double width_before, width_after;
    uint64_t trips;
} ert_stamp;

/* One thread's work in one sample: `calls` calls; call i works on chunk (first_chunk + i) % chunks of its arrays.
 * warm_passes  go over the first chunk, untimed, right before: while a sample waits for a quiet moment, neighbours take its caches.
 */
typedef struct {
    ert_work work;
    uint64_t calls, first_chunk, chunks, warm_passes;
} ert_job;

/* How samples are taken: a sample starts when every thread's width probe reached `gate` instructions per cycle,
 * or at once when the call has spent `patience_s` waiting for that. */
typedef struct {
    uint64_t samples;
    double patience_s, gate;
} ert_sampling;

typedef struct ert_pool ert_pool;

ert_pool *ert_pool_create(int threads, const int *cpus);
void ert_pool_destroy(ert_pool *pool);
void ert_pool_run(ert_pool *pool, ert_kernel_function *kernel, const ert_job *jobs, const ert_sampling *sampling, ert_stamp *stamps);
void ert_pool_fill(ert_pool *pool, char *const *start, const uint64_t *bytes, const double *table, uint64_t table_mask, uint64_t seed);
double ert_pool_ping_pong(ert_pool *pool, int a, int b, uint64_t rounds);

#endif
