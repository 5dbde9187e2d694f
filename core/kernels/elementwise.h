// All elementwise families and the iterator that runs their loops over views.
#pragma once
#include "core/kernels/activation.h"
#include "core/kernels/arithmetic.h"
#include "core/kernels/compare.h"
#include "core/kernels/division.h"
#include "core/kernels/exponential.h"
#include "core/kernels/iterate.h"
#include "core/kernels/parametric.h"
#include "core/kernels/special.h"
#include "core/kernels/ternary.h"
#include "core/kernels/trigonometry.h"
#include "core/kernels/unary.h"
