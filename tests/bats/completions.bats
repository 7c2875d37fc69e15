# Tests of completion in bash: it must offer the same words as --help.
load common

# complete WORD...: print the words that bash offers to complete the last WORD
complete_() {
	(
		complete() { :; }
		. "$share/completions/innet.bash"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_innet || true
		printf '%s\n' "${COMPREPLY[@]-}"
	)
}

@test "Bash completes every option of every tool, and no other" {
	for tool in $TOOLS; do
		complete_ "$tool" - | sort -u >got
		"$tool" --help | grep -oE '^ +-[^ ]+(, --[^ ]+)?' | tr -s ', ' '\n' |
			sed -E 's/=.*//; /^$/d' | sort -u >want
		[ -s want ]
		diff want got
	done
}

@test "Bash completes the words that an option accepts" {
	run -0 complete_ innet-switch --program ''
	[ "${lines[*]}" = 'olaf iswitch dlp' ]
	run -0 complete_ innet-switch --program = i
	[ "${lines[*]}" = iswitch ]
	run -0 complete_ innet-switch --combine =
	[ "${lines[*]}" = 'mean sum' ]
	run -0 complete_ innet-switch --slots ''
	[ -z "$output" ]
}

@test "Bash completes verbs, and files where an option takes a file" {
	run -0 complete_ innet-ctl 127.0.0.1:1 h
	[ "$(sort <<<"$output" | tr '\n' ' ')" = 'halt help ' ]
	touch trace.pcap trace.csv
	run -0 complete_ innet-aom --read trace.p
	[ "$output" = trace.pcap ]
	run -0 complete_ innet-plot age trace.c
	[ "$output" = trace.csv ]
}

@test "after --, Bash completes the name of a command" {
	run -0 complete_ innet-worker --switch x -- innet-age
	grep -qx innet-agent <<<"$output"
}

@test "if the tool is not installed, Bash completes nothing and prints nothing" {
	run -0 complete_ innet-none --x
	[ -z "$output" ]
}
