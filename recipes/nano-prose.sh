#!/usr/bin/env bash
# English prose for the nano models from Debian 12 text packages: recipes/nano-prose.sh OUT_DIR
# Fetches each package with apt, takes its running text (paragraphs that read like sentences; tables, code and lists
# fall away) and writes OUT_DIR/PACKAGE.txt, one line a paragraph, a blank line between documents. All packages are in
# Debian's main section; recipes/nano.md names their licences. A tenth of the paragraphs goes to OUT_DIR/held.txt.
set -euo pipefail
out="${1:?usage: nano-prose.sh OUT_DIR}"
packages=(debian-faq debian-handbook debian-policy debian-reference-en developers-reference dict-foldoc git-doc
  installation-guide-amd64 jargon-text python3.11-doc wesnoth-1.16-{did,httt,nr,utbs})

mkdir -p "$out/deb"
out="$(cd "$out" && pwd)"

# HTML: a paragraph, a heading or a list item starts a new block; tags go, the common entities are put back.
html_text() {
  tr '\n\r\t' '   ' | sed -E 's/<(script|style|pre|table|nav|title)[ >]([^<]|<[^\/]|<\/[^sptn])*<\/\1>/ /g
    s/<\/?(p|h[1-6]|li|dt|dd|div|pre|tr|br|table)([ >][^>]*)?>/\n\n/g; s/<[^>]*>//g
    s/&nbsp;|&#160;/ /g; s/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&(#8217|#8216|rsquo|lsquo);/'"'"'/g
    s/&(#8220|#8221|ldquo|rdquo);/"/g; s/&(#8212|mdash);/ - /g; s/&amp;/\&/g'
}
# Campaign scripts: what is told and said stands in translatable strings.
wml_text() { tr '\n' ' ' | grep -oE '(message|story|text) *= *_ *"[^"]{40,}"' | sed -E 's/^[^"]*"//; s/"$//; s/<[^>]*>//g; s/$/\n/' || true; }
# Blocks between blank lines become one line each, if they read like sentences.
paragraphs() {
  LC_ALL=C awk 'BEGIN { RS = ""; FS = "\n" }
    { gsub(/(\302\240|[ \t\n])+/, " "); gsub(/\342\200[\230\231]/, "\047"); gsub(/\342\200[\234\235]/, "\"")
      gsub(/\342\200[\223\224]/, " - "); gsub(/  +/, " "); gsub(/``|\*\*|[{}]/, ""); gsub(/:[a-z0-9:.+-]+:`[~!.]?/, ""); gsub(/`/, "")
      sub(/^ +/, ""); sub(/ +$/, "")
      if (length($0) < 60 || $0 !~ /^["'"'"'(]?[A-Z]/ || $0 !~ /[.!?]["'"'"')]?$/) next
      letters = $0; gsub(/[^A-Za-z ]/, "", letters)
      if (length(letters) < 0.9 * length($0) || $0 ~ /[\\|]|==|\.\. |https?:/ || $0 ~ /[^ ]{30}/) next
      if (!($0 in seen)) { seen[$0] = 1; print } }'
}
texts_of() {  # PACKAGE ROOT: every document of it, plain, with a form feed between two
  case "$1" in
    debian-handbook) find "$2" -path '*/en-US/*.html' | sort | while read -r f; do html_text <"$f"; printf '\n\f\n'; done ;;
    debian-reference-en | installation-guide-amd64)
      find "$2" \( -name '*.en.html' -o -path '*/en/*.html' \) | sort | while read -r f; do html_text <"$f"; printf '\n\f\n'; done ;;
    dict-foldoc) find "$2" -name '*.dict.dz' | while read -r f; do zcat -f <"$f"; done ;;
    wesnoth-*) find "$2" -name '*.cfg' | sort | while read -r f; do wml_text <"$f"; printf '\n\f\n'; done ;;
    *) find "$2" -name '*.rst.txt' -o -name '*.txt' -o -name '*.txt.gz' | grep -vE '\.(de|fr|it|ja|nl|pl|pt|ru|zh[^.]*|es)\.txt' | sort |
      while read -r f; do zcat -f "$f"; printf '\n\f\n'; done ;;
  esac
}

cd "$out/deb"
for p in "${packages[@]}"; do
  compgen -G "${p}_*.deb" >/dev/null || apt-get download -qq "$p" 2>/dev/null
  rm -rf "root-$p" && mkdir "root-$p" && dpkg-deb --fsys-tarfile "${p}"_*.deb | tar -x -C "root-$p" --wildcards './usr/*' --exclude='*.png' --exclude='*.ogg'
  texts_of "$p" "root-$p" | sed 's/\f/\n\n/g' | iconv -f utf-8 -t utf-8 -c | paragraphs >"$out/$p.all"
  awk 'NR % 10 != 0' "$out/$p.all" >"$out/$p.txt"
  awk 'NR % 10 == 0' "$out/$p.all" >"$out/$p.held"
  rm -rf "root-$p" "$out/$p.all"
  echo "$p: $(wc -c <"$out/$p.txt") bytes" >&2
done
cat "$out"/*.held >"$out/held.txt" && rm "$out"/*.held
