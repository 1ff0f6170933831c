# Sourced: the sources that are judged. The copied workload keeps its bytes and its own style.

# sources PATTERN... : those that match, as git has them, or as they lie there where there is no git.
sources() {
	local found
	found=$({ git ls-files 2>/dev/null || find . -path ./build -prune -o -type f -printf '%P\n'; } | grep -v '^tests/bench/workload/' | sort -u)
	for file in $found; do
		for pattern in "$@"; do
			# shellcheck disable=SC2053  # a pattern
			if [[ $file == $pattern && -f $file ]]; then echo "$file"; fi
		done
	done
}
