/* report_timeline.c - lanes and bins as a heat map.  */
#include <stdlib.h>
#include <string.h>

#include "base/width.h"
#include "cmd/fxtq/report/report_command.h"

size_t report_bins_for(size_t columns)
{
    size_t names = columns / 3 < 26 ? columns / 3 : 26;

    return columns > 24 ? columns - 2 - names : 80;
}

/* Eight heights, and nothing for nothing.  */
static const char *shade(int64_t samples, int64_t most)
{
    static const char *const shades[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

    if (samples <= 0 || most <= 0)
        return shades[0];
    return shades[1 + (samples - 1) * 8 / most];
}

/* One line of the heat map.  width: columns for the name, 0 for all it takes.  */
static void put_lane(struct cli_output *output, const char *lane, size_t width, const int64_t *bins,
                     size_t count, int64_t most)
{
    struct base_text line = { .bytes = NULL }, name = { .bytes = NULL };
    size_t head, tail = 0;

    for (size_t i = 0; i < count; i++)
        text_adds(&line, shade(bins[i], most));
    text_adds(&line, "│ ");
    text_add_visible(&name, lane, strlen(lane));
    head = name.length;
    if (width > 0)
        base_width_cut(name.bytes, name.length, width, &head, &tail);
    text_add(&line, name.bytes, head);
    if (head < name.length)
        text_adds(&line, "…");
    text_add(&line, name.bytes + name.length - tail, tail);
    text_adds(&line, "\n");
    (void)cli_output_write(output, line.bytes, line.length);
    free(line.bytes);
    free(name.bytes);
}

/* The time that the columns cover.  */
static void put_foot(const struct store_report_bins *bins, struct cli_output *output, int64_t most)
{
    double start = (double)bins->from_ts - (double)bins->start_ts;
    struct base_text foot = { .bytes = NULL };

    text_adds(&foot, "+");
    report_add_duration(&foot, start);
    text_adds(&foot, " to +");
    report_add_duration(&foot, start + (double)bins->bin_ns * (double)bins->count);
    text_adds(&foot, ", each column ");
    report_add_duration(&foot, (double)bins->bin_ns);
    text_addf(&foot, ", █ up to %s %s\n", cli_grouped((uint64_t)most),
              most == 1 ? "sample" : "samples");
    (void)cli_output_write(output, foot.bytes, foot.length);
    free(foot.bytes);
}

/* The columns of the report.  */
enum { LANE, BIN, TS, SAMPLES };

struct lanes {
    struct base_text names; /* NUL after each */
    int64_t *bins;          /* bin_count of each */
    size_t count, bin_count, capacity;
    int64_t most;
};

/* Rows of a lane follow each other.  last: where the name of the last lane begins.  */
static void take_row(struct lanes *lanes, const struct store_report_cell *cells, size_t *last)
{
    uint64_t bin = (uint64_t)cells[BIN].integer;
    int64_t samples = cells[SAMPLES].integer;

    if (lanes->count == 0 || strcmp(lanes->names.bytes + *last, cells[LANE].text) != 0) {
        size_t start = lanes->count * lanes->bin_count;

        *last = lanes->names.length;
        text_add(&lanes->names, cells[LANE].text, strlen(cells[LANE].text) + 1);
        lanes->count++;
        lanes->bins = cli_grow(lanes->bins, &lanes->capacity, lanes->count * lanes->bin_count,
                               sizeof(int64_t));
        memset(lanes->bins + start, 0, lanes->bin_count * sizeof(int64_t));
    }
    if (bin < lanes->bin_count)
        lanes->bins[(lanes->count - 1) * lanes->bin_count + bin] = samples;
    if (samples > lanes->most)
        lanes->most = samples;
}

enum store_status report_print_timeline(struct store_report *report, size_t columns,
                                        struct cli_output *output, uint64_t *shown,
                                        struct store_error *error)
{
    const struct store_report_bins *bins = store_report_bins(report);
    struct lanes lanes = { .bin_count = bins->count };
    size_t width = columns > bins->count + 12 ? columns - bins->count - 2 : 10, last = 0;
    const struct store_report_cell *cells;
    enum store_status status;
    const char *name;

    while ((status = store_report_next(report, &cells, error)) == STORE_OK)
        take_row(&lanes, cells, &last);
    name = lanes.names.bytes;
    for (size_t i = 0; i < lanes.count && status == STORE_END; i++) {
        put_lane(output, name, columns > 0 ? width : 0, lanes.bins + i * bins->count, bins->count,
                 lanes.most);
        name += strlen(name) + 1;
    }
    if (status == STORE_END && lanes.count > 0)
        put_foot(bins, output, lanes.most);
    *shown = lanes.count;
    free(lanes.names.bytes);
    free(lanes.bins);
    return status == STORE_END ? STORE_OK : status;
}
