// Devices: which there are, which are visible, and what each says of itself.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "state.h"

// SOFTCUDA_DEVICES: one device per ';', its settings between ','.
static void find_devices() {
    Driver &all = driver();
    const char *given = getenv("SOFTCUDA_DEVICES");
    std::string text = given ? given : "cc=80";
    if (text == "none") return;
    for (size_t start = 0; start <= text.size();) {
        size_t end = std::min(text.find(';', start), text.size());
        Device *device = new Device;
        device->says = parse_settings(text.substr(start, end - start));
        device->primary.device = device;
        all.physical.push_back(device);
        start = end + 1;
    }
}

static std::string uuid_of(const Device *device) {
    std::string otherwise = "5c5c5c5c-0000-0000-0000-00000000000";
    for (size_t i = 0; i < driver().physical.size(); i++)
        if (driver().physical[i] == device) otherwise += std::to_string(i);
    return device->says.text("uuid", otherwise);
}

static Device *device_named(const std::string &word) {
    std::vector<Device *> &all = driver().physical;
    char *rest;
    long index = strtol(word.c_str(), &rest, 10);
    if (!word.empty() && !*rest) return index >= 0 && index < (long)all.size() ? all[index] : nullptr;
    for (const char *prefix : {"GPU-", "MIG-"})
        for (Device *device : all)
            if (word.rfind(prefix, 0) == 0 && uuid_of(device).rfind(word.substr(4), 0) == 0) return device;
    return nullptr;
}

// CUDA_VISIBLE_DEVICES: indices or UUIDs; the list ends at the first that is not there.
static void choose_visible() {
    const char *given = getenv("CUDA_VISIBLE_DEVICES");
    if (!given) {
        driver().visible = driver().physical;
        return;
    }
    std::string text = given;
    for (size_t start = 0; start <= text.size();) {
        size_t end = std::min(text.find(',', start), text.size());
        Device *device = device_named(text.substr(start, end - start));
        if (!device) return;
        driver().visible.push_back(device);
        start = end + 1;
    }
}

static Device *visible(CUdevice index) {
    return index >= 0 && index < (int)driver().visible.size() ? driver().visible[index] : nullptr;
}
#define FIND_DEVICE(index)                                  \
    RETURN_UNLESS_INITIALISED;                              \
    Device *device = visible(index);                        \
    if (!device) return INVALID_DEVICE

API CUresult cuInit(unsigned) {
    if (driver().initialised) return OK;
    find_devices();
    choose_visible();
    if (driver().visible.empty()) return NO_DEVICE;
    driver().initialised = true;
    return OK;
}

API CUresult cuDriverGetVersion(int *version) {
    *version = getenv("SOFTCUDA_DRIVER") ? atoi(getenv("SOFTCUDA_DRIVER")) : 13000;
    return OK;
}

API CUresult cuDeviceGetCount(int *count) {
    RETURN_UNLESS_INITIALISED;
    *count = (int)driver().visible.size();
    return OK;
}

API CUresult cuDeviceGet(CUdevice *handle, int index) {
    FIND_DEVICE(index);
    (void)device;
    *handle = index;
    return OK;
}

API CUresult cuDeviceGetName(char *name, int size, CUdevice index) {
    FIND_DEVICE(index);
    snprintf(name, size, "%s", device->says.text("name", "softcuda device").c_str());
    return OK;
}

API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice index) {
    FIND_DEVICE(index);
    int cc = (int)device->says.number("cc", 80);
    *major = cc / 10;
    *minor = cc % 10;
    return OK;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice index) {
    FIND_DEVICE(index);
    *bytes = (size_t)device->says.number("mem", 1 << 30);
    return OK;
}

API CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice index) {
    FIND_DEVICE(index);
    snprintf(text, size, "%s", device->says.text("pci", "0000:00:00.0").c_str());
    return OK;
}

API CUresult cuDeviceGetByPCIBusId(CUdevice *handle, const char *text) {
    for (size_t i = 0; i < driver().visible.size(); i++)
        if (driver().visible[i]->says.text("pci", "0000:00:00.0") == text) {
            *handle = (CUdevice)i;
            return OK;
        }
    return INVALID_DEVICE;
}

API CUresult cuDeviceCanAccessPeer(int *can, CUdevice, CUdevice) {
    *can = 0;
    return OK;
}

API CUresult cuDeviceGetUuid_v2(unsigned char *bytes, CUdevice index) {
    FIND_DEVICE(index);
    std::string digits;
    for (char c : uuid_of(device))
        if (c != '-') digits += c;
    digits.resize(32, '0');
    for (int i = 0; i < 16; i++) bytes[i] = (unsigned char)strtol(digits.substr(2 * i, 2).c_str(), nullptr, 16);
    return OK;
}
API CUresult cuDeviceGetUuid(unsigned char *bytes, CUdevice index) { return cuDeviceGetUuid_v2(bytes, index); }

// CUdevice_attribute numbers as in cuda.h; those of which nothing depends on the settings.
static const std::map<int, int> FIXED = {
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {9, 65536}, {10, 32},
    {11, 2147483647}, {12, 65536}, {14, 512}, {15, 1}, {18, 0}, {19, 1}, {30, 512}, {31, 1}, {40, 1}, {41, 1}, {51, 32},
    {78, 1}, {79, 1}, {80, 1}, {82, 65536}, {83, 0}, {106, 32}, {111, 1024}};

API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice index) {
    FIND_DEVICE(index);
    const Settings &says = device->says;
    switch (attribute) {
    case 13: *value = (int)says.number("clock", 1e6); return OK;                  // kHz
    case 16: *value = (int)says.number("sms", 2); return OK;
    case 20: *value = (int)says.number("compute_mode"); return OK;
    case 32: *value = (int)says.number("ecc"); return OK;
    case 36: *value = (int)says.number("memclock", 1e6); return OK;               // kHz
    case 37: *value = (int)says.number("bus", 64); return OK;                     // bits
    case 38: *value = (int)says.number("l2", 4 << 20); return OK;
    case 39: *value = (int)says.number("threads_per_sm", 2048); return OK;
    case 75: *value = (int)says.number("cc", 80) / 10; return OK;
    case 76: *value = (int)says.number("cc", 80) % 10; return OK;
    case 81: *value = (int)says.number("smem", 164 << 10); return OK;
    case 97: *value = (int)says.number("smem", 164 << 10) - 1024; return OK;
    }
    auto found = FIXED.find(attribute);
    *value = found == FIXED.end() ? 0 : found->second;
    return attribute < 1 || attribute > 200 ? INVALID_VALUE : OK;
}
