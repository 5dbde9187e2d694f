#include "core/kernels/training/optim_loops.h"

#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

inline float square_root(float x) { return __builtin_sqrtf(x); }
inline double square_root(double x) { return __builtin_sqrt(x); }

// a * b + c, rounded once where the CPU can: there PyTorch does so too, and its bits are ours.
#ifdef __FMA__
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
inline float fused(float a, float b, float c) { return a * b + c; }
inline double fused(double a, double b, double c) { return a * b + c; }
#endif

template <class T, SgdMomentum Kind, bool HasDecay>
void sgd(const SgdLoop<T>& loop) {
    T* const param = loop.param;
    T* const buffer = loop.momentum_buffer;
    const T* const grad = loop.grad;
    const T sign = loop.sign, decay = loop.decay, momentum = loop.momentum, gain = loop.gain, step = loop.step;
    const Index count = loop.count;
    CLEW_VECTORISE
    for (Index i = 0; i < count; ++i) {
        T direction = sign * grad[i];
        if constexpr (HasDecay) direction = fused(decay, param[i], direction);
        if constexpr (Kind != SgdMomentum::None) {
            constexpr bool first = Kind == SgdMomentum::First || Kind == SgdMomentum::NesterovFirst;
            const T smoothed = first ? direction : fused(gain, direction, buffer[i] * momentum);
            buffer[i] = smoothed;
            if constexpr (Kind == SgdMomentum::Nesterov || Kind == SgdMomentum::NesterovFirst)
                direction = fused(momentum, smoothed, direction);
            else
                direction = smoothed;
        }
        param[i] = fused(step, direction, param[i]);
    }
}

template <class T, SgdMomentum Kind>
void sgd_of_kind(const SgdLoop<T>& loop) {
    if (loop.has_decay)
        sgd<T, Kind, true>(loop);
    else
        sgd<T, Kind, false>(loop);
}

template <class T>
void sgd_any(const SgdLoop<T>& loop) {
    switch (loop.kind) {
        case SgdMomentum::None:
            return sgd_of_kind<T, SgdMomentum::None>(loop);
        case SgdMomentum::First:
            return sgd_of_kind<T, SgdMomentum::First>(loop);
        case SgdMomentum::Classic:
            return sgd_of_kind<T, SgdMomentum::Classic>(loop);
        case SgdMomentum::NesterovFirst:
            return sgd_of_kind<T, SgdMomentum::NesterovFirst>(loop);
        case SgdMomentum::Nesterov:
            return sgd_of_kind<T, SgdMomentum::Nesterov>(loop);
    }
}

// x / by, to the bit: Note [Division by one number].
template <class T>
inline T divided(T x, T by, T reciprocal) {
    const T quotient = x * reciprocal, error = fused(-quotient, by, x);
    return error == error ? fused(error, reciprocal, quotient) : quotient;
}

template <class T, bool HasDecay, bool Amsgrad, bool kByProducts>
void adam(const AdamLoop<T>& loop) {
    T* const param = loop.param;
    T* const exp_avg = loop.exp_avg;
    T* const exp_avg_sq = loop.exp_avg_sq;
    T* const largest = loop.max_exp_avg_sq;
    const T* const grad = loop.grad;
    const AdamLoop<T> c = loop;  // a copy, so that no store can change it
    const bool near = c.weight < T{0.5};
    CLEW_VECTORISE
    for (Index i = 0; i < c.count; ++i) {
        const T old = param[i];
        const T value = old * c.shrink;
        T direction = c.sign * grad[i];
        if constexpr (HasDecay) direction = fused(c.decay, old, direction);
        const T difference = direction - exp_avg[i];  // interpolated from the end that is nearer, as torch.lerp does
        const T mean = near ? fused(c.weight, difference, exp_avg[i]) : fused(-difference, c.other_weight, direction);
        T square = fused(c.square_weight * direction, direction, exp_avg_sq[i] * c.beta2);
        exp_avg[i] = mean;
        exp_avg_sq[i] = square;
        if constexpr (Amsgrad) {
            const T before = largest[i];
            square = square > before || square != square ? square : before;  // NaN wins, as in torch.maximum
            largest[i] = square;
        }
        const T root = square_root(square);
        const T corrected = kByProducts ? divided(root, c.correction, c.reciprocal) : root / c.correction;
        param[i] = value + c.step * mean / (corrected + c.eps);
    }
}

template <class T, bool HasDecay, bool Amsgrad>
void adam_of_kind(const AdamLoop<T>& loop) {
#ifdef __FMA__
    if (loop.reciprocal != 0) return adam<T, HasDecay, Amsgrad, true>(loop);
#endif
    adam<T, HasDecay, Amsgrad, false>(loop);
}

template <class T>
void adam_any(const AdamLoop<T>& loop) {
    const bool amsgrad = loop.max_exp_avg_sq != nullptr;
    if (loop.has_decay)
        amsgrad ? adam_of_kind<T, true, true>(loop) : adam_of_kind<T, true, false>(loop);
    else
        amsgrad ? adam_of_kind<T, false, true>(loop) : adam_of_kind<T, false, false>(loop);
}

}  // namespace

CLEW_EXPORT_TABLE(OptimLoopsTable, optim_loops, {sgd_any<float>, sgd_any<double>, adam_any<float>, adam_any<double>});

}  // namespace clew::kernels
