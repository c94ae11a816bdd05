#!/bin/sh
# Makes LogParserHan.otf from Noto Sans CJK SC: the characters of GB2312 with
# ASCII and the punctuation of both scripts, so that Chinese can be shown on a
# system without a Han font. Needs Debian's fonts-noto-cjk and python3-fonttools.
set -eu
cd "$(dirname "$0")"
source=${1:-/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc}
# Debian's own interpreter has the package; another one earlier in PATH may not.
python=${PYTHON:-/usr/bin/python3}
list=$(mktemp)
trap 'rm -f "$list"' EXIT
"$python" - "$list" <<'PY'
import sys
chars = {chr(c) for c in range(0x20, 0x7f)} | set("\u00a0\u00b7\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u2190\u2192\ufffd")
chars |= {chr(c) for c in range(0x3000, 0x3020)} | {chr(c) for c in range(0xff01, 0xff5f)}
for row in range(0xa1, 0xf8):
    for cell in range(0xa1, 0xff):
        try:
            chars.add(bytes((row, cell)).decode("gb2312"))
        except UnicodeDecodeError:
            pass
open(sys.argv[1], "w", encoding="utf-8").write("".join(sorted(chars)))
PY
# Face 2 of the collection is Simplified Chinese. Layout features are dropped:
# nothing that LogParser writes needs them.
"$python" -m fontTools.subset "$source" --font-number=2 --text-file="$list" \
	--output-file=LogParserHan.otf --layout-features='' --no-hinting --desubroutinize \
	--name-IDs='0,1,2,3,4,5,6,13,14' --notdef-outline --drop-tables+=vhea,vmtx,VORG,BASE,GPOS,GSUB
ls -l LogParserHan.otf
