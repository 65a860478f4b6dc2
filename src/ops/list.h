// The one list of operators: X(function name, parameter struct). Every backend has a function of that name in its
// namespace and a file of that name in its folder.
#pragma once
#define DEEPINFER_OPS(X)                     \
  X(embed, EmbedParams)                      \
  X(engram_hash, EngramHashParams)           \
  X(engram_gather, EngramGatherParams)       \
  X(engram_gate, EngramGateParams)           \
  X(hc_mix, HcMixParams)                     \
  X(hc_collapse, HcCollapseParams)           \
  X(hc_expand, HcExpandParams)               \
  X(stream_mean, StreamMeanParams)           \
  X(rms_norm, RmsNormParams)                 \
  X(linear, LinearParams)                    \
  X(rope, RopeParams)                        \
  X(store_records, StoreRecordsParams)       \
  X(compress, CompressParams)                \
  X(index_scores, IndexScoresParams)         \
  X(index_topk, IndexTopkParams)             \
  X(candidate_blocks, CandidateBlocksParams) \
  X(sparse_attention, SparseAttentionParams) \
  X(router, RouterParams)                    \
  X(moe, MoeParams)                          \
  X(gather_rows, GatherRowsParams)           \
  X(confidence, ConfidenceParams)            \
  X(penalties, PenaltiesParams)              \
  X(sample, SampleParams)                    \
  X(logprobs, LogprobsParams)                \
  X(accept_drafts, AcceptDraftsParams)
