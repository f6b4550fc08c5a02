/* fallback_answer - what the process with libdwarf answers for a unit.
 *
 *   fallback_answer OBJECT > ANSWER
 *
 * The unit is the one at 0x1000, where the objects of testdata/symbolize/hostile have their code.
 * libsymbolize/fallback_write.c describes the bytes.  */
#include "libsymbolize/fallback.h"
#include "libsymbolize/symbolize_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const struct sym_options options = {
        .size = sizeof options, .debug_root = "", .no_cache = true, .jobs = 1
    };
    const struct sym_module_key key = { .path = argc == 2 ? argv[1] : "" };
    struct sym_session *session;
    struct sym_module *module;
    struct sym_unit *unit = NULL;

    if (sym_session_open(&options, &session, NULL) ||
        sym_session_module(session, &key, &module, NULL) || sym_module_load(module) ||
        sym_dwarf_unit(&module->loaded.dwarf, 0x1000, NULL, &unit) || !unit) {
        (void)fprintf(stderr, "usage: fallback_answer OBJECT, with a unit at 0x1000\n");
        return EXIT_FAILURE;
    }
    struct sym_fallback_job job = { .dwarf = &module->loaded.dwarf,
                                    .unit = unit,
                                    .parts = SYM_PART_FUNCTIONS | SYM_PART_LINES };
    sym_fallback_write(&job, STDOUT_FILENO); /* which frees nothing, as in a child */
    return EXIT_SUCCESS;
}
