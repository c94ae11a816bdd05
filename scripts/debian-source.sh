#!/bin/bash
# debian-source.sh gets the source of a package of the distribution.
#
#	scripts/debian-source.sh PACKAGE DIR NAME
#
# It comes by apt-get from the archives that this system installs from, and is
# unpacked as DIR/NAME; what lies there already stays. Exit status 77, with the
# reason on the standard error: it cannot be had.
set -u
package=$1 dir=$2 name=$3
[ ! -d "$dir/$name" ] || exit 0
for p in apt-get dpkg-source; do
	command -v $p >/dev/null || { echo "it needs $p" >&2 && exit 77; }
done

# The archives of the binary packages, asked for their sources, in lists of our
# own: the system's configuration stays as it is.
get() {
	local a=$PWD/apt opts
	mkdir -p "$a/lists/partial" "$a/cache/archives/partial"
	apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
		sort -u >"$a/sources.list"
	[ -s "$a/sources.list" ] || { echo "E: no archive of Debian is configured" && return 1; }
	opts="-q -o Dir::Etc::SourceList=$a/sources.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$a/lists -o Dir::Cache=$a/cache"
	apt-get $opts update && apt-get $opts source --download-only "$package" && dpkg-source --no-check -x ./"${package}"_*.dsc "$name"
}
mkdir -p "$dir" && cd "$dir" || exit 1
(get) >log 2>&1 || {
	rm -rf "$name"
	echo "apt-get cannot get the source of $package: $(grep -m 1 '^E:' log)" >&2
	exit 77
}
