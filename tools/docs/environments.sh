#!/bin/sh
# Writes the tables of docs/gym/environments.md again, from what a built binary prints of the environments of this tree.
#
#     tools/docs/environments.sh QUERN
set -eu
cd "$(dirname "$0")/../.."
page=docs/gym/environments.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT
sed '/^<!-- environments:/q' "$page" > "$new"
names=$(for room in quern/gym/*/CMakeLists.txt; do basename "$(dirname "$room")"; done)
"$1" gym list $names --markdown >> "$new"
sed -n '/^<!-- end of environments/,$p' "$page" >> "$new"
cat "$new" > "$page"
