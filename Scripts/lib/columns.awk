# Prints the lines that have more than `max` columns, tables and code of Markdown excepted.

FNR == 1 { isCode = 0 }
FILENAME ~ /\.md$/ {
    if (/^ *```/) { isCode = !isCode; next }
    if (isCode || /^ *\|/) next
}
length($0) > max {
    # Bytes that continue a character are no columns: awk need not know UTF-8.
    columns = length($0) - gsub(/[\200-\277]/, "&")
    if (columns > max) print FILENAME ":" FNR ": " columns " columns, the limit is " max
}
