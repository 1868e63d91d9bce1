# The demo's files: the choice, the commands on the wire, and the expected results. Sourced by
# Scripts/demo after daemon.bash. Job 2i+1 packs file i, job 2i+2 is its digest.

# shellcheck shell=bash disable=SC2034,SC2154
paths=()
sizes=()
skipped=()
left_out=0
total=0

# choose_files DIR LIMIT SIZE-MAX TOTAL-MAX: sets the variables above.
choose_files() {
    local path size
    while IFS= read -r -d ' ' size && IFS= read -r -d '' path; do
        if [ "${#paths[@]}" -ge "$2" ] || [ $((total + size)) -gt "$4" ]; then
            left_out=$((left_out + 1))
        elif [ ! -r "$path" ]; then
            skipped+=("may not be read: ${path@Q}")
        elif [ "$size" -gt "$3" ]; then
            skipped+=("larger than the payload of a job may be, $3 bytes: ${path@Q}")
        else
            paths+=("$path")
            sizes+=("$size")
            total=$((total + size))
        fi
    done < <(find "$1/" -type f -printf '%s %p\0' | LC_ALL=C sort --zero-terminated --key 2)
}

# Writes two PERFORM commands for each file, in the Redis protocol.
write_commands() {
    local i size
    for i in "${!paths[@]}"; do
        size=${sizes[i]}
        printf '*4\r\n$7\r\nPERFORM\r\n$4\r\npack\r\n$4\r\ngzip\r\n$%d\r\n' "$size"
        # No more than announced, should the file have grown since.
        head --bytes "$size" -- "${paths[i]}"
        printf '\r\n*4\r\n$7\r\nPERFORM\r\n$6\r\ndigest\r\n$6\r\nsha256\r\n$%d\r\n' "$size"
        head --bytes "$size" -- "${paths[i]}"
        printf '\r\n'
    done
}

# write_results FIRST LAST: workerd's results for these files, a line feed behind each.
write_results() {
    seq --format 'RESULT %.0f' $((2 * $1 + 1)) $((2 * $2 + 2)) | redis-cli -s "$socket"
}

# write_expected FIRST LAST: the same results, made here.
write_expected() {
    local i digest
    for ((i = $1; i <= $2; i++)); do
        gzip -n -9c <"${paths[i]}"
        digest=$(sha256sum <"${paths[i]}")
        printf '\n%s\n' "${digest%% *}"
    done
}

# check_files FIRST LAST: compares them, and names the files whose results are wrong.
check_files() {
    local i
    if cmp -s <(write_results "$1" "$2") <(write_expected "$1" "$2"); then return 0; fi
    for ((i = $1; i <= $2; i++)); do
        cmp -s <(write_results "$i" "$i") <(write_expected "$i" "$i") ||
            printf 'fault: wrong result for %s\n' "${paths[i]@Q}"
    done
}
