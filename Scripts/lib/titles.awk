# Prints markdown files that do not have exactly one title (`# …` outside of code), in the first line;
# and of the documents for readers the lines that are too long, and files that have grown too large.

FNR == 1 { endFile() }
{ file = FILENAME; lineCount = FNR; byteCount += length($0) + 1 }
/^ *```/ { isCode = !isCode }
/^# / && !isCode {
    titleCount++
    if (titleCount == 1 && FNR != 1) print FILENAME ":" FNR ": the title stands in the first line"
}
# Tables, code, images and comments can't be broken. Bytes that go on with a character don't count.
FILENAME ~ /^(README|ARCHITECTURE|PROTOCOL|Documents\/.*)\.md$/ && !isCode && !/^(\||!\[|<!--)/ {
    line = $0
    gsub(/[\200-\277]/, "", line)
    if (length(line) > 100) print FILENAME ":" FNR ": " length(line) " columns, the limit is 100"
}
END { endFile() }

function endFile() {
    if (file != "" && titleCount != 1) print file ": has " titleCount + 0 " titles, one is wanted"
    if (file != "" && isCode) print file ": a block of code is not closed"
    if (file == "README.md" && lineCount > 250) print file ": " lineCount " lines, the limit is 250"
    if (file == "ARCHITECTURE.md" && byteCount > 20480)
        print file ": " byteCount " bytes, the limit is 20480"
    titleCount = isCode = byteCount = 0
}
