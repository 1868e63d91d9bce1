#!/bin/bash
# The first process of a kernel that starts the units of Config under systemd, as they are but for
# places and users.
. "$WORKERD_REPOSITORY/Scripts/lib/kernel/mounts.sh"
units=/run/systemd/system
mkdir -p $units/workerd.service.d /run/check
sed -e "s#/usr/local/bin/#$WORKERD_REPOSITORY/.build/release/#" -e 's#/etc/workerd/#/run/check/#' \
    -e 's#^User=.*#User=nobody#' -e 's#^Group=.*#Group=nogroup#' \
    "$WORKERD_REPOSITORY/Config/workerd.service" >$units/workerd.service
sed 's#^SocketGroup=.*#SocketGroup=nogroup#' "$WORKERD_REPOSITORY/Config/workerd.socket" >$units/workerd.socket
# The program may lie below a home directory.
grep -v '^ProtectHome=' "$WORKERD_REPOSITORY/Config/workerd.service.d/hardening.conf" \
    >$units/workerd.service.d/hardening.conf
cat >/run/check/workerd.json5 <<'END'
{ listen: { unix: "/run/workerd/workerd.sock" }, threads: { images: {} },
  selectors: {
    over: {
      program: ["sh", "-c", "setsid sh -c 'sleep 4711' >/dev/null 2>&1 & for i in 1 2 3; do \
          (head -c 30000000 /dev/zero; sleep 60) | tail >/dev/null & done; wait"],
      maxMemory: "64MB",
    },
    under: {
      program: ["sh", "-c", "head -c 30000000 /dev/zero | tail | wc -c; cat /proc/self/cgroup"],
      maxMemory: "64MB",
    },
  },
}
END
cat >$units/check.service <<END
[Unit]
Wants=workerd.socket workerd.service
After=workerd.socket workerd.service
DefaultDependencies=no
[Service]
Type=oneshot
Environment=WORKERD_REPOSITORY=$WORKERD_REPOSITORY
ExecStart=/bin/bash $WORKERD_REPOSITORY/Scripts/lib/kernel/unit-check.sh
END
printf '[Unit]\nWants=check.service\nDefaultDependencies=no\n' >$units/check.target
exec /lib/systemd/systemd --system --unit=check.target --log-target=console
