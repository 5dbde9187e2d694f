"""Records docs/pictures/first-graph.svg: a wheel is installed, a script is run under `clew xray`, its graph is shown.

    python tools/record_session.py dist/clew-0.1.0-cp311-cp311-manylinux_2_28_x86_64.whl

The session is played on a terminal of its own (asciinema), with a new virtual environment, and drawn by termtosvg. It
must take less than 20 seconds. Needs `pip install asciinema termtosvg`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "first-graph.svg"
SIZE = (130, 30)
MOST_SECONDS = 20

SCRIPT = """\
import clew as torch
from clew import nn

model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(64, 4), torch.randn(64, 1)
for step in range(100):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
SESSION = r"""
say() {{
  printf '\033[32m$\033[0m '
  for ((i = 0; i < ${{#1}}; i++)); do printf %s "${{1:i:1}}"; sleep 0.02; done
  echo
  eval "$1"
}}
say 'pip install -q {wheel}'
say 'cat train.py'
sleep 1
say 'clew xray train.py | head -n 24'
sleep 2
"""


def main(arguments: list[str]) -> int:
    wheel = Path(arguments[0]).resolve()
    commands = [shutil.which(name, path=f"{Path(sys.executable).parent}") for name in ("asciinema", "termtosvg")]
    asciinema, termtosvg = (command or "missing" for command in commands)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        shutil.copy(wheel, folder)
        (folder / "train.py").write_text(SCRIPT)
        (folder / "session.sh").write_text(SESSION.format(wheel=wheel.name))
        path = f"{folder}/venv/bin:/usr/bin:/bin"
        environment = os.environ | {"PATH": path, "PYTHONPATH": "", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        cast = folder / "session.cast"
        subprocess.run(
            [asciinema, "rec", "-q", "--cols", str(SIZE[0]), "--rows", str(SIZE[1]), "-c", "bash session.sh", cast],
            cwd=folder, env=environment, check=True,
        )  # fmt: skip
        seconds = json.loads(cast.read_text().splitlines()[-1])[0]
        subprocess.run([termtosvg, "render", cast, PICTURE, "-t", "window_frame", "-D", "4000"], check=True)
    print(f"{seconds:.1f} s, {PICTURE.stat().st_size / 1000:.0f} kB")
    return 0 if seconds < MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
