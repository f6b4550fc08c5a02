/* What --stats adds up, and shows to people.  */
#include <inttypes.h>

#include "cmd/fxtdump/dump.h"

static void add_provider(struct dump_stats *stats, uint32_t id)
{
    if (stats->providers.count > 0 && stats->last_provider == id)
        return;
    stats->last_provider = id;
    for (size_t i = 0; i < stats->providers.count; i++) {
        if (stats->providers.items[i] == id)
            return;
    }
    cli_numbers_add(&stats->providers, id);
}

void dump_stats_add(struct dump_stats *stats, const struct fxt_record *record)
{
    stats->records[record->kind]++;
    if (record->kind != FXT_RECORD_MAGIC)
        add_provider(stats, record->provider->id);
    if (!record->has_time)
        return;
    if (!stats->has_time || record->ts_ns < stats->first_ns)
        stats->first_ns = record->ts_ns;
    if (!stats->has_time || record->ts_ns > stats->last_ns)
        stats->last_ns = record->ts_ns;
    stats->has_time = true;
}

static void print(struct cli_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print(struct cli_output *output, const char *format, ...)
{
    char text[256];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0)
        (void)cli_output_write(output, text,
                               (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

void dump_stats_text(struct cli_output *output, const struct dump_stats *stats, uint64_t bytes,
                     const struct fxt_damage *damage)
{
    uint64_t total = 0;

    for (enum fxt_record_kind kind = 0; kind < FXT_RECORD_KINDS; kind++) {
        if (stats->records[kind])
            print(output, "%15s  %s\n", cli_grouped(stats->records[kind]),
                  fxt_record_kind_name(kind));
        total += stats->records[kind];
    }
    print(output, "%15s  records in %s bytes from %zu provider%s\n", cli_grouped(total),
          cli_grouped(bytes), stats->providers.count, stats->providers.count == 1 ? "" : "s");
    if (stats->has_time) {
        uint64_t span = (uint64_t)stats->last_ns - (uint64_t)stats->first_ns;

        print(output, "%15s  ns, from %" PRId64 " to %" PRId64 "\n", cli_grouped(span),
              stats->first_ns, stats->last_ns);
    }
    for (enum fxt_damage_kind kind = 0; kind < FXT_DAMAGE_KINDS; kind++) {
        if (damage->kinds[kind].count)
            print(output, "%15s  %s, first at offset %" PRIu64 "\n",
                  cli_grouped(damage->kinds[kind].count), fxt_damage_kind_phrase(kind),
                  damage->kinds[kind].first_offset);
    }
}
