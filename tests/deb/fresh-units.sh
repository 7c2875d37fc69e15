# systemd, which is process 1 in the root folder of fresh.sh, runs this script. 
# It starts the units as innet-security(7) describes, and tests their services.
set -eu -o pipefail
trap 'echo "failed: $BASH_COMMAND"' ERR
export HOME=/root
cd "$(mktemp -d)"
waited() {
	for _ in $(seq 200); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	echo "in vain: $*"
	systemctl status --no-pager 'innet-*' || :
	return 1
}
value() { systemctl show -p "$2" --value "$1"; }

umask 077
refused() { if "$@" >/dev/null 2>&1; then echo "not refused: $*"; return 1; fi; }
if [ ! -e /etc/innet/key ]; then
	refused systemctl start innet-switch
	systemctl stop innet-switch
	systemctl reset-failed innet-switch 2>/dev/null || :
	head -c 32 /dev/urandom >key
	install -D -m 0600 key /etc/innet/key
fi
cp /etc/innet/key key
echo 'a password of many words' >/etc/innet/password
# the server needs another port, because the switch has the port of both
echo LISTEN=127.0.0.1:46639 >/etc/default/innet-ps
systemctl --version | sed -n 1p
for u in switch ps memory; do
	systemctl enable -q --now innet-$u
	waited systemctl is-active innet-$u
	pid=$(value innet-$u MainPID)
	user=$(awk '/^Uid:/ { print $2 }' /proc/"$pid"/status)
	[ "$user" -ge 1000 ]
	rated=$(systemd-analyze security --no-pager innet-$u | sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p')
	awk -v r="$rated" 'BEGIN { exit !(r > 0 && r <= 2) }'
	systemd-analyze verify /lib/systemd/system/innet-$u.service
	echo "innet-$u: $(systemctl is-enabled innet-$u), active as user $user," \
		"process $pid, rated $rated"
done

switch=127.0.0.1:46638 ps=127.0.0.1:46639
waited innet-ctl --key key $switch stats
for w in 0 1; do
	timeout 60 innet-worker -q --key key --switch $switch -p iswitch --worker $w \
		--synthetic 4kB --interval 1ms -c 100 &
	workers="${workers-} $!"
done
for w in $workers; do wait "$w"; done
echo "innet-switch: 100 vectors of two workers summed," \
	"$(innet-ctl --key key $switch stats | sed -n 's/^out  *//p') packets sent"
timeout 60 innet-worker -q --key key --switch $ps --worker 1 --synthetic 400B --interval 1ms -c 50
refused timeout 20 innet-ctl $ps stats
innet-ctl --key key $ps stats >/dev/null
systemctl restart innet-ps
waited innet-ctl --key key $ps stats
[ -s /var/lib/innet-ps/weights ]
echo "innet-ps: restarted, with $(stat -Lc %s /var/lib/innet-ps/weights) bytes that were saved"

cli() { redis-cli --no-auth-warning -p 6399 "$@"; }
[[ $(cli ping) == NOAUTH* ]]
export REDISCLI_AUTH='a password of many words'
[ "$(cli ping)" = PONG ]
kill -9 "$(value innet-memory MainPID)"
waited eval '[ "$(cli ping)" = PONG ]'
echo "innet-memory: killed, and started again"

# load the module into Redis, as an administrator would
unset REDISCLI_AUTH
grep -q innet_per /etc/redis/redis.conf || echo "loadmodule $(dpkg -L innet-redis | grep innet_per.so)" >>/etc/redis/redis.conf
systemctl restart redis-server || { tail -n 20 /var/log/redis/*.log; journalctl --no-pager -n 20 -u redis-server; exit 1; }
waited redis-cli ping
[[ $(redis-cli module list) == *innet* ]]
echo "Redis: $(redis-cli module list | tr '\n' ' ')"
[ -z "$(systemctl list-units --failed --no-legend --no-pager 'innet-*' 'redis*')" ]
systemctl stop innet-switch innet-ps innet-memory
for u in switch ps memory; do [ "$(value innet-$u Result)" = success ]; done
echo 'the units serve'
