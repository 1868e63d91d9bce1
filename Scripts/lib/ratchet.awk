# Compares counts, lines COUNT KIND FILE: first those of Config/ratchet.txt, then the present ones.
# Prints files with more than may be and files with fewer; with `sums`, only kinds whose sum grew.

FNR == 1 { file++ }
/^#/ || NF == 0 { next }
file == 1 { may[$2 " " $3] = $1; maySum[$2] += $1; next }
{ is[$2 " " $3] = $1; isSum[$2] += $1 }

END {
    if (sums) {
        for (kind in isSum)
            if (isSum[kind] > maySum[kind])
                print kind ": " isSum[kind] " in all files, there were " maySum[kind] + 0
        exit
    }
    for (key in is) if (is[key] > may[key]) print fault(key, is[key] " in place of " may[key] + 0)
    for (key in may)
        if (may[key] > is[key])
            print fault(key, is[key] + 0 " are left of " may[key] ", Scripts/lint --ratchet notes it")
}

function fault(key, what) {
    split(key, part, " ")
    return part[2] ": " part[1] ": " what
}
