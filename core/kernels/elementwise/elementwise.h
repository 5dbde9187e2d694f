// All elementwise families and the iterator that runs their loops over views.
#pragma once
#include "core/kernels/elementwise/activation.h"
#include "core/kernels/elementwise/arithmetic.h"
#include "core/kernels/elementwise/compare.h"
#include "core/kernels/elementwise/division.h"
#include "core/kernels/elementwise/exponential.h"
#include "core/kernels/elementwise/parametric.h"
#include "core/kernels/elementwise/special.h"
#include "core/kernels/elementwise/ternary.h"
#include "core/kernels/elementwise/trigonometry.h"
#include "core/kernels/elementwise/unary.h"
#include "core/kernels/memory/iterate.h"
