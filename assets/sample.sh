#!/bin/sh
# Takes the sample log that the program brings along from the test logs: one
# that was recorded on Windows and whose names come from .pdb files, which
# resolve alike on every system.
set -eu
cd "$(dirname "$0")"
from=../testdata/logtest/windows-x64-clangcl
rm -rf sample
mkdir sample
cp "$from"/LogDetails.dat "$from"/LogDetails.bin "$from"/*.pdb sample/
chmod 644 sample/*
