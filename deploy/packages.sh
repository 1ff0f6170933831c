# Sourced by run.sh and test.sh: what they need from the system, on Debian 12.

# What building the program takes.
packages_build="bpftool clang cmake gcc g++ ninja-build pkg-config protobuf-c-compiler protobuf-compiler
	libbpf-dev libcurl4-openssl-dev libdeflate-dev libdw-dev libelf-dev libgnutls28-dev libiberty-dev libjansson-dev liblzma-dev
	libmicrohttpd-dev libnghttp2-dev libprotobuf-c-dev libre2-dev libsqlite3-dev libxxhash-dev libyaml-dev libzstd-dev zlib1g-dev"

# What the demo, the first steps of README.md and the tests take besides.
packages_demo="ca-certificates curl python3"
packages_test="$packages_demo clang-format clang-tidy git libclang-rt-14-dev libcmocka-dev systemd"

# packages_need PACKAGE... : installs what is missing, as root and without questions.
packages_need() {
	local missing=() package log
	for package in $(printf '%s\n' "$@" | sort -u); do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "These Debian packages are missing, and only root on Debian can have them installed here: ${missing[*]}" >&2
		return 1
	fi
	echo "Installing ${#missing[@]} packages: ${missing[*]}"
	log=$(mktemp)
	if ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; } \
		>"$log" 2>&1 </dev/null; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}
