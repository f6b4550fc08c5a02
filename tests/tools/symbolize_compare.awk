# Compares two symbolizers' answers, block by block:
#   awk -f symbolize_compare.awk -v addresses=FILE -v symbols=FILE -v name=TEXT -v other=llvm|addr2line -v dwarf5=1 OURS THEIRS
# symbols is what nm prints.
# At least 99.99 % of the lines that llvm-symbolizer names must be ours too, and the depth.
# A difference must belong to a class of tests/differences; the rules below are those, one for each, and count what they
# took.  Prints a line of figures; status 1 if anything is left.

BEGIN {
    while (symbols && (getline line < symbols) > 0)
        if (split(line, part, " ") == 3)
            place[part[3]] = part[1]
    RS = ""
    FS = "\n"
    while ((getline line < addresses) > 0) {
        n = split(line, part, "\n") # RS applies to getline as well
        for (i = 1; i <= n; i++)
            address[++address_count] = part[i]
    }
}

NR == FNR { ours[++our_count] = $0; next }

{
    count++
    compare_positions(ours[count], $0)
    if (ours[count] == $0) {
        same++
        next
    }
    class = classify(ours[count], $0)
    if (class != "") {
        taken[class]++
        next
    }
    if (++bad <= 5)
        printf "%s: 0x%s:\n--- ours\n%s\n--- %s\n%s\n", name, address[count], ours[count], other, $0
}

END {
    if (our_count != count) {
        printf "%s: %d answers of ours, %d of %s\n", name, our_count, count, other
        bad++
    }
    line = sprintf("%s: %d addresses, %d identical (%.2f %%)", name, count, same, count ? 100 * same / count : 0)
    classes = "line-0 nearest clone alias outer-name plain-name rnglistx file-1"
    n = split(classes, list, " ")
    for (i = 1; i <= n; i++)
        if (list[i] in taken)
            line = line ", " list[i] " " taken[list[i]]
    if (other == "llvm")
        line = line sprintf(", depth and lines agree on %.3f %% of %d", answered ? 100 * agreed / answered : 100, answered)
    print line ", unexplained " bad + 0
    exit bad > 0 || agreed < 0.9999 * answered
}

# Counts the answers of theirs that name a line, and among them those of the same depth with the same file:line in every frame.
function compare_positions(our, their,   a, b, n, m, i) {
    n = split(our, a, "\n")
    m = split(their, b, "\n")
    if (other != "llvm" || b[2] ~ /^\?\?:/ || line_of(b[2]) == 0)
        return
    answered++
    for (i = 2; n == m && i <= n; i += 2) {
        sub(/:[0-9]+$/, "", a[i])
        sub(/:[0-9]+$/, "", b[i])
        if (a[i] != b[i])
            return
    }
    agreed += n == m
}

# The line of "file:line:column", which addr2line writes "file:line", or "file:?" for none.
function line_of(position,   part, n) {
    n = split(position, part, ":")
    return part[other == "addr2line" ? n : n - 1] + 0
}

# What of llvm's name is the compiler's mark of a part or copy of a function.
function without_clone(symbol) {
    while (match(symbol, /\.(cold|part|constprop|isra|lto_priv|llvm|clone)(\.[0-9]+)*$/))
        symbol = substr(symbol, 1, RSTART - 1)
    return symbol
}

# The last word of a readable name, without what it is instantiated with.
function identifier(function_name) {
    sub(/[<(].*/, "", function_name)
    sub(/.*[ :]/, "", function_name)
    return function_name
}

# Whether both are symbols of one address: what the linker, or the compiler, folded.
function same_place(first, second) {
    return first in place && second in place && place[first] == place[second]
}

# The class of the difference between two answers, "" if it is in none.  Several may come together, the first names it.
function classify(our, their,   a, b, n, m, i, class) {
    n = split(our, a, "\n")
    m = split(their, b, "\n")
    if (other == "addr2line" && n == 2 && m == 2 && a[1] == "??")
        return "nearest"
    if (other == "addr2line" && dwarf5 && name ~ /clang/ && m < n && a[n - 1] == b[m - 1])
        return "rnglistx"
    if (n != m)
        return ""
    for (i = 1; i <= n; i++) {
        if (a[i] == b[i])
            continue
        if (other == "addr2line" && i == 1 && n > 2 && (b[1] == b[n - 1] || b[1] == a[n - 1]))
            class = class ? class : "outer-name"
        else if (other == "addr2line" && i == n - 1 && identifier(a[i]) == identifier(b[i]))
            class = class ? class : "plain-name"
        else if (other == "addr2line" && dwarf5 && i == 2 && b[2] ~ /\/((main|shapes|inlines)\.cc?|<artificial>):/ && line_of(a[2]) == line_of(b[2]))
            class = class ? class : "file-1"
        else if (i == 2 && line_of(b[i]) == 0)
            class = class ? class : "line-0"
        else if (i == n - 1 && a[i] == without_clone(b[i]))
            class = class ? class : "clone"
        else if (i == n - 1 && same_place(a[i], b[i]))
            class = class ? class : "alias"
        else
            return ""
    }
    return class
}
