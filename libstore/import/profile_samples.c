/* Samples of imported profiles: what they measure, whose they are, and what they add up to.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_types.h>
#include "libstore/import/import_profiles.h"
#include "libstore/store_text.h"

static bool out_of_memory(struct profiles *profiles)
{
    return store_import_fail(profiles->import, STORE_NO_MEMORY, "out of memory");
}

static const char *word_text(const struct profiles *profiles, uint32_t word, size_t *length)
{
    *length = 0;
    return word ? base_texts_get(&profiles->words, word, length) : "";
}

static bool word_is(const struct profiles *profiles, uint32_t word, const char *text)
{
    size_t length;
    const char *bytes = word_text(profiles, word, &length);

    return length == strlen(text) && (length == 0 || memcmp(bytes, text, length) == 0);
}

/* ---- Sample types ---- */

/* The word of a text as sample_type has it, whose texts are unique.  */
static uint32_t clean_word(struct profiles *profiles, uint32_t word)
{
    size_t length;
    const char *bytes = word_text(profiles, word, &length);
    char *clean;
    uint32_t result;

    if (length > STORE_TEXT_BYTES)
        length = store_utf8_cut(bytes, STORE_TEXT_BYTES);
    else if (store_utf8_is_clean(bytes, length))
        return word;
    clean = malloc(3 * length + 1);
    if (!clean) {
        (void)out_of_memory(profiles);
        return 0;
    }
    result = store_profiles_word(profiles, clean, store_utf8_clean(bytes, length, clean));
    free(clean);
    return result;
}

static bool set_type_id(struct profiles *profiles, uint32_t number, int64_t id)
{
    if (!number || !base_make_room(&profiles->type_ids.items, &profiles->type_ids.capacity, number,
                                   sizeof(int64_t)))
        return out_of_memory(profiles);
    profiles->type_ids.items[number - 1] = id;
    return true;
}

static bool load_types(struct profiles *profiles)
{
    struct store_import *import = profiles->import;
    struct store_error error;
    sqlite3_stmt *row = NULL;
    bool ok = true;
    int code = sqlite3_prepare_v2(import->store->db, "SELECT id, type, unit FROM main.sample_type",
                                  -1, &row, NULL);

    if (code == SQLITE_OK)
        while (ok && (code = sqlite3_step(row)) == SQLITE_ROW) {
            const char *type = (const char *)sqlite3_column_text(row, 1);
            const char *unit = (const char *)sqlite3_column_text(row, 2);
            uint32_t first = type ? store_profiles_word(profiles, type, strlen(type)) : 0;
            uint32_t second = unit ? store_profiles_word(profiles, unit, strlen(unit)) : 0;

            ok = first && second
                     ? set_type_id(profiles,
                                   base_pairs_add(&profiles->type_keys, first, second, NULL),
                                   sqlite3_column_int64(row, 0))
                     : out_of_memory(profiles);
        }
    (void)sqlite3_finalize(row);
    if (!ok || code == SQLITE_DONE)
        return ok;
    return store_import_fail(import, store_fail_sqlite(&error, import->store->db, code),
                             error.message);
}

bool store_profiles_open_samples(struct profiles *profiles)
{
    struct store_error error;
    enum store_status status = store_number(profiles->import->store,
                                            "SELECT max(arg_set_id) FROM main.arg",
                                            &profiles->last_arg_set, &error);

    if (status != STORE_OK)
        return store_import_fail(profiles->import, status, error.message);
    return load_types(profiles);
}

bool store_profiles_type(struct profiles *profiles, uint32_t type, uint32_t unit, bool is_default)
{
    if (!base_make_room(&profiles->types, &profiles->type_capacity, profiles->type_count + 1,
                        sizeof *profiles->types))
        return out_of_memory(profiles);
    profiles->types[profiles->type_count++] = (struct store_profile_type){
        .type = type, .unit = unit, .is_default = is_default, .counted_by = SIZE_MAX
    };
    return true;
}

/* sample_type.id, a row of which is written if need be; 0: failed.  */
static int64_t sample_type_id(struct profiles *profiles, const struct store_profile_type *type)
{
    struct store_writer *writer = profiles->import->writer;
    uint32_t words[2] = { clean_word(profiles, type->type), clean_word(profiles, type->unit) };
    struct store_cell *cells;
    uint32_t number;
    int64_t id = 0;
    bool is_new;

    if (!words[0] || !words[1])
        return 0;
    number = base_pairs_add(&profiles->type_keys, words[0], words[1], &is_new);
    if (number && !is_new)
        return profiles->type_ids.items[number - 1];
    if (!number) {
        (void)out_of_memory(profiles);
        return 0;
    }
    cells = store_writer_row(writer, STORE_SAMPLE_TYPE, &id);
    for (size_t i = 0; i < 2; i++) {
        size_t length;
        const char *text = word_text(profiles, words[i], &length);

        if (!cells || !store_writer_text(writer, STORE_SAMPLE_TYPE, &cells[i + 1], text, length))
            return 0;
    }
    return set_type_id(profiles, number, id) ? id : 0;
}

/* The type whose values say how many samples, or objects, those of another stand for.  */
static size_t find_counter(const struct profiles *profiles, const struct store_profile_type *type)
{
    size_t length;
    const char *counter = profile_known_counter(word_text(profiles, type->type, &length))->type;

    if (word_is(profiles, type->unit, "count"))
        return (size_t)(type - profiles->types);
    for (size_t i = 0; i < profiles->type_count; i++)
        if (word_is(profiles, profiles->types[i].type, counter) &&
            word_is(profiles, profiles->types[i].unit, "count"))
            return i;
    return SIZE_MAX;
}

static bool write_type(struct profiles *profiles, size_t index)
{
    struct store_profile_type *type = &profiles->types[index];
    int64_t texts[2] = { store_profiles_string(profiles, type->type),
                         store_profiles_string(profiles, type->unit) };
    struct store_cell *cells;

    type->sample_type_id = sample_type_id(profiles, type);
    type->counted_by = find_counter(profiles, type);
    for (size_t i = 0; i < index; i++)
        type->is_again |= profiles->types[i].sample_type_id == type->sample_type_id;
    if (!texts[0] || !texts[1] || !type->sample_type_id)
        return false;
    cells = store_writer_row(profiles->import->writer, STORE_PROFILE_TYPE, NULL);
    if (!cells)
        return false;
    store_int(&cells[0], profiles->import->capture_id);
    store_int(&cells[1], (int64_t)index);
    store_int(&cells[2], texts[0]);
    store_int(&cells[3], texts[1]);
    store_int(&cells[4], type->sample_type_id);
    store_int(&cells[5], type->is_default);
    if (type->counted_by != SIZE_MAX)
        store_int(&cells[6], (int64_t)type->counted_by);
    return true;
}

static bool write_types(struct profiles *profiles)
{
    bool ok = true;

    for (size_t i = 0; i < profiles->type_count && ok && !profiles->types_written; i++)
        ok = write_type(profiles, i);
    profiles->types_written = true;
    return ok;
}

/* ---- Processes and threads ---- */

/* Write a row of process or thread: its owner, koid and name.  */
static bool write_task(struct profiles *profiles, enum store_table table, int64_t owner,
                       uint64_t koid, uint32_t name)
{
    struct store_writer *writer = profiles->import->writer;
    struct store_cell *cells = store_writer_row(writer, table, NULL);
    const char *text;
    size_t length;

    if (!cells)
        return false;
    store_int(&cells[1], owner);
    store_unsigned(&cells[2], koid);
    text = word_text(profiles, name, &length);
    return !name || store_writer_text(writer, table, &cells[3], text, length);
}

int64_t store_profiles_process(struct profiles *profiles, uint64_t koid, uint32_t name)
{
    bool is_new;
    uint32_t number = base_pairs_add(&profiles->process_keys, koid, name, &is_new);

    if (!number) {
        (void)out_of_memory(profiles);
        return 0;
    }
    if (is_new && !write_task(profiles, STORE_PROCESS, profiles->import->capture_id, koid, name))
        return 0;
    return profiles->import->first_upid + number - 1;
}

int64_t store_profiles_thread(struct profiles *profiles, int64_t upid, uint64_t koid, uint32_t name)
{
    bool is_new;
    /* A thread of a process and name first, then with its koid: keys are pairs.  */
    uint32_t place = base_pairs_add(&profiles->place_keys, (uint64_t)upid, name, NULL);
    uint32_t number = place ? base_pairs_add(&profiles->thread_keys, place, koid, &is_new) : 0;

    if (!number) {
        (void)out_of_memory(profiles);
        return 0;
    }
    if (is_new && !write_task(profiles, STORE_THREAD, upid, koid, name))
        return 0;
    return profiles->import->first_utid + number - 1;
}

/* ---- Labels ---- */

/* What labels say of whose a sample is.  */
struct said {
    bool has_pid, has_tid;
    uint64_t pid, tid;
    uint32_t process, thread; /* words */
};

enum meaning { MEANS_NOTHING, MEANS_PID, MEANS_TID, MEANS_PROCESS, MEANS_THREAD };

/* Ours, perf_to_profile's, and what other writers have for them.  */
static enum meaning meaning_of(const struct profiles *profiles, uint32_t key)
{
    static const struct {
        const char *key;
        enum meaning meaning;
    } keys[] = {
        { "pid", MEANS_PID },
        { "process_id", MEANS_PID },
        { "tid", MEANS_TID },
        { "thread_id", MEANS_TID },
        { "thread id", MEANS_TID },
        { "process", MEANS_PROCESS },
        { "comm", MEANS_PROCESS },
        { "process_name", MEANS_PROCESS },
        { "thread", MEANS_THREAD },
        { "thread_comm", MEANS_THREAD },
        { "thread_name", MEANS_THREAD },
        { "thread name", MEANS_THREAD },
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (word_is(profiles, key, keys[i].key))
            return keys[i].meaning;
    return MEANS_NOTHING;
}

/* The number of a label, also one that is written as text.  */
static bool label_number(const struct profiles *profiles, const struct store_profile_label *label,
                         uint64_t *out)
{
    size_t length;
    const char *text = word_text(profiles, label->text, &length);

    *out = (uint64_t)label->number;
    if (length == 0)
        return label->number >= 0;
    *out = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || length > 18)
            return false;
        *out = *out * 10 + (uint64_t)(text[i] - '0');
    }
    return true;
}

/* Of two labels with one meaning the first holds.  */
static void note_label(const struct profiles *profiles, const struct store_profile_label *label,
                       struct said *said)
{
    uint64_t number;
    bool is_number = label_number(profiles, label, &number);

    switch (meaning_of(profiles, label->key)) {
    case MEANS_PID:
        said->pid = is_number && !said->has_pid ? number : said->pid;
        said->has_pid |= is_number;
        break;
    case MEANS_TID:
        said->tid = is_number && !said->has_tid ? number : said->tid;
        said->has_tid |= is_number;
        break;
    case MEANS_PROCESS:
        said->process = said->process ? said->process : label->text;
        break;
    case MEANS_THREAD:
        said->thread = said->thread ? said->thread : label->text;
        break;
    case MEANS_NOTHING:
        break;
    }
}

static bool find_owner(struct profiles *profiles, const struct store_profile_label *labels,
                       size_t count, struct profile_owner_ids *owner)
{
    struct said said = { .has_pid = false };

    for (size_t i = 0; i < count; i++)
        note_label(profiles, &labels[i], &said);
    owner->upid = store_profiles_process(profiles, said.pid, said.process);
    if (owner->upid && (said.has_tid || said.thread))
        owner->utid = store_profiles_thread(profiles, owner->upid, said.tid, said.thread);
    return owner->upid && (owner->utid || !(said.has_tid || said.thread));
}

/* What is no text for SQLite is a blob.  */
static bool write_value(struct profiles *profiles, struct store_cell *cell, uint32_t word)
{
    size_t length;
    const char *text = word_text(profiles, word, &length);

    return store_profiles_is_text(text, length)
               ? store_writer_text(profiles->import->writer, STORE_ARG, cell, text, length)
               : store_writer_bytes(profiles->import->writer, STORE_ARG, cell, text, length);
}

static bool write_label(struct profiles *profiles, int64_t set, size_t ordinal,
                        const struct store_profile_label *label)
{
    uint32_t empty = label->key ? label->key : store_profiles_word(profiles, "", 0);
    int64_t key = empty ? store_profiles_string(profiles, empty) : 0;
    int64_t unit = label->unit ? store_profiles_string(profiles, label->unit) : 0;
    struct store_cell *cells;

    if (!key || (label->unit && !unit))
        return false;
    cells = store_writer_row(profiles->import->writer, STORE_ARG, NULL);
    if (!cells)
        return false;
    store_int(&cells[0], set);
    store_int(&cells[1], (int64_t)ordinal);
    store_int(&cells[2], key);
    store_int(&cells[3], label->text ? FXT_ARG_STRING : FXT_ARG_INT64);
    store_int(&cells[4], label->number);
    if (label->text && !write_value(profiles, &cells[4], label->text))
        return false;
    if (!unit && !(label->text && label->number))
        return true;
    cells = store_writer_row(profiles->import->writer, STORE_PROFILE_LABEL, NULL);
    if (!cells)
        return false;
    store_int(&cells[0], set);
    store_int(&cells[1], (int64_t)ordinal);
    if (label->text)
        store_id(&cells[2], label->number);
    store_id(&cells[3], unit);
    return true;
}

static bool write_labels(struct profiles *profiles, const struct store_profile_label *labels,
                         size_t count, struct profile_owner_ids *owner)
{
    *owner = (struct profile_owner_ids){ .arg_set_id = 0 };
    if (!find_owner(profiles, labels, count, owner))
        return false;
    if (count > 0)
        owner->arg_set_id = ++profiles->last_arg_set;
    for (size_t i = 0; i < count; i++)
        if (!write_label(profiles, owner->arg_set_id, i, &labels[i]))
            return false;
    return true;
}

bool store_profiles_labels(struct profiles *profiles, const struct store_profile_label *labels,
                           size_t count, struct profile_owner_ids *out)
{
    bool is_new;
    uint32_t number = base_texts_add(&profiles->label_sets, (const char *)labels,
                                     count * sizeof *labels, &is_new);

    if (!number || !base_make_room(&profiles->owners, &profiles->owner_capacity, number,
                                   sizeof *profiles->owners))
        return out_of_memory(profiles);
    if (is_new && !write_labels(profiles, labels, count, &profiles->owners[number - 1]))
        return false;
    *out = profiles->owners[number - 1];
    return true;
}

/* ---- Samples ---- */

/* Sums stop where 64 bits do.  */
static void add_integer(uint64_t *sum, int64_t more)
{
    int64_t result;

    if (__builtin_add_overflow((int64_t)*sum, more, &result))
        result = more > 0 ? INT64_MAX : INT64_MIN;
    *sum = (uint64_t)result;
}

/* Whether the values of a type are counts themselves, so that both sums are one.  */
static bool counts_itself(const struct profiles *profiles, const struct store_profile_type *type)
{
    return type->counted_by == (size_t)(type - profiles->types);
}

static void make_real(struct store_profile_type *type, bool counts)
{
    for (size_t i = 0; i < type->sums.keys.count; i++) {
        struct store_sum *sum = &type->sums.items[i];

        sum->value.real = (double)(int64_t)sum->value.integer;
        if (counts)
            sum->n.real = (double)(int64_t)sum->n.integer;
    }
    type->is_real = true;
}

/* How many a value of another type than its counter stands for: folded stacks alone have fractions,
 * and their types count themselves.  */
static int64_t count_of(const struct store_profile_type *type,
                        const struct store_profile_sample *sample)
{
    if (type->counted_by >= sample->value_count || sample->values[type->counted_by].is_real)
        return 1;
    return sample->values[type->counted_by].integer;
}

static bool add_to_sum(struct profiles *profiles, struct store_profile_type *type,
                       const struct store_profile_sample *sample, int64_t callsite,
                       const struct store_profile_value *value)
{
    bool counts = counts_itself(profiles, type);
    struct store_sum *sum;

    if (type->is_again)
        return true;
    sum = store_sums_at(&type->sums, sample->owner.upid, callsite);
    if (!sum)
        return out_of_memory(profiles);
    if (value->is_real && !type->is_real)
        make_real(type, counts);
    if (!type->is_real || !counts)
        add_integer(&sum->n.integer, count_of(type, sample));
    if (!type->is_real)
        add_integer(&sum->value.integer, value->integer);
    else
        sum->value.real += value->is_real ? value->real : (double)value->integer;
    if (type->is_real && counts)
        sum->n.real = sum->value.real;
    return true;
}

static bool write_values(struct profiles *profiles, const struct store_profile_sample *sample,
                         int64_t id, int64_t callsite)
{
    for (size_t i = 0; i < sample->value_count; i++) {
        const struct store_profile_value *value = &sample->values[i];
        struct store_profile_type *type = &profiles->types[i];
        struct store_cell *cells = store_writer_row(profiles->import->writer, STORE_PROFILE_VALUE,
                                                    NULL);

        if (!cells || !add_to_sum(profiles, type, sample, callsite, value))
            return false;
        store_int(&cells[0], id);
        store_int(&cells[1], (int64_t)i);
        store_int(&cells[2], type->sample_type_id);
        if (value->is_real)
            store_real(&cells[3], value->real);
        else
            store_int(&cells[3], value->integer);
    }
    return true;
}

/* Little-endian, whatever the machine is.  */
static bool write_locations(struct profiles *profiles, struct store_cell *cell,
                            const struct store_profile_sample *sample)
{
    unsigned char *bytes = malloc(4 * sample->location_count + 1);
    bool ok;

    if (!bytes)
        return out_of_memory(profiles);
    for (size_t i = 0; i < 4 * sample->location_count; i++)
        bytes[i] = (unsigned char)(sample->locations[i / 4] >> 8 * (i % 4));
    ok = store_writer_bytes(profiles->import->writer, STORE_PROFILE_SAMPLE, cell, bytes,
                            4 * sample->location_count);
    free(bytes);
    return ok;
}

bool store_profiles_sample(struct profiles *profiles, const struct store_profile_sample *sample)
{
    int64_t callsite = sample->callsite ? profiles->callsites.items[sample->callsite - 1] : 0;
    struct store_cell *cells;
    int64_t id;

    if (!write_types(profiles))
        return false;
    cells = store_writer_row(profiles->import->writer, STORE_PROFILE_SAMPLE, &id);
    if (!cells)
        return false;
    store_int(&cells[1], profiles->import->capture_id);
    store_int(&cells[2], sample->owner.upid);
    store_id(&cells[3], sample->owner.utid);
    store_id(&cells[4], callsite);
    store_id(&cells[5], sample->owner.arg_set_id);
    if (sample->locations && !write_locations(profiles, &cells[6], sample))
        return false;
    profiles->result->samples++;
    return write_values(profiles, sample, id, callsite);
}

/* ---- Sums ---- */

static bool write_sum(struct profiles *profiles, const struct store_profile_type *type,
                      uint32_t index)
{
    const struct base_pair *key = &type->sums.keys.items[index];
    const struct store_sum *sum = &type->sums.items[index];
    struct store_cell *cells = store_writer_row(profiles->import->writer, STORE_CALLSITE_SUM, NULL);

    if (!cells)
        return false;
    store_int(&cells[0], profiles->import->capture_id);
    store_int(&cells[1], type->sample_type_id);
    store_unsigned(&cells[2], key->a);
    store_unsigned(&cells[3], key->b);
    if (type->is_real && counts_itself(profiles, type))
        store_real(&cells[4], sum->n.real);
    else
        store_unsigned(&cells[4], sum->n.integer);
    if (type->is_real)
        store_real(&cells[5], sum->value.real);
    else
        store_unsigned(&cells[5], sum->value.integer);
    return true;
}

struct place {
    struct base_pair key;
    uint32_t index;
};

static int compare_places(const void *a, const void *b)
{
    const struct base_pair *x = &((const struct place *)a)->key;
    const struct base_pair *y = &((const struct place *)b)->key;

    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

/* In the order of the table, which has no other.  */
static bool write_type_sums(struct profiles *profiles, const struct store_profile_type *type)
{
    size_t count = type->sums.keys.count;
    struct place *places = calloc(count + 1, sizeof *places);
    bool ok = true;

    if (!places)
        return out_of_memory(profiles);
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){ type->sums.keys.items[i], (uint32_t)i };
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count && ok; i++)
        ok = write_sum(profiles, type, places[i].index);
    free(places);
    return ok;
}

bool store_profiles_write_sums(struct profiles *profiles)
{
    bool ok = write_types(profiles);

    for (size_t i = 0; i < profiles->type_count && ok; i++)
        ok = write_type_sums(profiles, &profiles->types[i]);
    return ok;
}

void store_profiles_samples_release(struct profiles *profiles)
{
    for (size_t i = 0; i < profiles->type_count; i++)
        store_sums_release(&profiles->types[i].sums);
    free(profiles->types);
    free(profiles->owners);
    free(profiles->type_ids.items);
    base_pairs_release(&profiles->type_keys);
    base_texts_release(&profiles->label_sets);
    base_pairs_release(&profiles->process_keys);
    base_pairs_release(&profiles->place_keys);
    base_pairs_release(&profiles->thread_keys);
}
