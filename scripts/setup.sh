#!/bin/bash
# setup.sh installs what a make target needs and this machine lacks.
#
#	scripts/setup.sh GROUP...
#
# Groups: command window desktop test windows logtest bench. Nothing is installed that is there already, however it
# came there: each need is a probe, and a package only where the probe fails.
# What is installed is said first. Without root, sudo is used; without either,
# the command to type is printed.
#
# The exit status is 1 if something that a group cannot do without is missing.
# Compilers and wine for the test lanes are not of that kind: those that
# cannot be had are named, and the tests count their lanes as skipped.
set -u
cd "$(dirname "$0")/.."
. scripts/toolchains.sh

required=() # packages without which the group fails
optional=() # packages whose absence skips lanes

have() { command -v "$1" >/dev/null 2>&1; }
lib() { have pkg-config && pkg-config --exists "$1"; }
apt() { have apt-get; }

# candidate PACKAGE: apt could install it.
candidate() {
	[ -n "$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '(none)')" ]
}
installed() {
	have dpkg-query && [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}
require() {
	for p; do installed "$p" || required+=("$p"); done
}
try() {
	for p; do installed "$p" || optional+=("$p"); done
}

group_command() {
	local f
	for f in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem; do
		[ -e "$f" ] && return
	done
	[ -z "${SSL_CERT_FILE:-}" ] && require ca-certificates
}

group_window() {
	group_command
	[ "$(uname -s)" = Linux ] || return
	cgo_compiler >/dev/null || require clang libc6-dev
	window_libraries
}

window_libraries() {
	have pkg-config || require pkg-config
	lib gl || require libgl-dev
	lib egl || require libegl-dev
	lib x11 || require libx11-dev
	lib xcursor || require libxcursor-dev
	lib xrandr || require libxrandr-dev
	lib xinerama || require libxinerama-dev
	lib xi || require libxi-dev
	lib xxf86vm || require libxxf86vm-dev
	lib wayland-client && lib wayland-egl && lib wayland-cursor || require libwayland-dev
	lib xkbcommon || require libxkbcommon-dev
}

# What makes the desktop know types of files, and what opens them. Desktops bring it along.
group_desktop() {
	[ "$(uname -s)" = Linux ] || return
	have update-mime-database || try shared-mime-info
	have update-desktop-database || try desktop-file-utils
}

# The packages of the test lanes. clang comes last: which version there is can
# be asked of apt only after its lists were read.
group_test() {
	group_command
	[ "$(uname -s)" = Linux ] || return
	window_libraries
	have gcc || require gcc libc6-dev
	have g++ || require g++
	have Xvfb || try xvfb
	have xdotool || try xdotool
	have xclip || try xclip
	have import && have convert || try imagemagick
	have gio || try libglib2.0-bin
	group_desktop
	have dwz || try dwz
	have eu-strip || try elfutils
	have xz || try xz-utils
	# Its package starts a service where there is something to start it with.
	have debuginfod || [ -d /run/systemd/system ] || try debuginfod
	[ "$(uname -m)" = x86_64 ] || return
	have qemu-aarch64 || try qemu-user
	# It cannot stand beside gcc-multilib, which apt would take away for it.
	[ -d /usr/aarch64-linux-gnu/include/c++ ] || installed gcc-multilib || try g++-aarch64-linux-gnu
	have x86_64-w64-mingw32-g++ || try g++-mingw-w64-x86-64
	have i686-w64-mingw32-g++ || try g++-mingw-w64-i686
	have wine || try wine wine64
	have gdb || try gdb
	clang=1
	libcxx "$(clang_version)"
}

# libcxx VERSION: the other standard library that clang can take.
libcxx() {
	[ -z "$1" ] || [ -e "/usr/lib/llvm-$1/include/c++/v1/string" ] || try "libc++-$1-dev" "libc++abi-$1-dev"
}

# What "make bench" compares with, beside the packages of the tests.
group_bench() {
	group_test
	[ "$(uname -s)" = Linux ] || return
	have addr2line || try binutils
	have uftrace || try uftrace
	# XRay's own runtime.
	[ -z "$(clang_version)" ] || try "libclang-rt-$(clang_version)-dev"
	have dpkg-source || try dpkg-dev
	[ -n "$(llvm_symbolizer)" ] || symbolizer=1
}

group_windows() {
	group_command
	have x86_64-w64-mingw32-gcc || require gcc-mingw-w64-x86-64
	have x86_64-w64-mingw32-windres || require binutils-mingw-w64-x86-64
}

# One of the two compilers is enough: the programs are built for whom there is one.
group_logtest() {
	have x86_64-w64-mingw32-g++ || try g++-mingw-w64-x86-64
	have g++ || try g++ libc6-dev
}

# as_root COMMAND...: how this user may run it, or status 1.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	fi
}
may_install() {
	[ "$(id -u)" = 0 ] && return
	have sudo || return
	sudo -n true 2>/dev/null && return
	[ -t 0 ] && [ -z "${CI:-}" ] && sudo -v
}

apt_get() {
	as_root apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null
}

# retry COMMAND...: apt-get update has no lock time-out of its own.
retry() {
	local i
	for i in 1 2 3; do
		"$@" && return
		sleep $((i * 5))
	done
	return 1
}

missing_by_hand() {
	echo "These packages are missing: ${required[*]} ${optional[*]}"
	if apt; then
		echo "To install them, type as root:"
		echo "    apt-get update && apt-get install --no-install-recommends ${required[*]} ${optional[*]}"
	else
		echo "The names are Debian's. Install what this system calls them, and start again."
	fi
}

clang=
symbolizer=
for g; do
	case $g in
	command | window | desktop | test | windows | logtest | bench) "group_$g" ;;
	*)
		echo "setup.sh: no group $g" >&2
		exit 2
		;;
	esac
done
[ -n "$clang" ] && [ -z "$(clang_version)" ] || clang=

if [ ${#required[@]} -eq 0 ] && [ ${#optional[@]} -eq 0 ] && [ -z "$clang$symbolizer" ]; then
	exit 0
fi

if ! apt || ! may_install; then
	[ -n "$clang" ] && optional+=(clang-19 lld-19 llvm-19 clang-tools-19)
	[ -n "$symbolizer" ] && [ -z "$clang" ] && optional+=(llvm)
	missing_by_hand
	[ ${#required[@]} -eq 0 ]
	exit
fi

log=build/setup.log
mkdir -p build
echo "Reading the package lists ..."
if ! retry apt_get update >"$log" 2>&1; then
	tail -n 5 "$log"
	echo "The package lists could not be read anew; going on with those that are here."
fi

if [ -n "$clang" ]; then
	for v in $clang_versions; do
		if candidate "clang-$v" && candidate "lld-$v" && candidate "llvm-$v" && candidate "clang-tools-$v"; then
			optional+=("clang-$v" "lld-$v" "llvm-$v" "clang-tools-$v")
			libcxx "$v"
			clang=
			break
		fi
	done
	[ -n "$clang" ] && echo "Not to be had here, lanes skipped: clang with lld, llvm and clang-tools, any of versions $clang_versions"
fi

if [ -n "$symbolizer" ] && [[ " ${optional[*]-} " != *" llvm-"* ]]; then
	for v in $(printf '%s\n' $clang_versions | sort -rn); do
		candidate "llvm-$v" && optional+=("llvm-$v") && break
	done
fi

packages=("${required[@]}")
for p in "${optional[@]}"; do
	if candidate "$p"; then
		packages+=("$p")
	else
		echo "Not to be had here, lanes skipped: $p"
	fi
done
[ ${#packages[@]} -eq 0 ] && exit 0

echo "Installing: ${packages[*]}"
if ! apt_get install -y --no-install-recommends --no-remove "${packages[@]}" >>"$log" 2>&1; then
	tail -n 15 "$log"
	echo "apt-get could not install them; the whole output is in $log"
	exit 1
fi
