# The common part of all scripts: the repository's place, messages, and packages that are missing.
# Sourced by the scripts; it runs nothing itself.

# shellcheck shell=bash
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# As many tests at once as Swift's tasks have threads. Otherwise all tests of a run begin at once
# and wait for these threads, and the time limit of each is that of the whole run.
SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(nproc)
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH

say() { printf '%s\n' "$*" >&2; }

# fail STATUS MESSAGE: prints the message and ends. Statuses are those of sysexits(3).
fail() {
    say "${0##*/}: $2"
    exit "$1"
}

# Prints the comment at the top of the script that calls it: what --help shows.
print_help() { awk 'NR > 1 { if (!sub(/^# ?/, "")) exit; print }' "$0"; }

# help_or_numbers "$@": the beginning of a script that takes N and SEED: prints its help, or refuses
# an argument that is not a number.
help_or_numbers() {
    local argument
    for argument in "$@"; do
        case $argument in
            --help | -h) print_help && exit 0 ;;
            '' | *[!0-9]*) fail 64 "N and SEED are numbers, $argument is not; --help says more" ;;
        esac
    done
}

# Runs a command as root, by sudo if need be; sudo asks for a password only at a terminal.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif ! command -v sudo >/dev/null; then
        return 1
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@" 2>/dev/null
    fi
}

# install_packages PACKAGE…: fetches the list of packages only if they are not found without.
install_packages() {
    command -v apt-get >/dev/null || return 1
    local get=(env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get --quiet=2 --yes)
    say "installing $*"
    as_root "${get[@]}" install --no-install-recommends "$@" >/dev/null 2>&1 ||
        { as_root "${get[@]}" update >/dev/null &&
            as_root "${get[@]}" install --no-install-recommends "$@" >/dev/null; }
}

exists() { [ -e "$1" ]; }

# Installs the missing packages for building. Silent when nothing is missing.
need_build_tools() {
    local missing=()
    command -v swift >/dev/null ||
        fail 69 "there is no swift in PATH; Swift 6.3 is at https://www.swift.org/install/linux/"
    exists /usr/include/openssl/evp.h || missing+=(libssl-dev)
    [ "${WORKERD_MALLOC-}" = system ] || exists /usr/include/mimalloc.h ||
        missing+=(libmimalloc-dev)
    exists /usr/include/sqlite3.h || missing+=(libsqlite3-dev)
    exists /usr/include/postgresql/libpq-fe.h || missing+=(libpq-dev)
    exists /usr/include/stdio.h || missing+=(libc6-dev)
    exists /usr/lib/gcc/*/*/libstdc++.so || missing+=(libstdc++-12-dev)
    command -v ld >/dev/null || missing+=(binutils)
    [ "${#missing[@]}" = 0 ] || install_packages "${missing[@]}" ||
        fail 69 "please install as root, then try again: apt-get install ${missing[*]}"
}

# Installs gdb, with which a test inspects a hanging program, if it is missing; without it, returns
# 1.
try_debugger() {
    if command -v gdb >/dev/null; then return 0; fi
    install_packages gdb && return 0
    say "gdb is missing, and the test that needs it is skipped; to have it: apt-get install gdb (as root)"
    return 1
}

# Installs redis-cli and redis-benchmark if they are missing; without them, returns 1.
try_redis_tools() {
    if command -v redis-cli >/dev/null && command -v redis-benchmark >/dev/null; then return 0; fi
    install_packages redis-tools && return 0
    say "redis-cli is missing; to have it: apt-get install redis-tools (as root)"
    return 1
}

# Installs curl, which speaks to the HTTP door, if it is missing; without it, returns 1.
try_curl() {
    if command -v curl >/dev/null; then return 0; fi
    install_packages curl && return 0
    say "curl is missing; to have it: apt-get install curl (as root)"
    return 1
}

# Installs openssl, which makes the certificates of tests, if it is missing; without it, returns 1.
try_openssl() {
    if command -v openssl >/dev/null; then return 0; fi
    install_packages openssl && return 0
    say "openssl is missing; to have it: apt-get install openssl (as root)"
    return 1
}

# Installs PostgreSQL, of which tests start a private server, if it is missing; without it, returns 1.
try_postgresql() {
    if exists /usr/lib/postgresql/15/bin/initdb && command -v psql >/dev/null; then return 0; fi
    install_packages postgresql-15 && return 0
    say "PostgreSQL is missing, and the tests that need it are skipped; to have it: apt-get install postgresql-15 (as root)"
    return 1
}

# Installs promtool, which checks the figures for Prometheus, if it is missing; without it, returns 1.
try_promtool() {
    if command -v promtool >/dev/null; then return 0; fi
    install_packages prometheus && return 0
    say "promtool is missing, and the test that needs it is skipped; to have it: apt-get install prometheus (as root)"
    return 1
}

# Installs Chromium and its driver, in which the page is tried, if they are missing; without them,
# returns 1.
try_chromium() {
    if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then return 0; fi
    install_packages chromium chromium-driver && return 0
    say "chromium is missing; to have it: apt-get install chromium chromium-driver (as root)"
    return 1
}

# try_packages PACKAGE…: installs packages, all of them or those that are to be had. Returns 1 if one is not.
try_packages() {
    local package missing=0
    say "installing $*"
    install_packages "$@" 2>/dev/null && return 0
    for package; do install_packages "$package" 2>/dev/null || missing=1; done
    return "$missing"
}

# try_python_packages DIRECTORY PACKAGE…: makes a private environment of Python in DIRECTORY with packages of
# PyPI, all of them or those that are to be had. Returns 1 if one is not.
try_python_packages() {
    local environment=$1 package missing=0
    shift
    python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv 2>/dev/null || return 1
    python3 -m venv "$environment" >&2 || return 1
    local get=("$environment/bin/pip" --quiet --disable-pip-version-check install --no-compile)
    say "installing $*"
    "${get[@]}" "$@" 2>/dev/null && return 0
    for package; do "${get[@]}" "$package" 2>/dev/null || missing=1; done
    return "$missing"
}

# how_to_enable DIRECTORY: the commands that start the units of a directory now and with the machine. systemd
# finds units and their drop-ins by name only in directories of its own (systemd.unit(5)); others are linked there.
# The socket is named too: `enable --now` starts only the units that it names.
how_to_enable() {
    local units="workerd.socket workerd.service"
    case $1 in
        /usr/lib/systemd/system | /usr/local/lib/systemd/system) ;;
        *)
            echo "ln -sfn '$1/workerd.service.d' /etc/systemd/system/workerd.service.d"
            units="'$1/workerd.socket' '$1/workerd.service'"
            ;;
    esac
    echo "systemctl daemon-reload"
    echo "systemctl enable --now $units"
}

# copy_sources DIRECTORY: the package's sources and tests as they are now, without what is built.
copy_sources() {
    local file
    git -C "$repository" ls-files -z --cached --others --exclude-standard -- \
        Package.swift Sources Tests Scripts/lib |
        while IFS= read -r -d '' file; do
            if [ -f "$repository/$file" ]; then printf '%s\0' "$file"; fi
        done | tar -C "$repository" --null -T - -cf - | tar -C "$1" -xf -
}
