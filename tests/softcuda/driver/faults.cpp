#include "faults.h"
#include <cstdlib>
#include <string>
#include "state.h"

static std::string &wanted() {
    static std::string text = getenv("SOFTCUDA_FAULTS") ? getenv("SOFTCUDA_FAULTS") : "";
    return text;
}

static bool covers(const std::string &entry, const std::string &kind, long count) {
    size_t at = entry.find('@');
    if (entry.substr(0, at) != kind) return false;
    if (at == std::string::npos) return true;
    char *rest;
    long first = strtol(entry.c_str() + at + 1, &rest, 10);
    long last = *rest == '-' ? strtol(rest + 1, nullptr, 10) : first;
    return count >= first && count <= last;
}

bool fault(const char *kind, long count) {
    std::string text = wanted() + ",";
    for (size_t start = 0, end; (end = text.find(',', start)) != std::string::npos; start = end + 1)
        if (covers(text.substr(start, end - start), kind, count)) return true;
    return false;
}

API void softcuda_faults(const char *text) { wanted() = text; }
// Of the launch that runs as far as the host knows; of the last one if none does.
API int softcuda_clock_permille() {
    const std::vector<double> &shares = driver().clock_shares;
    if (shares.empty()) return 1000;
    return (int)(1000 * shares[std::min((size_t)driver().awaited, shares.size() - 1)] + 0.5);
}
API int softcuda_is_lost() {
    for (const Device *device : driver().physical)
        if (device->lost) return 1;
    return 0;
}
