# The ratchet of Scripts/lint: faults that many files still have, and no file may have more of.
# Sourced by it, with the lists of files in `code`, `markdown` and `scripts`.

# shellcheck shell=bash disable=SC2154
# counted [show]: the counts that Config/ratchet.txt limits, or the lines.
counted() {
    awk -v max=100 -v show="${1-}" -f $lib/columns.awk "${code[@]}" "${markdown[@]}"
    awk -v show="${1-}" -f $lib/words.awk "${code[@]}" "${scripts[@]}"
}

write_ratchet() {
    local counts grown
    counts=$(counted | sort -k 2)
    grown=$(awk -v sums=1 -f $lib/ratchet.awk Config/ratchet.txt - <<<"$counts")
    [ -z "$grown" ] || fail 1 "counts may only go down: $grown"
    printf '%s\n' \
        "# Long lines and comments that hide the subject: \`Scripts/lint --ratchet\`" \
        "$counts" >Config/ratchet.txt
}

check_ratchet() {
    local wrong
    wrong=$(awk -f $lib/ratchet.awk Config/ratchet.txt <(counted) | sort)
    [ -n "$wrong" ] || return 0
    printf '%s\n' "$wrong"
    # The lines of the files that have more than they may.
    grep -E 'in place of [0-9]+$' <<<"$wrong" | cut -d : -f 1 | sort -u |
        sed 's/.*/^&:/' | grep -f - <(counted show) || true
}
