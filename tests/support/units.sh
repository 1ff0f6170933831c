#!/usr/bin/env bash
# units.sh PROGRAM : systemd reads deploy/systemd, runs PROGRAM by its units, and finds them closed enough.
#
# The exposure that systemd-analyze counts, 0 to 10: at most 2.0 for the server, 4.5 for the collector.
# Exit status 77 without systemd-analyze; the last line says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

program=$(realpath "$1")
command -v systemd-analyze >/dev/null || {
	echo "there is no systemd-analyze"
	exit 77
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
sed "s#/usr/bin/vramscope#$program#" deploy/systemd/vramscope.service >"$place/vramscope.service"
sed "s#/usr/bin/vramscope#$program#" deploy/systemd/vramscope-collector.service >"$place/vramscope-collector.service"

said=$(systemd-analyze verify --man=no "$place"/*.service 2>&1 | grep -F "$place" || true)
[ -z "$said" ] || {
	echo "$said" >&2
	exit 1
}

# expect UNIT MOST : the exposure of a unit, in tenths.
expect() {
	local found
	found=$(systemd-analyze security --offline=true --no-pager "$place/$1.service" | sed -n 's/.*exposure level for.*: \([0-9]*\)\.\([0-9]\).*/\1\2/p')
	echo "$1: ${found:?systemd-analyze says no exposure} of $2 tenths"
	[ "$found" -le "$2" ]
}
expect vramscope 20
expect vramscope-collector 45

# What a unit passes to the program are options of it.
options=$(for name in server collector; do "$program" "$name" -help-all; done)
for option in $(sed -n 's/^ExecStart=//p' "$place"/*.service | grep -o -- ' -[a-z][a-z.-]*=' | tr -d ' ='); do
	grep -qE -- "^ *$option\b" <<<"$options" || {
		echo "$option is no option of the program" >&2
		exit 1
	}
done
