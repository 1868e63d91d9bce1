# Reads Config/imports.txt, then Swift files; prints the imports that point the wrong way.

FNR == 1 { file++ }

file == 1 {
    if (/^#/ || NF == 0) next
    target = $1
    sub(/:$/, "", target)
    if (target in known) print FILENAME ":" FNR ": " target " stands there twice"
    known[target] = FNR
    for (i = 2; i <= NF; i++) {
        may[target, $i] = 1
        wanted[target, $i] = FNR
    }
    next
}

# A module of this package that stands below its importer would reverse an arrow.
file == 2 && FNR == 1 {
    for (pair in wanted) {
        split(pair, part, SUBSEP)
        if (part[2] in known && known[part[2]] >= wanted[pair])
            print ARGV[1] ":" wanted[pair] ": " part[1] " may not look up at " part[2]
    }
}

/^[ \t]*(@[A-Za-z_]+ +)*((public|package|internal|private|fileprivate) +)?import +[A-Za-z_]/ {
    split(FILENAME, folder, "/")
    module = $NF
    sub(/\..*/, "", module)
    if (!(folder[2] in known))
        print FILENAME ":" FNR ": " folder[2] " has no line in " ARGV[1]
    else if (!((folder[2], module) in may))
        print FILENAME ":" FNR ": " folder[2] " may not import " module
}
