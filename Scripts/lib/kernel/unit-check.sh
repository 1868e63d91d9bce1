#!/bin/bash
# Looks at workerd in the service that unit.sh has made, as a client and as systemd see it.
. "$WORKERD_REPOSITORY/Scripts/lib/kernel/finish.sh"
exec >/mnt/output 2>&1
group=/sys/fs/cgroup/system.slice/workerd.service
status=0

# expect PATTERN COMMAND…: the lines that the command prints, sorted and without empty ones, must match.
expect() {
    local pattern=$1 answer
    shift
    answer=$("$@" 2>&1 | grep . | sort)
    # shellcheck disable=SC2053
    if [[ $answer == $pattern ]]; then
        printf '%s\n    %s\n' "$*" "${answer//$'\n'/$'\n'    }"
    else
        printf 'FAILED: %s: expected %s, got %s\n' "$*" "$pattern" "$answer"
        status=1
    fi
}

ask() { redis-cli -s /run/workerd/workerd.sock "$@"; }

expect Delegate=yes systemctl show workerd -p Delegate
expect '*memory*' cat $group/cgroup.subtree_control
expect '0::/system.slice/workerd.service/job-1-1'$'\n'30000000 ask --raw PERFORM images under WAIT ''
expect 'FAILED job 2: used more memory than 65536 KB, the limit of its processes together' \
    ask --raw PERFORM images over WAIT ''
expect '' pgrep -f 'sleep 4711'
expect '0::/system.slice/workerd.service/job-3-1'$'\n'30000000 ask --raw PERFORM images under WAIT ''
# A program that the kernel has killed is no end of the service.
expect ActiveState=active$'\n'NRestarts=0 systemctl show workerd -p ActiveState -p NRestarts
expect '' systemctl reload workerd
expect '' systemctl restart workerd
expect PONG ask PING
expect '' systemctl stop workerd.socket workerd.service
expect ExecMainStatus=0$'\n'Result=success systemctl show workerd -p ExecMainStatus -p Result
finish $status
