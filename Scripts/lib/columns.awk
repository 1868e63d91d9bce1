# Counts the lines of each file that have more than `max` columns, tables and code of Markdown
# excepted, and prints COUNT columns FILE. With `show`, prints FILE:LINE: and the columns instead.

FNR == 1 { isCode = 0 }
FILENAME ~ /\.md$/ {
    if (/^ *```/) { isCode = !isCode; next }
    if (isCode || /^ *\|/) next
}
length($0) > max {
    # Bytes that continue a character are no columns: awk need not know UTF-8.
    columns = length($0) - gsub(/[\200-\277]/, "&")
    if (columns <= max) next
    count[FILENAME]++
    if (show) print FILENAME ":" FNR ": " columns " columns, the limit is " max
}

END { if (!show) for (file in count) print count[file], "columns", file }
