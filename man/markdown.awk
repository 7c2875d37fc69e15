# markdown.awk - a tutorial as HTML: awk -v ours=" innet.7 ... " -f markdown.awk FILE
#
# It knows the Markdown that share/tutorials has: headings, paragraphs, lists of
# one level, tables, fenced blocks, `code`, *emphasis*, **strong** text and links to
# other tutorials.  A page of the manual that is in ours becomes a link.
function escaped(s) {
	gsub(/&/, "\\&amp;", s)
	gsub(/</, "\\&lt;", s)
	gsub(/>/, "\\&gt;", s)
	return s
}
# Replace each pair of the mark by an element; the mark is a regular expression.
function paired(s, mark, name,    out, open) {
	while (match(s, mark)) {
		out = out substr(s, 1, RSTART - 1) "<" (open ? "/" : "") name ">"
		s = substr(s, RSTART + RLENGTH)
		open = !open
	}
	return out s
}
# The text outside of `code`.
function prose(s,    out, page, part, to) {
	while (match(s, /\[[^]]*\]\([a-z-]*\.md\)/)) {
		split(substr(s, RSTART + 1, RLENGTH - 5), part, /\]\(/)
		out = out substr(s, 1, RSTART - 1) \
		    "<a href=\"" part[2] ".html\">" part[1] "</a>"
		s = substr(s, RSTART + RLENGTH)
	}
	s = out s
	out = ""
	while (match(s, /innet[-_a-z]*\([1-8]\)/)) {
		page = substr(s, RSTART, RLENGTH)
		to = page
		sub(/\(/, ".", to)
		sub(/\)/, "", to)
		if (index(ours, " " to " "))
			page = "<a href=\"" to ".html\">" page "</a>"
		out = out substr(s, 1, RSTART - 1) page
		s = substr(s, RSTART + RLENGTH)
	}
	return paired(paired(out s, "[*][*]", "strong"), "[*]", "em")
}
function text(s,    n, i, part, out) {
	n = split(escaped(s), part, "`")
	for (i = 1; i <= n; i++)
		out = out (i % 2 ? prose(part[i]) : "<code>" part[i] "</code>")
	return out
}
function end_of_block() {
	if (block != "")
		printf "%s</%s>\n", text(gathered), block
	if (list && block == "li" && $0 !~ /^- /) {
		print "</ul>"
		list = 0
	}
	if (table && $0 !~ /^\|/) {
		print "</table>"
		table = 0
	}
	block = gathered = ""
}
function begin(name) {
	end_of_block()
	printf "<%s>", name
	block = name
}
/^```/ {
	if (!fenced)
		end_of_block()
	fenced = !fenced
	print fenced ? "<pre>" : "</pre>"
	next
}
fenced { print escaped($0); next }
/^#+ / {
	begin($1 == "#" ? "h1" : "h2")
	sub(/^#+ /, "")
	gathered = $0
	end_of_block()
	next
}
/^\|/ {
	end_of_block()
	if (/^\|[-|]*$/)
		next
	if (!table) {
		print "<table class=\"pages\">"
		table = 1
	}
	gsub(/^\| *| *\|$/, "")
	n = split($0, cell, / *\| */)
	printf "<tr>"
	for (i = 1; i <= n; i++)
		printf "<td>%s</td>", text(cell[i])
	print "</tr>"
	next
}
/^- / {
	end_of_block()
	if (!list)
		print "<ul>"
	list = 1
	begin("li")
	gathered = substr($0, 3)
	next
}
/^$/ { end_of_block(); next }
block == "" { begin("p") }
{ gathered = gathered (gathered == "" ? "" : "\n") $0 }
END { $0 = ""; end_of_block() }
