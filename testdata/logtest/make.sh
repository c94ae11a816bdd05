#!/bin/bash
# make.sh [LANE...]: makes the logs and symbol files of this folder again:
# builds LogTest, runs it, and keeps what a reader needs. Needs the toolchains
# of recorder/samples/logtest/build.sh; for windows-x86-clang also root and
# WINE32_ROOT, made by wine32.sh. A lane that cannot be made stays as it is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sample=$here/../../recorder/samples/logtest
lanes=${*:-windows-x64-clang windows-x86-clang windows-x64-clangcl windows-x64-mingw linux-gcc-O2}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$sample/build.sh" "$out" $lanes
"$sample/run.sh" --neutral "$out" $lanes
awk -F'\t' '$2 == "run" { print $1 }' "$out/run.txt" | while read -r lane; do
  rm -rf "${here:?}/$lane"
  mkdir "$here/$lane"
  for f in "$out/$lane"/LogDetails.* "$out/$lane"/logtest "$out/$lane"/*.so "$out/$lane"/*.exe "$out/$lane"/*.dll "$out/$lane"/*.pdb; do
    [ -e "$f" ] && cp "$f" "$here/$lane/"
  done
  echo "kept $lane, $(du -sk "$here/$lane" | cut -f1) KB"
done
