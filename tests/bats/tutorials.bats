# The tutorials run as a reader runs them.  The blocks of a tutorial that are
# marked "sh" are one script, which runs in a fresh directory; every command must
# succeed.  A block marked "text exact" is what the sh block before it prints.
load common

# Turn the Markdown file $1 into a script that runs its commands and compares
# what they print.
script_of() {
	awk '
	/^```sh$/ { block = "sh"; n++; print "{"; next }
	/^```text exact$/ {
		block = "text"
		print "diff -u - .printed." n " <<\"EXACT TEXT\""
		next
	}
	/^```/ {
		if (block == "sh")
			print "} >.printed." n
		if (block == "text")
			print "EXACT TEXT"
		block = block == "" ? "shown" : ""
		next
	}
	block == "sh" || block == "text"' "$1"
}

# tutorial NAME: run share/tutorials/NAME.md
tutorial() {
	once
	{
		echo "trap 'echo \"failed: \$BASH_COMMAND\"' ERR"
		echo "trap 'kill \$(jobs -p) 2>/dev/null || :' EXIT"
		script_of "$share/tutorials/$1.md"
	} >.script
	grep -q '^{$' .script
	mkdir bin
	ln -s "$(command -v "${py:-python3}")" bin/python3
	PATH=$PWD/bin:$PATH innet=$share timeout -k 5 300 \
		bash -eE -o pipefail .script </dev/null 3>&-
}

@test "your-capture.md: the commands run and print what the page shows" {
	python
	command -v gnuplot >/dev/null || skip "no gnuplot"
	tutorial your-capture
}

@test "simulate.md: the commands run and print what the page shows" {
	command -v gnuplot >/dev/null || skip "no gnuplot"
	tutorial simulate
}
