# Prints runs of lines that occur in two places: "FILE:FIRST-LAST = FILE:FIRST-LAST (LINES)".
#
#   awk -v least=LINES -f scripts/copies.awk FILE...      least: the shortest run that counts
#
# White space, blank lines, comments and #include lines do not count.
FNR == 1 { comment = 0; names[++files] = FILENAME }
{
    line = $0
    gsub(/[ \t]+/, " ", line)
    sub(/^ /, "", line)
    sub(/ $/, "", line)
    if (comment || line ~ /^\/\*/) {
        comment = line !~ /\*\//
        if (comment || line ~ /\*\/$/)
            next
    }
    if (line == "" || line ~ /^#include /)
        next
    text[++count] = line
    place[count] = FNR
    file_of[count] = files
}
function same(a, b) { return text[a] == text[b] && file_of[a] == file_of[a_file] && file_of[b] == file_of[b_file] }
function is_start(a, b) {
    return a == 1 || file_of[a - 1] != file_of[a] || file_of[b - 1] != file_of[b] || text[a - 1] != text[b - 1]
}
function range(a, lines) { return names[file_of[a]] ":" place[a] "-" place[a + lines - 1] }
END {
    # later[i]: the next place where the first lines from i on stand again.
    for (i = count - least + 1; i >= 1; i--) {
        if (file_of[i] != file_of[i + least - 1])
            continue
        key = ""
        for (k = 0; k < least; k++)
            key = key text[i + k] "\n"
        if (key in latest)
            later[i] = latest[key]
        latest[key] = i
    }
    for (i = 1; i <= count; i++)
        for (j = later[i]; j; j = later[j]) {
            a_file = i
            b_file = j
            if (!is_start(i, j) || (file_of[i] == file_of[j] && i + least > j))
                continue
            for (lines = least; same(i + lines, j + lines) && i + lines < j; lines++)
                ;
            print range(i, lines) " = " range(j, lines) " (" lines ")"
        }
}
