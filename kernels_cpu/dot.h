/* ert_dot(sum, a, b): each lane of sum grows by the dot product of the narrow numbers in the same bits of a and b.
 *
 * In assembly: left to itself a compiler computes the equal products of several sums only once.
 */
#ifndef ERT_DOT_H
#define ERT_DOT_H

#include "ert.h"

#if defined(ERT_PRECISION_bf16)
typedef float ert_sum __attribute__((vector_size(ERT_VECTOR_BYTES), aligned(ERT_VECTOR_BYTES), may_alias));
#else
typedef int32_t ert_sum __attribute__((vector_size(ERT_VECTOR_BYTES), aligned(ERT_VECTOR_BYTES), may_alias));
#endif

#if defined(__AVX512VNNI__)
#define ERT_VNNI ""
#elif defined(__AVXVNNI__)
#define ERT_VNNI "%{vex%} "
#endif

static inline __attribute__((always_inline)) ert_sum ert_dot(ert_sum sum, ert_bits a, ert_bits b) {
#if defined(ERT_PRECISION_bf16) && defined(__AVX512BF16__)
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#elif defined(ERT_PRECISION_bf16)
    __asm__("bfdot %0.4s, %1.8h, %2.8h" : "+w"(sum) : "w"(a), "w"(b));
#elif defined(ERT_PRECISION_int8) && defined(ERT_VNNI)
    __asm__(ERT_VNNI "vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#elif defined(ERT_PRECISION_int8)
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
#elif defined(ERT_VNNI)
    __asm__(ERT_VNNI "vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#elif defined(__AVX__)
    ert_sum product;
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(product) : "x"(a), "x"(b));
#else
    ert_sum product;
    __asm__("movdqa %2, %1\n\tpmaddwd %3, %1\n\tpaddd %1, %0" : "+x"(sum), "=&x"(product) : "x"(a), "x"(b));
#endif
    return sum;
}

#endif
