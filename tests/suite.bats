# What every tool in the suite promises, whatever it does.
bats_require_minimum_version 1.5.0

@test "--help: status 0, text on stdout, nothing on stderr" {
	for t in $TOOLS; do
		run -0 --separate-stderr "$t" --help
		[[ $output == "usage: $t "* ]]
		[ -z "$stderr" ]
	done
}

@test "--help fits in 80 columns" {
	for t in $TOOLS; do
		"$t" --help | awk -v t="$t" 'length > 80 { print t ": " $0; bad = 1 } END { exit bad }'
	done
}

@test "--version: one line, name and version" {
	for t in $TOOLS; do
		run -0 --separate-stderr "$t" --version
		[ "$output" = "$t $VERSION" ]
		[ -z "$stderr" ]
	done
}

@test "unknown option: status 2, silent stdout, two lines on stderr" {
	for t in $TOOLS; do
		run -2 --separate-stderr "$t" --no-such-option
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 2 ]
		[[ ${stderr_lines[0]} == "$t: "* ]]
	done
}

@test "a full disk is noticed, even by --help" {
	[ -w /dev/full ] || skip "no /dev/full"
	for t in $TOOLS; do
		run -1 sh -c "$t --help >/dev/full"
	done
}

@test "every long option in --help is in the manual, and back" {
	for t in $TOOLS; do
		diff <("$t" --help | grep -oE -e '--[a-z][a-z-]*' | sort -u) \
		     <(sed -n 's/^\.It.*Fl -\([a-z-]*\).*/--\1/p' "$srcdir/man/$t.1" | sort -u)
	done
}

@test "every manual page has EXIT STATUS and EXAMPLES" {
	for t in $TOOLS; do
		grep -q '^\.Sh EXIT STATUS' "$srcdir/man/$t.1"
		grep -q '^\.Sh EXAMPLES' "$srcdir/man/$t.1"
	done
}

@test "manuals are clean mdoc" {
	[ -n "$MANDOC" ] || skip "no mandoc"
	for m in "$srcdir"/man/*.[1-9]; do
		[ -e "$m" ] || continue
		run -0 "$MANDOC" -Tlint -Wwarning "$m"
	done
}

@test "manuals are whole in groff, too" {
	command -v groff >/dev/null || skip "no groff"
	for m in "$srcdir"/man/*.[1-9]; do
		run -0 --separate-stderr groff -mdoc -Tascii "$m"
		[ -z "$stderr" ]
	done
}
