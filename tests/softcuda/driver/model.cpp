#include "model.h"
#include <algorithm>
#include "faults.h"

static const char *const RATES[] = {"fp64",     "fp32",     "fp16",     "bf16",     "int32",   "int8",
                                    "mma_fp64", "mma_tf32", "mma_fp16", "mma_bf16", "mma_fp8", "mma_int8"};
// A cache begins to miss when the working set exceeds it, and hits nothing once the set is this much larger.
static const double FADE = 0.25;

static double miss_share(double set_bytes, double capacity_bytes) {
    return std::clamp((set_bytes / capacity_bytes - 1) / FADE, 0.0, 1.0);
}

// Seconds that ``amount`` takes at the planted rate; none planted: none.
static double at_rate(const Settings &says, const char *key, double amount) {
    return says.has(key) ? amount / says.number(key) : 0;
}

static const char *write_key(const Settings &says) { return says.has("dram_write") ? "dram_write" : "dram"; }

double modelled_copy_s(const Device &device, double bytes) {
    const Settings &says = device.says;
    return says.number("overhead") + at_rate(says, "dram", bytes) + at_rate(says, write_key(says), bytes);
}

double clock_share_now(const Device &device) {
    if (fault("throttle", driver().launches)) return THROTTLED_CLOCK;
    bool is_capped = device.says.has("cap_s") && device.unbroken_s >= device.says.number("cap_s");
    return is_capped ? device.says.number("cap_clock", 1) : 1;
}

// L2 that is nearer to one half of the SMs than to the other: what goes beyond the near part is slower.
static double l2_s(const Settings &says, double bytes, double set_bytes) {
    double far = says.has("l2near") ? std::max(0.0, 1 - says.number("l2near") / std::max(set_bytes, 1.0)) : 0;
    return at_rate(says, "l2bw", bytes * (1 - far)) + at_rate(says, "l2far", bytes * far);
}

double modelled_s(const Device &device, const Work &work, double clock_share) {
    const Settings &says = device.says;
    double core_s = 0;
    for (int i = SOFT_FP64; i <= SOFT_MMA_INT8; i++) {
        double lone = i <= SOFT_BF16 ? work.counters[SOFT_LONE_FP64 + i] : 0;
        core_s = std::max(core_s, at_rate(says, RATES[i], work.counters[i] + lone));
    }

    double blocks_per_sm = std::max(1.0, work.blocks / says.number("sms", 2));
    bool blocks_share = work.all_bytes < 1.5 * work.block_bytes;
    double in_l1 = work.block_bytes * (blocks_share ? 1 : blocks_per_sm);
    double past_l1 = miss_share(in_l1, says.number("l1", 128 << 10)), past_l2 = miss_share(work.all_bytes, says.number("l2", 4 << 20));
    double loads = work.counters[SOFT_LOAD_BYTES], stores = work.counters[SOFT_STORE_BYTES], cached = work.counters[SOFT_CACHED_BYTES];
    double l2_loads = loads - cached + cached * past_l1;
    core_s = std::max(core_s, at_rate(says, "l1bw", cached));
    core_s = std::max(core_s, l2_s(says, l2_loads + stores, work.all_bytes));
    core_s = std::max(core_s, at_rate(says, "smembw", work.counters[SOFT_SHARED_BYTES]));
    double dram_s = at_rate(says, "dram", l2_loads * past_l2) + at_rate(says, write_key(says), stores * past_l2);
    if (work.threads == 1) {
        double latency_s = says.number("lat_l1") + (says.number("lat_l2") - says.number("lat_l1")) * past_l1;
        latency_s += (says.number("lat_dram") - latency_s) * past_l2;
        core_s = std::max(core_s, work.counters[SOFT_LOADS] * latency_s);
    }
    return says.number("overhead") + std::max(core_s / clock_share, dram_s);
}
