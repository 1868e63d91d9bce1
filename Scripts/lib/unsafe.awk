# Prints the promises that the compiler can't check: with `list`, as lines of
# Config/unsafe-allowed.txt, how often and where; else those without a SAFETY: comment.

FNR == 1 { endFile() }

/@unchecked Sendable|nonisolated\(unsafe\)|unowned\(unsafe\)/ && !/^ *\/\// {
    count++
    found[count] = FNR
    files[FILENAME]++
}
/SAFETY:/ { explained[FNR] = 1 }
{ file = FILENAME }

END {
    endFile()
    if (list) for (file in files) print files[file], file
}

function endFile(    i, line, isExplained) {
    for (i = 1; i <= count; i++) {
        isExplained = 0
        for (line = found[i] - 6; line <= found[i] + 6; line++)
            if (line in explained) isExplained = 1
        if (!isExplained && !list)
            print file ":" found[i] ": needs a SAFETY: comment within 6 lines"
    }
    count = 0
    split("", explained)
}
