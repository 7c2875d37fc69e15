# Checks which files the rules of share/debian/ put into packages, without building
# the packages, and how the tests run against these files.
load common

setup_file() {
	command -v dh_install >/dev/null && [ -e "$builddir/innet_per.so" ] || return 0
	unset MAKEFLAGS MFLAGS MAKELEVEL
	cd "$BATS_FILE_TMPDIR"
	cp -R "$srcdir/share/debian" debian
	ln -s "$srcdir/share" share	# next to debian/, as in the source tree of a package
	make -s -C "$builddir" install DESTDIR="$PWD/debian/tmp" prefix=/usr libdir=/usr/lib/x
	mkdir -p debian/tmp/usr/share/doc/innet-doc/html
	touch debian/tmp/usr/share/doc/innet-doc/html/index.html	# html.bats checks the pages
	dh_install
	dh_link
	make -s -f debian/rules override_dh_fixperms
}

setup() {
	command -v dh_install >/dev/null || skip "no debhelper"
	[ -e "$builddir/innet_per.so" ] || skip "innet_per.so was not built"
	cd "$BATS_FILE_TMPDIR/debian"
}

# files FOLDER...: print the names of the files in these folders, sorted
files() { find "$@" \( -type f -o -type l \) -printf '%P\n' | sort; }

@test "each file that make install installs is in one package" {
	packages=$(sed -n 's/^Package: //p' control)
	[ "$(wc -l <<<"$packages")" -eq 5 ]
	files tmp >installed
	[ "$(wc -l <installed)" -gt 100 ]
	files $packages >packed
	[ -z "$(uniq -d packed)" ]
	comm -23 installed packed >missing
	[ ! -s missing ] || { cat missing; false; }
}

@test "the completions of each tool and the Python modules are installed where they are looked for" {
	for tool in tmp/usr/bin/*; do
		[ -e "innet/usr/share/bash-completion/completions/${tool##*/}" ] || { echo "$tool"; false; }
	done
	for module in tmp/usr/share/innet/python/*.py; do
		[ -e "innet/usr/lib/python3/dist-packages/${module##*/}" ] || { echo "$module"; false; }
	done
}

@test "the Redis module is executable, because Redis requires it, and no other data file is" {
	so=innet-redis/usr/lib/x/innet/innet_per.so
	[ "$(stat -c %a "$so")" = 755 ]
	[ "$(stat -c %a innet/usr/share/innet/data/iris.csv)" = 644 ]
}

@test "make check-installed tests the installed files" {
	unset MAKEFLAGS MFLAGS MAKELEVEL
	cat >probe.bats <<-'E'	# `sh` runs this file
		[ "$(command -v innet-gen)" = "$DESTDIR/usr/bin/innet-gen" ] &&
		[ "$share" = "$DESTDIR/usr/share/innet" ] &&
		[ "$per_module" = "$DESTDIR/usr/lib/x/innet/innet_per.so" ] &&
		[ "$library" = "$DESTDIR/usr/lib/x" ] || printf 'not '
		printf 'ok 1 places\n1..1\n'
	E
	installed() {
		DESTDIR="$PWD/tmp" make -C "$builddir" check-installed BATS=sh TEST_SUITE_LOG="$PWD/log" \
			TESTS="tests/unit/base/test-num $PWD/probe.bats" prefix=/usr libdir=/usr/lib/x "$@"
	}
	installed
	grep -q '^PASS.* places' probe.log
	run ! installed DESTDIR=/nowhere
}

@test "a comment above each lintian override gives the reason" {
	for f in *.lintian-overrides; do
		awk '/^[^#]/ && before !~ /^#/ { exit 1 } { before = $0 }' "$f"
	done
}
