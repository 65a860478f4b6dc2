// What a call of an operator must at least move and compute, from its parameters: the floor that `bench ops` and
// `bench engine --profile` measure against. Every weight, table row, record and activation is counted once however
// often a kernel touches it; experts count only when a row chose them, cache records once per sequence where rows share
// them. flops are 2 x multiply-adds of the products (norms, exponentials and conversions are not counted: a floor,
// not a model).
#pragma once
#include "ops/all.h"

namespace deepinfer::ops {

// Which of a backend's units does the multiply-adds.
enum class Unit {
  kNone,    // moves bytes only
  kFma,     // fp32 multiply-adds
  kInt8,    // integer products of the FP4 indexer
  kMatrix,  // the widest product of the backend's path for bf16/fp8/fp4 operands
};
const char* unit_name(Unit unit);

struct Cost {
  double weight_bytes = 0;  // weights and tables: cold in a decode step of a model larger than the caches
  double cache_bytes = 0;   // KV and index records read
  double io_bytes = 0;      // activations in and out, usually still in a cache
  double flops = 0;
  Unit unit = Unit::kNone;

  double bytes() const { return weight_bytes + cache_bytes + io_bytes; }
  Cost& operator+=(const Cost& o);
};

#define DEEPINFER_OP_COST(name, Params) Cost cost(const Params& p);
DEEPINFER_OPS(DEEPINFER_OP_COST)
#undef DEEPINFER_OP_COST

}  // namespace deepinfer::ops
