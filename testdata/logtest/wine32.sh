#!/bin/sh
# wine32.sh DIR: makes a root folder with Debian's 32-bit wine in DIR, for
# recorder/samples/logtest/run.sh (WINE32_ROOT=DIR). Needs root and
# mmdebstrap; about a minute, 1.5 GB. A folder of its own and not wine32
# beside the 64-bit wine, because that needs the i386 packages to be of the
# same day as the others. MIRROR names a Debian mirror, where the usual one is
# not to be used.
set -eu
[ $# = 1 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mmdebstrap --arch=i386 --variant=apt --skip=check/qemu --include=wine,wine32 bookworm "$1" \
  ${MIRROR:+"deb $MIRROR bookworm main"}
unshare -m sh -eu -c '
  mount --bind /proc "$1/proc"
  mount --bind /dev "$1/dev"
  chroot "$1" env WINEPREFIX=/wineprefix WINEDEBUG=-all sh -c "wineboot -i; wineserver -w" >/dev/null 2>&1
' sh "$1"
