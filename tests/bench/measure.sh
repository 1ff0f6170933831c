#!/usr/bin/env bash
# measure.sh [HOURS] : the standard workload against the release build of this tree, on this machine.
#
# For each workload: saturated load on a new store; then HOURS (default 1) of history, asked for again and checked. Prints what both
# programs measured, and the bound of decoding in the same sitting. Fails when a request failed, a profile was lost, or an answer was wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
hours=${1:-1}
log=$(mktemp)
folder=$(mktemp -d)
server=
finish() {
	if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
	rm -rf "$folder" "$log"
}
trap finish EXIT

if ! { cmake --preset release -DBUILD_TESTING=ON && cmake --build --preset release --target vramscope profbench limits; } >"$log" 2>&1; then
	tail -n 30 "$log"
	exit 1
fi
profbench=$PWD/build/release/bin/profbench
limits=$PWD/build/release/bin/limits
shape=$PWD/tests/bench/workload/shapes/go.shape.gz
failed=0

start() {
	rm -rf "$folder/store" "$folder/port"
	build/release/vramscope server -server.http-listen-port=0 -server.http-port-file="$folder/port" -storage.path="$folder/store" \
		-log.level=warn "$@" &
	server=$!
	until [ -s "$folder/port" ]; do
		kill -0 "$server" || exit 1
		sleep 0.05
	done
	address=localhost:$(cat "$folder/port")
}

stop() {
	kill -TERM "$server"
	wait "$server" || { echo "the server ended with $?"; failed=1; }
	server=
}

# run COMMAND... : shows what it prints; WRONG answers and errors count as failures.
run() {
	local status=0
	"$@" >"$log" 2>&1 || status=$?
	cat "$log"
	if [ $status != 0 ] || grep -qE 'WRONG|errors=[1-9]' "$log"; then
		echo "FAILED: $*"
		failed=1
	fi
}

echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(nproc) cores, $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)"
for workload in cpu-fleet gpu-box continuous-ebpf tiny; do
	# The bound of decoding is that of single pprof bodies: the other two workloads send none.
	if [ $workload = cpu-fleet ] || [ $workload = gpu-box ]; then
		echo "== $workload: bound"
		mkdir "$folder/bodies"
		"$profbench" gen $workload --count 200 --route ingest --shape "$shape" --out "$folder/bodies" >/dev/null
		"$limits" decode "$folder"/bodies/*
		rm -rf "$folder/bodies"
	fi
	echo "== $workload: saturated, 128 connections"
	start -validation.reject-older-than=0
	run "$profbench" load $workload --server "$address" --pid "$server" --count 4000 --connections 128 --shape "$shape"
	stop
	echo "== $workload: $hours h of history, asked for again"
	start -validation.reject-older-than=0
	end=$(($(date +%s) / 15 * 15))
	run "$profbench" fill $workload --server "$address" --pid "$server" --services 2 --hours "$hours" --connections 32 --end $end --shape "$shape"
	run "$profbench" query $workload --server "$address" --pid "$server" --services 2 --hours "$hours" --end $end --shape "$shape"
	"$profbench" disk "$folder/store"
	stop
done
exit $failed
