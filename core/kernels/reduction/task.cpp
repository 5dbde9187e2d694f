#include "core/kernels/reduction/task.h"

namespace clew::kernels {

Task task_of(int kind, const View& out, const View& in, std::uint32_t axes_mask, const View* centers) {
    Task task(reduce_loops().reducers[kind][static_cast<int>(in.dtype)], in.dtype, centers != nullptr);
    if (task.reducer.start == nullptr) no_kernel_for(in.dtype);
    const std::int64_t out_size = static_cast<std::int64_t>(item_size(out.dtype));
    int kept_axis = out.ndim;
    for (int axis = in.ndim - 1; axis >= 0; --axis) {
        const std::int64_t stride = in.strides[axis] * task.in_size;
        if ((axes_mask >> axis & 1) != 0) {
            add_axis(task.reduced, in.sizes[axis], stride, 0, 0);
        } else {
            --kept_axis;
            const std::int64_t center_stride = centers == nullptr ? 0 : centers->strides[kept_axis] * task.in_size;
            add_axis(task.kept, in.sizes[axis], stride, out.strides[kept_axis] * out_size, center_stride);
        }
    }
    task.start = {static_cast<const char*>(in.data), static_cast<char*>(out.data),
                  centers == nullptr ? nullptr : static_cast<const char*>(centers->data)};
    if (kind == static_cast<int>(ReduceKind::Mean)) task.divisor = static_cast<double>(task.reduced.count);
    join_neighbours(task.kept);
    join_neighbours(task.reduced);
    return task;
}

}  // namespace clew::kernels
