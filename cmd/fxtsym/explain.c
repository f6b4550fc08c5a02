/* Why an object has the names it has.  */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "cmd/cli/cli_json.h"
#include "cmd/fxtsym/fxtsym.h"

enum { BUILD_ID_MAX = 64 }; /* bytes */

static const char *const quality_meanings[] = {
    [SYM_QUALITY_NONE] = "no names",
    [SYM_QUALITY_DYNSYM] = "exported functions only",
    [SYM_QUALITY_DEBUGDATA] = "exported functions, others from .gnu_debugdata",
    [SYM_QUALITY_SYMTAB] = "functions, no lines",
    [SYM_QUALITY_DWARF] = "functions, lines and inlined frames",
};

struct explained {
    const char *what;
    const struct sym_report *report;
    const struct sym_trail_step *steps; /* where it was looked for */
    size_t step_count;
    uint8_t build_id[BUILD_ID_MAX];
    size_t build_id_length;
};

static void put(struct cli_output *output, const char *label, const char *text)
{
    char left[32];

    if (!text[0])
        return;
    (void)snprintf(left, sizeof left, "  %-12s", label);
    (void)cli_output_write(output, left, strlen(left));
    (void)cli_output_write(output, text, strlen(text));
    (void)cli_output_write(output, "\n", 1);
}

static const char *place_name(enum sym_trail_place place)
{
    static const char *const names[] = {
        [SYM_PLACE_SYMBOL_PATH] = "symbol-path",
        [SYM_PLACE_RECORDED_PATH] = "path",
        [SYM_PLACE_DEBUGLINK] = "debug-link",
        [SYM_PLACE_DEBUG_ROOT] = "debug-root",
        [SYM_PLACE_DEBUGINFOD_CACHE] = "debuginfod-cache",
        [SYM_PLACE_DEBUGINFOD_SERVER] = "debuginfod-servers",
        [SYM_PLACE_KALLSYMS] = "kallsyms",
        [SYM_PLACE_ALT] = "supplement",
        [SYM_PLACE_SPLIT] = "split-units",
    };

    return (size_t)place < sizeof names / sizeof names[0] ? names[place] : "";
}

static const char *outcome_name(enum sym_outcome outcome)
{
    static const char *const names[] = {
        [SYM_OUTCOME_ABSENT] = "absent",   [SYM_OUTCOME_REFUSED] = "refused",
        [SYM_OUTCOME_SPARE] = "spare",     [SYM_OUTCOME_USED] = "used",
        [SYM_OUTCOME_SKIPPED] = "skipped",
    };

    return (size_t)outcome < sizeof names / sizeof names[0] ? names[outcome] : "";
}

enum { ALIKE_SHOWN = 3 };

/* A program may have thousands of split units: how many steps from the first on say the same of one
 * after the other.  */
static size_t count_alike(const struct explained *explained, size_t first)
{
    const struct sym_trail_step *steps = explained->steps;
    size_t count = 1;

    while (steps[first].place == SYM_PLACE_SPLIT && first + count < explained->step_count &&
           steps[first + count].place == SYM_PLACE_SPLIT &&
           steps[first + count].outcome == steps[first].outcome)
        count++;
    return count;
}

static void put_more(struct cli_output *output, size_t count)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%-8s %-18s and %zu more", "", "", count);
    put(output, "", text);
}

/* One line a step, of many that are alike only the first: outcome, place, path, and why.  */
static void print_steps(const struct explained *explained, struct cli_output *output)
{
    char start[64];
    size_t alike = 0; /* that were shown already */

    for (size_t i = 0; i < explained->step_count; i++) {
        const struct sym_trail_step *step = &explained->steps[i];
        size_t more = count_alike(explained, i);
        if (++alike > ALIKE_SHOWN) {
            put_more(output, more);
            i += more - 1;
            alike = 0;
            continue;
        }
        if (more == 1)
            alike = 0;
        (void)snprintf(start, sizeof start, "%-8s %-18s ", outcome_name(step->outcome),
                       place_name(step->place));
        char *place = cli_join(start, step->path);
        char *sentence = cli_join(place, step->path[0] && step->reason[0] ? ": " : "");
        char *line = cli_join(sentence, step->reason);
        put(output, i == 0 ? "looked at" : "", line);
        free(place);
        free(sentence);
        free(line);
    }
}

static void print_text(const struct explained *explained, struct cli_output *output)
{
    const struct sym_report *report = explained->report;
    char hex[2 * BUILD_ID_MAX + 1] = "";
    char *quality = cli_join(quality_name(report->quality), ": ");
    char *line = cli_join(quality,
                          quality_meanings[report->go_table || report->breakpad ? SYM_QUALITY_DWARF
                                                                                : report->quality]);

    hex[base_hex(hex, explained->build_id, explained->build_id_length)] = '\0';
    (void)cli_output_write(output, explained->what, strlen(explained->what));
    (void)cli_output_write(output, "\n", 1);
    put(output, "quality", line);
    put(output, "build ID", hex);
    put(output, "object", report->code_path);
    put(output, "names from", report->debug_path);
    put(output, "verified", report->unverified ? "no: it has no build ID" : "");
    put(output, "problem", report->problem);
    put(output, "remedy", report->remedy);
    put(output, "fallback", report->fallback);
    put(output, "unread", report->unread);
    put(output, "cache", report->cache_path);
    put(output, "cache error", report->cache_problem);
    print_steps(explained, output);
    free(quality);
    free(line);
}

static void print_steps_json(struct json *json, const struct explained *explained)
{
    json_open(json, "looked_at", '[');
    for (size_t i = 0; i < explained->step_count; i++) {
        const struct sym_trail_step *step = &explained->steps[i];
        json_open(json, NULL, '{');
        json_text(json, "place", place_name(step->place));
        json_text(json, "outcome", outcome_name(step->outcome));
        json_text(json, "quality", quality_name(step->quality));
        json_text(json, "path", step->path);
        json_text(json, "reason", step->reason);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void print_json(const struct explained *explained, struct cli_output *output)
{
    const struct sym_report *report = explained->report;
    struct json json = { .output = output };

    json_open(&json, NULL, '{');
    json_text(&json, "object", explained->what);
    json_text(&json, "quality", quality_name(report->quality));
    json_hex(&json, "build_id", explained->build_id, explained->build_id_length);
    json_text(&json, "code_path", report->code_path);
    json_text(&json, "debug_path", report->debug_path);
    json_bool(&json, "unverified", report->unverified);
    json_bool(&json, "go_table", report->go_table);
    json_bool(&json, "breakpad", report->breakpad);
    json_text(&json, "problem", report->problem);
    json_text(&json, "remedy", report->remedy);
    json_unsigned(&json, "fallback_units", report->fallback_units);
    json_text(&json, "fallback", report->fallback);
    json_unsigned(&json, "unread_units", report->unread_units);
    json_text(&json, "unread", report->unread);
    json_text(&json, "cache_path", report->cache_path);
    json_text(&json, "cache_problem", report->cache_problem);
    print_steps_json(&json, explained);
    json_close(&json, '}');
    json_end_line(&json);
}

/* Nothing but a path has a slash; a file whose name looks like a build ID is still a file.  */
static bool is_build_id(const char *what)
{
    uint8_t id[BUILD_ID_MAX];
    size_t length;

    return parse_build_id(what, strlen(what), id, sizeof id, &length) && access(what, F_OK) != 0;
}

/* Debug information shows whether it is readable only when it is read.  */
static bool ignore_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    (void)context, (void)index, (void)frames, (void)count;
    return true;
}

/* By build ID where the file has one: that is how a trace asks for it.  */
static uint32_t find_object(struct objects *objects, struct explained *explained)
{
    char hex[2 * BUILD_ID_MAX + 1] = "";
    bool by_id = is_build_id(explained->what);

    if (by_id)
        (void)parse_build_id(explained->what, strlen(explained->what), explained->build_id,
                             BUILD_ID_MAX, &explained->build_id_length);
    else if (sym_build_id(explained->what, explained->build_id, BUILD_ID_MAX,
                          &explained->build_id_length, NULL) != SYM_OK)
        explained->build_id_length = 0;
    hex[base_hex(hex, explained->build_id, explained->build_id_length)] = '\0';
    return objects_find(objects, by_id ? NULL : explained->what, hex[0] ? hex : NULL);
}

enum cli_exit explain(struct objects *objects, const char *what, bool as_json,
                      struct cli_output *output)
{
    struct explained explained = { .what = what };
    uint32_t index = find_object(objects, &explained);
    const struct object *object = objects->items[index];
    uint64_t anywhere = 0;

    if (!object->module)
        return CLI_ENVIRONMENT; /* said already */
    (void)sym_module_resolve(object->module, &anywhere, 1, ignore_answer, NULL, NULL);
    (void)sym_module_seek_companions(object->module, NULL);
    (void)sym_module_seek_damage(object->module, NULL);
    explained.report = sym_module_report(object->module);
    explained.steps = sym_module_trail(object->module, &explained.step_count);
    if (as_json)
        print_json(&explained, output);
    else
        print_text(&explained, output);
    return explained.report->quality != SYM_QUALITY_NONE ? CLI_OK : CLI_ENVIRONMENT;
}
