"""A function that finds its largest batch."""

from torch_max_mem import maximize_memory_utilization

from bench.drawn import normal


@maximize_memory_utilization()
def squares(points, batch_size):
    return sum(part.square().sum() for part in points.split(batch_size))


def main():
    return squares(normal(64, 4), batch_size=16)
