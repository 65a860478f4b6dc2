// Every tensor that a checkpoint of a given config must hold: name, dtype, shape, kind (model.md 3.3-3.5).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "tensor/dtype.h"

namespace deepinfer {

enum class TensorKind {
  kEmbedding,
  kHead,
  kNorm,
  kHyper,
  kAttention,
  kCompressor,
  kIndexer,
  kEngramTable,
  kEngram,
  kRouter,
  kExpert,
  kSharedExpert,
  kDraft,
  kVision
};
const char* tensor_kind_name(TensorKind kind);
inline constexpr int kNumTensorKinds = 14;

struct ExpectedTensor {
  std::string name;  // without the optional leading "model."
  DType dtype;
  std::vector<int64_t> shape;
  TensorKind kind;
};

std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config);

}  // namespace deepinfer
