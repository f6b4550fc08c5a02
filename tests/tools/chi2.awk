# Are these counts what they should be?  Pearson's chi-squared test.
#   awk -f chi2.awk -v mode=fit|two [-v limit=0.001] [FILE]
#
# mode fit: lines "NAME COUNT WEIGHT": counts against expected shares, the weights scaled to the counts' sum.
# mode two: lines "NAME COUNT COUNT": two samples, from one distribution or not.
# Cells of which fewer than 5 are expected are pooled, as the test's approximation needs.  Prints the figures; status 1 if
# counts this far off come by chance with a probability of limit or less.

{ name[NR] = $1; a[NR] = $2; b[NR] = $3; sum_a += $2; sum_b += $3 }

END {
    if (sum_a <= 0 || sum_b <= 0) {
        print "chi2: nothing was counted"
        exit 1
    }
    for (i = 1; i <= NR; i++) {
        least = mode == "fit" ? expected_fit(b[i]) : (a[i] + b[i]) * (sum_a < sum_b ? sum_a : sum_b) / (sum_a + sum_b)
        if (least < 5) {
            pool_a += a[i]
            pool_b += b[i]
            pooled++
        } else {
            add(name[i], a[i], b[i])
        }
    }
    if (pool_a + pool_b > 0)
        add("(" pooled " pooled)", pool_a, pool_b)
    p = tail(cells - 1, chi2)
    printf "chi2 = %.2f, %d degrees of freedom, p = %.4g: %s\n", chi2, cells - 1, p, text
    exit cells < 2 || p <= (limit == "" ? 0.001 : limit)
}

function expected_fit(weight) { return weight * sum_a / sum_b }

function add(cell, x, y,   e, f) {
    cells++
    if (mode == "fit") {
        e = expected_fit(y)
        chi2 += e > 0 ? (x - e) ^ 2 / e : (x > 0 ? 1e9 : 0)
        text = text sprintf("%s %d (%.1f) ", cell, x, e)
        return
    }
    e = (x + y) * sum_a / (sum_a + sum_b)
    f = (x + y) * sum_b / (sum_a + sum_b)
    chi2 += (x - e) ^ 2 / e + (y - f) ^ 2 / f
    text = text sprintf("%s %d:%d ", cell, x, y)
}

# P(X >= x) of the chi-squared distribution: starts from 1 or 2 degrees of freedom and climbs by
# Q(k + 2) = Q(k) + (x/2)^(k/2) exp(-x/2) / gamma(k/2 + 1).
function tail(degrees, x,   k, q, term) {
    if (degrees < 1)
        return 1
    k = degrees % 2 ? 1 : 2
    q = k == 2 ? exp(-x / 2) : erfc(sqrt(x / 2))
    term = k == 2 ? exp(-x / 2) * (x / 2) : exp(-x / 2) * sqrt(x / 2) * 2 / sqrt(3.14159265358979)
    for (; k < degrees; k += 2) {
        q += term
        term *= (x / 2) / (k / 2 + 1)
    }
    return q > 1 ? 1 : q
}

# Abramowitz and Stegun 7.1.26: good to 1.5e-7.
function erfc(z,   t) {
    t = 1 / (1 + 0.3275911 * z)
    return t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) * exp(-z * z)
}
