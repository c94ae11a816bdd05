// crash_module.cpp: a library whose constructor crashes as the program says.

#include <dlfcn.h>

__attribute__((constructor)) static void begin() {
  if (void *f = dlsym(RTLD_DEFAULT, "crash_now")) ((void (*)())f)();
}
