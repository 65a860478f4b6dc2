#include <algorithm>
#include <cmath>

#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// Columns first and last: `iters` column passes, one row pass fewer, after a row softmax.
void sinkhorn(std::vector<double>& c, int m, int iters, double eps) {
  for (int i = 0; i < m; ++i) {
    double top = c[i * m], sum = 0;
    for (int j = 0; j < m; ++j) top = std::max(top, c[i * m + j]);
    for (int j = 0; j < m; ++j) sum += c[i * m + j] = std::exp(c[i * m + j] - top);
    for (int j = 0; j < m; ++j) c[i * m + j] = c[i * m + j] / sum + eps;
  }
  for (int pass = 0; pass < 2 * iters - 1; ++pass) {
    const bool columns = pass % 2 == 0;
    for (int a = 0; a < m; ++a) {
      double sum = 0;
      for (int b = 0; b < m; ++b) sum += columns ? c[b * m + a] : c[a * m + b];
      for (int b = 0; b < m; ++b) (columns ? c[b * m + a] : c[a * m + b]) /= sum + eps;
    }
  }
}

}  // namespace

void hc_mix(const ops::HcMixParams& p, ops::Context& ctx) {
  const int m = p.num_streams, mix = m * (m + 2);
  const int64_t n = p.streams.cols;
  ctx.pool->parallel_for(p.streams.rows, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<double> t(static_cast<size_t>(mix)), c(static_cast<size_t>(m * m));
    for (int64_t r = begin; r < end; ++r) {
      double square = 0;
      std::fill(t.begin(), t.end(), 0.0);
      for (int64_t i = 0; i < n; ++i) {
        const double x = get(p.streams, r, i);
        square += x * x;
        for (int j = 0; j < mix; ++j) t[j] += p.fn[j * n + i] * x;
      }
      const double inv = 1.0 / std::sqrt(square / static_cast<double>(n) + p.norm_eps);
      for (int j = 0; j < mix; ++j) t[j] *= inv;
      for (int s = 0; s < m; ++s) {
        p.pre[r * m + s] = static_cast<float>(sigmoid(t[s] * p.scale[0] + p.base[s]) + p.hc_eps);
        p.post[r * m + s] = static_cast<float>(2 * sigmoid(t[m + s] * p.scale[1] + p.base[m + s]));
      }
      for (int j = 0; j < m * m; ++j) c[j] = t[2 * m + j] * p.scale[2] + p.base[2 * m + j];
      sinkhorn(c, m, p.sinkhorn_iters, p.hc_eps);
      for (int j = 0; j < m * m; ++j) p.comb[r * m * m + j] = static_cast<float>(c[j]);
    }
  });
}

}  // namespace deepinfer::reference
