#include "core/kernels/layers/softmax_loops.h"

#include "core/kernels/memory/rows.h"

namespace clew::kernels {
namespace {

constexpr int64_t padded(int64_t count) { return (count + kPadding - 1) & -kPadding; }

// A piece of a line: where it lies if that is contiguous, else gathered into `buffer`.
template <class T>
CLEW_INLINE const T* piece_at(T* buffer, const char* in, int64_t step, int64_t count) {
    if (step == sizeof(T)) return reinterpret_cast<const T*>(in);
    gather(buffer, in, step, count);
    return buffer;
}
// Where to write a piece that will lie at `out`; put_piece() takes it there if that is elsewhere.
template <class T>
CLEW_INLINE T* room_for(T* buffer, char* out, int64_t step) {
    return step == sizeof(T) ? reinterpret_cast<T*>(out) : buffer;
}
template <class T>
CLEW_INLINE void put_piece(char* out, int64_t step, const T* piece, int64_t count) {
    if (step != sizeof(T)) scatter(out, step, piece, count);
}
template <class Body>
CLEW_INLINE void in_pieces(int64_t count, const Body& body) {
    for (int64_t begin = 0; begin < count; begin += kBlock)
        body(begin, count - begin < kBlock ? count - begin : kBlock);
}

// out = exp(in - center), in whole steps: see Note [Bitwise reproducible elements].
template <class T>
CLEW_INLINE void whole_exponentials(T* out, const T* in, T center, int64_t count) {
    count &= -kPadding;
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = row_exp(in[i] - center);
}
// The same for any count; gives the sum of what was written. Where the center is infinite, what fills up the last step
// is no number, but then the sum is none either.
template <class T>
CLEW_INLINE T exponentials(T* out, const T* in, T center, int64_t count) {
    RowReduction<RowSum, T> sum;
    const int64_t whole = count & -kRowStep<T>;
    whole_exponentials(out, in, center, whole);
    sum.add(out, whole);
    if (whole < count) {
        ShortRow<T> rest(in + whole, count - whole, lowest<T>());
        for (int64_t i = 0; i < kRowStep<T>; i += kPadding)
            if (whole + i < count)
                whole_exponentials(rest.values + i, rest.values + i, center, kPadding);
            else
                __builtin_memset(rest.values + i, 0, kPadding * sizeof(T));
        sum.add(rest.values, kRowStep<T>);
        rest.put(out + whole, count - whole);
    }
    return sum.result();
}

// result(x) for a whole line, in vectors; where it is filled up at the end, nothing is written.
template <class T, class Result>
CLEW_INLINE void for_line(T* out, const T* in, int64_t count, const Result& result) {
    using Loose = typename RowVector<T>::loose;
    using Vector = typename RowVector<T>::type;
    constexpr int64_t kLanes = kRowVectorBytes / int64_t(sizeof(T));
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        *reinterpret_cast<Loose*>(out + i) = result(Vector(*reinterpret_cast<const Loose*>(in + i)));
    if (i < count) store_part(out + i, count - i, result(load_part(in + i, count - i, T(0))));
}

// Note [Interleaved rows]
// In a short line each step waits for the one before: the largest, the sum of the powers, its logarithm. So a few lines
// take each step together, and the logarithms of all of them are one vector. Powers go to `out`, from which they are
// read again when they have long arrived there: see load_part().
template <bool kLog, class T>
void forward_lines(char* const* data, const int64_t* strides, int64_t lines, int64_t count, int64_t most) {
    T powers[kShortLine] __attribute__((aligned(64)));
    T largest[kMostLines], total[kMostLines], shift[kMostLines];
    for (T& x : total) x = T(1);
    for (int64_t first = 0; first < lines; first += most) {
        const int64_t group = lines - first < most ? lines - first : most;
        const auto in_at = [&](int64_t i) { return reinterpret_cast<T*>(data[1] + (first + i) * strides[1]); };
        const auto out_at = [&](int64_t i) { return reinterpret_cast<T*>(data[0] + (first + i) * strides[0]); };
        for (int64_t i = 0; i < group; ++i) largest[i] = reduce_row<RowMax, T>(in_at(i), count);
        for (int64_t i = 0; i < group; ++i)
            total[i] = exponentials(kLog ? powers : out_at(i), in_at(i), largest[i], count);
        CLEW_VECTORISE
        for (int64_t i = 0; i < kMostLines; ++i) shift[i] = kLog ? math::log(total[i]) : T(1) / total[i];
        for (int64_t i = 0; i < group; ++i) {
            const T top = largest[i], by = shift[i];
            if constexpr (kLog)
                for_line(out_at(i), in_at(i), count, [&](const auto& x) { return (x - top) - by; });
            else
                for_line(out_at(i), out_at(i), count, [&](const auto& x) { return x * by; });
        }
    }
}

template <bool kLog, class T>
void forward(char* const* data, const int64_t* steps, int64_t count) {
    T in_buffer[kBlock], out_buffer[kBlock];
    static_assert(kShortLine <= kBlock);
    if (count <= kShortLine) {
        T* const out = room_for(out_buffer, data[0], steps[0]);
        const T* const in = piece_at(in_buffer, data[1], steps[1], count);
        char* const line[] = {reinterpret_cast<char*>(out), reinterpret_cast<char*>(const_cast<T*>(in))};
        forward_lines<kLog, T>(line, steps, 1, count, 1);
        return put_piece(data[0], steps[0], out, count);
    }
    const auto in_at = [&](int64_t begin, int64_t length) {
        return piece_at(in_buffer, data[1] + begin * steps[1], steps[1], length);
    };
    T largest = lowest<T>();
    in_pieces(count, [&](int64_t begin, int64_t length) {
        RowMax::step(largest, reduce_row<RowMax, T>(in_at(begin, length), length));
    });
    double sum = 0.0;
    in_pieces(count, [&](int64_t begin, int64_t length) {
        char* place = data[0] + begin * steps[0];
        T* out = kLog ? out_buffer : room_for(out_buffer, place, steps[0]);
        sum += double(exponentials(out, in_at(begin, length), largest, length));
        if (!kLog) put_piece(place, steps[0], out, length);
    });
    const T shift = kLog ? math::log(T(sum)) : T(1) / T(sum);
    in_pieces(count, [&](int64_t begin, int64_t length) {
        char* place = data[0] + begin * steps[0];
        T* out = room_for(out_buffer, place, steps[0]);
        const T* in = kLog ? in_at(begin, length) : piece_at(out_buffer, place, steps[0], length);
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i) out[i] = kLog ? (in[i] - largest) - shift : in[i] * shift;
        put_piece(place, steps[0], out, length);
    });
}

template <bool kLog, class T>
void backward(char* const* data, const int64_t* steps, int64_t count) {
    T grad_buffer[kBlock], result_buffer[kBlock], out_buffer[kBlock], powers[kBlock];
    double sum = 0.0;
    in_pieces(count, [&](int64_t begin, int64_t length) {
        const T* grad = piece_at(grad_buffer, data[1] + begin * steps[1], steps[1], length);
        if (!kLog) {
            const T* result = piece_at(result_buffer, data[2] + begin * steps[2], steps[2], length);
            CLEW_VECTORISE
            for (int64_t i = 0; i < length; ++i) out_buffer[i] = grad[i] * result[i];
            grad = out_buffer;
        }
        sum += double(reduce_row<RowSum, T>(grad, length));
    });
    const T total = T(sum);
    in_pieces(count, [&](int64_t begin, int64_t length) {
        const T* grad = piece_at(grad_buffer, data[1] + begin * steps[1], steps[1], length);
        const T* result = piece_at(result_buffer, data[2] + begin * steps[2], steps[2], length);
        if (kLog) {
            exponentials(powers, result, T(0), length);
            result = powers;
        }
        char* place = data[0] + begin * steps[0];
        T* out = room_for(out_buffer, place, steps[0]);
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i)
            out[i] = kLog ? grad[i] - result[i] * total : result[i] * (grad[i] - total);
        put_piece(place, steps[0], out, length);
    });
}

template <class T>
void backward_of_one(char* to, const char* from, int64_t count, int64_t place, double value) {
    T powers[kBlock];
    const T total = place < 0 ? T(0) : T(value) + T(0);  // as a sum with zeros gives it
    in_pieces(count, [&](int64_t begin, int64_t length) {
        exponentials(powers, reinterpret_cast<const T*>(from) + begin, T(0), length);
        T* out = reinterpret_cast<T*>(to) + begin;
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i) out[i] = T(0) - powers[i] * total;
        if (place >= begin && place < begin + length) out[place - begin] = T(value) - powers[place - begin] * total;
    });
}

// Rows of `width` elements, one of each line.
template <class T>
CLEW_INLINE T* row_at(char* data, int64_t step, int64_t i) {
    return reinterpret_cast<T*>(data + i * step);
}

template <bool kLog, class T>
void forward_columns(char* const* data, const int64_t* steps, int64_t count, int64_t width) {
    T largest[kSoftmaxColumns], row[kSoftmaxColumns];
    double sums[kSoftmaxColumns];
    for (int64_t j = 0; j < kSoftmaxColumns; ++j) {
        largest[j] = lowest<T>();
        row[j] = T(0);
        sums[j] = 0.0;
    }
    for (int64_t i = 0; i < count; ++i) {
        const T* in = row_at<T>(data[1], steps[1], i);
        CLEW_VECTORISE
        for (int64_t j = 0; j < width; ++j) largest[j] = Max::join(largest[j], in[j]);
    }
    for (int64_t i = 0; i < count; ++i) {
        const T* in = row_at<T>(data[1], steps[1], i);
        for (int64_t j = 0; j < width; ++j) row[j] = in[j] - largest[j];
        whole_exponentials(row, row, T(0), padded(width));
        T* out = row_at<T>(data[0], steps[0], i);
        for (int64_t j = 0; j < width; ++j) sums[j] += double(row[j]);
        if (!kLog) __builtin_memcpy(out, row, static_cast<uint64_t>(width) * sizeof(T));
    }
    T totals[kSoftmaxColumns];
    for (int64_t j = 0; j < width; ++j) totals[j] = T(kLog ? math::log(sums[j]) : 1.0 / sums[j]);
    for (int64_t i = 0; i < count; ++i) {
        const T* in = row_at<T>(data[1], steps[1], i);
        T* out = row_at<T>(data[0], steps[0], i);
        CLEW_VECTORISE
        for (int64_t j = 0; j < width; ++j) out[j] = kLog ? (in[j] - largest[j]) - totals[j] : out[j] * totals[j];
    }
}

template <bool kLog, class T>
void backward_columns(char* const* data, const int64_t* steps, int64_t count, int64_t width) {
    T row[kSoftmaxColumns];
    double sums[kSoftmaxColumns];
    for (int64_t j = 0; j < kSoftmaxColumns; ++j) {
        row[j] = T(0);
        sums[j] = 0.0;
    }
    for (int64_t i = 0; i < count; ++i) {
        const T* grad = row_at<T>(data[1], steps[1], i);
        const T* result = row_at<T>(data[2], steps[2], i);
        for (int64_t j = 0; j < width; ++j) sums[j] += double(kLog ? grad[j] : grad[j] * result[j]);
    }
    T totals[kSoftmaxColumns];
    for (int64_t j = 0; j < width; ++j) totals[j] = T(sums[j]);
    for (int64_t i = 0; i < count; ++i) {
        const T* grad = row_at<T>(data[1], steps[1], i);
        __builtin_memcpy(row, row_at<T>(data[2], steps[2], i), static_cast<uint64_t>(width) * sizeof(T));
        if (kLog) whole_exponentials(row, row, T(0), padded(width));
        T* out = row_at<T>(data[0], steps[0], i);
        CLEW_VECTORISE
        for (int64_t j = 0; j < width; ++j)
            out[j] = kLog ? grad[j] - row[j] * totals[j] : row[j] * (grad[j] - totals[j]);
    }
}

#define CLEW_BOTH(function)                                                                      \
    {                                                                                            \
        {nullptr, nullptr, nullptr, nullptr, function<false, float>, function<false, double>}, { \
            nullptr, nullptr, nullptr, nullptr, function<true, float>, function<true, double>    \
        }                                                                                        \
    }

}  // namespace

CLEW_EXPORT_TABLE(SoftmaxTable, softmax_loops,
                  {
                      .forward = CLEW_BOTH(forward),
                      .forward_lines = CLEW_BOTH(forward_lines),
                      .forward_columns = CLEW_BOTH(forward_columns),
                      .backward = CLEW_BOTH(backward),
                      .backward_columns = CLEW_BOTH(backward_columns),
                      .backward_of_one = {nullptr, nullptr, nullptr, nullptr, backward_of_one<float>,
                                          backward_of_one<double>},
                  });

}  // namespace clew::kernels
