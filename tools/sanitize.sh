#!/usr/bin/env bash
# Builds the core with AddressSanitizer and UndefinedBehaviorSanitizer and runs the first-party tests on it.
#
#     tools/sanitize.sh [pytest arguments]
#
# CPython itself is not leak-clean, so leaks are watched by our own counters (tests/conftest.py), not by LeakSanitizer. Tests of
# the benchmarks are left out. Needs `pip install ".[test,build]"` in the Python that runs it
# (PYTHON says which; python3 by default). With CLEW_CCACHE=ON each file is compiled by itself, through ccache.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
build=${CLEW_SANITIZE_BUILD:-build-sanitize}

cmake_command=$("$python" -c "import shutil, sysconfig, os; print(shutil.which('cmake', path=sysconfig.get_path('scripts') + os.pathsep + os.environ['PATH']) or '')")
ninja_command=$("$python" -c "import shutil, sysconfig, os; print(shutil.which('ninja', path=sysconfig.get_path('scripts') + os.pathsep + os.environ['PATH']) or '')")
"$cmake_command" -S . -B "$build" -G Ninja -DCMAKE_MAKE_PROGRAM="$ninja_command" -DCLEW_SANITIZE=ON -DCLEW_CCACHE="${CLEW_CCACHE:-OFF}" -DPython_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" >/dev/null
"$cmake_command" --build "$build"

# A package folder of its own: our Python files beside the sanitized core.
package="$build/package"
rm -rf "$package"
mkdir -p "$package"
cp -r src/clew "$package/clew"
rm -f "$package"/clew/_core*.so
cp "$build"/_core*.so "$package/clew/"
# An editable install would be found before it.
cat > "$package/sitecustomize.py" <<'EOF'
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
EOF

export LD_PRELOAD="$(g++ -print-file-name=libasan.so):$(g++ -print-file-name=libubsan.so)"
# Memory that cannot be had is refused as it is without sanitizers.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0:abort_on_error=0:halt_on_error=1:detect_stack_use_after_return=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export PYTHONMALLOC=malloc
export CLEW_SANITIZED=1  # tests marked `unsanitized` are left out
export PYTHONPATH="$PWD/$package"
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
"$python" -P -c "
import clew._core
assert clew._core.__file__.startswith('$PWD/$package'), f'expected the sanitized core, got {clew._core.__file__}'"
exec "$python" -P -m pytest -p no:cacheprovider --ignore tests/bench "$@"
