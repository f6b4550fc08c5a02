#include "libsymbolize/text_fields.h"
#include <string.h>

bool sym_take_line(struct sym_bytes *text, struct sym_bytes *line)
{
    const uint8_t *end = text->size ? memchr(text->data, '\n', text->size) : NULL;

    if (!text->size)
        return false;
    *line = (struct sym_bytes){ text->data, end ? (size_t)(end - text->data) : text->size };
    size_t used = line->size + (end != NULL);
    text->data += used;
    text->size -= used;
    line->size -= line->size && line->data[line->size - 1] == '\r';
    return true;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

void sym_skip_blanks(struct sym_bytes *line)
{
    while (line->size && is_blank(*line->data)) {
        line->data++;
        line->size--;
    }
}

struct sym_bytes sym_take_word(struct sym_bytes *line)
{
    struct sym_bytes word;

    sym_skip_blanks(line);
    word = (struct sym_bytes){ .data = line->data };
    while (word.size < line->size && !is_blank(line->data[word.size]))
        word.size++;
    line->data += word.size;
    line->size -= word.size;
    return word;
}

int sym_hex_digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

bool sym_word_hex(struct sym_bytes word, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < word.size; i++) {
        int digit = sym_hex_digit(word.data[i]);
        if (digit < 0)
            return false;
        *value = *value << 4 | (uint64_t)digit;
    }
    return word.size > 0 && word.size <= 16;
}

bool sym_word_decimal(struct sym_bytes word, uint32_t *value)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < word.size && sum <= UINT32_MAX; i++) {
        if (word.data[i] < '0' || word.data[i] > '9')
            return false;
        sum = sum * 10 + (uint64_t)(word.data[i] - '0');
    }
    *value = (uint32_t)sum;
    return word.size > 0 && sum <= UINT32_MAX;
}

bool sym_begins_with(struct sym_bytes line, const char *text)
{
    size_t length = strlen(text);

    return line.size >= length && memcmp(line.data, text, length) == 0;
}
