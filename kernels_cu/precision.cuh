// One register type per precision, under the name the rest of the project uses; -DPRECISION picks one.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

typedef double fp64;
typedef float fp32;
typedef int int32;
struct fp16 { u32 pair; };   // two IEEE binary16 in one register
struct bf16 { u32 pair; };   // two bfloat16 in one register
struct fp32x2 { u64 pair; }; // two fp32 in a register pair
struct int8 { u32 quad; };   // four signed bytes in one register
struct fp8 { u32 quad; };    // four e4m3 in one register
struct tf32 { u32 word; };   // fp32 of which the tensor cores read the upper 19 bits

// The unit of every load and store to global memory.
#ifndef ERT_VECTOR_BYTES
#define ERT_VECTOR_BYTES 16
#endif
struct __align__(ERT_VECTOR_BYTES) vector { u32 word[ERT_VECTOR_BYTES / 4]; };
struct __align__(16) vector128 { u32 word[4]; };

// A vector seen as registers of one precision.
template <class T> union lanes {
    vector bits;
    T lane[ERT_VECTOR_BYTES / sizeof(T)];
};
