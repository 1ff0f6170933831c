#!/usr/bin/env bash
# ./run.sh [--demo] [-- OPTIONS OF THE SERVER]
#
# Installs what is missing (Debian, as root), builds, and runs `vramscope server` in the foreground with its store in
# ./data. With --demo also sends real profiles, so that there is something to see at once. Ctrl-C ends it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. deploy/packages.sh

usage() {
	sed -n '2,5s/^# \{0,1\}//p' "$0"
}

demo=no
while [ $# -gt 0 ]; do
	case $1 in
	--demo) demo=yes ;;
	-h | --help) usage; exit 0 ;;
	--) shift; break ;;
	*) echo "run.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
	esac
	shift
done

# shellcheck disable=SC2086  # lists of words
packages_need $packages_build ca-certificates curl $([ $demo = no ] || echo $packages_demo)

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Building (the first time takes a minute) ..."
if ! { cmake --preset release -DBUILD_TESTING=OFF && cmake --build --preset release --target vramscope; } >"$log" 2>&1; then
	tail -n 30 "$log" >&2
	exit 1
fi

program=build/release/vramscope
port_file=$PWD/build/release/run.port
rm -f "$port_file"
"$program" server -storage.path=./data -server.http-port-file="$port_file" "$@" &
server=$!
demo_client=
# The server ends itself on either signal, after it has written what it took in.
trap 'kill -TERM $server $demo_client 2>/dev/null || true' INT TERM
trap 'rm -f "$log" "$port_file"' EXIT

until [ -s "$port_file" ]; do
	if ! kill -0 $server 2>/dev/null; then
		wait $server && exit 1 || exit $?
	fi
	sleep 0.1
done
url=http://127.0.0.1:$(cat "$port_file")

cat <<END

  vramscope is ready            $url
  Grafana data source           type "Grafana Pyroscope", URL $url
  send something                $program push FILE --service NAME --url $url
  see what is there             $program top --once --url $url
  end                           Ctrl-C

END
if [ $demo = yes ]; then
	VRAMSCOPE_URL=$url python3 deploy/demo/demo.py --program "$program" --pid $server &
	demo_client=$!
fi

# A signal interrupts wait; the server's own end is what counts.
status=0
wait $server || status=$?
while kill -0 $server 2>/dev/null; do
	status=0
	wait $server || status=$?
done
exit $status
