#!/usr/bin/env bash
# pages.sh [browser] : types, format and units of web/ hold, and web/dist is what web/src makes. With "browser": the built pages in Chromium
# against the program that VRAMSCOPE names.
#
# Works in a copy (build/pages), so that the tree stays as it is. Node from PATH when it is new enough, else npm's package of it.
# Exit status 77 where npm cannot install, or there is no Chromium; the last line says why.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. deploy/packages.sh

place=$PWD/build/pages
program=$PWD/build/debug/vramscope
new_enough='const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)'
sources="src test e2e public index.html package.json package-lock.json
	.npmrc .prettierrc.json tsconfig.json vite.config.ts vitest.e2e.config.ts dist"

skip() {
	echo "$*"
	exit 77
}

find_node() {
	command -v npm >/dev/null || packages_need npm || skip "there is no npm"
	node -e "$new_enough" 2>/dev/null && return
	PATH=$place/node/node_modules/.bin:$PATH
	node -e "$new_enough" 2>/dev/null || npm install --prefix "$place/node" --no-audit --no-fund --no-save node@22 ||
		skip "npm cannot install Node here"
}

copy_sources() {
	mkdir -p "$place/web"
	for part in $sources; do
		rm -rf "${place:?}/web/$part"
		cp -r "web/$part" "$place/web/$part"
	done
}

install_packages() {
	cmp -s package-lock.json node_modules/.installed && return
	npm ci --prefer-offline || skip "npm cannot install what web/package-lock.json names"
	cp package-lock.json node_modules/.installed
}

check_built() {
	npx tsc --noEmit
	npx prettier --check src test e2e
	npx vitest run
	npx vite build --outDir "$place/dist" --emptyOutDir
	diff -r dist "$place/dist" >&2 && return
	echo "web/dist is not what web/src makes: run npm run build in web/ and commit dist" >&2
	return 1
}

check_in_browser() {
	[ -n "${CHROMIUM:-}" ] || command -v chromium >/dev/null || packages_need chromium || skip "there is no Chromium"
	VRAMSCOPE=${VRAMSCOPE:-$program} npx vitest run --config vitest.e2e.config.ts
}

find_node
copy_sources
cd "$place/web"
install_packages
if [ "${1:-}" = browser ]; then check_in_browser; else check_built; fi
