# shellcheck shell=bash
# finish STATUS: leaves the status to Scripts/control-groups, and ends the kernel.
finish() {
    echo "$1" >/mnt/status
    sync
    echo o >/proc/sysrq-trigger
    sleep 60
}
