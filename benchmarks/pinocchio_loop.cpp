// Pinocchio's forward dynamics over the rows of a batch. Built by peer_loops.py, loaded by ctypes.

#include <cstdint>
#include <memory>
#include <string>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/multibody.hpp>

namespace pin = pinocchio;
using Vector3 = Eigen::Vector3d;
using RowMajor3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

namespace {

struct Loop {
  pin::Model model;
  std::unique_ptr<pin::Data> data;  // made in place: of long chains it fills gigabytes
};

pin::JointModel joint_of(int64_t kind) {
  switch (kind) {
    case 0: return pin::JointModelRX();
    case 1: return pin::JointModelRY();
    case 2: return pin::JointModelRZ();
    default: return pin::JointModelFreeFlyer();
  }
}

}  // namespace

extern "C" {

// Of each link: the number of its parent (0: the ground) and the kind of its joint (0, 1, 2: hinge about x, y, z;
// 3: free), then 25 numbers: rotation and offset of the joint in its parent, mass, centre of mass, inertia about it.
Loop *make(int64_t links, const int64_t *parents, const int64_t *kinds, const double *numbers, const double *gravity) {
  Loop *loop = new Loop;
  loop->model.gravity.linear(Eigen::Map<const Vector3>(gravity));
  for (int64_t i = 0; i < links; ++i, numbers += 25) {
    const pin::SE3 mount(Eigen::Map<const RowMajor3>(numbers).eval(), Eigen::Map<const Vector3>(numbers + 9));
    const Eigen::Matrix3d J = Eigen::Map<const RowMajor3>(numbers + 16);
    const auto number = loop->model.addJoint(parents[i], joint_of(kinds[i]), mount, std::to_string(i));
    const pin::Inertia inertia(numbers[12], Eigen::Map<const Vector3>(numbers + 13), J);
    loop->model.appendBodyToJoint(number, inertia, pin::SE3::Identity());
  }
  loop->data = std::make_unique<pin::Data>(loop->model);
  return loop;
}

void release(Loop *loop) { delete loop; }

void evaluate(Loop *loop, int64_t world, int64_t rows, const double *q, const double *v, const double *tau, double *out) {
  using Row = Eigen::Map<const Eigen::VectorXd>;
  const pin::Convention convention = world ? pin::Convention::WORLD : pin::Convention::LOCAL;
  const Eigen::Index nq = loop->model.nq, nv = loop->model.nv;
  for (int64_t row = 0; row < rows; ++row, q += nq, v += nv, tau += nv, out += nv) {
    const Eigen::Ref<const Eigen::VectorXd> at(Row(q, nq)), moving(Row(v, nv)), driven(Row(tau, nv));
    Eigen::Map<Eigen::VectorXd>(out, nv) = pin::aba(loop->model, *loop->data, at, moving, driven, convention);
  }
}

}  // extern "C"
