/* unwind_gdb FILE: unwind stacks that tests/tools/gdb_stacks.py wrote, and compare the frames with
 * those of gdb.
 *
 * Prints "FUNCTION <tab> STACKS <tab> EQUAL" for each function, and each stack that differs.  The
 * status is 1 if there is one.  */
#include <fxt/unwind.h>

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLACES = 256, MOST_FRAMES = 512, REGISTERS = 17, MOST_STACK = 1 << 16 };

static struct unwind_place places[MOST_PLACES];
static char *paths[MOST_PLACES];
static size_t place_count;

static struct unwind_registers registers = { .machine = UNWIND_X86_64, .known = 0xffff };
static uint8_t memory[MOST_STACK];
static struct unwind_piece piece = { .bytes = memory };

/* ---- Places ---- */

static struct unwind_table *table_of(const char *path)
{
    struct unwind_table *table = NULL;

    for (size_t i = 0; i < place_count; i++)
        if (strcmp(paths[i], path) == 0)
            return places[i].table;
    (void)unwind_table_open_path(path, "", &table, NULL);
    return table;
}

/* A program that is linked for one place; others have their first segment at vaddr 0.  */
static bool is_fixed(const char *path)
{
    unsigned char header[18] = { 0 };
    FILE *file = fopen(path, "rb");
    bool fixed = file && fread(header, sizeof header, 1, file) == 1 && header[16] == ET_EXEC;

    if (file)
        (void)fclose(file);
    return fixed;
}

static void add_place(const char *line)
{
    struct unwind_place *place = &places[place_count];
    char rights[5], path[512] = "";
    uint64_t offset;

    if (place_count == MOST_PLACES ||
        sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %511s", &place->start,
               &place->limit, rights, &offset, path) < 4)
        return;
    place->kind = !strchr(rights, 'x') ? UNWIND_PLACE_NOTHING
                  : path[0] == '/'     ? UNWIND_PLACE_OBJECT
                                       : UNWIND_PLACE_OTHER;
    place->bias = offset == 0 && !is_fixed(path) ? place->start : 0;
    for (size_t i = place_count; offset != 0 && i-- > 0;)
        if (strcmp(paths[i], path) == 0)
            place->bias = places[i].bias;
    place->table = path[0] == '/' ? table_of(path) : NULL;
    paths[place_count++] = strdup(path);
}

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    (void)context;
    for (size_t i = 0; i < place_count; i++)
        if (address >= places[i].start && address < places[i].limit)
            *out = places[i];
}

/* ---- Stops ---- */

static size_t read_numbers(const char *line, uint64_t *out, size_t most)
{
    size_t count = 0;
    char *end;

    for (; count < most; line = end) {
        out[count] = strtoull(line, &end, 16);
        if (end == line)
            break;
        count++;
    }
    return count;
}

static void read_registers(const char *line)
{
    uint64_t numbers[REGISTERS] = { 0 };

    (void)read_numbers(line, numbers, REGISTERS);
    memcpy(registers.values, numbers, 16 * sizeof *numbers);
    registers.pc = numbers[16];
}

static void read_memory(const char *line)
{
    char *end;

    piece.address = strtoull(line, &end, 16);
    piece.size = 0;
    for (end += *end == ' '; piece.size < MOST_STACK && end[0] > ' ' && end[1] > ' '; end += 2) {
        const char pair[] = { end[0], end[1], '\0' };

        memory[piece.size++] = (uint8_t)strtoul(pair, NULL, 16);
    }
}

static void print_frames(const char *name, const uint64_t *frames, size_t count)
{
    printf("  %s:", name);
    for (size_t i = 0; i < count; i++)
        printf(" %" PRIx64, frames[i]);
    printf("\n");
}

/* Whether the frames are those of gdb.  */
static bool compare(struct unwind_walker *walker, const char *name, const char *line)
{
    static uint64_t addresses[MOST_FRAMES], theirs[MOST_FRAMES];
    static uint8_t found[MOST_FRAMES];
    const struct unwind_map map = { .find = find };
    struct unwind_stack stack = { .addresses = addresses, .found = found, .capacity = MOST_FRAMES };
    size_t count = read_numbers(line, theirs, MOST_FRAMES);

    if (unwind_walk(walker, &registers, &(struct unwind_memory){ &piece, 1 }, &map, &stack) ==
            UNWIND_OK &&
        stack.end == UNWIND_END_COMPLETE && stack.count == count &&
        memcmp(addresses, theirs, count * sizeof *theirs) == 0)
        return true;
    printf("%s differs: %s\n", name, unwind_end_name(stack.end));
    print_frames("ours", addresses, stack.count);
    print_frames("gdb", theirs, count);
    return false;
}

int main(int argc, char **argv)
{
    char *line = NULL, name[64] = "";
    size_t room = 0, all = 0, equal = 0, differ = 0;
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    struct unwind_walker *walker;

    if (!file || unwind_walker_open(&walker, NULL) != UNWIND_OK)
        return 4;
    while (getline(&line, &room, file) > 2) {
        switch (line[0]) {
        case 'P':
            add_place(line + 2);
            break;
        case 'S':
            line[strcspn(line, "\n")] = '\0';
            if (all > 0 && strcmp(name, line + 2) != 0) {
                printf("%s\t%zu\t%zu\n", name, all, equal);
                all = equal = 0;
            }
            (void)snprintf(name, sizeof name, "%s", line + 2);
            break;
        case 'R':
            read_registers(line + 2);
            break;
        case 'M':
            read_memory(line + 2);
            break;
        default:
            all++;
            if (compare(walker, name, line + 2))
                equal++;
            else
                differ++;
        }
    }
    printf("%s\t%zu\t%zu\n", name, all, equal);
    free(line);
    (void)fclose(file);
    unwind_walker_close(walker);
    for (size_t i = 0; i < place_count; i++) {
        bool is_shared = false;

        for (size_t k = 0; k < i; k++)
            is_shared |= places[k].table == places[i].table;
        if (!is_shared)
            unwind_table_close(places[i].table);
    }
    for (size_t i = 0; i < place_count; i++)
        free(paths[i]);
    return differ > 0;
}
