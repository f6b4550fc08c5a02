/* reading.c - the options of programs that read traces.  */
#include "cmd/cli/cli_bounds.h"
#include "cmd/cli/cli_trace.h"

enum { KEY_MODULES = CLI_READING_KEYS, KEY_ARCH, KEY_STRICT, KEY_FORCE };

static const char *const arches[] = { "x86_64", "arm64", NULL };

const struct cli_option cli_modules_options[] = {
    { KEY_MODULES, 0, "modules", "FILE",
      "read the address maps for raw regions from FILE (modules-PID.markup); maps in the same "
      "folder as the regions are found automatically",
      CLI_FILE },
    { 0 },
};

const struct cli_option cli_arch_options[] = {
    { KEY_ARCH, 0, "arch", "ARCH",
      "x86_64 or arm64: machine of raw kernel samples, if the trace does not name it",
      .choices = arches },
    { 0 },
};

const struct cli_option cli_strict_options[] = {
    { KEY_STRICT, 0, "strict", NULL, "exit with status 3 for notices too, not only for damage" },
    { KEY_FORCE, 0, "force", NULL,
      "read the input as FXT even if its first bytes are not a trace's" },
    { 0 },
};

bool cli_reading_take(struct cli_reading *reading, int key, const struct cli_parser *parser)
{
    switch (key) {
    case KEY_MODULES:
        cli_texts_add(&reading->modules, parser->value);
        return true;
    case KEY_ARCH:
        reading->arm64 = parser->choice == 1;
        return true;
    case KEY_STRICT:
        reading->strict = true;
        return true;
    case KEY_FORCE:
        reading->force = true;
        return true;
    default:
        return cli_bounds_take(key);
    }
}
