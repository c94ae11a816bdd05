# What the scripts of this folder have in common: a display of its own, the program on it
# with a home of its own, and keys, clicks and pictures. It is sourced with program,
# command and shots set.

unset LC_ALL
for tool in Xvfb xdotool import; do
	command -v $tool >/dev/null || { echo "xvfb: $tool is missing" >&2; exit 2; }
done

work=$(mktemp -d)
server= running= neutral=
finish() {
	[ -n "$running" ] && kill "$running" 2>/dev/null
	[ -n "$server" ] && kill "$server" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$work"
	[ -n "$neutral" ] && rm -rf "$neutral"
}
trap finish EXIT

# A fresh display: a window manager that once ran on it would disturb.
Xvfb -displayfd 9 -screen 0 "${screen:-1600x1000}x24" -nolisten tcp 9>"$work/display" >/dev/null 2>&1 &
server=$!
for _ in $(seq 100); do [ -s "$work/display" ] && break; sleep 0.1; done
[ -s "$work/display" ] || { echo "xvfb: Xvfb did not start" >&2; exit 2; }
export DISPLAY=:$(cat "$work/display")
export FYNE_SCALE=1 LOGPARSER_TRACE=1 LOGPARSER_DIALOGS=fyne
unset LC_ALL LC_MESSAGES LANGUAGE WAYLAND_DISPLAY

fail() {
	echo "xvfb: $*" >&2
	echo "--- events" >&2
	cat "$work/trace" >&2
	echo "--- standard error" >&2
	cat "$work/err" >&2
	[ -n "${window:-}" ] && import -window root "${shots:-/tmp}/failed.png" 2>/dev/null
	exit 1
}

# begin SETTINGS ARGUMENT... starts the program with a home of its own.
begin() {
	home=$work/home
	settings=$home/.config/${settings_at:-logparser/settings.json}
	rm -rf "$home"
	mkdir -p "$home/.config/fyne" "$(dirname "$settings")" "$home/.cache" "$home/run"
	chmod 700 "$home/run"
	printf '%s' "$1" >"$settings"
	shift
	start "$@"
}

# start ARGUMENT... starts the program with the home of the time before.
start() {
	: >"$work/trace"
	LANG=en_US.UTF-8 HOME=$home XDG_CONFIG_HOME=$home/.config XDG_CACHE_HOME=$home/.cache XDG_RUNTIME_DIR=$home/run \
		timeout -k 5 "${longest:-120}" "$program" "$@" >"$work/trace" 2>"$work/err" &
	running=$!
	event started
	window=$(timeout 20 xdotool search --sync --onlyvisible --name LogParser | head -1)
	[ -n "$window" ] || fail "no window came up"
	timeout 10 xdotool windowfocus --sync "$window"
}

end() {
	kill "$running" 2>/dev/null # timeout hands it on
	wait "$running" 2>/dev/null
	running=
	if grep -q 'Error in Fyne call thread' "$work/err"; then
		fail "the window was touched from another goroutine"
	fi
}

# leave quits as a person does, so that what was arranged is kept.
leave() {
	key ctrl+q
	for _ in $(seq 100); do
		kill -0 "$running" 2>/dev/null || { running=; return; }
		sleep 0.1
	done
	fail "the program does not quit"
}

# event LINE [COUNT] waits until the program has printed a line that begins so,
# that many times.
event() {
	for _ in $(seq 600); do
		[ "$(grep -c "^$1" "$work/trace")" -ge "${2:-1}" ] && return
		kill -0 "$running" 2>/dev/null || fail "the program ended while waiting for: $1"
		sleep 0.1
	done
	fail "waited in vain for: $1"
}

key() { xdotool key "$@"; sleep 0.4; }
text() { LC_ALL=C.UTF-8 xdotool type --delay 5 "$1"; sleep 0.3; }
click() { xdotool mousemove "$1" "$2" click 1; sleep 0.4; }
# shot NAME lets the last redraw come to an end first.
shot() {
	[ -n "$shots" ] || return 0
	sleep 1
	import -window "$window" "$shots/$1.png"
}

