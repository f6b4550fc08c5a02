/* profile_options.h - the options of programs that make profiles of traces: of what, of which kind,
 * and with which names.  */
#ifndef CLI_PROFILE_OPTIONS_H
#define CLI_PROFILE_OPTIONS_H

#include "cmd/cli/cli_bounds.h"
#include "cmd/cli/cli_trace.h"
#include "cmd/cli/symbol_options.h"

struct cli_profiles {
    int kind; /* enum profile_kind; -1: the first that the trace has */
    struct cli_numbers pids, tids;
    struct cli_reading reading;
    struct cli_symbols symbols;
};

/* The names of profile_kind_name(), NULL at the end.  */
extern const char *const cli_profile_kinds[];

/* The sample types that traces have (<fxt/profile_types.h>), NULL at the end: hints.  Files may
 * have others.  */
enum { CLI_SAMPLE_TYPES_MAX = 30 };
extern const char *cli_sample_types[];

/* --profile, --pid, --tid; and for a command's groups (cli.h) all that is taken, with what
 * cli_trace.h and symbol_options.h have.  */
extern const struct cli_option cli_profiles_options[];
#define CLI_PROFILES_GROUPS                                                             \
    cli_profiles_options, cli_symbols_options, cli_naming_options, cli_modules_options, \
        cli_arch_options, cli_strict_options, cli_bounds_options

/* Take the option that the parser stands at.  False: key is none of them.  */
bool cli_profiles_take(struct cli_profiles *profiles, int key, const struct cli_parser *parser);

/* Free what it owns.  */
void cli_profiles_release(struct cli_profiles *profiles);

#endif /* CLI_PROFILE_OPTIONS_H */
