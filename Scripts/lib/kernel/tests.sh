#!/bin/bash
# The first process of a kernel that runs tests: WORKERD_TESTS is their program; /mnt/filters has a filter in each
# line.
. "$WORKERD_REPOSITORY/Scripts/lib/kernel/mounts.sh"
mount -t cgroup2 cgroup2 /sys/fs/cgroup
cd "$WORKERD_REPOSITORY" || finish 1
filters=()
while IFS= read -r filter; do filters+=(--filter "$filter"); done </mnt/filters
"$WORKERD_TESTS" --testing-library swift-testing "${filters[@]}" >/mnt/output 2>&1
finish $?
