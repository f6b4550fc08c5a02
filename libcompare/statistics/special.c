/* special.c - the functions behind p values.  */
#include "libcompare/statistics/statistics.h"

#include <float.h>
#include <math.h>

/* Recurrence up to 8, then the asymptotic series (Abramowitz and Stegun 6.3.18).  */
double compare_digamma(double x)
{
    double sum = 0;
    double r;

    while (x < 8) {
        sum -= 1 / x;
        x++;
    }
    r = 1 / (x * x);
    return sum + log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r / 240)));
}

/* Likewise, 6.4.12.  */
double compare_trigamma(double x)
{
    double sum = 0;
    double r;

    while (x < 8) {
        sum += 1 / (x * x);
        x++;
    }
    r = 1 / (x * x);
    return sum + 1 / x + r / 2 +
           r / x * (1.0 / 6 - r * (1.0 / 30 - r * (1.0 / 42 - r * (1.0 / 30))));
}

/* By bisection of the exponent: trigamma falls from infinity to 0.  */
double compare_trigamma_inverse(double y)
{
    double low = 1e-8;
    double high = 1e8;

    for (int i = 0; i < 120; i++) {
        double middle = sqrt(low * high);

        if (compare_trigamma(middle) > y)
            low = middle;
        else
            high = middle;
    }
    return sqrt(low * high);
}

/* The continued fraction of the incomplete beta function by Lentz's method.  Converges fast for x
 * below (a + 1) / (a + b + 2).  */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = DBL_MIN / DBL_EPSILON;
    double c = 1;
    double d = 1 - (a + b) * x / (a + 1);
    double result;

    d = 1 / (fabs(d) < tiny ? tiny : d);
    result = d;
    for (int m = 1; m <= 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        result *= c * d;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        result *= c * d;
        if (fabs(c * d - 1) < 1e-15)
            break;
    }
    return result;
}

/* Regularised incomplete beta function I_x(a, b).  */
static double incomplete_beta(double a, double b, double x)
{
    int sign;
    double factor;

    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    factor = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) +
                 b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return factor * beta_fraction(a, b, x) / a;
    return 1 - factor * beta_fraction(b, a, 1 - x) / b;
}

double compare_t_two_sided(double t, double df)
{
    if (isnan(t))
        return 1;
    t = fabs(t);
    if (isinf(t))
        return 0;
    if (isinf(df) || df > 1e7)
        return erfc(t / sqrt(2));
    return incomplete_beta(df / 2, 0.5, df / (df + t * t));
}

double compare_t_quantile(double p, double df)
{
    double low = 0;
    double high = 1;
    double tail = 2 * (p < 0.5 ? p : 1 - p); /* two-sided */

    while (compare_t_two_sided(high, df) > tail && high < 1e18)
        high *= 2;
    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2;

        if (compare_t_two_sided(middle, df) > tail)
            low = middle;
        else
            high = middle;
    }
    return p < 0.5 ? -(low + high) / 2 : (low + high) / 2;
}
