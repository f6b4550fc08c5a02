#include "sampler-capture/trace/report.h"

#include "cmd/cli/cli.h"
#include "cmd/cli/json.h"

#include <inttypes.h>

static const char *const modes[] = { "oneshot", "circular", "streaming" };

void report_missing(const struct manager *manager)
{
    for (size_t i = 0; i < manager->wanted.count && i < 64; i++)
        if (!(manager->wanted.found >> i & 1))
            cli_warning("no event has the category %s: check the spelling, or whether the code "
                        "that writes it has run",
                        manager->wanted.patterns[i]);
}

static bool is_registered(const struct provider *provider)
{
    return provider->id != 0;
}

static double durable_percent(const struct provider *provider)
{
    const struct transfer_header *header = &provider->header;

    return header->durable_size ? 100.0 * (double)header->durable_end / (double)header->durable_size
                                : 0;
}

void report_summary(const struct manager *manager, const char *output, double seconds, bool quiet)
{
    uint64_t dropped = 0, recorded = 0, broken = 0;
    double kib = (double)stream_bytes(manager->stream) / 1024;

    for (size_t i = 0; i < manager->count; i++) {
        recorded += manager->providers[i]->was_started;
        dropped += manager->providers[i]->header.dropped;
        broken += manager->providers[i]->transfer.broken;
    }
    if (!quiet)
        cli_note("%s: %s in %.2f s; %.1f %s", output,
                 cli_counted(recorded, "provider", "providers"), seconds,
                 kib < 1024 ? kib : kib / 1024, kib < 1024 ? "KiB" : "MiB");
    if (dropped > 0)
        cli_note("lost: %s, since buffers were full: take a larger --buffer-size%s",
                 cli_counted(dropped, "record", "records"),
                 manager->options->mode == TRACE_ONESHOT ? ", or --mode streaming" : "");
    if (broken > 0)
        cli_note("lost: %s of buffers in which there was no record",
                 cli_counted(broken, "byte", "bytes"));
    if (recorded == 0)
        cli_note("no provider was recorded: is the program built with libfxttrace, and does it "
                 "call trace_provider_create_with_name()?");
}

void report_stats(const struct manager *manager)
{
    for (size_t i = 0; i < manager->count; i++) {
        const struct provider *provider = manager->providers[i];

        if (!is_registered(provider))
            continue;
        cli_note("%s (%" PRIu64 "): %s, %s", provider->name, provider->pid,
                 modes[manager->options->mode],
                 provider->was_started ? "recorded" : "never started");
        cli_note("    Wrapped count: %" PRIu32, provider->header.wrapped_count);
        cli_note("    Records dropped: %" PRIu64, provider->header.dropped);
        cli_note("    Durable buffer used: %.1f %%", durable_percent(provider));
        cli_note("    Rolling bytes written: %" PRIu64, provider->transfer.bytes);
        cli_note("    Alerts: %" PRIu64, provider->alerts);
    }
}

static void put_provider(struct json *json, const struct manager *manager,
                         const struct provider *provider)
{
    json_open(json, NULL, '{');
    json_text(json, "name", provider->name);
    json_unsigned(json, "pid", provider->pid);
    json_text(json, "mode", modes[manager->options->mode]);
    json_bool(json, "recorded", provider->was_started);
    json_unsigned(json, "buffer_bytes", provider->buffer_bytes);
    json_unsigned(json, "wrapped_count", provider->header.wrapped_count);
    json_unsigned(json, "records_dropped", provider->header.dropped);
    json_double(json, "durable_used_percent", durable_percent(provider));
    json_unsigned(json, "rolling_bytes", provider->transfer.bytes);
    json_unsigned(json, "damaged_bytes", provider->transfer.broken);
    json_unsigned(json, "alerts", provider->alerts);
    if (provider->refused)
        json_text(json, "ended", provider->refused);
    json_close(json, '}');
}

enum cli_exit report_json(const struct manager *manager, const char *path)
{
    struct cli_output output;
    struct json json = { .output = &output };
    enum cli_exit status = cli_output_open(&output, path);

    if (status != CLI_OK)
        return status;
    json_open(&json, NULL, '{');
    json_open(&json, "providers", '[');
    for (size_t i = 0; i < manager->count; i++)
        if (is_registered(manager->providers[i]))
            put_provider(&json, manager, manager->providers[i]);
    json_close(&json, ']');
    json_unsigned(&json, "bytes", stream_bytes(manager->stream));
    json_close(&json, '}');
    json_end_line(&json);
    return cli_output_commit(&output);
}
