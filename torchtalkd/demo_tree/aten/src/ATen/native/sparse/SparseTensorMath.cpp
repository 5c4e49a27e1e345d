#include <ATen/ATen.h>

namespace at::native {

SparseTensor& add_out_sparse_cpu(
    const SparseTensor& t, const SparseTensor& src, const Scalar& value, SparseTensor& r) {
  return copy_sparse_to_sparse_(r, t);
}

Tensor add_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  Tensor result = at::empty({0}, self.options());
  return at::add_out(result, self, other, alpha);
}

Tensor _sparse_mm(const Tensor& mat1, const Tensor& mat2) {
  return at::_sparse_addmm(mat1, mat2);
}

} // namespace at::native
