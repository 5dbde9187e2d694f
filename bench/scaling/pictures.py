"""Pictures of what bench.scaling measured, and the timeline as a trace for Perfetto or chrome://tracing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.scaling.model import Figures, Machine, Network, over_network

NETWORKS = (Network("10 Gbit/s, 25 µs", 25e-6, 1.25e9), Network("100 Gbit/s, 5 µs", 5e-6, 12.5e9))
PARTS = ("forward", "backward", "waiting", "optimizer")


def scaling(by_ranks: dict[int, Figures], machine: Machine, path: Path) -> None:
    """Efficiency over ranks: of this machine, measured and by the model; of networks, by the model alone."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "clew"
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
    one = by_ranks[1]["models"]
    for axis, (name, model) in zip(axes, one.items(), strict=True):
        sizes = model["ways"]["many"]["sizes"]
        ranks = sorted(by_ranks)
        seen = [_efficiency(one, name, by_ranks[n]["models"][name]["ways"]["many"]["step"], n, machine) for n in ranks]
        axis.plot(ranks, seen, "ko", label=f"measured here ({machine.cores} cores)")
        told = [_efficiency(one, name, machine.step(model["alone"], sizes, n), n, machine) for n in ranks]
        axis.plot(ranks, told, "k-", linewidth=1, label="model, fitted on 1 and 2 ranks")
        many = [2**power for power in range(11)]
        for color, network in zip(("tab:red", "tab:blue"), NETWORKS, strict=True):
            for overlap, style in ((True, "--"), (False, ":")):
                values = [model["alone"] / over_network(model, machine, network, n, overlap) for n in many]
                label = f"{network.name}, overlap {'on' if overlap else 'off'}"
                axis.plot(many, values, style, color=color, linewidth=1.2, label=label)
        axis.axvspan(4, 1024, color="0.94", zorder=0)
        axis.text(70, 0.03, "extrapolation, nothing measured", ha="center", fontsize=8, color="0.35")
        axis.set(title=f"{name}: {sum(sizes) / 1e6:.1f} MB of gradients", xlabel="ranks", ylim=(0, 1.05))
        axis.set_xscale("log", base=2)
    axes[0].set_ylabel("weak scaling: share of the cores' throughput")
    axes[1].legend(fontsize=7, loc="lower left", bbox_to_anchor=(0, 0.08))
    _save(figure, path)


def _efficiency(one: Figures, name: str, step: float, ranks: int, machine: Machine) -> float:
    """Throughput over that of the cores in use, each with one rank that reduces nothing."""
    return float(ranks / min(ranks, machine.cores) * one[name]["alone"] / step)


def overlap(model: Figures, title: str, path: Path) -> None:
    """Two timelines of rank 0, below each other."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "clew"
    figure, axes = plt.subplots(2, 1, figsize=(11, 3.6), sharex=True, layout="constrained")
    for axis, (on, run) in zip(axes, model["wire"].items(), strict=True):
        begin = run["marks"][0]
        for name, color, left, right in zip(
            PARTS, ("tab:green", "tab:blue", "0.85", "tab:orange"), run["marks"], run["marks"][1:], strict=False
        ):
            axis.barh(1, 1e3 * (right - left), left=1e3 * (left - begin), color=color, label=name)
        for place, one in enumerate(run["reductions"]):
            left, width = 1e3 * (one["began"] - begin), 1e3 * (one["ended"] - one["began"])
            axis.barh(0, width, left=left, color="tab:red", edgecolor="white", label="" if place else "reductions")
        state = "while the backward runs" if on == "True" else "after it"
        axis.set_title(f"{title}: reductions {state}, {1e3 * run['step']:.1f} ms", fontsize=9, loc="left")
        axis.set_yticks([0, 1], ["network", "core"])
    axes[1].set_xlabel("ms")
    axes[0].legend(fontsize=7, ncols=5, loc="lower right", bbox_to_anchor=(1, 1))
    _save(figure, path)


def curves(by_ranks: dict[int, dict[str, list[float]]], path: Path) -> None:
    """Losses of several ranks over those of one process, and the largest difference."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "clew"
    figure, axes = plt.subplots(1, len(by_ranks[1]), figsize=(11, 3.2), layout="constrained")
    for axis, (name, alone) in zip(axes, by_ranks[1].items(), strict=True):
        for (ranks, found), width in zip(sorted(by_ranks.items()), (5, 2.5, 1), strict=True):
            off = max(abs(one / other - 1) for one, other in zip(found[name], alone, strict=True))
            label = f"{ranks} ranks, at most {off:.0e} off" if ranks > 1 else "one process, the whole batch"
            axis.plot(found[name], linewidth=width, label=label, color=("0.8", "tab:blue", "black")[ranks // 2])
        axis.set(title=name, xlabel="step", ylabel="loss")
        axis.legend(fontsize=8)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    print(f"written: {path}")


def trace(model: Figures) -> list[dict[str, Any]]:
    """The same as events, in microseconds: a process for each run, a thread for the core and one for the network."""
    events = []
    for number, (on, run) in enumerate(model["wire"].items()):
        begin, process = run["marks"][0], {"pid": number, "ph": "X", "cat": f"overlap {on}"}
        events.append(
            {
                "ph": "M",
                "pid": number,
                "name": "process_name",
                "args": {"name": f"overlap {'on' if on == 'True' else 'off'}"},
            }
        )
        rows = [(name, "core", *ends) for name, *ends in zip(PARTS, run["marks"], run["marks"][1:], strict=False)]
        rows += [(f"{one['bytes']:,.0f} bytes", "network", one["began"], one["ended"]) for one in run["reductions"]]
        for name, thread, left, right in rows:
            events.append(
                process | {"name": name, "tid": thread, "ts": 1e6 * (left - begin), "dur": 1e6 * (right - left)}
            )
    return events
