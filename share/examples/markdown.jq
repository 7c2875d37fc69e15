# markdown.jq - numbers and tables in Markdown, for reports written by jq

# Print a number with exactly $n decimals.
def fixed($n): pow(10; $n) as $p | (. * $p | round) as $i |
	if $n == 0 then "\($i)" else
	"\($i / $p | trunc).\("000\($i | fabs % $p)"[-$n:])" end;

def percent: (. * 100 | round + 0) as $p |
	"\(if $p > 0 then "+" else "" end)\($p) %";
def off($want): . / $want - 1 | percent;
def row: "| \(join(" | ")) |";
def head: row, ([ .[] | "---" ] | row);
