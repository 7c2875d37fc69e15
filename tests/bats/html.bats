# The manual as HTML.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	command -v mandoc >/dev/null || skip "no mandoc"
	sh "$srcdir/man/html.sh" html "$srcdir"/man/*.[1-9]
}

@test "every page is there, and in the list of all" {
	for m in "$srcdir"/man/*.[1-9]; do
		[ -s "html/${m##*/}.html" ]
		grep -q "href=\"${m##*/}.html\"" html/index.html
	done
	[ "$(ls html/*.html | wc -l)" -eq $(($(ls "$srcdir"/man/*.[1-9] | wc -l) + 1)) ]
}

@test "every link leads to a file that is there, and nowhere else" {
	grep -hoE '(href|src)="[^"#]+' html/*.html | sed 's/^[a-z]*="//' | sort -u >links
	[ "$(wc -l <links)" -gt 20 ]
	while read -r to; do [ -e "html/$to" ] || { echo "$to"; false; }; done <links
	grep -q 'href="innet-wire.5.html"' html/innet-ctl.1.html
	grep -q 'tcpdump(1)' html/innet-gen.1.html || grep -q 'tcpdump(1)' html/innet-aom.1.html
}
