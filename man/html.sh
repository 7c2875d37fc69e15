#!/bin/sh
# html.sh - the manual as HTML, linked page to page, with a list of all
#
#	html.sh DIR PAGE...	write DIR/index.html and DIR/PAGE.html of each
#				and of each tutorial in share/tutorials
#
# mandoc writes the pages; a reference to a page that is not among them, such as
# tcpdump(1), is text.
set -eu
dir=$1 here=$(dirname "$0")
shift
mkdir -p "$dir"
cp "$here/innet.css" "$dir/"

ours=
for page; do ours="$ours ${page##*/}"; done

# The description of a page, from its NAME.
describe() { sed -n 's/^\.Nd //p' "$1" | sed 1q; }

for page; do
	name=${page##*/}
	mandoc -T html -O man=%N.%S.html,style=innet.css "$page" |
	awk -v ours="$ours " '
	# what is linked and is not here loses its link
	{
		out = ""
		while (match($0, /<a class="Xr" href="[^"]*"[^>]*>[^<]*<\/a>/)) {
			link = substr($0, RSTART, RLENGTH)
			split(link, part, "\"")
			to = part[4]
			sub(/\.html$/, "", to)
			if (!index(ours, " " to " ")) {
				gsub(/<a [^>]*>|<\/a>/, "", link)
			}
			out = out substr($0, 1, RSTART - 1) link
			$0 = substr($0, RSTART + RLENGTH)
		}
		print out $0
	}
	/^<body>/ { print "<p><a href=\"index.html\">All pages</a></p>" }
	' >"$dir/$name.html.new"
	mv "$dir/$name.html.new" "$dir/$name.html"
done

# A section that is not in the page is in the one page that has it.
(cd "$dir" && awk '
	BEGIN { for (i = 1; i < ARGC; i++) pages[i] = ARGV[i] }
	{
		for (s = $0; match(s, / id="[^"]*"/);
		    s = substr(s, RSTART + RLENGTH)) {
			id = substr(s, RSTART + 5, RLENGTH - 6)
			here[FILENAME, id] = 1
			n[id]++
			in_page[id] = FILENAME
		}
		text[FILENAME, FNR] = $0
		lines[FILENAME] = FNR
	}
	END {
		for (i = 1; i in pages; i++) {
			page = pages[i]
			for (l = 1; l <= lines[page]; l++)
				print fixed(text[page, l]) >page
			close(page)
		}
	}
	function fixed(s,    out, to) {
		while (match(s, /class="Sx" href="#[^"]*"/)) {
			to = substr(s, RSTART + 18, RLENGTH - 19)
			out = out substr(s, 1, RSTART + 16)
			s = substr(s, RSTART + 17)
			if (!((page, to) in here) && n[to] == 1)
				out = out in_page[to]
		}
		return out s
	}' $(printf '%s.html ' $ours))

# The begin of a page with the title $1.
head_of() {
	cat <<END
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1.0"/>
<link rel="stylesheet" href="innet.css"/>
<title>$1</title>
</head>
<body>
END
}
title_of() { sed -n 's/^# //p' "$1" | sed 1q; }

tutorials=$(ls "$here"/../share/tutorials/*.md)
for page in $tutorials; do
	name=$(basename "$page" .md)
	{
		head_of "$(title_of "$page")"
		echo '<p><a href="index.html">All pages</a></p>'
		awk -v ours="$ours " -f "$here/markdown.awk" "$page"
		echo '</body>'
		echo '</html>'
	} >"$dir/$name.html.new"
	mv "$dir/$name.html.new" "$dir/$name.html"
done

{
	head_of 'The manual of innet'
	cat <<'END'
<h1>The manual of innet</h1>
<p>Begin with <a href="innet.7.html">innet(7)</a>.</p>
END
	echo '<h2>Tutorials</h2>'
	echo '<table class="pages">'
	for page in $tutorials; do
		printf '<tr><td><a href="%s.html">%s</a></td></tr>\n' \
			"$(basename "$page" .md)" "$(title_of "$page")"
	done
	echo '</table>'
	for section in 1 3 5 7; do
		case $section in
		1) echo '<h2>Tools</h2>' ;;
		3) echo '<h2>For programs</h2>' ;;
		5) echo '<h2>Formats</h2>' ;;
		7) echo '<h2>What they do, and how to run them</h2>' ;;
		esac
		echo '<table class="pages">'
		for page; do
			name=${page##*/}
			[ "${name##*.}" = "$section" ] || continue
			printf '<tr><td><a href="%s.html">%s(%s)</a></td><td>%s</td></tr>\n' \
				"$name" "${name%.*}" "$section" "$(describe "$page")"
		done
		echo '</table>'
	done
	echo '</body>'
	echo '</html>'
} >"$dir/index.html.new"
mv "$dir/index.html.new" "$dir/index.html"
