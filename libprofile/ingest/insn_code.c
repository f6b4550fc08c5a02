/* insn_code.c - which code and which function is at an address of a process.  */
#include "libprofile/ingest/insn_parts.h"
#include "libprofile/ingest/maps.h"

#include <stdlib.h>

#define MAX_MAPPING_BYTES (UINT64_C(1) << 30) /* of code in one mapping */

/* ---- Processes ---- */

static enum profile_status process_of(struct ingest_insn *insn, uint32_t id,
                                      struct insn_process **out, struct profile_error *error)
{
    if (id > insn->process_count) {
        if (!base_make_room(&insn->processes, &insn->process_capacity, id, sizeof(void *)))
            return profile_no_memory(error);
        while (insn->process_count < id)
            insn->processes[insn->process_count++] = NULL;
    }
    *out = insn->processes[id - 1];
    if (*out)
        return PROFILE_OK;
    *out = insn->processes[id - 1] = calloc(1, sizeof **out);
    if (!*out)
        return profile_no_memory(error);
    (*out)->insn = insn;
    (*out)->id = id;
    return PROFILE_OK;
}

static void forget_places(struct insn_process *process)
{
    free(process->places);
    process->places = NULL;
}

/* ---- Code of modules ---- */

static struct sym_module *symbols_of(const struct ingest_insn *insn, profile_id id)
{
    const struct profile_stacks *stacks = insn->ingest->stacks;
    struct profile_module module = profile_stacks_get_module(stacks, id);
    struct sym_module_key key = { .build_id = module.build_id,
                                  .build_id_length = module.build_id_length,
                                  .path = profile_stacks_text(stacks, module.name, NULL) };
    struct sym_module *symbols = NULL;

    if (id == 0 || (key.build_id_length == 0 && !key.path[0]) ||
        sym_session_module(insn->ingest->options.session, &key, &symbols, NULL) != SYM_OK)
        return NULL;
    return symbols;
}

/* The bytes that the module's file has there.  Code that cannot be read or kept becomes a gap where
 * it runs, so only a lack of memory is a failure.  */
static enum profile_status read_section(struct ingest_insn *insn, struct insn_section *section,
                                        struct profile_error *error)
{
    struct sym_module *symbols = symbols_of(insn, section->module);
    uint64_t wanted = section->size < MAX_MAPPING_BYTES ? section->size : MAX_MAPPING_BYTES;
    enum insn_status added = INSN_OK;
    size_t count = 0;
    void *bytes;

    if (!symbols ||
        sym_module_code(symbols, section->vaddr, NULL, (size_t)wanted, &count, NULL) != SYM_OK ||
        count == 0)
        return PROFILE_OK;
    bytes = malloc(count);
    if (!bytes)
        return profile_no_memory(error);
    if (sym_module_code(symbols, section->vaddr, bytes, count, &count, NULL) == SYM_OK && count > 0)
        added = insn_code_add(insn->code, bytes, count, &section->section, NULL);
    free(bytes);
    section->size = count;
    return added == INSN_NO_MEMORY ? profile_no_memory(error) : PROFILE_OK;
}

/* Processes that map a module share its code.  */
static enum profile_status section_of(struct ingest_insn *insn, const struct insn_mapping *mapping,
                                      struct insn_section *out, struct profile_error *error)
{
    uint64_t size = mapping->limit - mapping->start;
    uint64_t hash = base_hash(base_hash(mapping->module, mapping->vaddr), size);
    enum profile_status status;
    size_t probe;

    for (uint32_t id = base_index_first(&insn->section_index, hash, &probe); id;
         id = base_index_next(&insn->section_index, hash, &probe)) {
        *out = insn->sections[id - 1];
        if (out->module == mapping->module && out->vaddr == mapping->vaddr)
            return PROFILE_OK;
    }
    *out =
        (struct insn_section){ .module = mapping->module, .vaddr = mapping->vaddr, .size = size };
    status = read_section(insn, out, error);
    if (status != PROFILE_OK)
        return status;
    if (!base_make_room(&insn->sections, &insn->section_capacity, insn->section_count + 1,
                        sizeof *insn->sections) ||
        !base_index_reserve(&insn->section_index))
        return profile_no_memory(error);
    insn->sections[insn->section_count++] = *out;
    base_index_add(&insn->section_index, hash, (uint32_t)insn->section_count);
    return PROFILE_OK;
}

static enum profile_status map(struct ingest_insn *insn, struct insn_process *process,
                               const struct insn_mapping *mapping, struct profile_error *error)
{
    struct insn_section section;
    struct insn_error failure = { .status = INSN_OK };
    uint64_t size = mapping->limit - mapping->start;
    enum profile_status status;

    if (mapping->module == 0 || size == 0)
        return PROFILE_OK;
    status = section_of(insn, mapping, &section, error);
    if (status != PROFILE_OK || section.section == 0)
        return status;
    if (size > section.size)
        size = section.size;
    return insn_space_map(process->space, mapping->start, section.section, 0, size, &failure) ==
                   INSN_NO_MEMORY
               ? profile_no_memory(error)
               : PROFILE_OK;
}

enum profile_status insn_add_mapping(struct ingest_insn *insn, uint32_t id,
                                     const struct insn_mapping *mapping,
                                     struct profile_error *error)
{
    struct insn_process *process = NULL;
    enum profile_status status = process_of(insn, id, &process, error);

    if (status != PROFILE_OK)
        return status;
    forget_places(process);
    if (process->space)
        return map(insn, process, mapping, error);
    if (!base_make_room(&process->mappings, &process->capacity, process->count + 1,
                        sizeof *process->mappings))
        return profile_no_memory(error);
    process->mappings[process->count++] = *mapping;
    return PROFILE_OK;
}

enum profile_status insn_prepare(struct ingest_insn *insn, uint32_t id, struct insn_process **out,
                                 struct profile_error *error)
{
    struct insn_error failure;
    struct insn_process *process = NULL;
    enum profile_status status = process_of(insn, id, &process, error);

    *out = process;
    if (status != PROFILE_OK || process->space)
        return status;
    if (!insn->code && insn_code_open(&insn->code, &failure) != INSN_OK)
        return insn_failed(&failure, error);
    if (insn_space_open(insn->code, &process->space, &failure) != INSN_OK)
        return insn_failed(&failure, error);
    for (size_t i = 0; i < process->count && status == PROFILE_OK; i++)
        status = map(insn, process, &process->mappings[i], error);
    free(process->mappings);
    process->mappings = NULL;
    process->count = process->capacity = 0;
    return status;
}

enum profile_status insn_add_code(struct ingest_insn *insn, uint32_t id, uint64_t address,
                                  struct fxt_bytes bytes, struct profile_error *error)
{
    struct insn_process *process = NULL;
    uint32_t section;
    enum profile_status status = insn_prepare(insn, id, &process, error);
    enum insn_status added;

    if (status != PROFILE_OK || bytes.length == 0)
        return status;
    added = insn_code_add(insn->code, bytes.bytes, bytes.length, &section, NULL);
    if (added == INSN_OK)
        added = insn_space_map(process->space, address, section, 0, bytes.length, NULL);
    return added == INSN_NO_MEMORY ? profile_no_memory(error) : PROFILE_OK;
}

/* ---- Functions ---- */

/* The function of the module that covers the place.  False: memory is short.  */
static bool find_function(const struct insn_process *process, struct insn_place *place)
{
    struct sym_module *symbols = symbols_of(process->insn, place->module);
    uint64_t bias = place->address - place->vaddr;
    struct sym_code_function extent = { .id = 0 };
    enum sym_status status = symbols ? sym_module_function(symbols, place->vaddr, &extent, NULL)
                                     : SYM_NOT_FOUND;

    if (status != SYM_OK)
        return status != SYM_NO_MEMORY;
    place->function.start = extent.start + bias;
    place->function.end = extent.limit + bias;
    place->function.id = (uint64_t)place->module << 32 | extent.id;
    return profile_stacks_string(process->insn->ingest->stacks, extent.name, strlen(extent.name),
                                 &place->name, NULL) == PROFILE_OK;
}

const struct insn_place *insn_place_of(struct insn_process *process, uint64_t address)
{
    struct insn_place *place;

    if (!process->places)
        process->places = calloc(INSN_PLACES, sizeof *process->places);
    if (!process->places)
        return NULL;
    place = &process->places[base_hash(address, 1) % INSN_PLACES];
    if (place->known && place->address == address)
        return place;
    *place = (struct insn_place){ .address = address,
                                  .vaddr = address,
                                  .function = { .start = address, .end = address } };
    if (ingest_map_find(process->insn->ingest, process->id, address, &place->module,
                        &place->vaddr) &&
        !find_function(process, place))
        return NULL;
    place->known = true;
    return place;
}

void insn_code_release(struct ingest_insn *insn)
{
    for (size_t i = 0; i < insn->process_count; i++) {
        struct insn_process *process = insn->processes[i];

        if (!process)
            continue;
        insn_space_close(process->space);
        forget_places(process);
        free(process->mappings);
        free(process);
    }
    free(insn->processes);
    free(insn->sections);
    base_index_release(&insn->section_index);
    insn_code_close(insn->code);
}
