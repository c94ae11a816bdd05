/* xray_fdr.cpp: clang's own recorder of XRay sleds in its mode "fdr", which a program has to begin and end
 * itself: all is kept in memory, and written at the end. */

#include <cstdio>
#include <cstdlib>
#include <xray/xray_log_interface.h>
#include <xray/xray_interface.h>

__attribute__((constructor, xray_never_instrument)) static void begin(void) {
  if (__xray_log_select_mode("xray-fdr") != XRAY_REGISTRATION_OK ||
      __xray_log_init_mode("xray-fdr", "func_duration_threshold_us=0:buffer_max=40000") != XRAY_LOG_INITIALIZED || __xray_patch() != SUCCESS) {
    fprintf(stderr, "XRay's fdr mode does not begin\n");
    _Exit(1);
  }
}

__attribute__((destructor, xray_never_instrument)) static void end(void) {
  __xray_log_finalize();
  __xray_log_flushLog();
}
