# innet.bash - completion of innet's command lines in bash
#
#	. innet.bash
#
# The functions read the --help of a tool once in a session.  They complete
# options, words from a list of values, file names, and verbs.

declare -gA _innet_help

# Print the help text on standard input with each option on one line.
_innet_joined() {
	sed -E ':a; $!{N; ba}; s/\n {31}([^ ])/ \1/g'
}

# Print the options in the help text on standard input, one a line.
_innet_options() {
	sed -nE 's/^  (-[^ ,]+)(, (--[a-z0-9-]+))?.*/\1\n\3/p
		s/^      (--[a-z0-9-]+).*/\1/p' | grep -v '^$'
}

# _innet_row OPTION: print the line of the option in the help text on standard
# input
_innet_row() {
	grep -m 1 -E "^ +(-., )?$1([ =]|\$)|^  $1[, ]"
}

# Print the values that such a line lists at its end, after a colon if there is
# one:
# "kind of queue: olaf (default), fifo or dlp".
_innet_words() {
	sed -E 's/^ +[^ ].*[a-z=][A-Za-z0-9:=-]+  +//; s/^.*: //
		s/ *\([^)]*\)//g; s/,? or |, /\n/g' |
		awk '/ / { exit } /^[a-z][a-z0-9-]*(\[?:[A-Z]+\]?)?$/ {
			sub(/\[?:.*/, ""); all = all $0 "\n"; n++
		} END { if (n > 1) printf "%s", all }'
}

# Print the words that a tool can take first, from its usage: a|b|c, or VERB is
# a, b.
_innet_verbs() {
	sed -nE '/^usage:/,/^$/s/.* ([a-z]+(\|[a-z]+)+)( .*|$)/\1/p
		/^VERB is/,/;/s/(VERB is|;.*)//gp' |
		sed -E 's/ (N|SEG|or)\>//g; s/[|,]/\n/g' | grep -oE '[a-z][a-z-]+' |
		sort -u
}

# _innet_value TEXT OPTION: print the completions of an option's value
_innet_value() {
	local row
	row=$(_innet_row "$2" <<<"$1") || return
	case $row in
	*=FILE*|*=PATH*) compgen -f -- "$cur" ;;
	*=DIR*) compgen -d -- "$cur" ;;
	*) compgen -W "$(_innet_words <<<"$row")" -- "$cur" ;;
	esac
}

_innet() {
	local tool=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} text
	local before=${COMP_WORDS[COMP_CWORD - 1]} words w

	if [ -z "${_innet_help[$tool]-}" ]; then
		_innet_help[$tool]=$("$tool" --help 2>/dev/null) || return
		_innet_help[$tool]=$(_innet_joined <<<"${_innet_help[$tool]}")
	fi
	text=${_innet_help[$tool]}
	for w in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
		if [ "$w" = -- ]; then	# the user's own command follows
			mapfile -t COMPREPLY < <(compgen -cf -- "$cur")
			return
		fi
	done
	if [ "$cur" = = ]; then
		cur='' words=$(_innet_value "$text" "$before")
	elif [ "$before" = = ]; then
		words=$(_innet_value "$text" "${COMP_WORDS[COMP_CWORD - 2]}")
	elif [[ $cur == -* ]]; then
		words=$(compgen -W "$(_innet_options <<<"$text")" -- "$cur")
	elif [[ $before == -* ]] &&
	    _innet_row "$before" <<<"$text" | grep -q '^ .*=[A-Z]'; then
		words=$(_innet_value "$text" "$before")
	else
		words=$(compgen -W "$(_innet_verbs <<<"$text")" -- "$cur"
			compgen -f -- "$cur")
	fi
	COMPREPLY=()
	[ -z "$words" ] || mapfile -t COMPREPLY <<<"$words"
}

complete -o filenames -F _innet innet-agent innet-aom innet-ctl innet-gen \
	innet-memory innet-mpi innet-plot innet-ps innet-replay innet-sim \
	innet-switch innet-verify innet-worker
