#!/usr/bin/env bash
# format.sh : fails when clang-format would write any source otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/support/sources.sh

files=$(sources '*.c' '*.cc' '*.h')
[ -n "$files" ] || { echo "no source found"; exit 1; }
# shellcheck disable=SC2086  # a list of words
clang-format --dry-run --Werror $files
