/* words.c - counts the words of documents that it makes up.  The program of docs/tutorial.md.
 *
 *     words [DOCUMENTS]
 *
 * Two things are wrong with it.  A word is found by looking at every word there is (-DHASHED mends
 * that), and of every eighth document a copy is kept for no reason.  */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE       __attribute__((noinline))
#define WORDS_MAX      4096u /* a power of two */
#define DOCUMENT_WORDS 500

struct entry {
    char word[12]; /* "" is free */
    long count;
};

static struct entry entries[WORDS_MAX];

static inline bool is_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

#ifdef HASHED

static inline uint32_t hash(const char *word)
{
    uint32_t hash = 2166136261u;

    for (; *word; word++)
        hash = (hash ^ (unsigned char)*word) * 16777619u;
    return hash;
}

static NOINLINE struct entry *find_word(const char *word)
{
    uint32_t place = hash(word) % WORDS_MAX;

    while (entries[place].word[0] && !is_same(entries[place].word, word))
        place = (place + 1) % WORDS_MAX;
    return &entries[place];
}

#else

static NOINLINE struct entry *find_word(const char *word)
{
    struct entry *entry = entries;

    while (entry->word[0] && !is_same(entry->word, word))
        entry++;
    return entry;
}

#endif

static NOINLINE void count_words(const char *text)
{
    while (*text) {
        char word[12];
        struct entry *entry;
        size_t length = 0;

        while (*text != ' ')
            word[length++] = *text++;
        word[length] = '\0';
        text++;
        entry = find_word(word);
        if (entry->count++ == 0)
            memcpy(entry->word, word, sizeof word);
    }
}

static uint64_t next_random(void)
{
    static uint64_t state = 1;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Words of 5 to 8 letters, of 600 that there are.  */
static NOINLINE char *make_document(void)
{
    char *text = malloc(DOCUMENT_WORDS * 9 + 1), *next = text;

    if (!text)
        abort();
    for (int i = 0; i < DOCUMENT_WORDS; i++) {
        uint64_t word = next_random() % 600;

        for (uint64_t letter = 0; letter < 5 + word % 4; letter++)
            *next++ = (char)('a' + (word * 7 + letter * word) % 26);
        *next++ = ' ';
    }
    *next = '\0';
    return text;
}

struct kept {
    struct kept *next;
    char text[];
};

static struct kept *history;

static NOINLINE void remember(const char *text)
{
    size_t size = strlen(text) + 1;
    struct kept *kept = malloc(sizeof *kept + size);

    if (!kept)
        abort();
    memcpy(kept->text, text, size);
    kept->next = history;
    history = kept;
}

int main(int argc, char **argv)
{
    long documents = argc > 1 ? strtol(argv[1], NULL, 10) : 4000;
    long total = 0;

    for (long i = 0; i < documents; i++) {
        char *text = make_document();

        count_words(text);
        if (i % 8 == 0)
            remember(text);
        free(text);
    }
    for (size_t i = 0; i < WORDS_MAX; i++)
        total += entries[i].count;
    printf("%ld words\n", total);
    return 0;
}
