// Modules: images are shared objects of the host, loaded with dlopen.
#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "launch.h"
#include "state.h"

static const unsigned FATBIN_MAGIC = 0xba55ed50, EM_CUDA_MACHINE = 190;

// dlopen tells images apart by path, so each gets a fresh one.
static void *open_image(const char *image, size_t bytes) {
    const char *folder = getenv("TMPDIR");
    std::string path = std::string(folder ? folder : "/tmp") + "/softcuda-XXXXXX";
    int file = mkstemp(&path[0]);
    if (file < 0) return nullptr;
    bool whole = write(file, image, bytes) == (ssize_t)bytes;
    void *handle = whole ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    close(file);
    unlink(path.c_str());
    return handle;
}

static CUresult load(Module **module, const char *image) {
    RETURN_UNLESS_READY;
    if (*(const unsigned *)image == FATBIN_MAGIC) return NO_BINARY_FOR_GPU;
    if (memcmp(image, ELFMAG, SELFMAG)) return INVALID_IMAGE;
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)image;
    if (elf->e_machine == EM_CUDA_MACHINE || elf->e_type != ET_DYN) return NO_BINARY_FOR_GPU;
    void *handle = open_image(image, elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize);
    soft_state *state = handle ? (soft_state *)dlsym(handle, "__soft_state") : nullptr;
    if (!state || state->abi != SOFT_ABI) {
        fprintf(stderr, "softcuda: %s\n", handle ? "an image of another softcuda" : dlerror());
        return INVALID_IMAGE;
    }
    int cc = (int)current_device()->says.number("cc", 80);
    if (state->architecture / 10 != cc / 10 || state->architecture > cc) return NO_BINARY_FOR_GPU;
    attach_runtime(state);
    *module = new Module{handle, state, {}};
    return OK;
}

API CUresult cuModuleLoadData(Module **module, const void *image) { return load(module, (const char *)image); }

// JIT options: 4 the size of the information log, 5 the error log, 6 its size.
API CUresult cuModuleLoadDataEx(Module **module, const void *image, unsigned count, int *options, void **values) {
    CUresult result = load(module, (const char *)image);
    char *log = nullptr;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 5) log = (char *)values[i];
        if (options[i] == 4) values[i] = nullptr;
        if (options[i] == 6) {
            int written = result && log ? snprintf(log, (size_t)values[i], "softcuda: %s", error_name(result)) : 0;
            values[i] = (void *)(size_t)written;
        }
    }
    return result;
}

API CUresult cuModuleLoad(Module **module, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return FILE_NOT_FOUND;
    std::string image;
    char chunk[65536];
    for (size_t got; (got = fread(chunk, 1, sizeof chunk, file)) > 0;) image.append(chunk, got);
    fclose(file);
    image.append(sizeof(Elf64_Ehdr), '\0');
    return load(module, image.data());
}

API CUresult cuModuleUnload(Module *module) {
    for (auto &entry : module->functions) {
        forget_launches(entry.second);
        delete entry.second;
    }
    dlclose(module->handle);
    delete module;
    return OK;
}

API CUresult cuModuleGetFunction(Function **function, Module *module, const char *name) {
    RETURN_UNLESS_READY;
    auto found = module->functions.find(name);
    if (found == module->functions.end()) {
        auto *kernel = (const soft_kernel *)dlsym(module->handle, (std::string("__soft_kernel_") + name).c_str());
        if (!kernel) return NOT_FOUND;
        found = module->functions.emplace(name, new Function{module, kernel}).first;
    }
    *function = found->second;
    return OK;
}

API CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, Module *module, const char *name) {
    RETURN_UNLESS_READY;
    void *symbol = dlsym(module->handle, name);
    if (!symbol) return NOT_FOUND;
    Dl_info information;
    Elf64_Sym *entry = nullptr;
    dladdr1(symbol, &information, (void **)&entry, RTLD_DL_SYMENT);
    size_t size = entry ? entry->st_size : 0;
    driver().allocations[(CUdeviceptr)symbol] = {size, current_device(), 0};
    if (address) *address = (CUdeviceptr)symbol;
    if (bytes) *bytes = size;
    return OK;
}

// CUfunction_attribute: 0 threads per block, 4 registers, 5 PTX version, 6 binary version, 8 limit of dynamic shared memory.
API CUresult cuFuncGetAttribute(int *value, int attribute, Function *function) {
    int cc = (int)current_device()->says.number("cc", 80);
    const int values[] = {1024, 0, 0, 0, 32, cc, cc, 0, (int)function->dynamic_limit_bytes, -1};
    if (attribute < 0 || attribute > 16) return INVALID_VALUE;
    *value = attribute < 10 ? values[attribute] : 0;
    return OK;
}

API CUresult cuFuncSetAttribute(Function *function, int attribute, int value) {
    if (attribute != 8) return OK;
    if (value > current_device()->says.number("smem", 164 << 10) - 1024) return INVALID_VALUE;
    function->dynamic_limit_bytes = value;
    return OK;
}
API CUresult cuFuncSetBlockShape(Function *function, int x, int y, int z) {
    const unsigned block[3] = {(unsigned)x, (unsigned)y, (unsigned)z};
    memcpy(function->block, block, sizeof block);
    return OK;
}
API CUresult cuFuncSetSharedSize(Function *, unsigned) { return OK; }
API CUresult cuFuncSetCacheConfig(Function *, int) { return OK; }
