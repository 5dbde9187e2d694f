"""`python -m tests.hostile --seconds 7200 --seed 3`: the net by hand, with any number of calls."""

import argparse
import subprocess
import sys
import time

from .net import Net


def commit_seed():
    """A number that follows from the commit: a second run of the same state makes the same calls."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return int(done.stdout[:12], 16) if done.returncode == 0 and done.stdout else 1


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, help="stop after so long (60, where no number of calls is given)")
    parser.add_argument("--calls", type=int, help="stop after so many calls")
    parser.add_argument("--seed", type=int, help="which calls are drawn (a number that follows from the commit)")
    parser.add_argument("--only", default="", help="a part of the names of what is called, as in torch.nn.functional")
    asked = parser.parse_args()
    if asked.seconds is None and asked.calls is None:
        asked.seconds = 60.0
    seed = commit_seed() if asked.seed is None else asked.seed
    net = Net(seed, asked.only, show=lambda text: print(text, flush=True))
    start = time.monotonic()
    net.run(asked.seconds, asked.calls)
    took = time.monotonic() - start
    never = sorted(target.name for target in net.targets if not target.works)
    print(
        f"seed {seed}: {net.calls} calls of {len(net.targets)} targets in {took:.0f} s "
        f"({net.calls / took:.0f} a second), "
        f"{net.returned} returned, {net.slow} stopped as large as asked, {len(never)} targets never returned, "
        f"{len(net.findings)} findings"
    )
    sys.exit(bool(net.findings))


if __name__ == "__main__":
    main()
