// dev probe
#include <cstdio>
#include <cstdlib>
#include <chrono>
#include <fstream>
#include <sstream>
#include "model/model.h"
using namespace deepinfer;
int main(int argc, char** argv) {
  // probe FOLDER backend numerics chunk ids...
  ThreadPool pool(2);
  auto m = Model::load(argv[1], {.numerics = std::string(argv[3]) == "fp32" ? Numerics::kFp32 : Numerics::kQuantized, .backend = argv[2]}, pool);
  if (!m) { puts(m.error().message.c_str()); return 1; }
  auto blocks = kv::BlockPool::create((*m)->block_layout().block_bytes, 256);
  Stepper st(**m, pool, *blocks);
  Sequence seq = (*m)->new_sequence();
  std::vector<int32_t> ids;
  int chunk = atoi(argv[4]);
  int x; while (scanf("%d", &x) == 1) ids.push_back(x);
  (void)(*m)->reserve(seq, *blocks, ids.size());
  int V = (*m)->config().vocab_size;
  FILE* f = argc > 5 ? fopen(argv[5], "wb") : nullptr;
  st.set_profiling(argc > 6);
  auto t0 = std::chrono::steady_clock::now();
  for (size_t at = 0; at < ids.size(); at += chunk) {
    int n = std::min<size_t>(chunk, ids.size() - at);
    StepInput in{&seq, {ids.data() + at, (size_t)n}, n};
    auto lg = st.step({&in, 1});
    if (f) fwrite(lg.data(), 4, lg.size(), f);
  }
  double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
  fprintf(stderr, "%zu tokens %.3f s %.1f tok/s\n", ids.size(), s, ids.size() / s);
  for (auto& t : st.op_times()) fprintf(stderr, "%-20s %6ld calls %9.3f ms\n", t.name, t.calls, t.seconds * 1e3);
  (void)V;
}
