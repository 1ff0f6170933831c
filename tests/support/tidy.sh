#!/usr/bin/env bash
# tidy.sh BUILD changed|all : clang-tidy on the sources that differ from VRAMSCOPE_BASE, or on all.
#
# The default base is where the branch left origin/main, or the commit before where it has not. A changed header is looked at through
# its own source, or else through the first source that includes it. Exit status 77, with the reason as last line, where there is
# nothing to look at.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/support/sources.sh
build=$1

skip() {
	echo "$1"
	exit 77
}

# looked_through HEADER : the source that shows it to clang-tidy.
looked_through() {
	if [ -f "${1%.h}.c" ]; then
		echo "${1%.h}.c"
	elif [ -f "${1%.h}.cc" ]; then
		echo "${1%.h}.cc"
	else
		sources '*.c' '*.cc' | xargs grep -lF "#include \"$1\"" | head -n 1 || true
	fi
}

changed() {
	local base file
	base=${VRAMSCOPE_BASE:-$(git merge-base HEAD origin/main 2>/dev/null || true)}
	if [ -z "$base" ] || [ "$(git rev-parse "$base")" = "$(git rev-parse HEAD)" ]; then
		base=HEAD~1
	fi
	git diff --name-only --diff-filter=d "$(git rev-parse --verify "$base^{commit}")" -- '*.c' '*.cc' '*.h' ':!tests/bench/workload' |
		while read -r file; do
			case $file in
			*.h) looked_through "$file" ;;
			*) echo "$file" ;;
			esac
		done
}

if [ "$2" = changed ]; then
	[ -n "${VRAMSCOPE_BASE:-}" ] || git rev-parse --verify -q "HEAD~1^{commit}" >/dev/null ||
		skip "no commit to compare with: name one in VRAMSCOPE_BASE, or use --all"
	files=$(changed | sort -u)
	[ -n "$files" ] || skip "no source differs from the commit that is compared with"
else
	files=$(sources '*.c' '*.cc')
	cmake --build "$build" --target bench_collector >/dev/null # it is built only when named, and makes a header
fi

# Programs for the kernel are compiled for another machine; theirs is the verifier.
# The demo and one test compile theirs where they run.
files=$(echo "$files" | grep -v -e '\.bpf\.c$' -e '^deploy/demo/' -e '/offsets_oracle\.c$' || true)

# Only what the build compiles has a command line to be judged by.
known=$(python3 -c 'import json, os, sys
print("\n".join(os.path.relpath(e["file"]) for e in json.load(open(sys.argv[1]))))' "$build/compile_commands.json" | LC_ALL=C sort -u)
orphans=$(LC_ALL=C comm -23 <(echo "$files" | LC_ALL=C sort -u) <(echo "$known"))
if [ -n "$orphans" ]; then
	echo "no target compiles" $orphans
	exit 1
fi
echo "$files" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet --warnings-as-errors='*'
