# A workerd of a script's own: in a temporary directory, removed with the script. Sourced after
# machine.bash; `start_daemon` sets `directory`, `socket` and `daemon`.

# shellcheck shell=bash disable=SC2154
directory=
daemon=
socket=

# start_daemon REST [DOORS]: makes a configuration of the socket, further doors and REST (JSON5), and starts
# workerd with it.
start_daemon() {
    directory=$(mktemp --directory "${TMPDIR:-/tmp}/workerd.XXXXXX")
    socket=$directory/socket
    trap 'end_daemon' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '{ listen: { unix: "%s", %s }, store: "memory", %s }\n' "$socket" "${2-}" "$1" \
        >"$directory/workerd.json5"
    "$repository/.build/release/workerd" --config "$directory/workerd.json5" \
        2>"$directory/log" &
    daemon=$!
    local try
    for ((try = 0; try < 100; try++)); do
        if [ "$(ask PING 2>/dev/null)" = PONG ]; then return 0; fi
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.05
    done
    cat "$directory/log" >&2
    fail 69 "workerd does not answer at $socket"
}

# ask ARGUMENT…: sends it one command; the status is not 0 when the reply is an error.
ask() { redis-cli -e -s "$socket" "$@"; }

# stop_daemon: ends it as a service manager does; the status is that of workerd.
stop_daemon() {
    local status=0 process=$daemon
    daemon=
    kill -TERM "$process"
    wait "$process" || status=$?
    return "$status"
}

end_daemon() {
    if [ -n "$daemon" ]; then stop_daemon || true; fi
    rm -rf "$directory"
}
