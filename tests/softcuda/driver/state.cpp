#include "state.h"
#include <cstdlib>
#include <ctime>

double Settings::number(const std::string &key, double otherwise) const {
    auto found = words.find(key);
    return found == words.end() ? otherwise : atof(found->second.c_str());
}

std::string Settings::text(const std::string &key, const std::string &otherwise) const {
    auto found = words.find(key);
    return found == words.end() ? otherwise : found->second;
}

Settings parse_settings(const std::string &text) {
    Settings settings;
    for (size_t start = 0; start < text.size();) {
        size_t comma = std::min(text.find(',', start), text.size()), equals = text.find('=', start);
        if (equals < comma) settings.words[text.substr(start, equals - start)] = text.substr(equals + 1, comma - equals - 1);
        start = comma + 1;
    }
    return settings;
}

Driver &driver() {
    static Driver it;
    return it;
}

void await_launches(long number) { driver().awaited = std::max(driver().awaited, number); }

CUresult ready() {
    if (!driver().initialised) return NOT_INITIALIZED;
    if (driver().stack.empty()) return INVALID_CONTEXT;
    Context *context = driver().stack.back();
    return context->device->lost ? UNKNOWN : context->error;
}

Device *current_device() { return driver().stack.back()->device; }

bool is_inside(CUdeviceptr address, size_t bytes) {
    auto after = driver().allocations.upper_bound(address);
    if (after == driver().allocations.begin()) return false;
    const auto &[start, allocation] = *--after;
    return address - start <= allocation.bytes && bytes <= allocation.bytes - (address - start);
}

double now_s(Device *device) {
    if (device->is_modelled()) return device->virtual_clock_s;
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static const struct { int code; const char *name, *text; } ERRORS[] = {
    {OK, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {FILE_NOT_FOUND, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"}};

const char *error_name(int code) {
    for (const auto &error : ERRORS)
        if (error.code == code) return error.name;
    return "CUDA_ERROR_UNKNOWN";
}

API CUresult cuGetErrorName(int code, const char **name) {
    *name = error_name(code);
    return OK;
}

API CUresult cuGetErrorString(int code, const char **text) {
    *text = "unknown error";
    for (const auto &error : ERRORS)
        if (error.code == code) *text = error.text;
    return OK;
}
