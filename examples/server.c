/* A small server that tells what it does: durations, a counter, a flow from request to worker, an
 * async operation, and the bytes of a request.  docs/tracing.md explains it.
 *
 *   cc -o server server.c $(pkg-config --cflags --libs fxt-trace) -lpthread  */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <fxt/trace.h>

#define REQUESTS 20

struct request {
    unsigned number;
    char text[32];
};

static void work_for(long microseconds)
{
    const struct timespec time = { 0, microseconds * 1000 };

    (void)nanosleep(&time, NULL);
}

/* A worker: the flow that the main thread began ends in it.  */
static void *serve(void *argument)
{
    const struct request *request = argument;

    TRACE_DURATION("server", "serve", "request", TA_UINT32(request->number));
    TRACE_FLOW_END("server", "request", request->number);
    TRACE_BLOB_EVENT("server", "body", request->text, strlen(request->text));
    {
        TRACE_DURATION("server:db", "query", "text", TA_STRING(request->text));
        work_for(300);
    }
    if (request->number == 13)
        TRACE_ALERT("server", "slow");
    TRACE_ASYNC_END("server", "request", request->number, "status", TA_INT32(200));
    return NULL;
}

static void accept_request(unsigned number)
{
    struct request request = { .number = number };
    pthread_t worker;

    TRACE_DURATION("server", "accept");
    (void)snprintf(request.text, sizeof request.text, "get item %u", number);
    TRACE_ASYNC_BEGIN("server", "request", number, "text", TA_STRING(request.text));
    TRACE_FLOW_BEGIN("server", "request", number);
    TRACE_COUNTER("server", "queue", 0, "length", TA_UINT32(REQUESTS - number));
    if (pthread_create(&worker, NULL, serve, &request) == 0)
        (void)pthread_join(worker, NULL);
}

int main(void)
{
    (void)trace_provider_create_with_name("server");
    for (unsigned i = 0; i < REQUESTS; i++)
        accept_request(i);
    TRACE_INSTANT("server", "closing", TRACE_SCOPE_PROCESS);
    (void)puts("served");
    return 0;
}
