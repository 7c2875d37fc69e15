# Start and end Slurm for tests.
#
# shellcheck shell=bash disable=SC2154

# cluster: start Slurm on this machine only, with its files in this folder; or
# skip
cluster() {
	local tool host
	for tool in munged slurmctld slurmd sbatch srun sinfo; do
		command -v $tool >/dev/null || skip "no $tool"
	done
	[ "$(id -u)" -eq 0 ] || skip "Slurm's daemons need root"
	host=$(hostname -s)
	mkdir -m 755 spool state run
	head -c 1024 /dev/urandom >key && chmod 400 key
	set -- $("$py" -c 'import socket as s
a = [s.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(x.getsockname()[1] for x in a))')
	echo CgroupPlugin=cgroup/v1 >cgroup.conf
	cat >slurm.conf <<-END
	ClusterName=innet
	SlurmctldHost=$host(127.0.0.1)
	SlurmUser=root
	AuthInfo=socket=$PWD/run/munge
	SlurmctldPort=$1
	SlurmdPort=$2
	SlurmctldPidFile=$PWD/run/ctld.pid
	SlurmdPidFile=$PWD/run/d.pid
	SlurmdSpoolDir=$PWD/spool
	StateSaveLocation=$PWD/state
	ProctrackType=proctrack/pgid
	TaskPlugin=task/none
	JobAcctGatherType=jobacct_gather/none
	SwitchType=switch/none
	MpiDefault=none
	SlurmdParameters=config_overrides
	NodeName=$host NodeAddr=127.0.0.1 CPUs=8
	PartitionName=main Nodes=ALL Default=YES
	END
	export SLURM_CONF=$PWD/slurm.conf
	munged --foreground --force --key-file="$PWD/key" --socket="$PWD/run/munge" \
		--pid-file="$PWD/run/m.pid" --seed-file="$PWD/seed" --log-file="$PWD/m.log" >m.out 2>&1 3>&- &
	pids="$pids $!"
	for tool in $(seq 100); do [ ! -e run/munge ] || break; sleep 0.05; done
	slurmctld -D >ctld.out 2>&1 3>&- &
	pids="$pids $!"
	slurmd -D -N "$host" >d.out 2>&1 3>&- &
	pids="$pids $!"
	for tool in $(seq 300); do
		! timeout 5 sinfo -h -o %t 2>/dev/null | grep -qx idle || return 0
		kill -0 $! || break
		sleep 0.1
	done
	skip "no Slurm here: $(tail -n 1 m.out); $(tail -n 1 ctld.out); $(tail -n 1 d.out)"
}
