# Prints Markdown files that do not have exactly one title (`# …` outside of code), in the first
# line, and documents that have grown too large.

FNR == 1 { endFile() }
{ file = FILENAME; lineCount = FNR; byteCount += length($0) + 1 }
/^ *```/ { isCode = !isCode }
/^# / && !isCode {
    titleCount++
    if (titleCount == 1 && FNR != 1) print FILENAME ":" FNR ": the title stands in the first line"
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
