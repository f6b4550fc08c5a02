/* What --stats adds up, and shows to people.  */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdump/dump.h"

static void add_provider(struct dump_stats *stats, uint32_t id)
{
    if (stats->providers.count > 0 && stats->last_provider == id)
        return;
    stats->last_provider = id;
    if (base_map_find(&stats->known, id))
        return;
    cli_map_set(&stats->known, id, 0);
    cli_numbers_add(&stats->providers, id);
}

static void add_time(struct dump_stats *stats, int64_t ns)
{
    if (!stats->has_time || ns < stats->first_ns)
        stats->first_ns = ns;
    if (!stats->has_time || ns > stats->last_ns)
        stats->last_ns = ns;
    stats->has_time = true;
}

void dump_stats_add(struct dump_stats *stats, const struct fxt_record *record)
{
    stats->records[record->kind]++;
    if (record->kind != FXT_RECORD_MAGIC)
        add_provider(stats, record->provider->id);
    if (record->has_time)
        add_time(stats, record->ts_ns);
}

void dump_stats_add_tally(struct dump_stats *stats, uint32_t provider,
                          const struct fxt_tally *tally)
{
    for (enum fxt_record_kind kind = 0; kind < FXT_RECORD_KINDS; kind++)
        stats->records[kind] += tally->records[kind];
    add_provider(stats, provider);
    if (tally->has_time) {
        add_time(stats, tally->first_ns);
        add_time(stats, tally->last_ns);
    }
}

void dump_stats_release(struct dump_stats *stats)
{
    free(stats->providers.items);
    base_map_release(&stats->known);
}

void dump_put(struct cli_output *output, const char *text)
{
    (void)cli_output_write(output, text, strlen(text)); /* the failure stays in output->failed */
}

void dump_print(struct cli_output *output, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) > 0)
        dump_put(output, text);
    va_end(arguments);
}

/* Which trace the lines below it are about, where there are several.  */
static void put_path(struct cli_output *output, const char *path)
{
    if (path) {
        dump_put(output, path);
        dump_put(output, ":\n");
    }
}

void dump_stats_text(struct cli_output *output, const char *path, const struct dump_stats *stats,
                     uint64_t bytes, const struct fxt_damage *damage)
{
    uint64_t total = 0;

    put_path(output, path);
    for (enum fxt_record_kind kind = 0; kind < FXT_RECORD_KINDS; kind++) {
        if (stats->records[kind])
            dump_print(output, "%15s  %s\n", cli_grouped(stats->records[kind]),
                       fxt_record_kind_name(kind));
        total += stats->records[kind];
    }
    dump_print(output, "%15s  records in %s bytes from %zu provider%s\n", cli_grouped(total),
               cli_grouped(bytes), stats->providers.count, stats->providers.count == 1 ? "" : "s");
    if (stats->has_time) {
        uint64_t span = (uint64_t)stats->last_ns - (uint64_t)stats->first_ns;

        dump_print(output, "%15s  ns, from %" PRId64 " to %" PRId64 "\n", cli_grouped(span),
                   stats->first_ns, stats->last_ns);
    }
    for (enum fxt_damage_kind kind = 0; kind < FXT_DAMAGE_KINDS; kind++) {
        if (damage->kinds[kind].count)
            dump_print(output, "%15s  %s, first at offset %" PRIu64 "\n",
                       cli_grouped(damage->kinds[kind].count), fxt_damage_kind_phrase(kind),
                       damage->kinds[kind].first_offset);
    }
}

void dump_damage_text(struct cli_output *output, const char *path, uint64_t bytes,
                      const struct fxt_damage *damage)
{
    (void)bytes;
    if (fxt_damage_total(damage, true) == 0)
        return;
    put_path(output, path);
    dump_put(output, "     count           bytes    first offset  kind\n");
    for (enum fxt_damage_kind kind = 0; kind < FXT_DAMAGE_KINDS; kind++) {
        if (damage->kinds[kind].count == 0)
            continue;
        dump_print(output, "%10" PRIu64 " %15" PRIu64 " %15" PRIu64 "  %s: %s (%s)\n",
                   damage->kinds[kind].count, damage->kinds[kind].bytes,
                   damage->kinds[kind].first_offset, fxt_damage_kind_name(kind),
                   fxt_damage_kind_phrase(kind), fxt_damage_is_loss(kind) ? "damage" : "notice");
    }
}
