#!/usr/bin/env bash
# ./run.sh [--demo] [-- OPTIONS OF vramscope run]
#
# Installs what is missing (Debian, as root), builds, and runs `vramscope run` in the foreground with its store in ./data: it
# watches the GPU memory of this machine's processes, takes profiles from others, and answers both. With --demo there is something
# to see at once, without a GPU too: a program shaped like a server of a language model, and real profiles. Ctrl-C ends it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. deploy/packages.sh

usage() {
	sed -n '2,6s/^# \{0,1\}//p' "$0"
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

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "Building (the first time takes a minute) ..."
if ! { cmake --preset release -DBUILD_TESTING=OFF -DVRAMSCOPE_DEMO=ON &&
	cmake --build --preset release --target vramscope $([ $demo = no ] || echo stub_driver); } >"$folder/log" 2>&1; then
	tail -n 30 "$folder/log" >&2
	exit 1
fi

program=build/release/vramscope
driver=$PWD/build/release/tests/collector/stub/libcuda.so.1
recording=deploy/demo/llm_server.recording
options=()
# Where the driver may not be watched, the demo shows what was seen elsewhere.
watched=yes
"$program" doctor >"$folder/doctor" || watched=no
if [ $demo = yes ] && [ $watched = no ]; then
	options+=(-collector.replay="$recording")
fi

chmod 777 "$folder" # the half that serves is an ordinary user
"$program" run -storage.path=./data -server.http-port-file="$folder/port" "${options[@]}" "$@" &
server=$!
demos=()
# The server ends itself on either signal, after it has written what it took in.
trap 'kill -TERM $server "${demos[@]}" 2>/dev/null || true' INT TERM

until [ -s "$folder/port" ]; do
	if ! kill -0 $server 2>/dev/null; then
		wait $server && exit 1 || exit $?
	fi
	sleep 0.1
done
url=http://127.0.0.1:$(cat "$folder/port")

cat <<END

  vramscope is ready            $url
  Grafana data source           type "Grafana Pyroscope", URL $url
  who holds GPU memory          $program top --gpu --url $url
  send something                $program push FILE --service NAME --url $url
  see what is there             $program top --once --url $url
  end                           Ctrl-C

END
if [ $watched = no ]; then
	echo "  The CUDA driver cannot be watched here; $program doctor says what is missing."
	[ $demo = no ] || echo "  The demo shows a recording of another machine instead, again and again."
	echo
fi
if [ $demo = yes ]; then
	if [ $watched = yes ]; then
		python3 deploy/demo/gpu_demo.py --driver "$driver" --seconds 3600 >"$folder/gpu_demo" 2>&1 &
		demos+=($!)
	fi
	VRAMSCOPE_URL=$url python3 deploy/demo/demo.py --program "$program" --pid $server &
	demos+=($!)
fi

# A signal interrupts wait; the server's own end is what counts.
status=0
wait $server || status=$?
while kill -0 $server 2>/dev/null; do
	status=0
	wait $server || status=$?
done
exit $status
