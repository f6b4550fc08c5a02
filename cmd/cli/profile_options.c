/* profile_options.c - the options of programs that make profiles of traces.  */
#include "cmd/cli/profile_options.h"

#include <fxt/profile_types.h>
#include <stdlib.h>

enum { KEY_PROFILE = CLI_PROFILES_KEYS, KEY_PID, KEY_TID };

const char *const cli_profile_kinds[] = {
    "cpu", "heap", "heap-free", "insn", "span", "offcpu", NULL
};

const char *cli_sample_types[CLI_SAMPLE_TYPES_MAX + 1];

/* Tables of options refer to it, so it is filled before main() begins.  */
__attribute__((constructor)) static void list_sample_types(void)
{
    const struct profile_known_type *known;
    size_t count = 0;

    for (size_t i = 0; count < CLI_SAMPLE_TYPES_MAX && (known = profile_known_type_at(i)); i++)
        if (known->kind != PROFILE_KINDS && profile_known_type_find(known->type, NULL) == known)
            cli_sample_types[count++] = known->type;
}

const struct cli_option cli_profiles_options[] = {
    { KEY_PROFILE, 0, "profile", "KIND",
      "profile to read from a trace: cpu (samples), heap (allocations by call site), heap-free "
      "(releases by call site), insn (instructions and calls of an instruction trace), span (time "
      "between begin and end events) or offcpu (waits between context switches); default: the "
      "first that the trace contains",
      .choices = cli_profile_kinds },
    { KEY_PID, 'p', "pid", "PID", "only this process; may be repeated" },
    { KEY_TID, 't', "tid", "TID", "only this thread; may be repeated" },
    { 0 },
};

bool cli_profiles_take(struct cli_profiles *profiles, int key, const struct cli_parser *parser)
{
    switch (key) {
    case KEY_PROFILE:
        profiles->kind = (int)parser->choice;
        return true;
    case KEY_PID:
        cli_numbers_add(&profiles->pids, cli_number("--pid", parser->value, 0, UINT32_MAX));
        return true;
    case KEY_TID:
        cli_numbers_add(&profiles->tids, cli_number("--tid", parser->value, 0, UINT32_MAX));
        return true;
    default:
        return cli_reading_take(&profiles->reading, key, parser) ||
               cli_symbols_take(&profiles->symbols, key, parser);
    }
}

void cli_profiles_release(struct cli_profiles *profiles)
{
    free(profiles->pids.items);
    free(profiles->tids.items);
    free(profiles->reading.modules.items);
    cli_symbols_release(&profiles->symbols);
}
