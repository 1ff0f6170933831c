#!/usr/bin/env bash
# fuzz.sh BUILD SECONDS : runs every libFuzzer target of a build for so long, as many at once as there are cores, from its committed corpus.
# What it finds new stays in the build folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1
seconds=$2

fuzz() {
	local target=$1 noun=${1##*/fuzz_}
	mkdir -p "$build/corpus/$noun" "$build/crashes"
	if "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$build/crashes/$noun-" -verbosity=0 \
		"$build/corpus/$noun" "tests/fuzz/corpus/$noun" 2>"$build/crashes/$noun.log"; then
		echo "fuzzed $noun for $seconds s"
	else
		echo "$noun FAILED:"
		tail -n 40 "$build/crashes/$noun.log"
		return 1
	fi
}
export -f fuzz
export build seconds

ls "$build"/bin/fuzz_* >/dev/null 2>&1 || { echo "no target in $build"; exit 1; }
# xargs ends with 123 when any of them failed.
printf '%s\0' "$build"/bin/fuzz_* | xargs -0 -n 1 -P "$(nproc)" bash -c 'fuzz "$0"'
