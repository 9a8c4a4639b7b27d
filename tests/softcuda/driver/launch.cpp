#include "launch.h"
#include <cstdio>
#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include "faults.h"
#include "fibers.h"
#include "model.h"

void forget_last_allocation();

struct Launch {
    Function *function;
    Shape grid, block;
    unsigned dynamic_bytes;
    std::vector<char> parameters;
    uint64_t *last_parameter(int from_end) { return (uint64_t *)(parameters.data() + parameters.size()) - from_end; }
};

// ---- running blocks

static void begin(Launch &launch) {
    soft_state *state = launch.function->module->state;
    state->dynamic_shared = clear_shared(launch.dynamic_bytes);
    state->block_dim = {launch.block.x, launch.block.y, launch.block.z};
    state->grid_dim = {launch.grid.x, launch.grid.y, launch.grid.z};
    memset(state->counters, 0, sizeof state->counters);
    running() = {launch.function, launch.parameters.data(), running().error, nullptr};
    forget_last_allocation();
}

static soft_uint3 block_index(Shape grid, uint64_t linear) {
    return {(unsigned)(linear % grid.x), (unsigned)(linear / grid.x % grid.y), (unsigned)(linear / grid.x / grid.y)};
}

static std::map<CUdeviceptr, double> reach_of(const std::unordered_set<uint64_t> &lines) {
    std::map<CUdeviceptr, double> reach;
    for (uint64_t line : lines) {
        CUdeviceptr start = (--driver().allocations.upper_bound(line * 128 + 127))->first;
        reach[start] = std::max(reach[start], (double)(line * 128) - (double)start);
    }
    return reach;
}

// Runs every block (``sample`` 0) or that many, spread from the first to the last, and scales up to all.
static Work run(Launch &launch, uint64_t sample, bool wants_lines) {
    begin(launch);
    Work work;
    uint64_t blocks = launch.grid.count();
    uint64_t count = sample && sample < blocks ? sample : blocks;
    std::unordered_set<uint64_t> mine, all;
    for (uint64_t i = 0; i < count && !running().error; i++) {
        mine.clear();
        running().lines = wants_lines ? &mine : nullptr;
        run_block(launch.block, block_index(launch.grid, count == 1 ? 0 : i * (blocks - 1) / (count - 1)));
        work.block_bytes += 128.0 * mine.size() / count;
        if (wants_lines) all.insert(mine.begin(), mine.end());
    }
    double scale = (double)blocks / count;
    for (int i = 0; i < SOFT_COUNTERS; i++) work.counters[i] = scale * launch.function->module->state->counters[i];
    // Blocks that share what they touch touch no more when there are more of them.
    work.all_bytes = 128.0 * all.size();
    if (work.all_bytes > 1.5 * work.block_bytes) work.all_bytes *= scale;
    work.blocks = (double)blocks;
    work.threads = work.blocks * launch.block.count();
    work.reach = reach_of(all);
    return work;
}

// ---- estimating large launches
// Kernels named ert_* end in (trips, repeats), and what they do is linear in repeats, and per repeat linear in trips.

static const uint64_t WHOLE_LIMIT = 1 << 13, SAMPLED_BLOCKS = 3, SAMPLED_TRIPS = 2;

static bool is_small(Launch &launch) {
    if (strncmp(launch.function->kernel->name, "ert_", 4) || launch.parameters.size() < 16) return true;
    double trips = (double)std::max<uint64_t>(*launch.last_parameter(2), 1);
    double threads = (double)launch.grid.count() * launch.block.count();
    return threads * trips * (double)*launch.last_parameter(1) <= WHOLE_LIMIT;
}

static Work combine(const Work &a, double x, const Work &b, double y) {
    Work sum = a;
    for (int i = 0; i < SOFT_COUNTERS; i++) sum.counters[i] = x * a.counters[i] + y * b.counters[i];
    sum.block_bytes = x * a.block_bytes + y * b.block_bytes;
    sum.all_bytes = x * a.all_bytes + y * b.all_bytes;
    for (auto &[start, offset] : sum.reach) offset = x * offset + y * (b.reach.count(start) ? b.reach.at(start) : 0);
    return sum;
}

struct Estimate { Work fixed, per_repeat, footprint; };

static Work sampled(Launch &launch, uint64_t trips, uint64_t repeats) {
    Launch part = launch;
    *part.last_parameter(2) = trips;
    *part.last_parameter(1) = repeats;
    return run(part, SAMPLED_BLOCKS, true);
}

static Estimate estimate(Launch &launch) {
    uint64_t trips = *launch.last_parameter(2);
    bool has_many_trips = trips > 2 * SAMPLED_TRIPS && launch.block.count() > 1;
    uint64_t few = has_many_trips ? SAMPLED_TRIPS : trips;
    Work once = sampled(launch, few, 1), twice = sampled(launch, few, 2);
    Estimate result = {combine(once, 2, twice, -1), combine(twice, 1, once, -1), once};
    if (has_many_trips) {
        Work more = combine(sampled(launch, 2 * few, 1), 1, once, -1);
        double extra = (double)(trips - few) / few;
        result.per_repeat = combine(result.per_repeat, 1, more, extra);
        result.footprint = combine(once, 1, more, extra);
    }
    return result;
}

typedef std::tuple<const Function *, uint64_t, uint64_t, unsigned, std::string> Key;
static std::map<Key, Estimate> &estimates() {
    static std::map<Key, Estimate> known;
    return known;
}

void forget_launches(const Function *function) {
    auto &known = estimates();
    for (auto it = known.begin(); it != known.end();) it = std::get<0>(it->first) == function ? known.erase(it) : std::next(it);
}

// A lone thread chases through the lines of its array (kernels_cu/chase.cu), each of which holds the offset of the next one.
// Lines it meets for the first time come from wherever the whole cycle fits; those of a start it had before it has seen already.
static double chased_bytes(Launch &launch, double seen) {
    const CUdeviceptr *arguments = (const CUdeviceptr *)launch.parameters.data();
    const char *array = (const char *)arguments[2];
    uint32_t start = (uint32_t)arguments[3], at = start;
    if (!is_inside(arguments[2], 1)) return seen;
    auto next = [&](uint32_t offset) { return *(const uint32_t *)(array + offset); };
    static std::map<std::tuple<CUdeviceptr, uint32_t, uint32_t>, std::pair<double, std::set<uint32_t>>> known;
    auto &[cycle_bytes, starts] = known[{arguments[2], next(0), next(128)}];
    if (!cycle_bytes) do cycle_bytes += 128;
        while ((at = next(at)) != start && is_inside(arguments[2] + at, 4) && cycle_bytes < (1ull << 32));
    return starts.insert(start).second ? cycle_bytes : std::min(seen, cycle_bytes);
}

// The last block is among those that ran, so what it would touch in its last trip is the last that is touched at all.
static void stop_beyond(const Launch &launch, const Work &footprint) {
    for (const auto &[start, offset] : footprint.reach) {
        if (running().error || offset < (double)driver().allocations[start].bytes) continue;
        fprintf(stderr, "softcuda: illegal access %.0f bytes into an array of %zu in %s\n", offset, driver().allocations[start].bytes,
                launch.function->kernel->name);
        running().error = ILLEGAL_ADDRESS;
    }
}

static Work estimated(Launch &launch) {
    std::string but_repeats(launch.parameters.data(), launch.parameters.size() - 8);
    Key key = {launch.function, launch.grid.count(), launch.block.count(), launch.dynamic_bytes, but_repeats};
    auto found = estimates().find(key);
    if (found == estimates().end()) found = estimates().emplace(key, estimate(launch)).first;
    Work work = combine(found->second.fixed, 1, found->second.per_repeat, (double)*launch.last_parameter(1));
    work.block_bytes = found->second.footprint.block_bytes;
    work.all_bytes = found->second.footprint.all_bytes;
    stop_beyond(launch, found->second.footprint);
    if (running().error) estimates().erase(found);
    if (work.threads == 1) work.all_bytes *= (double)*launch.last_parameter(1);
    return work;
}

// A launch that was only estimated leaves the receipt of one that ran: its first block runs without work, and where it
// signs off with the repeats it has done (``sign_off`` in kernels_cu/common.cuh), those of the launch are put.
static void leave_receipt(const Launch &launch) {
    Launch idle = launch;
    *idle.last_parameter(1) = 0;
    begin(idle);
    run_block(idle.block, {0, 0, 0});
    uint64_t *results = (uint64_t *)((const CUdeviceptr *)idle.parameters.data())[1];
    if (is_inside((CUdeviceptr)results, 8) && !*results) *results = *Launch(launch).last_parameter(1);
}

// ---- the launch itself

static bool is_valid(const Launch &launch) {
    const Shape &grid = launch.grid, &block = launch.block;
    bool fits = (uint64_t)block.x * block.y * block.z <= 1024 && block.z <= 64 && grid.y <= 65535 && grid.z <= 65535;
    bool is_right = launch.dynamic_bytes <= launch.function->dynamic_limit_bytes;
    is_right = is_right && launch.parameters.size() == launch.function->kernel->parameter_bytes;
    if (!is_right) fprintf(stderr, "softcuda: %s: wrong parameters or too much shared memory\n", launch.function->kernel->name);
    return fits && is_right && block.count() && grid.count();
}

static void run_clock(Device &device, const Function *function, double time_s) {
    device.unbroken_s = (device.running == function ? device.unbroken_s : 0) + time_s;
    device.running = function;
    device.virtual_clock_s += time_s;
}

static CUresult start(Launch launch) {
    if (!launch.function || !is_valid(launch)) return INVALID_VALUE;
    Device *device = current_device();
    long number = ++driver().launches;
    driver().clock_shares.push_back(clock_share_now(*device));
    if (fault("refused", number)) return LAUNCH_OUT_OF_RESOURCES;
    if (fault("lost", number)) {
        device->lost = true;
        return UNKNOWN;
    }
    if (fault("skipped", number)) return OK;
    running().error = OK;
    bool is_whole = !device->is_modelled() || is_small(launch);
    Work work = is_whole ? run(launch, 0, device->is_modelled()) : estimated(launch);
    bool is_chase = device->is_modelled() && !strncmp(launch.function->kernel->name, "ert_chase", 9);
    if (is_chase) work.block_bytes = work.all_bytes = chased_bytes(launch, work.all_bytes);
    if (!is_whole && !running().error) leave_receipt(launch);
    for (int i = 0; i < SOFT_COUNTERS; i++) driver().counters[i] = (uint64_t)work.counters[i];
    if (device->is_modelled()) run_clock(*device, launch.function, modelled_s(*device, work, driver().clock_shares.back()));
    int error = fault("failed", number) ? LAUNCH_FAILED : fault("illegal", number) ? ILLEGAL_ADDRESS : running().error;
    driver().stack.back()->error = error;                    // as on a GPU: told at the next call
    return OK;
}

API CUresult cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned dynamic_bytes, void *, void **parameters, void **extra) {
    RETURN_UNLESS_READY;
    if (!function) return INVALID_HANDLE;
    Launch launch = {function, {gx, gy, gz}, {bx, by, bz}, dynamic_bytes, {}};
    const soft_kernel *kernel = function->kernel;
    const char *buffer = nullptr;
    size_t size = 0;
    for (int i = 0; extra && extra[i]; i += 2) {             // CU_LAUNCH_PARAM_BUFFER_POINTER 1, _SIZE 2
        if (extra[i] == (void *)1) buffer = (const char *)extra[i + 1];
        if (extra[i] == (void *)2) size = *(size_t *)extra[i + 1];
    }
    if (extra) launch.parameters.assign(buffer, buffer + size);
    else launch.parameters.resize(kernel->parameter_bytes);
    for (unsigned i = 0; !extra && i < kernel->parameter_count; i++)
        memcpy(&launch.parameters[kernel->offset[i]], parameters[i], kernel->size[i]);
    return start(launch);
}

API void softcuda_counters(uint64_t *counters) { memcpy(counters, driver().counters, sizeof driver().counters); }
API long softcuda_launches() { return driver().launches; }
