/* bench/tracing.c for Perfetto's tracing SDK, in process, with a ring of 64 MiB: the same loops, the same line of
 * figures, without threads.  A program made of it and the SDK is a peer of bench/bench_trace.sh.
 *
 *   perfetto-tracing [BATCHES]  */
#include <cstdio>
#include <cstdlib>

#include <perfetto.h>

#include "bench/least_ns.h"

PERFETTO_DEFINE_CATEGORIES(perfetto::Category("bench"), perfetto::Category("never"));
PERFETTO_TRACK_EVENT_STATIC_STORAGE();

static void off(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        TRACE_EVENT_INSTANT("never", "off");
        __asm__ volatile("" ::: "memory");
    }
}

static void instant(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        TRACE_EVENT_INSTANT("bench", "instant");
}

static void integers(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        TRACE_EVENT_INSTANT("bench", "integers", "first", i, "second", -1);
}

static void duration(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        TRACE_EVENT("bench", "duration");
        __asm__ volatile("" ::: "memory");
    }
}

/* Only the category "bench" is recorded.  */
static std::unique_ptr<perfetto::TracingSession> start()
{
    std::unique_ptr<perfetto::TracingSession> session = perfetto::Tracing::NewTrace();
    perfetto::protos::gen::TrackEventConfig events;
    perfetto::TraceConfig config;
    auto *source = config.add_data_sources()->mutable_config();

    events.add_disabled_categories("*");
    events.add_enabled_categories("bench");
    config.add_buffers()->set_size_kb(64 << 10);
    source->set_name("track_event");
    source->set_track_event_config_raw(events.SerializeAsString());
    session->Setup(config);
    session->StartBlocking();
    return session;
}

int main(int argc, char **argv)
{
    unsigned batches = argc > 1 ? (unsigned)strtoul(argv[1], nullptr, 10) : 200;
    std::unique_ptr<perfetto::TracingSession> session;
    perfetto::TracingInitArgs args;
    double loop = least_ns(nothing, batches);

    args.backends = perfetto::kInProcessBackend;
    args.shmem_size_hint_kb = 4 << 10; /* as much as the others have: a batch fits */
    perfetto::Tracing::Initialize(args);
    perfetto::TrackEvent::Register();
    session = start();
    (void)printf("off=%.3f instant=%.3f integers=%.3f duration=%.3f\n", least_ns(off, batches) - loop,
                 least_ns(instant, batches) - loop, least_ns(integers, batches) - loop, least_ns(duration, batches) - loop);
    session->StopBlocking();
    return session->ReadTraceBlocking().empty() ? 1 : 0;
}
