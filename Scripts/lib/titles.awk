# Prints Markdown files without exactly one title (`# …` outside of code), in the first line.

FNR == 1 { endFile() }
{ file = FILENAME }
/^ *```/ { isCode = !isCode }
/^# / && !isCode {
    titleCount++
    if (titleCount == 1 && FNR != 1) print FILENAME ":" FNR ": the title stands in the first line"
}
END { endFile() }

function endFile() {
    if (file != "" && titleCount != 1) print file ": has " titleCount + 0 " titles, one is wanted"
    if (file != "" && isCode) print file ": a block of code is not closed"
    titleCount = isCode = 0
}
