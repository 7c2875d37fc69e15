# Plot twenty clusters at three link rates with both queues.
innet-gen -q --clusters 20 --workers 3 --arrivals poisson --interval 100us \
	-c 400 -w sent.pcap
echo rate,queue,received,loss_percent,mean_age_ns >ages.csv
for rate in 200M 400M 800M; do
	for queue in olaf fifo; do
		innet-switch -q --rate $rate --queue $queue -r sent.pcap |
			innet-aom -q --sent sent.pcap --total --csv \
			--columns received,loss_percent,mean_age_ns |
			sed "1d; s/^all/$rate,$queue/" >>ages.csv
	done
done
innet-plot lines --x rate --columns mean_age_ns,loss_percent -w ages.svg ages.csv
[ "$(wc -l <ages.csv)" -eq 7 ]
# a queue that merges loses fewer updates, and their age is not higher
sed 1d ages.csv | awk -F, '{ loss[$1, $2] = $4; age[$1, $2] = $5 }
	END { for (r = 200; r <= 800; r *= 2) {
		if (loss[r "M", "olaf"] > loss[r "M", "fifo"]) exit 1
		if (age[r "M", "olaf"] > 1.05 * age[r "M", "fifo"]) exit 1 } }'
