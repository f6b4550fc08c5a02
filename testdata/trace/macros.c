/* Every macro of <fxt/trace.h>, once with and once without arguments, as C11 and as C++17, with
 * NTRACE and without.  tests/cli/test_trace_macros.sh builds and runs it.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/trace.h>

static int touched;

static int touch(void)
{
    return ++touched;
}

static void durations(void)
{
    TRACE_DURATION("macros", "outer");
    TRACE_DURATION("macros", "inner", "kind", TA_STRING("scope"), "number", TA_INT32(touch()));
    TRACE_DURATION_BEGIN("macros", "by hand");
    TRACE_DURATION_END("macros", "by hand", "left", TA_BOOL(true));
}

static void all(void)
{
    static const char bytes[] = "twenty bytes of text";
    uint64_t id = TRACE_NONCE();
    int ends[2];

    if (pipe(ends) != 0)
        abort();
    durations();
    TRACE_INSTANT("macros", "plain", TRACE_SCOPE_THREAD);
    TRACE_INSTANT("macros", "with all", TRACE_SCOPE_GLOBAL, "null", TA_NULL(), "bool",
                  TA_BOOL(true), "int32", TA_INT32(-32), "uint32", TA_UINT32(32u), "int64",
                  TA_INT64(-64), "uint64", TA_UINT64(64u), "double", TA_DOUBLE(0.5), "string",
                  TA_STRING("text"), "array", TA_CHAR_ARRAY(bytes, 6), "pointer", TA_POINTER(bytes),
                  "koid", TA_KOID(7u), "blob", TA_BLOB(bytes, sizeof bytes));
    TRACE_COUNTER("macros", "queue", 3, "length", TA_INT64(12));
    TRACE_ASYNC_BEGIN("macros", "request", id);
    TRACE_ASYNC_INSTANT("macros", "request", id, "step", TA_UINT32(1));
    TRACE_ASYNC_END("macros", "request", id);
    TRACE_FLOW_BEGIN("macros", "arrow", id);
    TRACE_FLOW_STEP("macros", "arrow", id, "step", TA_UINT32(2));
    TRACE_FLOW_END("macros", "arrow", id);
    TRACE_BLOB_EVENT("macros", "dump", bytes, sizeof bytes, "why", TA_STRING("test"));
    TRACE_BLOB_ATTACHMENT("macros", "attached", bytes, sizeof bytes);
    TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "old blob", bytes, sizeof bytes);
    TRACE_KERNEL_OBJECT(ends[0]);
    TRACE_KERNEL_OBJECT(ends[1], "end", TA_UINT32(1));
    TRACE_ALERT("macros", "alarm");
    TRACE_VTHREAD_DURATION_BEGIN("macros", "virtual", "vthread", 5, 1000);
    TRACE_VTHREAD_FLOW_BEGIN("macros", "virtual arrow", "vthread", 5, 77, 1001);
    TRACE_VTHREAD_FLOW_STEP("macros", "virtual arrow", "vthread", 5, 77, 1002);
    TRACE_VTHREAD_FLOW_END("macros", "virtual arrow", "vthread", 5, 77, 1003);
    TRACE_VTHREAD_DURATION_END("macros", "virtual", "vthread", 5, 1004, "done", TA_BOOL(true));
    if (TRACE_ENABLED() && TRACE_CATEGORY_ENABLED("macros"))
        TRACE_INSTANT("macros", "enabled", TRACE_SCOPE_PROCESS);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

#ifdef __cplusplus
enum class colour : unsigned { red = 1 };

/* Members that a reference cannot be bound to.  */
struct flags {
    unsigned bits : 3;
};
struct __attribute__((packed)) wire {
    char kind;
    int number;
};

static void by_hand(void);

static void plain_values(void)
{
    std::string text = "a std::string";
    const char *pointer = "a literal";
    char array[] = "an array", *writable = array;
    double ratio = 0.25;
    flags state = { 5 };
    wire message = { 'k', -7 };

    TRACE_DURATION("macros", "kept", "text", text, "pointer", pointer, "bits", state.bits, "number",
                   message.number, "array", array);
    TRACE_INSTANT("macros", "plain values", TRACE_SCOPE_THREAD, "nullptr", nullptr, "bool", true,
                  "int", -1, "unsigned", 1u, "long", -1L, "size", sizeof text, "enum", colour::red,
                  "double", ratio, "float", 0.5f, "text", text, "temporary", text + "!", "view",
                  std::string_view("view"), "pointer", &ratio);
    TRACE_INSTANT("macros", "arrays", TRACE_SCOPE_THREAD, "array", array, "writable", writable,
                  "literal", "a literal", "void", static_cast<void *>(array), "function", &by_hand,
                  "address", TA_POINTER(UINT64_C(0x1234)), "none", TA_POINTER(nullptr));
}
#endif

static void by_hand(void)
{
    trace_string_ref_t category, name;
    trace_thread_ref_t thread;
    trace_context_t *context = trace_acquire_context_for_category("macros", &category);

    if (!context)
        return;
    trace_context_register_current_thread(context, &thread);
    trace_context_register_string_literal(context, "by hand", &name);
    {
        TRACE_DECLARE_ARGS(context, args, "first", TA_INT32(1), "second", TA_STRING("two"));
        const size_t count = TRACE_NUM_ARGS("first", TA_INT32(1), "second", TA_STRING("two"));

        TRACE_COMPLETE_ARGS(context, args, count);
        trace_context_write_instant_event_record(context, trace_get_ticks(), &thread, &category,
                                                 &name, TRACE_SCOPE_THREAD, args, count);
    }
    trace_release_context(context);
}

int main(void)
{
    trace_provider_t *provider = trace_provider_create_with_name("macros");

    all();
#ifdef __cplusplus
    plain_values();
#endif
    by_hand();
    printf("touched %d times\n", touched);
    trace_provider_destroy(provider);
    return 0;
}
