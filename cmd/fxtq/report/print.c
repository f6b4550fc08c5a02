/* print.c - numbers for people.  */
#include <inttypes.h>
#include <math.h>

#include "cmd/fxtq/report/report.h"

void print_duration(struct base_text *text, double ns)
{
    double size = fabs(ns);

    if (size >= 1e9)
        text_addf(text, "%.2fs", ns / 1e9);
    else if (size >= 1e6)
        text_addf(text, "%.2fms", ns / 1e6);
    else if (size >= 1e3)
        text_addf(text, "%.2fus", ns / 1e3);
    else
        text_addf(text, "%.0fns", ns);
}

void print_bytes(struct base_text *text, double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    size_t unit = 0;

    while (fabs(bytes) >= 1024 && unit < 5) {
        bytes /= 1024;
        unit++;
    }
    text_addf(text, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
}
