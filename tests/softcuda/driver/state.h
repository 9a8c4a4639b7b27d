// What the driver remembers. One worker thread, launches are synchronous: nothing here is locked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>
#include "../include/softcuda_abi.h"

#define API extern "C" __attribute__((visibility("default")))

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;

enum Error {
    OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, DEVICE_UNAVAILABLE = 46, NO_DEVICE = 100,
    INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY_FOR_GPU = 209, FILE_NOT_FOUND = 301,
    INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701,
    MISALIGNED_ADDRESS = 716, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801, UNKNOWN = 999
};

// "key=value,key=value": what a device says of itself, and the ceilings planted in it.
struct Settings {
    std::map<std::string, std::string> words;
    double number(const std::string &key, double otherwise = 0) const;
    std::string text(const std::string &key, const std::string &otherwise = "") const;
    bool has(const std::string &key) const { return words.count(key) > 0; }
};
Settings parse_settings(const std::string &text);

struct Device;
// ``error`` sticks: every later call in this context returns it, as on a GPU.
struct Context { Device *device = nullptr; int references = 1; int error = OK; };

struct Device {
    Settings says;
    Context primary;
    int primary_references = 0;
    size_t used_bytes = 0;
    bool lost = false;
    double virtual_clock_s = 0;
    const void *running = nullptr;                           // the function launched last, and for how long without another one
    double unbroken_s = 0;
    bool is_modelled() const { return says.has("overhead"); }
};

struct Function;
struct Module {
    void *handle;
    soft_state *state;
    std::map<std::string, Function *> functions;
};
struct Function {
    Module *module;
    const soft_kernel *kernel;
    unsigned dynamic_limit_bytes = 48 << 10;
    unsigned block[3] = {1, 1, 1};
};
struct Allocation { size_t bytes; Device *device; size_t mapped_bytes; };

struct Driver {
    bool initialised = false;
    std::vector<Device *> physical, visible;
    std::vector<Context *> stack;                            // of contexts, the current one last
    std::map<CUdeviceptr, Allocation> allocations;
    uint64_t counters[SOFT_COUNTERS] = {};                   // of the last launch
    long launches = 0, allocated = 0;                        // how many so far, for the faults
    std::vector<double> clock_shares;                        // of the highest clock, at each launch
    long awaited = 0;                                        // launches the host knows to be over; the next one is running now
};
Driver &driver();
void await_launches(long number);

// The error that any call in the current context returns now; OK if none.
CUresult ready();
Device *current_device();
bool is_inside(CUdeviceptr address, size_t bytes);
const char *error_name(int code);
double now_s(Device *device);

#define RETURN_UNLESS_INITIALISED if (!driver().initialised) return NOT_INITIALIZED
#define RETURN_UNLESS_READY if (CUresult not_ready = ready()) return not_ready
