/* kallsyms.c - the kernel's own list of its symbols: "ffffffff81000000 T _text", modules' with
 * "\t[module]" behind.  */
#include "libsymbolize/symtab.h"
#include "libsymbolize/text_fields.h"
#include <stdlib.h>
#include <string.h>

static const uint64_t PAGE = 4096; /* what the last function of all may have */

struct line {
    uint64_t address;
    char type;
    struct sym_bytes name, module; /* module: size 0 for the kernel itself */
};

static bool parse_line(struct sym_bytes text, struct line *line)
{
    struct sym_bytes address = sym_take_word(&text), type = sym_take_word(&text);

    *line = (struct line){ .name = sym_take_word(&text) };
    line->module = sym_take_word(&text);
    if (!sym_word_hex(address, &line->address) || type.size != 1 || line->name.size == 0)
        return false;
    line->type = (char)type.data[0];
    if (line->module.size < 3 || line->module.data[0] != '[')
        line->module.size = 0;
    return true;
}

bool sym_kallsyms_detect(struct sym_bytes text)
{
    struct sym_bytes first;
    struct line line;

    if (text.size > 4096) /* a line is short; a binary file has perhaps no newline */
        text.size = 4096;
    return sym_take_line(&text, &first) && first.size >= 12 && parse_line(first, &line) &&
           ((line.type >= 'a' && line.type <= 'z') || (line.type >= 'A' && line.type <= 'Z'));
}

bool sym_kallsyms_hidden(struct sym_bytes text)
{
    struct sym_bytes bytes;
    struct line line;

    while (sym_take_line(&text, &bytes))
        if (parse_line(bytes, &line) && line.address != 0)
            return false;
    return true;
}

/* "[nf_tables]" is nf-tables too: the kernel writes an underscore for both.  */
static bool is_module(const struct line *line, const char *module)
{
    size_t length = line->module.size;

    if (length < 3 || strlen(module) != length - 2)
        return false;
    for (size_t i = 0; i < length - 2; i++) {
        char has = (char)line->module.data[i + 1];
        if (has != module[i] && !(has == '_' && module[i] == '-'))
            return false;
    }
    return true;
}

bool sym_kallsyms_has(struct sym_bytes text, const char *module)
{
    struct sym_bytes bytes;
    struct line line;

    while (sym_take_line(&text, &bytes))
        if (parse_line(bytes, &line) && (!module || is_module(&line, module)))
            return true;
    return false;
}

/* Functions are t and w; in upper case where they are seen outside of their file.  */
static struct sym_entry entry_of(const struct line *line, const char *module)
{
    bool text = strchr("tTwW", line->type) != NULL;
    struct sym_entry entry = { .start = line->address,
                               .limit = UINT64_MAX,
                               .name = (const char *)line->name.data,
                               .length = (uint32_t)line->name.size };

    if (text && (!module || is_module(line, module)))
        entry.source = SYM_QUALITY_SYMTAB;
    if (line->type == 'T')
        entry.preference = 2;
    else if (line->type == 'W' || line->type == 'w')
        entry.preference = 1;
    return entry;
}

/* Nothing says where the last function ends.  */
static void limit_last(struct sym_entries *entries)
{
    uint64_t last = 0, limit;

    for (size_t i = 0; i < entries->count; i++)
        last = entries->items[i].start > last ? entries->items[i].start : last;
    if (__builtin_add_overflow(last, PAGE, &limit))
        limit = UINT64_MAX;
    for (size_t i = 0; i < entries->count; i++)
        entries->items[i].limit = limit;
}

enum sym_status sym_kallsyms_read(struct sym_bytes text, const char *module,
                                  struct sym_entries *entries)
{
    struct sym_bytes bytes;
    struct line line;
    enum sym_status status = SYM_OK;

    while (!status && sym_take_line(&text, &bytes)) {
        if (!parse_line(bytes, &line) || line.name.size > UINT16_MAX || line.type == 'a' ||
            line.type == 'A') /* absolute: sizes and offsets of per-CPU data */
            continue;
        struct sym_entry entry = entry_of(&line, module);
        status = sym_entries_add(entries, &entry);
    }
    limit_last(entries);
    return status;
}
