// A libnvidia-ml.so.1 that knows the devices of the soft driver, their clocks, and when they throttle.
//
// SOFTCUDA_NVML: "unsupported" (every question about a device is answered so), "forbidden" (no permission), else normal.
// It sees all devices, whatever CUDA_VISIBLE_DEVICES says, in the order of their PCI ids, as the real one does.
#include <dlfcn.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "state.h"

enum { NVML_OK = 0, NVML_UNINITIALIZED = 1, NVML_INVALID = 2, NVML_NOT_SUPPORTED = 3, NVML_NO_PERMISSION = 4, NVML_NOT_FOUND = 6,
       NVML_GPU_IS_LOST = 15 };
typedef Settings *Handle;
static bool started;

static std::vector<Settings *> &all() {
    static std::vector<Settings *> devices;
    return devices;
}

// The driver in this process, if there is one, knows what happens now.
static int ask_driver(const char *question, int otherwise) {
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    auto answer = library ? (int (*)())dlsym(library, question) : nullptr;
    return answer ? answer() : otherwise;
}
static double clock_share() { return ask_driver("softcuda_clock_permille", 1000) / 1e3; }

static int trouble(Handle device, bool is_detail) {
    if (!started) return NVML_UNINITIALIZED;
    if (ask_driver("softcuda_is_lost", 0)) return NVML_GPU_IS_LOST;
    std::string mode = getenv("SOFTCUDA_NVML") ? getenv("SOFTCUDA_NVML") : "";
    if (is_detail && (mode == "unsupported" || device->number("mig"))) return NVML_NOT_SUPPORTED;
    return mode == "forbidden" ? NVML_NO_PERMISSION : NVML_OK;
}
#define RETURN_TROUBLE(device) if (int error = trouble(device, true)) return error

API int nvmlInit_v2() {
    if (all().empty()) {
        std::string text = getenv("SOFTCUDA_DEVICES") ? getenv("SOFTCUDA_DEVICES") : "cc=80";
        for (size_t start = 0; start <= text.size() && text != "none";) {
            size_t end = std::min(text.find(';', start), text.size());
            all().push_back(new Settings(parse_settings(text.substr(start, end - start))));
            start = end + 1;
        }
        std::stable_sort(all().begin(), all().end(), [](Settings *a, Settings *b) { return a->text("pci") < b->text("pci"); });
    }
    started = true;
    return NVML_OK;
}
API int nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }
API int nvmlShutdown() {
    started = false;
    return NVML_OK;
}
API const char *nvmlErrorString(int code) { return code == NVML_NOT_SUPPORTED ? "Not Supported" : code ? "Error" : "Success"; }

static int put(char *to, unsigned size, const std::string &text) {
    snprintf(to, size, "%s", text.c_str());
    return NVML_OK;
}
API int nvmlSystemGetDriverVersion(char *text, unsigned size) { return put(text, size, "580.00.00-soft"); }
API int nvmlSystemGetNVMLVersion(char *text, unsigned size) { return put(text, size, "13.580.00-soft"); }
API int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = (unsigned)all().size();
    return started ? NVML_OK : NVML_UNINITIALIZED;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle *device) {
    if (index >= all().size()) return NVML_INVALID;
    *device = all()[index];
    return trouble(*device, false);
}
static std::string uuid_of(Handle device) { return (device->number("mig") ? "MIG-" : "GPU-") + device->text("uuid"); }
API int nvmlDeviceGetHandleByUUID(const char *uuid, Handle *device) {
    for (Handle one : all())
        if (uuid_of(one) == uuid) {
            *device = one;
            return trouble(one, false);
        }
    return NVML_NOT_FOUND;
}
API int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, Handle *device) {
    for (Handle one : all())
        if (one->text("pci") == pci && !one->number("mig")) {
            *device = one;
            return trouble(one, false);
        }
    return NVML_NOT_FOUND;
}
API int nvmlDeviceGetUUID(Handle device, char *text, unsigned size) { return put(text, size, uuid_of(device)); }
API int nvmlDeviceGetName(Handle device, char *text, unsigned size) { return put(text, size, device->text("name", "softcuda device")); }

// Clock types: 0 graphics, 1 SM, 2 memory. MHz.
API int nvmlDeviceGetClockInfo(Handle device, int type, unsigned *mhz) {
    RETURN_TROUBLE(device);
    double clock = device->number(type == 2 ? "memclock" : "clock", 1e6) / 1e3;
    *mhz = (unsigned)(type == 2 ? clock : clock_share() * clock);
    return NVML_OK;
}
API int nvmlDeviceGetMaxClockInfo(Handle device, int type, unsigned *mhz) {
    RETURN_TROUBLE(device);
    *mhz = (unsigned)(device->number(type == 2 ? "memclock" : "clock", 1e6) / 1e3);
    return NVML_OK;
}
API int nvmlDeviceGetTemperature(Handle device, int, unsigned *celsius) {
    RETURN_TROUBLE(device);
    *celsius = (unsigned)device->number("temperature", 55);
    return NVML_OK;
}
static int milliwatts(Handle device, const char *key, double watts, unsigned *answer) {
    RETURN_TROUBLE(device);
    *answer = (unsigned)(1e3 * device->number(key, watts));
    return NVML_OK;
}
API int nvmlDeviceGetPowerUsage(Handle device, unsigned *mw) { return milliwatts(device, "power", 350, mw); }
API int nvmlDeviceGetEnforcedPowerLimit(Handle device, unsigned *mw) { return milliwatts(device, "power_limit", 700, mw); }
API int nvmlDeviceGetPowerManagementLimit(Handle device, unsigned *mw) { return milliwatts(device, "power_limit", 700, mw); }
API int nvmlDeviceGetPowerManagementDefaultLimit(Handle device, unsigned *mw) { return milliwatts(device, "power_limit", 700, mw); }

static int reasons(Handle device, unsigned long long *mask) {
    RETURN_TROUBLE(device);
    *mask = (unsigned long long)device->number("reasons") | (clock_share() < 1 ? 0x4 : 0);
    return NVML_OK;
}
API int nvmlDeviceGetCurrentClocksThrottleReasons(Handle device, unsigned long long *mask) { return reasons(device, mask); }
API int nvmlDeviceGetCurrentClocksEventReasons(Handle device, unsigned long long *mask) { return reasons(device, mask); }

API int nvmlDeviceGetEccMode(Handle device, unsigned *current, unsigned *pending) {
    RETURN_TROUBLE(device);
    *current = *pending = (unsigned)device->number("ecc");
    return NVML_OK;
}
API int nvmlDeviceGetMigMode(Handle device, unsigned *current, unsigned *pending) {
    RETURN_TROUBLE(device);
    *current = *pending = 0;
    return NVML_OK;
}
API int nvmlDeviceGetComputeMode(Handle device, int *mode) {
    RETURN_TROUBLE(device);
    *mode = (int)device->number("compute_mode");
    return NVML_OK;
}
API int nvmlDeviceGetPersistenceMode(Handle device, int *mode) {
    RETURN_TROUBLE(device);
    *mode = 1;
    return NVML_OK;
}

struct Process { unsigned pid; unsigned long long used_bytes; unsigned gpu_instance, compute_instance; };
// "others": how many other processes compute here.
API int nvmlDeviceGetComputeRunningProcesses_v3(Handle device, unsigned *count, Process *processes) {
    RETURN_TROUBLE(device);
    unsigned room = *count, others = (unsigned)device->number("others");
    *count = others;
    if (others > room) return 7;                             // NVML_ERROR_INSUFFICIENT_SIZE
    for (unsigned i = 0; i < others; i++) processes[i] = {4242 + i, 1ull << 30, ~0u, ~0u};
    return NVML_OK;
}
