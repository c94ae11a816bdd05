# sources.sh is read by the scripts that build the recorder: its source files, without
# .c, for Linux and for Windows. CMakeLists.txt has them, too.

recorder_common="core control stacks"
recorder_linux="$recorder_common platform_linux modules_linux interpose_linux hooks_cyg hooks_fentry"
recorder_windows="$recorder_common hooks_cyg hooks_penter platform_windows modules_windows"
