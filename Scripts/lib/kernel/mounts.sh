# shellcheck shell=bash
# What every first process of the kernel of Scripts/control-groups mounts. The kernel hands on
# WORKERD_REPOSITORY and WORKERD_WORK from its command line; the second is the one directory of this
# machine that can be changed, and is /mnt.
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs state /var/lib
mount -t hostfs -o "$WORKERD_WORK" work /mnt
. "$WORKERD_REPOSITORY/Scripts/lib/kernel/finish.sh"
