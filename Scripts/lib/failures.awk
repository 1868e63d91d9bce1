# Prints the failures of a run of tests from the output of `swift test`: each issue with its
# comments, the words of a crash, and the tests that began and did not end, of which one crashed or
# hangs.

BEGIN { end = " (passed|failed|was cancelled) after [0-9.]+ seconds.*$" }
/^[^ ]* *Test .* started\.$/ && !/Test (run|case) / { begun[test(" started\\.$")] }
/^[^ ]* *Test / && $0 ~ end { delete begun[test(end)] }
/^✘ .* recorded an issue/ { print; isComment = 1; next }
/^↳/ && isComment { print; next }
{ isComment = 0 }
/^[^ ]* *Test run with / { isWhole = 1 }
/Fatal error: |unexpected signal code|error: Exited with|Sanitizer: / { print }

END {
    if (!isWhole) for (name in begun) print "came to no end: " name
}

# The name of the test in a line, without the rest of the line.
function test(end,    name) {
    name = $0
    sub(/^[^ ]* *Test /, "", name)
    sub(end, "", name)
    sub(/ with [0-9]+ test cases?$/, "", name)
    return name
}
