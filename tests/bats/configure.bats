# Tests of build dependencies: the next make finds those that are installed
# later.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	unset MAKEFLAGS MFLAGS MAKELEVEL MANDOC
	pkg-config --exists hiredis 2>/dev/null || skip 'no hiredis'
	command -v mandoc >/dev/null || skip 'no mandoc'
	[ "$(command -v pkg-config)" = /usr/bin/pkg-config ] || skip 'no system whose programs are in /usr/bin'
}

# Hide bats and mandoc, and let pkg-config know neither hiredis, Open MPI nor
# Z3, until the file `came` exists.
hide() {
	mkdir bin
	ln -s /usr/bin/* bin/
	rm -f bin/bats bin/mandoc bin/pkg-config
	cat >bin/pkg-config <<-'END'
		#!/bin/sh
		[ -e came ] || [ -e ../came ] || case "$*" in *hiredis*|*ompi*|*z3*) exit 1 ;; esac
		exec /usr/bin/pkg-config "$@"
	END
	chmod +x bin/pkg-config
	PATH=$PWD/bin
}

# Check whether configure has run since the file `mark` was written.
again() { [ build/config.status -nt mark ]; }

@test "make finds a library that was installed after configure, and configures only once" {
	once
	hide
	mkdir build
	(cd build && "$srcdir/configure" -q)
	make -s -C build tests/bench/replay-load
	run -1 build/tests/bench/replay-load hiredis no:0 get
	[[ $output == *': built without hiredis' ]]
	touch mark
	make -s -C build Makefile
	run ! again
	touch came
	ln -s /usr/bin/mandoc bin/
	make -s -C build tests/bench/replay-load
	again
	run -1 build/tests/bench/replay-load hiredis no:0 get
	[[ $output != *'built without'* ]]
	grep -q "^MANDOC = $PWD/bin/mandoc" build/Makefile
	touch mark
	make -s -C build tests/bench/replay-load
	run ! again
}
