#include <pybind11/pybind11.h>

namespace torch {

static int64_t parallel_threads() {
  return at::get_num_threads();
}

static PyObject* THPModule_setNumThreads(PyObject* module, PyObject* arg) {
  at::set_num_threads(THPUtils_unpackLong(arg));
  Py_RETURN_NONE;
}

static PyMethodDef TorchMethods[] = {
    {"set_num_threads", THPModule_setNumThreads, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

void initModule(pybind11::module& m) {
  m.def("_parallel_threads", &parallel_threads);
}

} // namespace torch

PYBIND11_MODULE(_demo, m) {
  m.def("scale", [](const at::Tensor& t, double factor) { return at::fused_scale(t, factor); });
  torch::initModule(m);
}
