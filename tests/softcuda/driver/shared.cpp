// The shared memory of a block. Its dynamic array and each of its variables lie alone: what is one element off hits nothing.
#include <sys/mman.h>
#include <cstdio>
#include <cstring>
#include "fibers.h"

// An SM of any family has less than half of this.
static const size_t ARENA_BYTES = 1 << 20, GAP_BYTES = 4096;

struct Place { const void *key; char *start; size_t bytes; };
static std::vector<Place> places;                            // ascending; first the dynamic array

static char *arena() {
    static void *it = mmap(nullptr, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return (char *)it;
}

char *clear_shared(unsigned dynamic_bytes) {
    places = {{nullptr, arena() + GAP_BYTES, dynamic_bytes}};
    return places[0].start;
}

// As for global memory: nothing unwritten passes for a result.
static void poison(const Place &place) { memset(place.start, 0xFF, place.bytes); }

void poison_shared() {
    for (const Place &place : places) poison(place);
}

char *place_shared(const void *key, unsigned bytes, unsigned alignment) {
    for (const Place &place : places)
        if (place.key == key) return place.start;
    uintptr_t after = (uintptr_t)places.back().start + places.back().bytes + GAP_BYTES;
    char *start = (char *)((after + alignment - 1) / alignment * alignment);
    if (start + bytes + GAP_BYTES > arena() + ARENA_BYTES) {
        fprintf(stderr, "softcuda: %s: no SM has so much shared memory\n", running().function->kernel->name);
        stop_thread(LAUNCH_FAILED);
    }
    places.push_back({key, start, bytes});
    poison(places.back());
    return start;
}

bool is_shared(uintptr_t address, unsigned bytes) {
    for (const Place &place : places)
        if (address >= (uintptr_t)place.start && address + bytes <= (uintptr_t)place.start + place.bytes) return true;
    return false;
}
