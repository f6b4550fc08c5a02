#include "sampler-capture/trace/trace_report.h"

#include "cmd/cli/cli.h"
#include "cmd/cli/cli_json.h"

#include <inttypes.h>

static const char *const modes[] = { "oneshot", "circular", "streaming" };

static bool is_registered(const struct provider *provider)
{
    return provider->id != 0;
}

/* A oneshot buffer has no such part, and a provider that was killed did not write it down.  */
static bool durable_is_known(const struct provider *provider)
{
    return provider->header.durable_size > 0 && provider->header.durable_end > 0;
}

static double durable_percent(const struct provider *provider)
{
    return 100.0 * (double)provider->header.durable_end / (double)provider->header.durable_size;
}

/* What the session came to.  */
struct sums {
    uint64_t registered, recorded;
    struct report_losses losses;
};

static struct sums add_up(const struct manager *manager)
{
    struct sums sums = { 0 };
    const struct provider *provider;

    for (size_t i = 0; (provider = manager_provider(manager, i)) != NULL; i++) {
        sums.registered += is_registered(provider);
        sums.recorded += provider->was_started && !provider->unreadable;
        *(provider->has_own_size ? &sums.losses.dropped_own
                                 : &sums.losses.dropped) += provider->header.dropped;
        sums.losses.broken += provider->transfer.broken;
        sums.losses.refused += provider->transfer.refused;
    }
    return sums;
}

void report_missing(const struct manager *manager)
{
    const struct sums sums = add_up(manager);
    bool is_lossy = sums.losses.dropped + sums.losses.dropped_own + sums.losses.broken > 0;

    if (manager->failed || sums.recorded == 0)
        return;
    for (size_t i = 0; i < manager->wanted.count && i < 64; i++)
        if (!(manager->wanted.found >> i & 1))
            cli_warning("no event in the trace has the category %s: check the spelling, or whether "
                        "the code that writes it has run%s",
                        manager->wanted.patterns[i],
                        is_lossy ? "; it may be among what was lost" : "");
    if (manager->wanted.count > 64)
        cli_note("of %zu categories the first 64 were looked for in the trace",
                 manager->wanted.count);
}

static void report_none(const struct sums *sums)
{
    if (sums->recorded > 0)
        return;
    if (sums->registered == 0)
        cli_note("no program registered: a program must be linked with libfxttrace and call "
                 "trace_provider_create_with_name()");
    else
        cli_note("%s registered, and nothing of %s could be recorded",
                 cli_counted(sums->registered, "program", "programs"),
                 sums->registered == 1 ? "it" : "them");
}

static void report_dropped(uint64_t dropped, const char *option, enum trace_mode mode)
{
    if (dropped > 0)
        cli_note("lost: %s that did not fit into the buffer of %s: use a larger %s%s",
                 cli_counted(dropped, "record", "records"),
                 dropped == 1 ? "its program" : "their program", option,
                 mode == TRACE_ONESHOT ? ", or --mode streaming" : "");
}

void report_losses(const struct report_losses *losses, enum trace_mode mode)
{
    report_dropped(losses->dropped, "--buffer-size", mode);
    report_dropped(losses->dropped_own, "SIZE in --provider NAME:SIZE", mode);
    if (losses->broken > 0)
        cli_note("lost: %s of buffers that contained no valid record",
                 cli_counted(losses->broken, "byte", "bytes"));
    if (losses->refused > 0)
        cli_note("left out: %s of a provider about another one",
                 cli_counted(losses->refused, "metadata record", "metadata records"));
}

void report_summary(const struct manager *manager, const char *output, double seconds, bool quiet)
{
    const struct sums sums = add_up(manager);
    double kib = (double)stream_bytes(manager->stream) / 1024;

    if (!quiet)
        cli_note("%s: %s in %.2f s; %.1f %s", output,
                 cli_counted(sums.recorded, "provider", "providers"), seconds,
                 kib < 1024 ? kib : kib / 1024, kib < 1024 ? "KiB" : "MiB");
    report_losses(&sums.losses, manager->options->mode);
    if (!manager->failed)
        report_none(&sums);
}

void report_stats(const struct manager *manager, bool is_written)
{
    const struct provider *provider;

    for (size_t i = 0; (provider = manager_provider(manager, i)) != NULL; i++) {
        if (!is_registered(provider))
            continue;
        cli_note("%s (%" PRIu64 "): %s, %s", manager_shown(provider), provider->pid,
                 modes[manager->options->mode],
                 provider->unreadable     ? "its buffer was damaged"
                 : !provider->was_started ? "never started"
                 : is_written             ? "recorded"
                                          : "recorded until the trace could not be written");
        cli_note("    Wrapped count: %" PRIu32, provider->header.wrapped_count);
        cli_note("    Records dropped: %" PRIu64, provider->header.dropped);
        if (durable_is_known(provider))
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
    json_bool(json, "recorded", provider->was_started && !provider->unreadable);
    json_unsigned(json, "buffer_bytes", provider->buffer_bytes);
    json_unsigned(json, "wrapped_count", provider->header.wrapped_count);
    json_unsigned(json, "records_dropped", provider->header.dropped);
    if (durable_is_known(provider))
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
    const struct provider *provider;

    if (status != CLI_OK)
        return status;
    json_open(&json, NULL, '{');
    json_open(&json, "providers", '[');
    for (size_t i = 0; (provider = manager_provider(manager, i)) != NULL; i++)
        if (is_registered(provider))
            put_provider(&json, manager, provider);
    json_close(&json, ']');
    json_unsigned(&json, "bytes", stream_bytes(manager->stream));
    json_close(&json, '}');
    json_end_line(&json);
    return cli_output_commit(&output);
}
