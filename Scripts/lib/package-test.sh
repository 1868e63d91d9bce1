# The life of the package in a root of its own: it is run there as root, by Scripts/package --test.
set -eu

fail() {
    echo "package-test: $1" >&2
    exit 1
}

# Dependencies that are no package here count as installed: libraries, init-system-helpers, systemd.
install() { dpkg --force-depends --force-confdef --install "$1" >/tmp/dpkg 2>&1 || fail "$(cat /tmp/dpkg)"; }

find / -xdev -name "libswift*" | grep -q . && fail "Swift is here"
install /old.deb
grep -q '^workerd:' /etc/passwd || fail "there is no user workerd"
version=$(workerctl --version | sed 's/.* //')
workerd --config /etc/workerd/workerd.json5 --check || fail "the configuration is faulty"
ldd /usr/bin/workerd | grep -q swift && fail "workerd needs libraries of Swift"
ldd /usr/bin/workerd | grep 'not found' && fail "libraries are missing"
for file in /usr/share/man/man1/workerctl.1.gz /usr/share/man/man5/workerd.json5.5.gz \
    /usr/share/man/man8/workerd.8.gz /usr/share/bash-completion/completions/workerctl \
    /usr/lib/systemd/system/workerd.service /usr/lib/systemd/system/workerd.socket; do
    [ -s "$file" ] || fail "there is no $file"
done

# serve: starts workerd in the service's directories, and waits until it answers.
serve() {
    mkdir -p /run/workerd /var/lib/workerd
    STATE_DIRECTORY=/var/lib/workerd workerd --config /etc/workerd/workerd.json5 2>/tmp/log &
    daemon=$!
    tries=0
    until workerctl ping >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "workerd does not answer: $(cat /tmp/log)"
        sleep 0.1
    done
}

# stop: ends workerd in order.
stop() {
    workerctl shutdown
    wait "$daemon" || fail "workerd ends with $?"
}

serve
result=$(workerctl perform images shout hello --wait) || fail "a job fails"
[ "$result" = HELLO ] || fail "the job's result is '$result'"
workerctl doctor || fail "doctor finds a fault"
stop

# An upgrade keeps a changed configuration.
echo '// changed here' >>/etc/workerd/workerd.json5
install /new.deb
dpkg --status workerd | grep -q "^Version: $version\$" || fail "the new version is not installed"
grep -q 'changed here' /etc/workerd/workerd.json5 || fail "the upgrade took a changed configuration"
serve
[ "$(workerctl result 1)" = HELLO ] || fail "the upgrade took the jobs"
stop

dpkg --remove workerd >/tmp/dpkg 2>&1 || fail "$(cat /tmp/dpkg)"
[ ! -e /usr/bin/workerd ] || fail "a removed package leaves its programs"
[ -e /etc/workerd/workerd.json5 ] && [ -e /var/lib/workerd/jobs.sqlite ] ||
    fail "a removal takes configuration or jobs"
dpkg --purge workerd >/tmp/dpkg 2>&1 || fail "$(cat /tmp/dpkg)"
[ ! -e /etc/workerd ] && [ ! -e /var/lib/workerd ] || fail "a purge leaves configuration or jobs"
echo "package-test: installed, ran a job, upgraded, removed and purged"
