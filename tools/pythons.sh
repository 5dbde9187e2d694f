#!/usr/bin/env bash
# Runs tests on each CPython that clew is for and that is found here, and once more with CPython's public API alone, as on
# a version that is newer than we know (there lines are found more slowly, and no call is recorded).
#
#     tools/pythons.sh [pytest arguments]
#
# Each has a virtual environment of its own, .venv-NAME, which is kept. An interpreter that is not found is skipped, with a
# message.
set -euo pipefail
cd "$(dirname "$0")/.."

# A name, its interpreter, and what pip is told besides.
run_tests() {
  local name=$1 interpreter=$2
  if ! "$interpreter" -c "" 2>/dev/null; then
    echo "$name: skipped, there is no $interpreter"
    return
  fi
  shift 2
  "$interpreter" -m venv ".venv-$name"
  ".venv-$name/bin/python" -m pip install -q "$@" ".[test]"
  echo "$name: $(".venv-$name/bin/python" -VV)"
  ".venv-$name/bin/python" -m pytest "${tests[@]}"
}

tests=("$@")
for version in 3.12 3.13; do
  run_tests "$version" "python$version"
done
run_tests public python3.11 -C cmake.define.CLEW_PUBLIC_API=ON -C build-dir=build/public
