#!/bin/sh
# install.sh puts the programs that were built where the desktop and the shell find them: both
# programs, icon, menu entry, types of files, completion of bash, zsh and fish.
#
#	packaging/linux/install.sh install|uninstall
#
# From the environment: PREFIX, ~/.local unless it is given (/usr/local is for all users); DESTDIR,
# a folder that stands before all paths, for those who make packages: then the caches of the desktop are
# left to the package manager. Nothing is written but what uninstall takes away again.
set -eu
cd "$(dirname "$0")/../.."

prefix=${PREFIX:-$HOME/.local}
share=$prefix/share
[ -n "${PREFIX:-}" ] || share=${XDG_DATA_HOME:-$share}
dest=${DESTDIR:-}
id=io.github.logparser

# put FILE MODE PLACE installs or removes a file.
put() {
	case $action in
	install) install -D -m "$2" "$1" "$dest$3" ;;
	uninstall) remove "$dest$3" ;;
	esac
}

# remove FILE takes it away with the folders that it leaves empty.
remove() {
	rm -f "$1"
	dir=$(dirname "$1")
	while [ "$dir" != / ] && [ "$dir" != "$dest" ] && [ "$dir" != "$HOME" ] && rmdir "$dir" 2>/dev/null; do
		dir=$(dirname "$dir")
	done
}

# entry PLACE has the menu entry name the program by its path: where the folder of programs is not in
# PATH the desktop would pass over it.
entry() {
	if [ "$action" = install ] && [ -z "$dest" ]; then
		path=$(printf '%s' "$prefix/bin/logparser" | sed 's/[\\&|"`$]/\\&/g')
		sed "s|^Exec=logparser|Exec=\"$path\"|" packaging/linux/$id.desktop >build/entry
		put build/entry 644 "$1"
	else
		put packaging/linux/$id.desktop 644 "$1"
	fi
	rm -f build/entry
}

# completion SHELL PLACE
completion() {
	if [ "$action" = install ]; then
		build/logparse completion "$1" >build/completion
	fi
	put build/completion 644 "$2"
	rm -f build/completion
}

# have COMMAND
have() { command -v "$1" >/dev/null 2>&1; }

# caches has the desktop read what changed. What it keeps of types is removed with the last type.
caches() {
	[ -z "$dest" ] || return 0
	if [ -d "$share/mime" ]; then
		if [ -d "$share/mime/packages" ]; then
			! have update-mime-database || update-mime-database "$share/mime"
		else
			for f in aliases generic-icons globs globs2 icons magic mime.cache subclasses treemagic types version XMLnamespaces; do
				remove "$share/mime/$f"
			done
			for t in lptrace lppack logdetails; do
				remove "$share/mime/application/x-$t.xml"
			done
		fi
	fi
	if [ -d "$share/applications" ]; then
		if [ "$(ls "$share/applications")" = mimeinfo.cache ]; then
			remove "$share/applications/mimeinfo.cache"
		elif have update-desktop-database; then
			update-desktop-database -q "$share/applications"
		fi
	fi
	if [ -e "$share/icons/hicolor/icon-theme.cache" ] && have gtk-update-icon-cache; then
		gtk-update-icon-cache -q -f -t "$share/icons/hicolor" 2>/dev/null || true
	fi
}

action=${1:-}
case $action in
install)
	for p in logparse logparser; do
		[ -x build/$p ] || {
			echo "install.sh: build/$p is not there; \"make install\" builds it" >&2
			exit 1
		}
	done
	;;
uninstall) ;;
*)
	echo "usage: packaging/linux/install.sh install|uninstall" >&2
	exit 2
	;;
esac

put build/logparse 755 "$prefix/bin/logparse"
put build/logparser 755 "$prefix/bin/logparser"
entry "$share/applications/$id.desktop"
put packaging/linux/$id.xml 644 "$share/mime/packages/$id.xml"
put assets/icon.svg 644 "$share/icons/hicolor/scalable/apps/$id.svg"
put assets/icon-256.png 644 "$share/icons/hicolor/256x256/apps/$id.png"
completion bash "$share/bash-completion/completions/logparse"
completion zsh "$share/zsh/site-functions/_logparse"
completion fish "$share/fish/vendor_completions.d/logparse.fish"
caches

[ -z "$dest" ] || exit 0
case $action in
install)
	echo "Installed in $prefix: logparse and logparser, the menu entry and the types of files."
	case ":$PATH:" in
	*":$prefix/bin:"*) ;;
	*) echo "$prefix/bin is not in PATH: add it, or start $prefix/bin/logparser" ;;
	esac
	;;
uninstall) echo "Removed from $prefix." ;;
esac
