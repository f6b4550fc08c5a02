/* trace_names.c - functions that the recorder knew, of files that are not here.  */
#include "libperf/trace_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/text.h"

#define MOST_NAMES (UINT32_C(1) << 22)
#define MOST_NAME  4096U  /* bytes */
#define PIECE      30000U /* bytes of lines in a record */

/* The first symbol at or behind vaddr.  */
static size_t first_from(const struct perf_data_file *file, uint64_t vaddr)
{
    size_t low = 0, high = file->symbol_count;

    BASE_BISECT(low, high, i, file->symbols[i].vaddr < vaddr);
    return low;
}

/* "START SIZE NAME", without the part of the symbol that is before the mapping.  */
static void add_line(const struct perf_trace *trace, const struct trace_mapping *mapping,
                     uint64_t vaddr, const struct perf_data_symbol *symbol, struct base_text *lines)
{
    uint64_t before = symbol->vaddr < vaddr ? vaddr - symbol->vaddr : 0;
    uint64_t start = mapping->start + (symbol->vaddr + before - vaddr);
    char *readable = trace->options.demangle ? trace->options.demangle(symbol->name) : NULL;
    const char *name = readable ? readable : symbol->name;
    size_t length = strcspn(name, "\n");

    base_text_addf(lines, "%" PRIx64 " %" PRIx32 " %.*s\n", start,
                   (uint32_t)(symbol->length - before),
                   (int)(length < MOST_NAME ? length : MOST_NAME), name);
    free(readable);
}

static bool put_lines(struct perf_trace *trace, uint64_t koid, uint64_t time_ns,
                      struct base_text *lines)
{
    bool good = !lines->failed &&
                trace_put_code(trace, "file_symbols", koid, time_ns, lines->bytes, lines->length);

    base_text_clear(lines);
    return good;
}

bool trace_name_functions(struct perf_trace *trace, const struct trace_process *process,
                          const struct perf_data_file *file, const struct trace_mapping *mapping,
                          uint64_t vaddr)
{
    struct base_text lines = { .bytes = NULL };
    size_t first = first_from(file, vaddr);
    bool good = true;

    if (first > 0 && vaddr - file->symbols[first - 1].vaddr < file->symbols[first - 1].length)
        first--; /* it reaches into the mapping */
    for (size_t i = first; i < file->symbol_count && good; i++) {
        if (file->symbols[i].vaddr >= vaddr && file->symbols[i].vaddr - vaddr >= mapping->length)
            break;
        if (trace->names == MOST_NAMES) {
            trace->counts.names_left++;
            break;
        }
        trace->names++;
        add_line(trace, mapping, vaddr, &file->symbols[i], &lines);
        if (lines.length >= PIECE)
            good = put_lines(trace, process->koid, mapping->time_ns, &lines);
    }
    good = good && put_lines(trace, process->koid, mapping->time_ns, &lines);
    base_text_release(&lines);
    return good;
}
