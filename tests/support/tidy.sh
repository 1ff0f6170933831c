#!/usr/bin/env bash
# tidy.sh BUILD changed|all : clang-tidy on the sources that differ from VRAMSCOPE_BASE, or on all. The default base is where the
# branch left origin/main, or the commit before where it has not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1
list() {
	git ls-files '*.c' ':!tests/bench/workload'
}
if [ "$2" = changed ]; then
	base=${VRAMSCOPE_BASE:-$(git merge-base HEAD origin/main 2>/dev/null || true)}
	if [ -z "$base" ] || [ "$(git rev-parse "$base")" = "$(git rev-parse HEAD)" ]; then
		base=HEAD~1
	fi
	if git rev-parse -q --verify "$base^{commit}" >/dev/null; then
		changed=$(git diff --name-only --diff-filter=d "$base" -- '*.c' '*.h' ':!tests/bench/workload')
		# A changed header is looked at through its source.
		list() {
			for file in $changed; do echo "${file%.h}" | sed 's/\.c$//;s/$/.c/'; done | sort -u | while read -r file; do
				if [ -f "$file" ]; then echo "$file"; fi
			done
		}
	fi
fi
# Only what the build compiles has a command line to be judged by.
known=$(python3 -c 'import json, os, sys
print("\n".join(os.path.relpath(e["file"]) for e in json.load(open(sys.argv[1]))))' "$build/compile_commands.json" | sort -u)
comm -12 <(list | sort -u) <(echo "$known") |
	xargs -r -P 2 -n 4 clang-tidy -p "$build" --quiet --warnings-as-errors='*'
