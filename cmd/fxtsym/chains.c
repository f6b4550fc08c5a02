/* Frames of many answers, in a sixth of the room of their text.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtsym/fxtsym.h"

/* Equal strings of a module have equal pointers.  */
static bool equal_names(const struct sym_frame *a, const struct sym_frame *b)
{
    return a->function == b->function && a->linkage_name == b->linkage_name && a->file == b->file &&
           a->start_line == b->start_line && a->inlined == b->inlined && a->source == b->source &&
           a->discriminator == b->discriminator && a->has_start == b->has_start &&
           a->start_vaddr == b->start_vaddr && a->start_file == b->start_file;
}

static uint64_t hash_name(const struct sym_frame *frame)
{
    uint64_t names = base_hash((uintptr_t)frame->function, (uintptr_t)frame->linkage_name);

    uint64_t numbers = (uint64_t)frame->discriminator << 32 | frame->start_line;

    return base_hash(base_hash(base_hash(names, (uintptr_t)frame->file), numbers),
                     frame->start_vaddr);
}

/* The number of the name of frame.  Units repeat names, and answers that are far apart share them:
 * each is stored once, so that the processor's caches hold them in any order of answers.  */
static uint32_t name_of(struct chains *chains, const struct sym_frame *frame)
{
    uint64_t hash = hash_name(frame);
    size_t probe;

    for (uint32_t id = base_index_first(&chains->by_name, hash, &probe); id;
         id = base_index_next(&chains->by_name, hash, &probe))
        if (equal_names(&chains->names[id - 1], frame))
            return id - 1;
    chains->names = cli_grow(chains->names, &chains->name_capacity, chains->name_count + 1,
                             sizeof *chains->names);
    if (!base_index_reserve(&chains->by_name))
        cli_out_of_memory();
    chains->names[chains->name_count++] = *frame;
    base_index_add(&chains->by_name, hash, (uint32_t)chains->name_count);
    return (uint32_t)chains->name_count - 1;
}

static bool is_frame(const struct chains *chains, uint32_t number, const struct sym_frame *frame)
{
    const struct chain *chain = &chains->items[number];

    return chain->line == frame->line && chain->column == frame->column &&
           equal_names(&chains->names[chain->name], frame);
}

/* Answers come by address: most frames of an answer are those of the answer before.  */
uint32_t chains_add(struct chains *chains, const struct sym_frame *frames, size_t count)
{
    uint32_t outer = CHAIN_END;
    bool shared = true;

    chains->path = cli_grow(chains->path, &chains->path_capacity, count, sizeof *chains->path);
    for (size_t depth = 0; depth < count; depth++) {
        const struct sym_frame *frame = &frames[count - 1 - depth];

        shared = shared && depth < chains->path_length &&
                 is_frame(chains, chains->path[depth], frame);
        if (!shared) {
            struct chain chain = { .outer = outer,
                                   .name = name_of(chains, frame),
                                   .line = frame->line,
                                   .column = frame->column };
            chains->items = cli_grow(chains->items, &chains->capacity, chains->count + 1,
                                     sizeof *chains->items);
            if (chains->count >= CHAIN_END)
                cli_out_of_memory();
            chains->path[depth] = (uint32_t)chains->count;
            chains->items[chains->count++] = chain;
        }
        outer = chains->path[depth];
    }
    chains->path_length = count;
    return outer;
}

const struct sym_frame *chains_frames(struct chains *chains, uint32_t number, size_t *count)
{
    *count = 0;
    while (number != CHAIN_END) {
        const struct chain *chain = &chains->items[number];

        chains->frames = cli_grow(chains->frames, &chains->frame_capacity, *count + 1,
                                  sizeof *chains->frames);
        struct sym_frame *frame = &chains->frames[(*count)++];
        *frame = chains->names[chain->name];
        frame->line = chain->line;
        frame->column = chain->column;
        number = chain->outer;
    }
    return chains->frames;
}

void chains_fetch(const struct chains *chains, uint32_t number, unsigned step)
{
    if (step == 0 && number != CHAIN_END)
        __builtin_prefetch(&chains->items[number]);
    for (; step && number != CHAIN_END; number = chains->items[number].outer) {
        const struct sym_frame *name = &chains->names[chains->items[number].name];

        if (step == 1) {
            __builtin_prefetch(name);
        } else {
            __builtin_prefetch(name->function);
            __builtin_prefetch(name->function + 64); /* names are long; nothing is read there */
            __builtin_prefetch(name->linkage_name);
            __builtin_prefetch(name->file);
        }
    }
}

void chains_clear(struct chains *chains)
{
    chains->count = chains->name_count = chains->path_length = 0;
    base_index_release(&chains->by_name);
    chains->by_name = (struct base_index){ .slots = NULL };
}

void chains_release(struct chains *chains)
{
    free(chains->items);
    free(chains->names);
    base_index_release(&chains->by_name);
    free(chains->path);
    free(chains->frames);
    *chains = (struct chains){ .items = NULL };
}
