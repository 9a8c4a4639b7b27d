// Streams and events. Everything is done when the call returns, but the host is told so only when it waits: until then an event
// is not ready, and NVML tells of the first launch that nobody has waited for. Events hold the device's time, real or modelled.
#include <cstdlib>
#include "state.h"

struct Event { bool is_recorded = false, is_timed = true; double time_s = 0; long launches = 0; };

API CUresult cuStreamCreate(void **stream, unsigned) {
    RETURN_UNLESS_READY;
    *stream = malloc(16);
    return OK;
}
API CUresult cuStreamDestroy_v2(void *stream) {
    free(stream);
    return OK;
}
API CUresult cuStreamSynchronize(void *) {
    RETURN_UNLESS_READY;
    await_launches(driver().launches);
    return OK;
}
API CUresult cuStreamQuery(void *) { return ready(); }
API CUresult cuStreamWaitEvent(void *, Event *, unsigned) { return ready(); }

API CUresult cuEventCreate(Event **event, unsigned flags) {
    RETURN_UNLESS_READY;
    *event = new Event;
    (*event)->is_timed = !(flags & 2);
    return OK;
}
API CUresult cuEventDestroy_v2(Event *event) {
    delete event;
    return OK;
}
API CUresult cuEventRecord(Event *event, void *) {
    RETURN_UNLESS_READY;
    event->is_recorded = true;
    event->time_s = now_s(current_device());
    event->launches = driver().launches;
    return OK;
}
API CUresult cuEventQuery(Event *event) {
    RETURN_UNLESS_READY;
    return event->launches > driver().awaited ? NOT_READY : OK;
}
API CUresult cuEventSynchronize(Event *event) {
    RETURN_UNLESS_READY;
    await_launches(event->launches);
    return OK;
}

API CUresult cuEventElapsedTime_v2(float *milliseconds, Event *from, Event *to) {
    RETURN_UNLESS_READY;
    if (!from->is_recorded || !to->is_recorded || !from->is_timed || !to->is_timed) return INVALID_HANDLE;
    *milliseconds = (float)((to->time_s - from->time_s) * 1e3);
    return OK;
}
API CUresult cuEventElapsedTime(float *milliseconds, Event *from, Event *to) { return cuEventElapsedTime_v2(milliseconds, from, to); }
API CUresult cuProfilerStart() { return OK; }
API CUresult cuProfilerStop() { return OK; }
