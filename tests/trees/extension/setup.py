from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="waves",
    packages=["waves"],
    ext_modules=[
        CppExtension(
            "waves._C",
            ["csrc/ops.cpp", "csrc/fourier.cpp", "csrc/bindings.cpp", "csrc/cuda/ripple.cu", "csrc/old.cpp"],
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
