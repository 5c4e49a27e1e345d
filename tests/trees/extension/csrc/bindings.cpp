#include <torch/extension.h>
#include "ops.h"

class Basin {
 public:
  explicit Basin(double depth) : depth_(depth) {}
  double depth() const { return depth_; }

 private:
  double depth_;
};

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("ripple", &waves::ripple_cpu, "A wave", py::arg("x"), py::arg("speed") = 1.0);
  py::class_<Basin>(m, "Basin").def(py::init<double>()).def("depth", &Basin::depth);
}
