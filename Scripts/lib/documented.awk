# Prints the public declarations of Swift files, the cases of public enums and the requirements of
# public protocols that have no documentation. Relies on the formatter for depth and braces.

FNR == 1 { isDocumented = 0; attributes = 0; inside = "" }
{ match($0, /^ */); depth = RLENGTH }

# Documentation may stand before attributes and conditions.
/^ *\/\/\// { isDocumented = 1; next }
/^ *@[A-Za-z_]+(\(.*\))?$/ || /^ *#(if|else|endif)/ { next }
/^ *@[A-Za-z_]+\($/ { attributes = 1; next }
attributes { if (/^ *\)$/) attributes = 0; next }

inside != "" && depth == insideDepth && /^ *\}/ { inside = "" }
{ isMissing = 0 }
inside == "enum" && depth == insideDepth + 4 && /^ *(indirect +)?case / { isMissing = !isDocumented }
inside == "protocol" && depth == insideDepth + 4 && \
    /^ *(@[A-Za-z_]+ +)*((static|mutating|nonmutating) +)*(func|var|init|subscript|associatedtype)/ {
    isMissing = !isDocumented
}
/^ *(@[A-Za-z_]+(\([^)]*\))? +)*public +/ && !/public +(import|extension)|override / {
    isMissing = !isDocumented
}
isMissing {
    sub(/^ */, "")
    print FILENAME ":" FNR ": has no documentation: " $0
}
/^ *(@[A-Za-z_]+ +)*public +(indirect +)?enum .*\{$/ { inside = "enum"; insideDepth = depth }
/^ *(@[A-Za-z_]+ +)*public +protocol .*\{$/ { inside = "protocol"; insideDepth = depth }
{ isDocumented = 0 }
