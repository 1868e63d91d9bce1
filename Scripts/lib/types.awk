# Prints the types at the top of a file that have the name of one in another file.
#
#     awk -f types.awk FILE...
#
# A name means one thing in the whole package, whichever targets it is seen from. A type within
# another one has its owner's name before its own and is not looked at.

/^(@[[:alpha:]]+(\([^)]*\))? +|public +|package +|private +|fileprivate +|final +|indirect +)*(struct|class|enum|actor|protocol) / {
    line = $0
    sub(/^.*(^| )(struct|class|enum|actor|protocol) +/, "", line)
    match(line, /^[[:alnum:]_]+/)
    name = substr(line, 1, RLENGTH)
    if (name in place && place[name] != FILENAME)
        print FILENAME ":" FNR ": " name " is also a type of " place[name] ": give one another name"
    else
        place[name] = FILENAME
}
