#include "core/kernels/blas.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "core/base/error.h"

namespace clew::kernels {
namespace {

constexpr const char* kWhatToDo =
    "install it with `pip install scipy-openblas32`, or set CLEW_OPENBLAS to the library file";

std::string& path() {
    static std::string value;
    return value;
}

// OpenBLAS reads this variable when it is loaded, and starts a pool of threads if it says so or is missing.
class OneThreadInEnvironment {
public:
    OneThreadInEnvironment() {
        if (const char* old = std::getenv(kName)) {
            was_set_ = true;
            old_ = old;
        }
        setenv(kName, "1", 1);
    }
    ~OneThreadInEnvironment() {
        if (was_set_)
            setenv(kName, old_.c_str(), 1);
        else
            unsetenv(kName);
    }

private:
    static constexpr const char* kName = "OPENBLAS_NUM_THREADS";
    bool was_set_ = false;
    std::string old_;
};

template <class Function>
void find(void* library, const std::string& file, const char* name, Function& function) {
    for (const char* prefix : {"scipy_", ""})
        if (void* symbol = dlsym(library, (std::string(prefix) + name).c_str())) {
            function = reinterpret_cast<Function>(symbol);
            return;
        }
    fail(ErrorKind::Runtime, "matmul: expected an OpenBLAS library, got %s, which has no %s; %s", file.c_str(), name,
         kWhatToDo);
}

Blas load() {
    std::string file = path();
    if (const char* asked = std::getenv("CLEW_OPENBLAS"); asked != nullptr && *asked != '\0') file = asked;
    if (file.empty())
        fail(ErrorKind::Runtime, "matmul: expected the OpenBLAS library, got no path to it; %s", kWhatToDo);
    void* library = nullptr;
    {
        OneThreadInEnvironment one_thread;
        library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr)
        fail(ErrorKind::Runtime, "matmul: expected the OpenBLAS library, could not load it: %s; %s", dlerror(),
             kWhatToDo);
    Blas found;
    find(library, file, "cblas_sgemm", found.float32.gemm);
    find(library, file, "cblas_dgemm", found.float64.gemm);
    find(library, file, "cblas_sgemv", found.float32.gemv);
    find(library, file, "cblas_dgemv", found.float64.gemv);
    find(library, file, "cblas_sdot", found.float32.dot);
    find(library, file, "cblas_ddot", found.float64.dot);
    void (*set_threads)(int) = nullptr;
    find(library, file, "openblas_set_num_threads", set_threads);
    set_threads(1);
    return found;
}

}  // namespace

void set_blas_path(const char* file) { path() = file; }

const Blas& blas() {
    static const Blas loaded = load();
    return loaded;
}

}  // namespace clew::kernels
