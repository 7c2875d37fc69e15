# Run the tutorials as a reader would. The blocks of a tutorial that are marked
# "sh" are one script, which runs in an empty directory; every command must
# succeed. A block marked "text exact" is the output of the sh block before it.
load common

# Turn Markdown into a script that runs its commands and compares their output.
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
	block == "sh" || block == "text"'
}

# Print a tutorial, without the part about Redis if its module was not built.
parts_of() {
	if [ -e "$per_module" ]; then
		cat
	else
		sed '/^## .* Redis Cluster/,$d'
	fi
}

# tutorial NAME: run share/tutorials/NAME.md
tutorial() {
	once
	{
		echo "trap 'echo \"failed: \$BASH_COMMAND\"' ERR"
		echo "trap 'kill \$(jobs -p) 2>/dev/null || :' EXIT"
		parts_of <"$share/tutorials/$1.md" | script_of |
		    sed -e "s|^innet=/path/to/innet/share|innet=$share|" \
			-e "s|^module=.*|module=$per_module|" \
			-e "s|MASTER_PORT=29500|MASTER_PORT=$(free_port)|" \
			-e 's| -c 12000 | -c 600 |'	# six seconds instead of two minutes
	} >.script
	grep -q '^{$' .script
	mkdir bin
	ln -s "$(command -v "${py:-python3}")" bin/python3
	PATH=$PWD/bin:$PATH timeout -k 5 300 \
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

@test "replay-memory.md: the commands run on one machine and on a Redis Cluster" {
	python torch
	command -v redis-server >/dev/null || skip "no redis-server"
	tutorial replay-memory
}

@test "pytorch.md: three workers train, also when one of them is replaced" {
	once training
	python torch
	command -v patch >/dev/null || skip "no patch"
	tutorial pytorch
}

@test "rack.md: a switch with a key is watched and restarted under a job" {
	tutorial rack
}
