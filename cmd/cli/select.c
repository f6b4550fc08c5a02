#include "cmd/cli/select.h"

#include <stdlib.h>
#include <string.h>

#define ARTIFICIAL_KOID (UINT64_C(1) << 63)
#define MAX_THREADS     (size_t)(1 << 20)

/* ---- Times ---- */

static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    { "", 1 },
    { "ns", 1 },
    { "us", 1000 },
    { "ms", 1000000 },
    { "s", 1000000000 },
    { "min", INT64_C(60) * 1000000000 },
    { "h", INT64_C(3600) * 1000000000 },
};

static bool find_unit(const char *text, int64_t *ns)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text, units[i].name) == 0) {
            *ns = units[i].ns;
            return true;
        }
    }
    return false;
}

/* "1.5s" to nanoseconds, in whole numbers all the way: times of today have more digits than a
 * double.  */
static const char *parse_duration(const char *text, int64_t *ns)
{
    uint64_t digits = 0, scale = 1;
    size_t count = 0;
    bool fraction = false;
    int64_t unit;
    unsigned __int128 product;

    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !fraction); text++) {
        if (*text == '.') {
            fraction = true;
            continue;
        }
        if (digits > (UINT64_MAX - 9) / 10)
            return "out of range";
        digits = 10 * digits + (uint64_t)(*text - '0');
        scale *= fraction ? 10 : 1; /* at most 10^20 before digits overflow, or all digits are 0 */
        if (fraction && scale > UINT64_C(1000000000000000000))
            return "finer than a nanosecond";
        count++;
    }
    if (count == 0 || !find_unit(text, &unit))
        return "not a time such as +1.5s, 20ms or 1500000000";
    product = (unsigned __int128)digits * (uint64_t)unit;
    if (product % scale != 0)
        return "finer than a nanosecond";
    if (product / scale > INT64_MAX)
        return "out of range";
    *ns = (int64_t)(product / scale);
    return NULL;
}

struct cli_time cli_time(const char *option, const char *text)
{
    struct cli_time time = { .given = true, .relative = text[0] == '+' };
    bool negative = text[0] == '-';
    const char *wrong = parse_duration(text + (time.relative || negative), &time.ns);

    if (wrong)
        cli_usage_error("%s: '%s' is %s", option, text, wrong);
    if (negative)
        time.ns = -time.ns;
    return time;
}

/* The first length bytes of text as a text of their own, from malloc().  */
static char *part(const char *text, size_t length)
{
    char *copy = cli_allocate(length + 1, 1);

    memcpy(copy, text, length);
    return copy;
}

void cli_select_time(struct cli_select *select, const char *option, const char *text)
{
    size_t length = strcspn(text, ",");
    const char *limit = text + length + 1;
    char *from;

    if (text[length] == '\0' || strchr(limit, ',') || text[1] == '\0')
        cli_usage_error("%s: '%s' is not FROM,TO, one of which may be missing", option, text);
    from = part(text, length);
    select->from = select->limit = (struct cli_time){ .given = false };
    if (*from)
        select->from = cli_time(option, from);
    if (*limit)
        select->limit = cli_time(option, limit);
    free(from);
    if (select->from.given && select->limit.given &&
        select->from.relative == select->limit.relative && select->limit.ns <= select->from.ns)
        cli_usage_error("%s: '%s' is an empty range: TO must be after FROM", option, text);
}

/* ---- Types ---- */

/* Those of fxt_record_kind_name(), in their order.  */
const char *const cli_record_kinds[] = {
    "unknown",
    "magic",
    "provider_info",
    "provider_section",
    "provider_event",
    "init",
    "string",
    "thread",
    "event",
    "blob",
    "userspace_object",
    "kernel_object",
    "context_switch",
    "legacy_context_switch",
    "thread_wakeup",
    "log",
    "module",
    "mapping",
    "backtrace",
    "large_blob",
    NULL,
};

_Static_assert(sizeof cli_record_kinds / sizeof *cli_record_kinds == FXT_RECORD_KINDS + 1,
               "every kind of record has a name");

void cli_select_type(struct cli_select *select, const char *option, const char *text)
{
    while (text) {
        size_t length = strcspn(text, ",");
        char *name = part(text, length);

        select->kinds |= UINT32_C(1) << cli_choice(option, name, cli_record_kinds);
        free(name);
        text = text[length] ? text + length + 1 : NULL;
    }
}

/* ---- Options ---- */

enum { KEY_TYPE = CLI_SELECT_KEYS, KEY_PROVIDER, KEY_PID, KEY_TID, KEY_TIME };

const struct cli_option cli_select_options[] = {
    { KEY_TIME, 0, "time", "FROM,TO",
      "only records with FROM <= time < TO. +1.5s counts from the first timestamp; 1.5s or "
      "1500000000 (ns) is absolute; units: ns us ms s min h. Either end may be omitted" },
    { KEY_PID, 'p', "pid", "N", "only records of this process" },
    { KEY_TID, 0, "tid", "N", "only records of this thread" },
    { KEY_TYPE, 't', "type", "LIST", "only records of these types: event,log,...", CLI_LIST,
      cli_record_kinds },
    { KEY_PROVIDER, 0, "provider", "ID",
      "only records of this provider; --pid, --tid, --type and --provider may be repeated" },
    { 0 },
};

bool cli_select_take(struct cli_select *select, int key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case KEY_TYPE:
        cli_select_type(select, "--type", value);
        return true;
    case KEY_PROVIDER:
        cli_numbers_add(&select->providers, cli_id("--provider", value, 0, UINT32_MAX));
        return true;
    case KEY_PID:
        cli_numbers_add(&select->pids, cli_id("--pid", value, 0, UINT64_MAX));
        return true;
    case KEY_TID:
        cli_numbers_add(&select->tids, cli_id("--tid", value, 0, UINT64_MAX));
        return true;
    case KEY_TIME:
        cli_select_time(select, "--time", value);
        return true;
    default:
        return false;
    }
}

/* ---- Which threads are whose ---- */

/* Whether the koid is the one that was asked for.  The id that people know stands in the low half;
 * the high half counts how often it was used again (docs/capture.md).  Koids with bit 63 are
 * artificial: only the whole number names them.  */
static bool is_koid(uint64_t koid, uint64_t wanted)
{
    if (wanted > UINT32_MAX || koid & ARTIFICIAL_KOID)
        return koid == wanted;
    return (uint32_t)koid == wanted;
}

static bool is_among(uint64_t koid, const struct cli_numbers *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        if (is_koid(koid, wanted->items[i]))
            return true;
    }
    return false;
}

static bool is_known_thread(const struct cli_select *select, uint64_t koid)
{
    return base_map_find(&select->threads, koid) != NULL;
}

static void learn_thread(struct cli_select *select, uint64_t process, uint64_t thread)
{
    if (thread != 0 && is_among(process, &select->pids) && !is_known_thread(select, thread) &&
        select->threads.count < MAX_THREADS)
        cli_map_set(&select->threads, thread, 0);
}

/* The process that a kernel object says it belongs to (section 2.10), or 0.  */
static uint64_t owner(const struct fxt_record *record)
{
    const struct fxt_arg *arg = fxt_record_arg(record, "process");

    return arg && arg->type == FXT_ARG_KOID ? arg->value.uint64 : 0;
}

void cli_select_learn(struct cli_select *select, const struct fxt_record *record)
{
    if (record->has_time && !select->has_first) {
        select->has_first = true;
        select->first_ns = record->ts_ns;
    }
    if (select->pids.count == 0)
        return;
    if (record->kind == FXT_RECORD_LEGACY_CONTEXT_SWITCH) {
        learn_thread(select, record->value.sched.outgoing.process,
                     record->value.sched.outgoing.thread);
        learn_thread(select, record->value.sched.incoming.process,
                     record->value.sched.incoming.thread);
    } else if (record->kind == FXT_RECORD_KERNEL_OBJECT &&
               record->value.object.type == FXT_OBJECT_THREAD) {
        learn_thread(select, owner(record), record->value.object.koid);
    } else if (record->has_thread) {
        learn_thread(select, record->thread.process, record->thread.thread);
    }
}

/* ---- Respect by respect ---- */

bool cli_select_has_kind(const struct cli_select *select, enum fxt_record_kind kind)
{
    return select->kinds == 0 || (select->kinds >> kind & 1);
}

bool cli_select_has_provider(const struct cli_select *select, const struct fxt_record *record)
{
    uint64_t id = record->kind == FXT_RECORD_PROVIDER_EVENT ? record->value.provider.id
                                                            : record->provider->id;

    for (size_t i = 0; i < select->providers.count; i++) {
        if (select->providers.items[i] == id)
            return true;
    }
    return select->providers.count == 0;
}

static bool has_pid(const struct cli_select *select, const struct fxt_record *record)
{
    const struct cli_numbers *pids = &select->pids;

    switch (record->kind) {
    case FXT_RECORD_KERNEL_OBJECT:
        if (record->value.object.type == FXT_OBJECT_PROCESS)
            return is_among(record->value.object.koid, pids);
        return (owner(record) && is_among(owner(record), pids)) ||
               (record->value.object.type == FXT_OBJECT_THREAD &&
                is_known_thread(select, record->value.object.koid));
    case FXT_RECORD_LEGACY_CONTEXT_SWITCH:
        return is_among(record->value.sched.outgoing.process, pids) ||
               is_among(record->value.sched.incoming.process, pids);
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_THREAD_WAKEUP:
        return is_known_thread(select, record->value.sched.outgoing_tid) ||
               is_known_thread(select, record->value.sched.incoming_tid);
    default:
        return record->has_thread && !record->thread.missing &&
               is_among(record->thread.process, pids);
    }
}

static bool has_tid(const struct cli_select *select, const struct fxt_record *record)
{
    const struct cli_numbers *tids = &select->tids;

    switch (record->kind) {
    case FXT_RECORD_KERNEL_OBJECT:
        return record->value.object.type == FXT_OBJECT_THREAD &&
               is_among(record->value.object.koid, tids);
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_LEGACY_CONTEXT_SWITCH:
        return is_among(record->value.sched.outgoing_tid, tids) ||
               is_among(record->value.sched.incoming_tid, tids);
    case FXT_RECORD_THREAD_WAKEUP:
        return is_among(record->value.sched.incoming_tid, tids);
    case FXT_RECORD_USERSPACE_OBJECT: /* these belong to processes; their thread word is 0 */
    case FXT_RECORD_MODULE:
    case FXT_RECORD_MAPPING:
        return false;
    default:
        return record->has_thread && !record->thread.missing &&
               is_among(record->thread.thread, tids);
    }
}

bool cli_select_has_task(const struct cli_select *select, const struct fxt_record *record)
{
    return (select->pids.count == 0 || has_pid(select, record)) &&
           (select->tids.count == 0 || has_tid(select, record));
}

/* The time on the trace's clock; INT64_MAX or INT64_MIN for one beyond it.  */
static int64_t absolute(const struct cli_select *select, const struct cli_time *time)
{
    int64_t ns;

    if (!time->relative)
        return time->ns;
    if (__builtin_add_overflow(select->first_ns, time->ns, &ns))
        return time->ns < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

bool cli_select_has_time(const struct cli_select *select, const struct fxt_record *record)
{
    if (!select->from.given && !select->limit.given)
        return true;
    if (!record->has_time)
        return false;
    return (!select->from.given || record->ts_ns >= absolute(select, &select->from)) &&
           (!select->limit.given || record->ts_ns < absolute(select, &select->limit));
}

/* ---- All of it ---- */

bool cli_select_any(const struct cli_select *select)
{
    return select->kinds || select->providers.count || select->pids.count || select->tids.count ||
           select->from.given || select->limit.given;
}

void cli_select_start(struct cli_select *select)
{
    base_map_release(&select->threads);
    select->has_first = false;
}

bool cli_select_record(struct cli_select *select, const struct fxt_record *record)
{
    cli_select_learn(select, record);
    return cli_select_has_kind(select, record->kind) && cli_select_has_provider(select, record) &&
           cli_select_has_task(select, record) && cli_select_has_time(select, record);
}

void cli_select_release(struct cli_select *select)
{
    base_map_release(&select->threads);
    free(select->providers.items);
    free(select->pids.items);
    free(select->tids.items);
    *select = (struct cli_select){ .kinds = 0 };
}

/* ---- Captures ---- */

char *cli_split_capture(const char *operand, int64_t *capture)
{
    const char *mark = strrchr(operand, '#');
    char *path;

    if (!mark || !mark[1] || mark[1 + strspn(mark + 1, "0123456789")])
        return NULL;
    path = strndup(operand, (size_t)(mark - operand));
    if (!path)
        cli_out_of_memory();
    *capture = (int64_t)cli_number(operand, mark + 1, 1, INT64_MAX);
    return path;
}
