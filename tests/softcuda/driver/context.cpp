// Contexts: a stack per process, primary contexts with a count of their users, errors that stick until a reset.
#include "faults.h"
#include "state.h"

static CUresult refusal(Device *device) {
    if (device->lost) return UNKNOWN;
    if (fault("busy", 0)) return DEVICE_UNAVAILABLE;
    if (fault("full", 0)) return OUT_OF_MEMORY;
    return fault("ordinal", 0) ? INVALID_DEVICE : OK;
}

static Device *visible(CUdevice index) {
    return index >= 0 && index < (int)driver().visible.size() ? driver().visible[index] : nullptr;
}

static CUresult create(Context **context, CUdevice index) {
    RETURN_UNLESS_INITIALISED;
    Device *device = visible(index);
    if (!device) return INVALID_DEVICE;
    if (CUresult refused = refusal(device)) return refused;
    *context = new Context{device};
    driver().stack.push_back(*context);
    return OK;
}
API CUresult cuCtxCreate_v2(Context **context, unsigned, CUdevice index) { return create(context, index); }
API CUresult cuCtxCreate_v3(Context **context, void *, int, unsigned, CUdevice index) { return create(context, index); }
API CUresult cuCtxCreate_v4(Context **context, void *, unsigned, CUdevice index) { return create(context, index); }

API CUresult cuCtxDestroy_v2(Context *context) {
    std::vector<Context *> &stack = driver().stack;
    for (size_t i = stack.size(); i-- > 0;)
        if (stack[i] == context) stack.erase(stack.begin() + i);
    if (context != &context->device->primary) delete context;
    return OK;
}

API CUresult cuCtxAttach(Context **context, unsigned) {
    RETURN_UNLESS_READY;
    *context = driver().stack.back();
    (*context)->references++;
    return OK;
}

API CUresult cuCtxDetach(Context *context) {
    if (!context) return INVALID_CONTEXT;
    return --context->references ? OK : cuCtxDestroy_v2(context);
}

API CUresult cuCtxPushCurrent_v2(Context *context) {
    RETURN_UNLESS_INITIALISED;
    if (!context) return INVALID_CONTEXT;
    driver().stack.push_back(context);
    return OK;
}

API CUresult cuCtxPopCurrent_v2(Context **context) {
    RETURN_UNLESS_INITIALISED;
    if (driver().stack.empty()) return INVALID_CONTEXT;
    if (context) *context = driver().stack.back();
    driver().stack.pop_back();
    return OK;
}

API CUresult cuCtxSetCurrent(Context *context) {
    RETURN_UNLESS_INITIALISED;
    if (!driver().stack.empty()) driver().stack.pop_back();
    if (context) driver().stack.push_back(context);
    return OK;
}

API CUresult cuCtxGetCurrent(Context **context) {
    RETURN_UNLESS_INITIALISED;
    *context = driver().stack.empty() ? nullptr : driver().stack.back();
    return OK;
}

API CUresult cuCtxGetDevice(CUdevice *index) {
    RETURN_UNLESS_INITIALISED;
    if (driver().stack.empty()) return INVALID_CONTEXT;
    for (size_t i = 0; i < driver().visible.size(); i++)
        if (driver().visible[i] == current_device()) *index = (CUdevice)i;
    return OK;
}

API CUresult cuCtxSynchronize() {
    RETURN_UNLESS_READY;
    await_launches(driver().launches);
    return OK;
}

API CUresult cuDevicePrimaryCtxRetain(Context **context, CUdevice index) {
    RETURN_UNLESS_INITIALISED;
    Device *device = visible(index);
    if (!device) return INVALID_DEVICE;
    if (CUresult refused = refusal(device)) return refused;
    device->primary_references++;
    *context = &device->primary;
    return OK;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice index) {
    Device *device = visible(index);
    if (!device || !device->primary_references) return INVALID_CONTEXT;
    device->primary_references--;
    return OK;
}

API CUresult cuDevicePrimaryCtxReset_v2(CUdevice index) {
    Device *device = visible(index);
    if (!device) return INVALID_DEVICE;
    device->primary.error = OK;
    return device->lost ? UNKNOWN : OK;
}

API CUresult cuCtxGetApiVersion(Context *, unsigned *version) {
    *version = 3020;
    return OK;
}
API CUresult cuCtxGetLimit(size_t *value, int) {
    *value = 1024;
    return OK;
}
API CUresult cuCtxSetLimit(int, size_t) { return OK; }
API CUresult cuCtxGetCacheConfig(int *config) {
    *config = 0;
    return OK;
}
API CUresult cuCtxSetCacheConfig(int) { return OK; }
API CUresult cuCtxGetSharedMemConfig(int *config) {
    *config = 1;
    return OK;
}
API CUresult cuCtxSetSharedMemConfig(int) { return OK; }
