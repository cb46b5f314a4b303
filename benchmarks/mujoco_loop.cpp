// MuJoCo's forward dynamics over the rows of a batch. Built by peer_loops.py, loaded by ctypes.

#include <cstdint>
#include <cstring>

#include <mujoco/mujoco.h>

// `forward` is mj_forward of the library that the model comes from.
extern "C" void evaluate(const mjModel *model, mjData *data, void (*forward)(const mjModel *, mjData *), int64_t rows,
                         const double *q, const double *v, const double *tau, double *out) {
  const int64_t nq = model->nq, nv = model->nv;
  for (int64_t row = 0; row < rows; ++row, q += nq, v += nv, tau += nv, out += nv) {
    std::memcpy(data->qpos, q, nq * sizeof(double));
    std::memcpy(data->qvel, v, nv * sizeof(double));
    std::memcpy(data->qfrc_applied, tau, nv * sizeof(double));
    forward(model, data);
    std::memcpy(out, data->qacc, nv * sizeof(double));
  }
}
