#!/bin/sh
# A Slurm cluster of N nodes on this machine, for tests of what is submitted to one: Debian's slurm-wlm and munge, all
# files in FOLDER. Runs COMMAND with it and ends it again. Needs root, as slurmd does.
#
#   tools/e2e/slurm.sh FOLDER N COMMAND…
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd) nodes=$2
shift 2
for program in slurmctld slurmd munged sbatch; do
  command -v "$program" > /dev/null || { echo "slurm.sh: $program is missing: apt-get install slurm-wlm munge" >&2; exit 3; }
done
mkdir -p "$folder/state" "$folder/spool" "$folder/log"
chmod 755 "$folder"
head -c 1024 /dev/urandom > "$folder/munge.key"
chmod 400 "$folder/munge.key"
cat > "$folder/slurm.conf" <<CONF
ClusterName=quern
SlurmctldHost=$(hostname -s)
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1
MinJobAge=86400
CONF
n=1
while [ "$n" -le "$nodes" ]; do
  echo "NodeName=q$n NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((16820 + n)) CPUs=1 State=UNKNOWN" >> "$folder/slurm.conf"
  n=$((n + 1))
done
echo "PartitionName=all Nodes=ALL Default=YES State=UP" >> "$folder/slurm.conf"
export SLURM_CONF="$folder/slurm.conf"

# Only what was started here is ended.
pids=
finish() {
  for pid in $pids; do kill "$pid" 2> /dev/null || true; done
  for pid in $pids; do wait "$pid" 2> /dev/null || true; done
}
trap finish EXIT INT TERM
munged --force --foreground --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
  --pid-file="$folder/munged.pid" --log-file="$folder/log/munged.log" --seed-file="$folder/munged.seed" > "$folder/log/munged.out" 2>&1 &
pids="$pids $!"
sleep 1
slurmctld -D > "$folder/log/slurmctld.out" 2>&1 &
pids="$pids $!"
n=1
while [ "$n" -le "$nodes" ]; do
  slurmd -D -N "q$n" > "$folder/log/slurmd-$n.out" 2>&1 &
  pids="$pids $!"
  n=$((n + 1))
done
tries=0
until [ "$(sinfo -h -t idle -o %D 2> /dev/null)" = "$nodes" ]; do
  tries=$((tries + 1))
  if [ "$tries" -gt 30 ]; then
    echo "slurm.sh: the nodes did not come up: $folder/log" >&2
    exit 4
  fi
  sleep 1
done
"$@"
