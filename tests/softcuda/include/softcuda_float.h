// The narrow floating-point formats: bits to float, and float to the nearest even bits.
#pragma once
#include "precision.cuh"

template <class T, class F> inline T soft_bits(F from) {
    static_assert(sizeof(T) == sizeof(F), "sizes differ");
    T to;
    memcpy(&to, &from, sizeof to);
    return to;
}

struct soft_half {
    static float widen(uint16_t bits) { return (float)soft_bits<_Float16>(bits); }
    // From double: the product and sum of an FMA on halves are exact there, so this is its only rounding.
    static uint16_t round(double value) { return soft_bits<uint16_t>((_Float16)value); }
    static fp16 ones() { return {0x3c003c00u}; }
    static fp16 zeros() { return {0x80008000u}; }
};

struct soft_bfloat {
    static float widen(uint16_t bits) { return soft_bits<float>((uint32_t)bits << 16); }
    // Rounding to odd in float first makes the second rounding, to nearest even, as good as one.
    static uint16_t round(double value) {
        float near = (float)value;
        uint32_t bits = soft_bits<uint32_t>(near);
        if (near != value && near == near) {
            bool went_up = (near > value) == (near > 0);
            bits = (bits - went_up) | 1;
        }
        return near != near ? 0x7fff : (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    }
    static bf16 ones() { return {0x3f803f80u}; }
    static bf16 zeros() { return {0x80008000u}; }
};

template <class FORMAT, class T> inline T soft_pairwise(T x, T y, T z) {
    u32 result = 0;
    for (int i = 0; i < 32; i += 16) {
        double product = (double)FORMAT::widen(x.pair >> i) * FORMAT::widen(y.pair >> i);
        result |= (u32)FORMAT::round(product + FORMAT::widen(z.pair >> i)) << i;
    }
    return {result};
}

// e4m3: 4 bits of exponent (bias 7), 3 of mantissa, no infinity.
inline float soft_e4m3(uint8_t bits) {
    int exponent = bits >> 3 & 15, mantissa = bits & 7;
    if ((bits & 0x7f) == 0x7f) return __builtin_nanf("");
    float size = exponent ? __builtin_ldexpf(8 + mantissa, exponent - 10) : __builtin_ldexpf(mantissa, -9);
    return bits & 0x80 ? -size : size;
}

// The elements of one 32-bit register, first in the lowest bits.
template <class T> struct soft_elements;
template <> struct soft_elements<fp16> {
    enum { COUNT = 2, COUNTER = SOFT_MMA_FP16 };
    static float at(u32 r, int i) { return soft_half::widen((uint16_t)(r >> 16 * i)); }
};
template <> struct soft_elements<bf16> {
    enum { COUNT = 2, COUNTER = SOFT_MMA_BF16 };
    static float at(u32 r, int i) { return soft_bfloat::widen((uint16_t)(r >> 16 * i)); }
};
template <> struct soft_elements<tf32> {
    enum { COUNT = 1, COUNTER = SOFT_MMA_TF32 };
    static float at(u32 r, int) { return soft_bits<float>(r & 0xffffe000u); }
};
template <> struct soft_elements<fp8> {
    enum { COUNT = 4, COUNTER = SOFT_MMA_FP8 };
    static float at(u32 r, int i) { return soft_e4m3((uint8_t)(r >> 8 * i)); }
};
template <> struct soft_elements<int8> {
    enum { COUNT = 4, COUNTER = SOFT_MMA_INT8 };
    static int at(u32 r, int i) { return (signed char)(r >> 8 * i); }
};
