#!/usr/bin/env bash
# fuzz.sh BUILD SECONDS : runs every libFuzzer target of a build for so long, from its committed corpus. What it finds new stays in the build folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1
seconds=$2
failed=0
found=0
for target in "$build"/bin/fuzz_*; do
	[ -x "$target" ] || continue
	found=1
	noun=${target##*/fuzz_}
	mkdir -p "$build/corpus/$noun" "$build/crashes"
	echo "fuzzing $noun for $seconds s"
	if ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$build/crashes/$noun-" -verbosity=0 \
		"$build/corpus/$noun" "tests/fuzz/corpus/$noun" 2>"$build/crashes/$noun.log"; then
		tail -n 40 "$build/crashes/$noun.log"
		failed=1
	fi
done
[ $found = 1 ] || { echo "no target in $build"; exit 1; }
exit $failed
