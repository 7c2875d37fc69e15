# Capture a live run, and replay it at double speed with true ages.
innet-ps -q --listen :0 --port-file ps --write-in live.pcap & ps=$!
until [ -s ps ]; do sleep 0.1; done
innet-worker -q --switch :$(cat ps) --synthetic 400B --interval 40ms -c 60
kill $ps
wait
live=$(innet-aom -q -r live.pcap --total --csv --columns received,mean_age_ns | tail -n 1)
# a busy machine can send late; then try again
for try in 1 2 3 4 5; do
	innet-ps -q --listen :0 --port-file again$try --write-in fast.pcap & ps=$!
	until [ -s again$try ]; do sleep 0.1; done
	innet-replay -q -r live.pcap --to :$(cat again$try) --speed 2
	sleep 0.3
	kill $ps
	wait
	fast=$(innet-aom -q -r fast.pcap --total --csv --columns received,mean_age_ns | tail -n 1)
	echo "live $live, replayed $fast"
	# all of them, and about half as old, because they got new timestamps when sent
	[ "${live%,*}" = "${fast%,*}" ]
	awk -v a="${live##*,}" -v b="${fast##*,}" 'BEGIN { exit !(b < 0.8 * a && b > 0.2 * a) }' && exit
done
exit 1
