# run.sh SECONDS TARGET... - fuzz each target for SECONDS; print a line for each
#
# The script works in ./fuzz-work.  TARGET/ has the inputs that reach new code,
# which remain for the next run.  TARGET.log has the output of libFuzzer. 
# TARGET.crash-*, -leak, -oom, -timeout and -slow-unit are the findings.
set -u
seconds=$1
shift
status=0
for target; do
	target=${target##*/}
	work=fuzz-work/$target
	mkdir -p "$work"
	"./tests/fuzz/fuzz-$target" -max_total_time="$seconds" -timeout=10 \
		-rss_limit_mb=4096 -max_len=4096 -print_final_stats=1 \
		-artifact_prefix="$work." "$work" \
		"$srcdir/tests/fuzz/corpus/$target" >"$work.log" 2>&1
	awk -v target="$target" -v findings="$(find fuzz-work -maxdepth 1 \
		-name "$target.*-*" | wc -l)" '
		/ cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
		/^stat::number_of_executed_units:/ { runs = $2 }
		/^stat::average_exec_per_sec:/ { rate = $2 }
		END { printf "%-8s %d executions (%d/s), %d edges, %d corpus files, %d findings\n",
			target, runs, rate, cov, files, findings }
	' files="$(find "$work" -type f | wc -l)" "$work.log"
	grep -q '^stat::number_of_executed_units:' "$work.log" &&
	[ "$(find fuzz-work -maxdepth 1 -name "$target.*-*" | wc -l)" -eq 0 ] || status=1
done
exit $status
