# Prints the figures of README's rows with a command that are not on the page of measured figures.
# Called with the page first, then README.

{ line = $0 }
FNR == 1 { fileCount++ }
fileCount == 1 {
    while (match(line, /[0-9][0-9,.]*/)) {
        known[plain(substr(line, RSTART, RLENGTH))] = 1
        line = substr(line, RSTART + RLENGTH)
    }
    next
}
/^\| .*`Scripts\// {
    # The command has numbers of its own, and so has what was measured.
    gsub(/`[^`]*`/, "", line)
    while (match(line, /[0-9][0-9,.]*/)) {
        figure = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (!(plain(figure) in known))
            print FILENAME ":" FNR ": " plain(figure) " is not in Documents/Performance.md"
    }
}

function plain(figure) {
    sub(/[,.]+$/, "", figure)
    return figure
}
