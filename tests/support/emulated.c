/* Runs compiled kernels in another machine's program, without any library: reads calls from file 0, writes what the kernel left to file 1.
 *
 * A call: variant, bytes an array, passes, arrays (uint64 each), the arrays, the operands. An answer: trips, the arrays, the result.
 */
#include "ert.h"
#include "variants.h" /* ert_variants[]; OPERAND_BYTES, RESULT_BYTES */

enum { ARRAYS = 3, MOST_BYTES = 1 << 20, ENDED = 0, CUT = 2, TOO_LARGE = 3 };

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, EXIT = 60 };
static int64_t system_call(int64_t number, int64_t file, void *data, uint64_t bytes) {
    int64_t returned;
    __asm__ volatile("syscall" : "=a"(returned) : "0"(number), "D"(file), "S"(data), "d"(bytes) : "rcx", "r11", "memory");
    return returned;
}
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-64, %rsp\n\tcall serve\n");
#else
enum { READ = 63, WRITE = 64, EXIT = 93 };
static int64_t system_call(int64_t number, int64_t file, void *data, uint64_t bytes) {
    register int64_t x8 __asm__("x8") = number, x0 __asm__("x0") = file;
    register void *x1 __asm__("x1") = data;
    register uint64_t x2 __asm__("x2") = bytes;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
__asm__(".globl _start\n_start:\n\tb serve\n");
#endif

static char arrays[ARRAYS][MOST_BYTES] __attribute__((aligned(4096)));
static char operands[OPERAND_BYTES] __attribute__((aligned(64))), result[RESULT_BYTES] __attribute__((aligned(64)));

static void leave(int code) {
    for (;;) system_call(EXIT, code, 0, 0);
}

static void move(int64_t number, int64_t file, void *data, uint64_t bytes) {
    for (char *at = data, *end = at + bytes; at < end;) {
        int64_t moved = system_call(number, file, at, (uint64_t)(end - at));
        if (moved <= 0) leave(at == data && number == READ && moved == 0 ? ENDED : CUT);
        at += moved;
    }
}

/* What a compiler may call for a loop that it recognises. */
void *memset(void *to, int value, size_t bytes) {
    for (volatile char *at = to; bytes--;) *at++ = (char)value;
    return to;
}

__attribute__((used)) void serve(void) {
    for (;;) {
        struct {
            uint64_t variant, bytes, passes, arrays;
        } call;
        move(READ, 0, &call, sizeof call);
        if (call.bytes > MOST_BYTES || call.arrays > ARRAYS) leave(TOO_LARGE);
        ert_work work = {.bytes = call.bytes, .passes = call.passes, .operands = operands, .result = result};
        for (uint64_t a = 0; a < call.arrays; a++) move(READ, 0, work.array[a] = arrays[a], call.bytes);
        move(READ, 0, operands, OPERAND_BYTES);
        uint64_t trips = ert_variants[call.variant](&work);
        move(WRITE, 1, &trips, sizeof trips);
        for (uint64_t a = 0; a < call.arrays; a++) move(WRITE, 1, arrays[a], call.bytes);
        move(WRITE, 1, result, RESULT_BYTES);
    }
}
