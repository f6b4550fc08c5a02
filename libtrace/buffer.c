#include "libtrace/buffer.h"

#include <string.h>

static struct trace_header *header_of(const struct trace_buffer *buffer)
{
    return (struct trace_header *)buffer->words;
}

/* ---- Sizes ---- */

void trace_buffer_split(uint64_t total, enum trace_mode mode, uint64_t *durable, uint64_t *rolling)
{
    uint64_t room = total - TRACE_HEADER_BYTES;

    *durable = room / 16 < 1u << 20 ? room / 16 : 1u << 20;
    if (mode == TRACE_ONESHOT) {
        *durable = 0;
        *rolling = room;
        return;
    }
    *durable += (room - *durable) & 15;
    *rolling = (room - *durable) / 2;
}

/* Words of the rolling buffer of a oneshot recording that are used as a durable buffer is, so that
 * strings come before the records that refer to them.  */
static uint64_t oneshot_durable_words(uint64_t total)
{
    uint64_t durable, rolling;

    trace_buffer_split(total, TRACE_CIRCULAR, &durable, &rolling);
    return durable / 8;
}

static uint64_t half_words(uint64_t total, enum trace_mode mode)
{
    uint64_t durable, rolling;

    trace_buffer_split(total, mode, &durable, &rolling);
    return rolling / 8 - (mode == TRACE_ONESHOT ? oneshot_durable_words(total) : 0);
}

/* 4 KiB where a half has room for 64 of them, else less: each thread takes one.  */
uint32_t trace_buffer_chunk_words(uint64_t total, enum trace_mode mode)
{
    uint32_t words = 512;

    while (words > 32 && half_words(total, mode) / words < 64)
        words /= 2;
    return words;
}

uint32_t trace_buffer_chunks(uint64_t total, enum trace_mode mode, uint32_t chunk_words)
{
    return (uint32_t)(half_words(total, mode) / chunk_words);
}

/* ---- Making one ---- */

static unsigned halves(const struct trace_buffer *buffer)
{
    return buffer->mode == TRACE_ONESHOT ? 1 : 2;
}

void trace_buffer_init(struct trace_buffer *buffer, void *memory, size_t size, enum trace_mode mode,
                       uint32_t chunk_words, struct trace_chunk *table)
{
    uint64_t durable, rolling;
    uint64_t wrap = trace_state_wrap(buffer->resume) > trace_state_wrap(buffer->state)
                        ? trace_state_wrap(buffer->resume)
                        : trace_state_wrap(buffer->state);

    trace_buffer_split(size, mode, &durable, &rolling);
    buffer->words = memory;
    buffer->size = size;
    buffer->mode = mode;
    buffer->chunk_words = chunk_words;
    buffer->chunks = trace_buffer_chunks(size, mode, chunk_words);
    buffer->table = table;
    buffer->durable_first = TRACE_HEADER_BYTES / 8;
    buffer->durable_words = mode == TRACE_ONESHOT ? oneshot_durable_words(size) : durable / 8;
    buffer->half_words[0] = buffer->durable_first + buffer->durable_words;
    buffer->half_words[1] = buffer->half_words[0] + rolling / 8;
    buffer->resume = trace_state_word(wrap, 0, 0);
    memset(table, 0, 2 * (size_t)buffer->chunks * sizeof *table);
    memset(memory, 0, TRACE_HEADER_BYTES);
    shared_store(&buffer->state, trace_state_word(wrap, TRACE_CLOSED, 0));
}

/* A chunk's place in the buffer; chunks of both halves are numbered together.  */
static uint64_t chunk_word(const struct trace_buffer *buffer, uint64_t chunk)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a buffer has chunks */
    uint64_t half = chunk / buffer->chunks;

    return buffer->half_words[half] + chunk % buffer->chunks * buffer->chunk_words;
}

static struct trace_writer *writer_of(const struct trace_buffer *buffer, uint64_t number)
{
    if (number == 0)
        return NULL;
    return &buffer->slabs[(number - 1) / TRACE_SLAB_WRITERS][(number - 1) % TRACE_SLAB_WRITERS];
}

static uint64_t owner_word(uint64_t wrap, const struct trace_writer *writer)
{
    return wrap << TRACE_CHUNK_BITS | writer->number;
}

static struct trace_writer *owner_of(const struct trace_buffer *buffer, uint64_t owner)
{
    return writer_of(buffer, owner & TRACE_CLOSED);
}

/* Whether it may be writing: it is, or membarrier(2) has failed since it said that it is not.  */
static bool may_be_busy(const struct trace_buffer *buffer, const struct trace_writer *writer)
{
    bool has_membarrier = __atomic_load_n(&buffer->has_membarrier, __ATOMIC_RELAXED);

    return (!has_membarrier && !shared_load(&writer->fenced)) || shared_load(&writer->busy);
}

/* Whether the owner, of which self is none, is still writing to the chunk.  */
static bool is_pinned(const struct trace_buffer *buffer, uint64_t chunk, uint64_t owner,
                      const struct trace_writer *self)
{
    const struct trace_writer *writer = owner_of(buffer, owner);

    return writer && writer != self && chunk >= shared_load(&writer->first) &&
           chunk < shared_load(&writer->limit) && may_be_busy(buffer, writer);
}

/* What is before the record that is still being written can go.  */
static void lay_pinned(struct trace_buffer *buffer, uint64_t chunk, uint64_t owner)
{
    uint64_t start = chunk_word(buffer, chunk);
    uint64_t next = shared_load(&owner_of(buffer, owner)->next);

    if (shared_load(&buffer->table[chunk].first) == chunk && next > start &&
        next - start < buffer->chunk_words)
        shared_store(&buffer->words[start], trace_row(next - start, TRACE_NO_TURN));
}

/* Make every chunk one placeholder, the last one first: what a row covers stays covered until its
 * own header goes.  Nobody claims chunks of this half.  */
static void lay_half(struct trace_buffer *buffer, uint64_t half)
{
    uint64_t rest = half_words(buffer->size, buffer->mode) -
                    (uint64_t)buffer->chunks * buffer->chunk_words;
    uint64_t first = half * buffer->chunks;

    for (uint64_t i = first + buffer->chunks; i-- > first;) {
        uint64_t owner = shared_load(&buffer->table[i].owner);

        if (is_pinned(buffer, i, owner, NULL)) {
            lay_pinned(buffer, i, owner);
            continue;
        }
        shared_store(&buffer->words[chunk_word(buffer, i)], trace_filler(buffer->chunk_words));
        shared_store(&buffer->table[i].first, i);
    }
    if (rest > 0)
        shared_store(&buffer->words[chunk_word(buffer, first) +
                                    (uint64_t)buffer->chunks * buffer->chunk_words],
                     trace_filler(rest));
}

static void lay_durable(struct trace_buffer *buffer)
{
    for (uint64_t i = 0; i < buffer->durable_words; i += TRACE_CELL_WORDS) {
        uint64_t left = buffer->durable_words - i;

        shared_store(&buffer->words[buffer->durable_first + i],
                     trace_filler(left < TRACE_CELL_WORDS ? left : TRACE_CELL_WORDS));
    }
    shared_store(&buffer->durable_used, 0);
}

/* As the header counts them.  */
static uint64_t wraps_of(const struct trace_buffer *buffer, uint64_t wrap)
{
    return (wrap - buffer->first_wrap) & 0xffffffff;
}

static void set_wrapped(struct trace_buffer *buffer, uint64_t wrap)
{
    shared_store(&header_of(buffer)->mode_and_wrapped,
                 (uint64_t)buffer->mode << 16 | wraps_of(buffer, wrap) << 32);
}

static void write_header(struct trace_buffer *buffer)
{
    struct trace_header *header = header_of(buffer);
    uint64_t durable, rolling;

    trace_buffer_split(buffer->size, buffer->mode, &durable, &rolling);
    header->total_size = buffer->size;
    header->durable_size = durable;
    header->rolling_size = rolling;
    shared_store(&header->durable_end, 0);
    shared_store(&header->rolling_end[0], 0);
    shared_store(&header->rolling_end[1], 0);
    shared_store(&header->dropped, 0);
    set_wrapped(buffer, buffer->first_wrap);
    shared_store(&header->magic, TRACE_BUFFER_MAGIC);
}

void trace_buffer_clear(struct trace_buffer *buffer, bool durable)
{
    /* Wraps only grow, so that no writer of long ago takes an old state for the present one.  */
    buffer->first_wrap = (trace_state_wrap(buffer->resume) + 2) & ~UINT64_C(1);
    buffer->resume = trace_state_word(buffer->first_wrap, 0, 0);
    shared_store(&buffer->filled_end[0], 0);
    shared_store(&buffer->filled_end[1], 0);
    if (durable)
        lay_durable(buffer);
    for (unsigned i = 0; i < halves(buffer); i++)
        lay_half(buffer, i);
    write_header(buffer);
}

void trace_buffer_start(struct trace_buffer *buffer)
{
    struct trace_header *header = header_of(buffer);

    /* Ends that are 0 mean: walk from record to record.  */
    shared_store(&header->durable_end, 0);
    shared_store(&header->rolling_end[0], 0);
    shared_store(&header->rolling_end[1], 0);
    shared_store(&buffer->state, buffer->resume);
}

/* ---- Closing ---- */

static void raise_to(uint64_t *word, uint64_t value)
{
    uint64_t seen = shared_load(word);

    while (seen < value && !shared_swap(word, &seen, value))
        continue;
}

static void close_through(struct trace_buffer *buffer, uint64_t wrap)
{
    raise_to(&buffer->closed, wrap);
    shared_barrier(&buffer->has_membarrier);
    raise_to(&buffer->fenced, wrap);
}

/* Wait for writers that are busy where they no longer should be.  */
static bool wait_for_writers(struct trace_buffer *buffer, uint64_t wrap)
{
    uint64_t count = shared_load(&buffer->writer_count);
    unsigned rounds = 0;

    if (!buffer->has_membarrier) /* time for what was announced before membarrier(2) failed */
        (void)shared_wait(NULL, &rounds);
    for (uint64_t i = 1; i <= count; i++) {
        const struct trace_writer *writer = writer_of(buffer, i);

        while (shared_load(&writer->busy) && shared_load(&writer->wrap) <= wrap)
            if (!shared_wait(&writer->busy, &rounds))
                return false;
    }
    return true;
}

static uint64_t end_bytes(const struct trace_buffer *buffer, uint64_t chunk)
{
    uint64_t words = chunk < buffer->chunks ? chunk : buffer->chunks;

    words *= buffer->chunk_words;
    return 8 * (buffer->mode == TRACE_ONESHOT ? buffer->durable_words + words : words);
}

/* Up to the end of what was claimed; the half before it is full, if it was used.  */
static void write_ends(struct trace_buffer *buffer, uint64_t state)
{
    struct trace_header *header = header_of(buffer);
    uint64_t wrap = trace_state_wrap(state);
    unsigned half = buffer->mode == TRACE_ONESHOT ? 0 : wrap & 1;

    shared_store(&header->rolling_end[half], end_bytes(buffer, trace_state_chunk(state)));
    if (buffer->mode == TRACE_CIRCULAR && wrap > buffer->first_wrap)
        shared_store(&header->rolling_end[1 - half], end_bytes(buffer, buffer->chunks));
    if (buffer->mode == TRACE_STREAMING && trace_state_filled(state) >> (1 - half) & 1)
        shared_store(
            &header->rolling_end[1 - half],
            end_bytes(buffer, trace_state_chunk(shared_load(&buffer->filled_end[1 - half]))));
    if (buffer->mode != TRACE_ONESHOT)
        shared_store(&header->durable_end, 8 * shared_load(&buffer->durable_used));
    set_wrapped(buffer, wrap);
}

void trace_buffer_close(struct trace_buffer *buffer)
{
    uint64_t state = shared_load(&buffer->state);

    while (trace_state_chunk(state) != TRACE_CLOSED &&
           !shared_swap(
               &buffer->state, &state,
               trace_state_word(trace_state_wrap(state), TRACE_CLOSED, trace_state_filled(state))))
        continue;
    if (trace_state_chunk(state) != TRACE_CLOSED)
        buffer->resume = state;
    close_through(buffer, trace_state_wrap(state));
}

bool trace_buffer_wait(struct trace_buffer *buffer)
{
    return wait_for_writers(buffer, trace_state_wrap(buffer->resume));
}

void trace_buffer_finish(struct trace_buffer *buffer)
{
    write_ends(buffer, buffer->resume);
}

/* ---- Claiming chunks ---- */

/* What comes after the end of a recording is no loss.  */
static uint64_t *drop(struct trace_buffer *buffer, struct trace_writer *writer)
{
    if (trace_state_chunk(shared_load(&buffer->state)) != TRACE_CLOSED)
        (void)shared_add(&header_of(buffer)->dropped, 1);
    shared_store(&writer->busy, 0);
    return NULL;
}

/* The header is to say in which half the newest records are, also when the program is killed:
 * before the first of them is there.  */
static void raise_wrapped(struct trace_buffer *buffer, uint64_t wrap)
{
    uint64_t count = wraps_of(buffer, wrap);
    uint64_t *word = &header_of(buffer)->mode_and_wrapped, seen = shared_load(word);

    while (seen >> 32 < count &&
           !shared_swap(word, &seen, (uint64_t)buffer->mode << 16 | count << 32))
        continue;
}

/* Circular: the other half can be claimed once nobody begins a record in it any more.  */
static void switch_circular(struct trace_buffer *buffer, uint64_t *state)
{
    uint64_t wrap = trace_state_wrap(*state);

    if (shared_load(&buffer->fenced) < wrap - 1)
        close_through(buffer, wrap - 1);
    if (shared_swap(&buffer->state, state, trace_state_word(wrap + 1, 0, 0)))
        *state = trace_state_word(wrap + 1, 0, 0);
}

/* Streaming: false when the other half has not been saved.  */
static bool switch_streaming(struct trace_buffer *buffer, uint64_t *state)
{
    uint64_t wrap = trace_state_wrap(*state), chunk = trace_state_chunk(*state);
    uint64_t filled = trace_state_filled(*state), half = wrap & 1;
    uint64_t next = trace_state_word(wrap + 1, 0, filled | UINT64_C(1) << half);

    if (filled >> (1 - half) & 1)
        return false;
    if (!shared_swap(&buffer->state, state, next))
        return true;
    *state = next;
    shared_store(&buffer->filled_end[half], trace_state_word(wrap, chunk, 0));
    if (buffer->wake)
        buffer->wake(buffer->wake_own);
    return true;
}

/* Oneshot: the first record that finds no room ends the recording for all.  */
static void end_recording(struct trace_buffer *buffer, uint64_t *state)
{
    uint64_t wrap = trace_state_wrap(*state);

    if (trace_state_chunk(*state) == TRACE_FULL ||
        !shared_swap(&buffer->state, state, trace_state_word(wrap, TRACE_FULL, 0)))
        return;
    close_through(buffer, wrap);
}

/* Own the chunks, unless somebody is inside, a row that began earlier reaches into them, or the
 * writer was so slow that the half has come around and they are another's (of a later wrap: each is
 * given out once a wrap).  From then on others see that they are in use.  */
static bool own_chunks(struct trace_buffer *buffer, struct trace_writer *writer, uint64_t wrap,
                       uint64_t first, uint64_t count)
{
    shared_store(&writer->next, chunk_word(buffer, first));
    shared_store(&writer->first, first);
    shared_store(&writer->limit, first + count);
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t owner = shared_load(&buffer->table[i].owner);
        uint64_t row = shared_load(&buffer->table[i].first);

        if (row < first || row > i || owner >> TRACE_CHUNK_BITS >= wrap ||
            is_pinned(buffer, i, owner, writer) ||
            !shared_swap(&buffer->table[i].owner, &owner, owner_word(wrap, writer)))
            return false;
    }
    return true;
}

/* The chunk after the last one of the row that begins there.  */
static uint64_t row_limit(const struct trace_buffer *buffer, uint64_t first)
{
    uint64_t half_limit = (first / buffer->chunks + 1) * buffer->chunks;
    uint64_t limit = first + 1;

    while (limit < half_limit && shared_load(&buffer->table[limit].first) == first)
        limit++;
    return limit;
}

/* Nothing of what rows that begin in [first, limit) hold can be seen any more, and what of them
 * reaches behind the limit stands for itself.  The first chunk after them.  One word says it all:
 * what it covers may be half of a record.  */
static uint64_t hide_rows(struct trace_buffer *buffer, uint64_t first, uint64_t limit,
                          uint32_t turn)
{
    uint64_t next = first;

    while (next < limit) {
        uint64_t end = row_limit(buffer, next);

        shared_store(&buffer->words[chunk_word(buffer, next)],
                     trace_row((end - next) * buffer->chunk_words, turn));
        next = end;
    }
    for (uint64_t i = limit; i < next; i++)
        shared_store(&buffer->words[chunk_word(buffer, i)], trace_filler(buffer->chunk_words));
    return next;
}

/* Words at the beginning of a row that tell its turn: only circular buffers need them.  */
static uint64_t mark_words(const struct trace_buffer *buffer)
{
    return buffer->mode == TRACE_CIRCULAR ? 1 : 0;
}

/* The claimed chunks become one empty row of the writer's, which begins with its mark.  */
static void take_chunks(struct trace_buffer *buffer, struct trace_writer *writer, uint64_t wrap,
                        uint64_t first, uint64_t count)
{
    uint64_t start = chunk_word(buffer, first), words = count * buffer->chunk_words;
    uint64_t mark = mark_words(buffer), room = words - mark, end;
    uint32_t turn = trace_turn(wraps_of(buffer, wrap));

    raise_wrapped(buffer, wrap);
    end = hide_rows(buffer, first, first + count, turn);
    shared_store(&writer->wrap, wrap);
    shared_store(&writer->next, start + mark);
    writer->end = start + words;
    if (mark > 0)
        shared_store(&buffer->words[start], trace_row(words, turn));
    shared_store(&buffer->words[start + mark],
                 room <= TRACE_WORDS ? trace_filler(room) : trace_row(room, turn));
    if (mark > 0)
        shared_store(&buffer->words[start], trace_row(1, turn));
    for (uint64_t i = first; i < first + count; i++)
        shared_store(&buffer->table[i].first, first);
    for (uint64_t i = first + count; i < end; i++)
        shared_store(&buffer->table[i].first, i);
}

/* Circular: whoever takes the chunk in the middle of a half closes the other one, which makes
 * system calls.  So one thread does at each turn, not all that come to the end at once.  */
static void close_early(struct trace_buffer *buffer, uint64_t wrap, uint64_t chunk, uint64_t count)
{
    uint64_t middle = buffer->chunks / 2;

    if (buffer->mode == TRACE_CIRCULAR && chunk <= middle && middle < chunk + count &&
        shared_load(&buffer->fenced) < wrap - 1)
        close_through(buffer, wrap - 1);
}

/* Make room after the last chunk of a half.  False: there will be none.  */
static bool go_on(struct trace_buffer *buffer, uint64_t *state)
{
    switch (buffer->mode) {
    case TRACE_CIRCULAR:
        switch_circular(buffer, state);
        return true;
    case TRACE_STREAMING:
        return switch_streaming(buffer, state);
    default:
        end_recording(buffer, state);
        return trace_state_chunk(*state) < TRACE_FULL && trace_state_chunk(*state) < buffer->chunks;
    }
}

uint64_t *trace_buffer_claim(struct trace_buffer *buffer, struct trace_writer *writer,
                             uint64_t words)
{
    uint64_t count = (mark_words(buffer) + words - 1) / buffer->chunk_words + 1;
    uint64_t state = shared_load(&buffer->state);
    uint64_t tries = 4 * (uint64_t)buffer->chunks + 16; /* all chunks may be in use */

    if (words > TRACE_LARGE_WORDS || count > buffer->chunks)
        return drop(buffer, writer);
    writer->end = 0; /* its old chunk is given up now, whatever comes */
    for (; tries > 0 && trace_state_chunk(state) < TRACE_FULL; tries--) {
        uint64_t wrap = trace_state_wrap(state), chunk = trace_state_chunk(state);
        uint64_t first = chunk + (buffer->mode == TRACE_ONESHOT ? 0 : (wrap & 1) * buffer->chunks);

        if (count > buffer->chunks - chunk) {
            if (!go_on(buffer, &state))
                break;
            continue;
        }
        if (!shared_swap(&buffer->state, &state, state + count))
            continue;
        if (own_chunks(buffer, writer, wrap, first, count)) {
            take_chunks(buffer, writer, wrap, first, count);
            close_early(buffer, wrap, chunk, count);
            return trace_writer_place(buffer, writer);
        }
        state = shared_load(&buffer->state);
    }
    return drop(buffer, writer);
}

/* ---- Durable records ---- */

bool trace_buffer_put_durable(struct trace_buffer *buffer, const uint64_t *record, uint64_t words)
{
    uint64_t at = buffer->durable_used;
    uint64_t left = TRACE_CELL_WORDS - at % TRACE_CELL_WORDS;
    uint64_t *place, limit;

    if (words > left && left < TRACE_CELL_WORDS)
        at += left;
    limit = (at + words + TRACE_CELL_WORDS - 1) / TRACE_CELL_WORDS * TRACE_CELL_WORDS;
    if (limit > buffer->durable_words)
        limit = buffer->durable_words;
    if (words > TRACE_WORDS || at > limit || words > limit - at)
        return false;
    place = buffer->words + buffer->durable_first + at;
    if (limit - at > words)
        shared_store(&place[words], trace_filler(limit - at - words));
    if (words > TRACE_CELL_WORDS) /* one placeholder over the cells that are overwritten; it fits */
        shared_store(&place[0], trace_filler(words));
    for (uint64_t i = 1; i < words; i++)
        place[i] = record[i];
    shared_store(&place[0], record[0]);
    shared_store(&buffer->durable_used, at + words);
    return true;
}

/* ---- Streaming ---- */

bool trace_buffer_take_filled(struct trace_buffer *buffer, struct trace_filled *filled)
{
    struct trace_header *header = header_of(buffer);
    uint64_t state = shared_load(&buffer->state);
    uint64_t wrap = trace_state_wrap(state) - 1, half = wrap & 1;
    uint64_t end = shared_load(&buffer->filled_end[half]);

    if (!(trace_state_filled(state) >> half & 1) || end == 0 || trace_state_wrap(end) != wrap)
        return false;
    close_through(buffer, wrap);
    (void)wait_for_writers(buffer, wrap);
    shared_store(&header->rolling_end[half], end_bytes(buffer, trace_state_chunk(end)));
    filled->wrapped_count = (uint32_t)(wrap - buffer->first_wrap);
    filled->durable_end = 8 * shared_load(&buffer->durable_used);
    return true;
}

bool trace_buffer_saved(struct trace_buffer *buffer, uint32_t wrapped_count)
{
    uint64_t state = shared_load(&buffer->state);
    uint64_t wrap = trace_state_wrap(state) - 1, half = wrap & 1;
    uint64_t *word = trace_state_chunk(state) == TRACE_CLOSED ? &buffer->resume : &buffer->state;

    if (!(trace_state_filled(state) >> half & 1) ||
        (uint32_t)(wrap - buffer->first_wrap) != wrapped_count)
        return false;
    lay_half(buffer, half);
    shared_store(&header_of(buffer)->rolling_end[half], 0);
    shared_store(&buffer->filled_end[half], 0);
    (void)shared_clear_bits(word, UINT64_C(1) << (62 + half));
    if (word == &buffer->resume)
        (void)shared_clear_bits(&buffer->state, UINT64_C(1) << (62 + half));
    return true;
}
