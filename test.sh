#!/usr/bin/env bash
# ./test.sh [--all] [NAME]
#
# Installs what is missing (Debian, as root), builds with gcc and warnings as errors and once more with clang's address and
# undefined-behaviour sanitizers, and runs every test that this machine can run: units, fuzz corpora, end-to-end tests,
# conformance cases and recorded senders. Then formatting and clang-tidy of what changed. The last line has the totals.
#
#   --all   also the long and slow tests everywhere, the thread sanitizer, libFuzzer on every target, clang-tidy on everything, the pages
#           in a browser, the benchmarks
#   NAME    only tests whose names match this regular expression, in the debug build
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. deploy/packages.sh

all=no
only=
for argument in "$@"; do
	case $argument in
	--all) all=yes ;;
	-h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
	-*) echo "test.sh: unknown option $argument" >&2; exit 2 ;;
	*) only=$argument ;;
	esac
done

# shellcheck disable=SC2086  # lists of words
packages_need $packages_build $packages_test

results=$PWD/build/results
rm -rf "$results"
mkdir -p "$results"
began=$SECONDS

say() {
	printf '[%3d s] %s\n' $((SECONDS - began)) "$*"
}

# quietly LOG COMMAND... : its output only when it fails. Exit status 77 is that of what was skipped.
quietly() {
	local log=$1 status=0
	shift
	"$@" >"$log" 2>&1 || status=$?
	[ $status = 0 ] || [ $status = 77 ] || tail -n 60 "$log" >&2
	return $status
}

# check NAME COMMAND... : one check that is no test of a build; counts in the totals.
check() {
	local name=$1 status=0
	shift
	quietly "$results/$name.log" "$@" || status=$?
	case $status in
	0) echo "ok $name" ;;
	77) echo "skipped $name: $(tail -n 1 "$results/$name.log")" ;;
	*)
		echo "failed $name"
		say "FAILED $name" >&2
		;;
	esac >>"$results/checks.txt"
}

build() {
	say "building $1"
	quietly "$results/configure-$1.log" cmake --preset "$1" -DBUILD_TESTING=ON &&
		quietly "$results/build-$1.log" cmake --build --preset "$1" || {
		echo "failed build of $1" >>"$results/checks.txt"
		return 1
	}
}

# tests PRESET CTEST_ARGUMENT... : failures are printed as they come and counted from the report.
tests() {
	local preset=$1
	shift
	say "testing $preset"
	# many wait for a tick of the clock, and not for a processor
	ctest --preset "$preset" -j $((3 * $(nproc))) --quiet --output-log "$results/ctest-$preset.log" --no-tests=error \
		--output-junit "$results/$preset.xml" --test-output-size-passed 1000000 --test-output-size-failed 1000000 \
		"$@" >/dev/null 2>&1 || true
	grep -qs '<testcase' "$results/$preset.xml" || echo "failed tests of $preset: none ran" >>"$results/checks.txt"
}

if [ -n "$only" ]; then
	build debug && tests debug -R "$only"
	exec python3 tests/support/totals.py "$results"
fi

quick=(-LE slow)
sanitized=(-LE 'slow|tree|long')
if [ $all = yes ]; then
	quick=()
	sanitized=(-LE 'slow|tree')
fi

build debug && tests debug "${quick[@]}"
build asan && tests asan "${sanitized[@]}"

say "formatting and static analysis"
check clang-format tests/support/format.sh
check clang-tidy tests/support/tidy.sh build/debug $([ $all = no ] && echo changed || echo all)
check rules tests/support/rules.sh
check units tests/support/units.sh build/debug/vramscope
check pages tests/support/pages.sh

if [ $all = yes ]; then
	build tsan && tests tsan "${sanitized[@]}"
	say "fuzzing"
	build fuzz && check fuzzing tests/support/fuzz.sh build/fuzz 120
	say "pages in a browser"
	check pages-in-browser tests/support/pages.sh browser
	say "benchmarks"
	check benchmarks tests/bench/measure.sh
	cat "$results/benchmarks.log"
fi

say "done"
exec python3 tests/support/totals.py "$results"
