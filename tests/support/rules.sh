#!/usr/bin/env bash
# rules.sh : Prometheus' own tool reads deploy/prometheus and deploy/compose, and runs the cases of the rules.
#
# promtool from PATH, else from Debian's package, which is unpacked below build/ and not installed: no service starts.
# Exit status 77 where it cannot be had; the last line says why.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

place=$PWD/build/promtool

fetch() {
	mkdir -p "$place"
	(cd "$place" && apt-get download -q prometheus && dpkg-deb -x prometheus_*.deb .) || {
		echo "there is no promtool, and Debian's package prometheus cannot be fetched"
		exit 77
	}
}

if ! promtool=$(command -v promtool); then
	promtool=$place/usr/bin/promtool
	[ -x "$promtool" ] || fetch
fi
"$promtool" check rules deploy/prometheus/vramscope.rules.yaml
"$promtool" test rules deploy/prometheus/vramscope.rules.test.yaml
"$promtool" check config --syntax-only deploy/prometheus/scrape.yaml
"$promtool" check config --syntax-only deploy/compose/prometheus.yaml
