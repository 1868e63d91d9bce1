# Prints files and functions of Swift that are too long. Relies on the formatter: the brace that
# ends a function stands alone, as deep as the line that began it.

FNR == 1 { endFile(); name = "" }
{ file = FILENAME; lineCount = FNR }

match($0, /^ *(@[A-Za-z]+(\([^)]*\))? +)*([a-z]+(\([a-z]+\))? +)*(func +[^ (<]+|init[?]?[(<]|deinit|subscript)/) {
    match($0, /^ */)
    depth = RLENGTH
    name = $0
    sub(/^ */, "", name)
    start = FNR
    isOpen = 0
}

name != "" {
    match($0, /^ */)
    if (RLENGTH == depth) {
        if ($0 ~ /\}$/ && (isOpen || FNR == start)) {
            if (FNR - start + 1 > functionMax)
                print FILENAME ":" start ": " (FNR - start + 1) " lines in one function, the limit is " functionMax ": " name
            name = ""
        } else if ($0 ~ /\{$/) {
            isOpen = 1
        } else if (!isOpen && FNR > start && $0 !~ /^ *[)\]]/) {
            name = ""  # A requirement of a protocol: it has no body.
        }
    }
}

END { endFile() }

function endFile() {
    if (lineCount > fileMax)
        print file ": " lineCount " lines in one file, the limit is " fileMax
    else if (lineCount > fileWish)
        print file ": " lineCount " lines in one file, better at most " fileWish > "/dev/stderr"
    lineCount = 0
}
