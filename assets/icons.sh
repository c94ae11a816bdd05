#!/bin/sh
# Makes the icons of all sizes from icon.svg. Needs Debian's librsvg2-bin and
# imagemagick.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rsvg-convert -w 512 icon.svg -o icon.png
rsvg-convert -w 256 icon.svg -o icon-256.png
list=
for size in 16 24 32 48 64 128 256; do
	rsvg-convert -w $size icon.svg -o "$work/$size.png"
	list="$list $work/$size.png"
done
convert $list icon.ico
