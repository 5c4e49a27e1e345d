// Taken in first by each CUDA unit that is read for its host side. There, a call of a __device__ function
// from one that serves both sides (std::apply in a kernel's loop) has no candidate, and with it everything
// that is instantiated from it is lost. So from here on what is meant for the device alone serves both.
// What clang itself adds to the standard library for the device stands before that: it would be declared twice.
#include <algorithm>
#include <cmath>
#include <complex>
#include <new>
#include <string>
#undef __device__
#define __device__ __attribute__((device)) __attribute__((host))
