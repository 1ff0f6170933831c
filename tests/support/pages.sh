#!/usr/bin/env bash
# pages.sh : types and units of web/ hold, and web/dist is what web/src makes.
#
# Works in a copy (build/pages), so that the tree stays as it is. Node from PATH when it is new enough, else npm's package of it.
# Exit status 77 when npm cannot install here; the last line says why.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. deploy/packages.sh

place=$PWD/build/pages
mkdir -p "$place/web"
new_enough='const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)'

skip() {
	echo "$*"
	exit 77
}

command -v npm >/dev/null || packages_need npm || skip "there is no npm"
if ! node -e "$new_enough" 2>/dev/null; then
	PATH=$place/node/node_modules/.bin:$PATH
	node -e "$new_enough" 2>/dev/null || npm install --prefix "$place/node" --no-audit --no-fund --no-save node@22 ||
		skip "npm cannot install Node here"
fi

for part in src test e2e public index.html package.json package-lock.json .npmrc tsconfig.json vite.config.ts vitest.e2e.config.ts; do
	rm -rf "$place/web/$part"
	[ ! -e "web/$part" ] || cp -r "web/$part" "$place/web/$part"
done
rm -rf "$place/web/dist"
cp -r web/dist "$place/web/dist"
cd "$place/web"
cmp -s package-lock.json node_modules/.installed || { npm ci --prefer-offline && cp package-lock.json node_modules/.installed; } ||
	skip "npm cannot install what web/package-lock.json names"
npx tsc --noEmit
npx vitest run
npx vite build --outDir "$place/dist" --emptyOutDir
diff -r dist "$place/dist" >&2 || {
	echo "web/dist is not what web/src makes: run npm run build in web/ and commit dist" >&2
	exit 1
}
