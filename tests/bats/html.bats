# Tests of the manual in HTML.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	command -v mandoc >/dev/null || skip "no mandoc"
	sh "$srcdir/man/html.sh" html "$srcdir"/man/*.[1-9]
}

@test "every page exists and is in the list of pages" {
	for m in "$srcdir"/man/*.[1-9]; do
		[ -s "html/${m##*/}.html" ]
		grep -q "href=\"${m##*/}.html\"" html/index.html
	done
	for m in "$srcdir"/share/tutorials/*.md; do
		name=$(basename "$m" .md)
		[ -s "html/$name.html" ]
		grep -q "href=\"$name.html\"" html/index.html
		[ "$(grep -c '^<pre>$' "html/$name.html")" -eq $(($(grep -c '^```' "$m") / 2)) ]
		run ! grep -E '\*\*|\]\(|^#+ |^\|' <(sed '/^<pre>$/,/^<\/pre>$/d' "html/$name.html")
	done
	[ "$(ls html/*.html | wc -l)" -eq $((1 + $(ls "$srcdir"/man/*.[1-9] \
	    "$srcdir"/share/tutorials/*.md | wc -l))) ]
}

@test "every link leads to a file that exists" {
	grep -hoE '(href|src)="[^"#]+' html/*.html | sed 's/^[a-z]*="//' | sort -u >links
	[ "$(wc -l <links)" -gt 20 ]
	while read -r to; do [ -e "html/$to" ] || { echo "$to"; false; }; done <links
	grep -q 'href="innet-wire.5.html"' html/innet-ctl.1.html
	grep -q 'tcpdump(1)' html/innet-gen.1.html || grep -q 'tcpdump(1)' html/innet-aom.1.html
}

# A reference such as "see Authentication tags in innet-wire(5)" must link to
# the page that contains this section.
@test "every link into a page leads to an existing anchor" {
	grep -oE ' id="[^"]+"' html/*.html | sed 's|^html/||; s|: id="|#|; s|"$||' | sort -u >places
	for f in html/*.html; do
		grep -oE 'href="[^"]*#[^"]+"' "$f" | sed "s|href=\"#|href=\"${f##*/}#|; s|^href=\"||; s|\"$||"
	done | sort -u >wanted
	[ "$(wc -l <wanted)" -gt 200 ]
	comm -13 places wanted >missing
	[ ! -s missing ] || { cat missing; false; }
	grep -q 'class="Sx" href="innet-wire.5.html#Authentication_tags"' html/innet-ps.1.html
}

@test "every mention of another page of innet is a link" {
	for f in html/innet*.html; do
		sed 's|<a class="Xr"[^>]*>[^<]*</a>||g; s|<[^>]*>||g' "$f" |
			grep -oE 'innet[-_a-z]*\([1-8]\)' | tr '()' '. ' | while read -r page; do
			[ "$page.html" = "${f##*/}" ] || { echo "$f: $page"; }
		done
	done >unlinked
	[ ! -s unlinked ] || { cat unlinked; false; }
}
