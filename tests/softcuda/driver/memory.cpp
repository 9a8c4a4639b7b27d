// Device memory: host memory that is filled with 0xFF (NaN in every float format) so that nothing unwritten passes for a result.
#include <sys/mman.h>
#include <cstdlib>
#include <cstring>
#include "faults.h"
#include "model.h"
#include "state.h"

// Larger allocations are not filled: pages that nobody touches then cost nothing, and a 16 GiB array fits anywhere.
static const size_t POISON_LIMIT = 64 << 20;
// On a modelled device larger copies inside the device are not carried out: only their time would count.
static const size_t COPY_LIMIT = 64 << 20;

// On either side of an allocation a page is nobody's: else two would adjoin, and what runs off the one would hit the other.
static const size_t PAGE = 4096;

API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    RETURN_UNLESS_READY;
    Device *device = current_device();
    if (!bytes) return INVALID_VALUE;
    if (fault("oom", ++driver().allocated)) return OUT_OF_MEMORY;
    if (device->used_bytes + bytes > device->says.number("mem", 1 << 30)) return OUT_OF_MEMORY;
    size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE + 2 * PAGE;
    void *memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return OUT_OF_MEMORY;
    *address = (CUdeviceptr)memory + PAGE;
    if (bytes <= POISON_LIMIT) memset((void *)*address, 0xFF, bytes);
    driver().allocations[*address] = {bytes, device, mapped};
    device->used_bytes += bytes;
    return OK;
}

API CUresult cuMemFree_v2(CUdeviceptr address) {
    auto found = driver().allocations.find(address);
    if (found == driver().allocations.end() || !found->second.mapped_bytes) return INVALID_VALUE;
    found->second.device->used_bytes -= found->second.bytes;
    munmap((void *)(address - PAGE), found->second.mapped_bytes);
    driver().allocations.erase(found);
    return OK;
}

API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    RETURN_UNLESS_READY;
    Device *device = current_device();
    *total_bytes = (size_t)device->says.number("mem", 1 << 30);
    *free_bytes = *total_bytes - device->used_bytes - (size_t)device->says.number("mem_of_others");
    return OK;
}

API CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned) {
    *pitch = (width + 511) / 512 * 512;
    return cuMemAlloc_v2(address, *pitch * height);
}

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
    if (!is_inside(address, 0)) return NOT_FOUND;
    auto found = --driver().allocations.upper_bound(address);
    if (base) *base = found->first;
    if (bytes) *bytes = found->second.bytes;
    return OK;
}

API CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned) {
    RETURN_UNLESS_READY;
    return posix_memalign(address, 4096, bytes ? bytes : 1) ? OUT_OF_MEMORY : OK;
}
API CUresult cuMemAllocHost_v2(void **address, size_t bytes) { return cuMemHostAlloc(address, bytes, 0); }
API CUresult cuMemFreeHost(void *address) {
    free(address);
    return OK;
}
API CUresult cuMemHostRegister_v2(void *, size_t, unsigned) { return OK; }
API CUresult cuMemHostUnregister(void *) { return OK; }

static CUresult copy(void *to, bool to_device, const void *from, bool from_device, size_t bytes) {
    RETURN_UNLESS_READY;
    if (to_device && !is_inside((CUdeviceptr)to, bytes)) return INVALID_VALUE;
    if (from_device && !is_inside((CUdeviceptr)from, bytes)) return INVALID_VALUE;
    if (!to_device) await_launches(driver().launches);
    Device *device = current_device();
    if (to_device && from_device && device->is_modelled()) {
        device->virtual_clock_s += modelled_copy_s(*device, (double)bytes);
        if (bytes > COPY_LIMIT) return OK;
    }
    memmove(to, from, bytes);
    return OK;
}
API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) { return copy((void *)to, true, from, false, bytes); }
API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) { return copy(to, false, (void *)from, true, bytes); }
API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy((void *)to, true, (void *)from, true, bytes);
}
API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, void *) { return cuMemcpyHtoD_v2(to, from, bytes); }
API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, void *) { return cuMemcpyDtoH_v2(to, from, bytes); }
API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, void *) { return cuMemcpyDtoD_v2(to, from, bytes); }

template <class T> static CUresult fill(CUdeviceptr address, T value, size_t count) {
    RETURN_UNLESS_READY;
    if (!is_inside(address, count * sizeof(T))) return INVALID_VALUE;
    for (size_t i = 0; i < count; i++) ((T *)address)[i] = value;
    return OK;
}
API CUresult cuMemsetD8_v2(CUdeviceptr address, uint8_t value, size_t count) { return fill(address, value, count); }
API CUresult cuMemsetD16_v2(CUdeviceptr address, uint16_t value, size_t count) { return fill(address, value, count); }
API CUresult cuMemsetD32_v2(CUdeviceptr address, uint32_t value, size_t count) { return fill(address, value, count); }
API CUresult cuMemsetD8Async(CUdeviceptr address, uint8_t value, size_t count, void *) { return fill(address, value, count); }
API CUresult cuMemsetD32Async(CUdeviceptr address, uint32_t value, size_t count, void *) { return fill(address, value, count); }
