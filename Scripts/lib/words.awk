# Prints the comments, and the lines of documents, with words that hide the subject; and comments
# that begin with a relative clause in place of the thing. Lines of a comment are read on their own.

BEGIN {
    people = "whoever|whomever|nobody|somebody|anybody|everybody|himself|herself|those who"
    hidden = "(asks|waits|comes|came|adds|calls|does|finds|gives|hands|has|is|looks|needs|owns" \
        "|posts|pushes|reads|stops|takes|uses|wants|was)"
    pattern = "(^|[^a-z])(" people "|who " hidden \
        "|what (waits|comes|came|runs|ran|ends|ended|fails|failed|arrives|has (come|ended|failed)" \
        "|is (left|there|to be|on its way)|was (there|left|pushed)))([^a-z]|$)"
}
{
    comment = ""
    if (FILENAME ~ /\.(swift|c|h|js)$/) {
        # A comment that is not part of a text or an address.
        if (match($0, /(^|[ {(])\/\/\/?( |$)/)) comment = substr($0, RSTART + RLENGTH)
    } else if (FILENAME ~ /\.md$/) {
        # All of it is read but code, and for the words for people only.
        if (FNR == 1) isCode = 0
        if (/^ *```/) isCode = !isCode
        if (isCode || tolower($0) !~ "(^|[^a-z])(" people ")([^a-z]|$)") next
        comment = $0
    } else if (match($0, /(^|[ ;])# /)) comment = substr($0, RSTART + RLENGTH)
    comment = tolower(comment)
    # The first line of a comment on lines of its own.
    isAlone = /^ *(\/\/\/?|#)( |$)/
    if (isAlone && !(wasAlone && previous == FNR - 1) && match(comment, /^(what|those|who) /))
        print FILENAME ":" FNR ": begin with the thing in place of \"" \
            substr(comment, 1, RLENGTH - 1) "\""
    wasAlone = isAlone
    previous = FNR
    if (comment !~ pattern) next
    match(comment, pattern)
    word = substr(comment, RSTART, RLENGTH)
    gsub(/^[^a-z]|[^a-z]$/, "", word)
    print FILENAME ":" FNR ": name the thing in place of \"" word "\""
}
