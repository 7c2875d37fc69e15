# words.awk - print the trace of a search in words
#
# Each line of the model that begins with "@" is an event: HOW KIND PORT A B C.
BEGIN {
	split("Join Leave Push Probe Fetch Chunk Ack Result STATE not_a_member " \
	    "GONE Fetch Chunk Help challenge", kind, " ")
	split("accepted refused taken", status, " ")
}

/START OF CYCLE/ { print "from here on, this repeats without progress:" }

/@/ {
	sub(/^.*@ /, "")
	if ($1 !~ /^[0-9]+$/) {
		print "-- " $0
		next
	}
	how = $1 == 1 ? " (is late)" : $1 == 2 ? " (comes twice)" : ""
	k = $2 + 0
	what = kind[k]
	if (k == 1)
		more = "next " $4 ($5 % 2 ? ", can give again" : "") ", xid " $6
	else if (k == 3 || k == 8)
		more = $4 ":" $5
	else if (k == 4)
		more = "of " $4 ", lacks " $5 % 4 ", sent " int($5 / 4)
	else if (k == 7)
		more = status[$4 % 4 + 1] ", next " $5 " on the wire, instance " \
		    int($4 / 4) ", xid " $6
	else if (k == 9)
		more = "of " $4 " on the wire, lacks " $5 % 4
	else if (k == 11 || k == 14)
		more = $4 ":" $5 " on the wire"
	else if (k == 6 || k == 13)
		more = "state " $4
	else
		more = ""
	down = k >= 7
	print (down ? "        " : "") what (down ? " to" : " from") " port " $3 \
	    (more == "" ? "" : ": " more) how
}
