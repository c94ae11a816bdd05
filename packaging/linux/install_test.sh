#!/bin/bash
# install_test.sh installs into folders of its own, asks the desktop for the types of three logs and what
# opens them, and removes all again: nothing may be left.
#
#	packaging/linux/install_test.sh
#
# The window is stood in for where it was not built. Exit status 77: what asks the desktop is not here.
set -eu
cd "$(dirname "$0")/../.."
for c in gio update-mime-database update-desktop-database; do
	command -v $c >/dev/null || {
		echo "skipped: $c is not installed"
		exit 77
	}
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "install_test.sh: $*" >&2
	exit 1
}
mkdir -p "$work/tree/packaging" "$work/tree/build" "$work/home/.local/bin"
cp -r packaging/linux "$work/tree/packaging/"
cp -r assets "$work/tree/"
CGO_ENABLED=0 go build -o "$work/tree/build/logparse" ./cmd/logparse
printf '#!/bin/sh\n' >"$work/tree/build/logparser"
chmod +x "$work/tree/build/logparser"
echo mine >"$work/home/.local/bin/other"
unset PREFIX DESTDIR XDG_DATA_HOME
export HOME=$work/home LC_ALL=C
before=$(cd "$HOME" && find . | sort)

"$work/tree/packaging/linux/install.sh" install >"$work/out"
grep -q "is not in PATH" "$work/out" || fail "says nothing about PATH: $(cat "$work/out")"
"$HOME/.local/bin/logparse" --version >/dev/null
for f in bash-completion/completions/logparse zsh/site-functions/_logparse fish/vendor_completions.d/logparse.fish; do
	[ -s "$HOME/.local/share/$f" ] || fail "$f is not there"
done
mkdir "$work/logs"
printf '\x89LPT\r\n\x1a\n' >"$work/logs/named-otherwise"
printf '\x89LPsym\r\n\x01\x00' >"$work/logs/a.lppack"
cp assets/sample/LogDetails.dat "$work/logs"
for pair in named-otherwise:x-lptrace a.lppack:x-lppack LogDetails.dat:x-logdetails; do
	got=$(gio info -a standard::content-type "$work/logs/${pair%:*}")
	[[ $got == *"application/${pair#*:}"* ]] || fail "${pair%:*}: $got"
	got=$(gio mime "application/${pair#*:}")
	[[ $got == *io.github.logparser.desktop* ]] || fail "what opens ${pair%:*}: $got"
done
printf 'x' >"$work/logs/other.dat"
got=$(gio info -a standard::content-type "$work/logs/other.dat")
[[ $got != *x-logdetails* ]] || fail "other.dat is taken for a log: $got"

"$work/tree/packaging/linux/install.sh" uninstall >/dev/null
after=$(cd "$HOME" && find . | sort)
[ "$before" = "$after" ] || fail "left behind: $(diff <(echo "$before") <(echo "$after"))"

DESTDIR=$work/stage PREFIX=/usr "$work/tree/packaging/linux/install.sh" install
[ -x "$work/stage/usr/bin/logparse" ] && [ ! -e "$work/stage/usr/share/mime/mime.cache" ] || fail "staging"
DESTDIR=$work/stage PREFIX=/usr "$work/tree/packaging/linux/install.sh" uninstall
[ ! -e "$work/stage" ] || [ -z "$(find "$work/stage" -type f)" ] || fail "staging left files"
echo "installed, asked, removed"
