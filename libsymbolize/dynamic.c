/* dynamic.c - what an object tells the dynamic linker, which is there when section headers are not.
 */
#include "libsymbolize/elf_object.h"

enum {
    TAGS_MAX = 1 << 16, /* entries of a dynamic section that are looked at */
};

/* Addresses in the dynamic section; 0: it does not say.  */
struct tags {
    uint64_t symbols, strings, strings_size, hash, gnu_hash, got;
};

static void read_tags(const struct sym_object *object, struct tags *tags)
{
    size_t word = object->is_64 ? 8 : 4;
    uint64_t left = object->dynamic_size;

    if (object->dynamic_offset > object->image.size ||
        left > object->image.size - object->dynamic_offset)
        return;
    const uint8_t *next = object->image.data + object->dynamic_offset;
    for (size_t i = 0; i < TAGS_MAX && left >= 2 * word; i++, next += 2 * word, left -= 2 * word) {
        uint64_t tag = sym_object_load(object, next, word);
        uint64_t value = sym_object_load(object, next + word, word);
        switch (tag) {
        case DT_NULL:
            return;
        case DT_SYMTAB:
            tags->symbols = value;
            break;
        case DT_STRTAB:
            tags->strings = value;
            break;
        case DT_STRSZ:
            tags->strings_size = value;
            break;
        case DT_HASH:
            tags->hash = value;
            break;
        case DT_GNU_HASH:
            tags->gnu_hash = value;
            break;
        case DT_PLTGOT:
            tags->got = value;
            break;
        default:
            break;
        }
    }
}

static uint64_t word_at(const struct sym_object *object, struct sym_bytes bytes, uint64_t index)
{
    if (index >= bytes.size / 4)
        return 0;
    return sym_object_load(object, bytes.data + index * 4, 4);
}

/* How many symbols DT_GNU_HASH knows: behind the last one of the last chain.  Header: buckets,
 * first symbol, words of the bloom filter; then the filter, the buckets, the chains.  */
static uint64_t count_by_gnu_hash(const struct sym_object *object, struct sym_bytes table)
{
    uint64_t buckets = word_at(object, table, 0), first = word_at(object, table, 1);
    uint64_t filter = word_at(object, table, 2) * (object->is_64 ? 2 : 1), last = 0;
    uint64_t chains = 4 + filter + buckets;

    if (chains > table.size / 4)
        return 0;
    for (uint64_t i = 0; i < buckets; i++) {
        uint64_t symbol = word_at(object, table, 4 + filter + i);
        last = symbol > last ? symbol : last;
    }
    if (last < first)
        return first;
    while (chains + (last - first) < table.size / 4 &&
           !(word_at(object, table, chains + (last - first)) & 1))
        last++;
    return last + 1;
}

static uint64_t count_symbols(const struct sym_object *object, const struct tags *tags)
{
    struct sym_bytes table;

    if (tags->gnu_hash && sym_object_at_vaddr(object, tags->gnu_hash, &table))
        return count_by_gnu_hash(object, table);
    if (tags->hash && sym_object_at_vaddr(object, tags->hash, &table))
        return word_at(object, table, 1); /* as many chains as symbols */
    return 0;
}

void sym_object_dynamic(const struct sym_object *object, struct sym_dynamic *out)
{
    struct tags tags = { 0 };
    struct sym_bytes symbols, strings;
    size_t size = sym_symbol_size(object);

    *out = (struct sym_dynamic){ 0 };
    read_tags(object, &tags);
    out->got = tags.got;
    uint64_t count = count_symbols(object, &tags);
    if (!sym_object_at_vaddr(object, tags.symbols, &symbols) ||
        !sym_object_at_vaddr(object, tags.strings, &strings))
        return;
    if (count < symbols.size / size)
        symbols.size = (size_t)count * size;
    if (tags.strings_size < strings.size)
        strings.size = (size_t)tags.strings_size;
    out->symbols = symbols;
    out->strings = strings;
}
