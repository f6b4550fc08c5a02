/* go_build_id.h - what identifies a Go program that has no build ID of GNU's kind.
 *
 * Go's linker writes such a build ID since Go 1.24.  All versions write a note of their own,
 * .note.go.buildid, with four texts of 20 characters each (cmd/go/internal/work/buildid.go):
 *
 *     actionID(binary)/actionID(main.a)/contentID(main.a)/contentID(binary)
 *
 * The last one is 15 bytes, in base64url, of a hash of all of the program but these texts: it takes
 * the place of the build ID.  Texts of other forms, such as "redacted", identify nothing.  */
#ifndef BASE_GO_BUILD_ID_H
#define BASE_GO_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BASE_GO_NOTE_TYPE = 4,      /* of notes whose name is "Go\0\0" */
    BASE_GO_BUILD_ID_TEXT = 83, /* bytes */
    BASE_GO_BUILD_ID = 15,      /* bytes of the build ID */
};

static inline int base_go_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* False: text is of another form, and out is not set.  */
static inline bool base_go_build_id(const char *text, size_t length, uint8_t out[BASE_GO_BUILD_ID])
{
    uint8_t id[BASE_GO_BUILD_ID];

    if (length != BASE_GO_BUILD_ID_TEXT)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((text[i] == '/') != (i % 21 == 20) || (text[i] != '/' && base_go_digit(text[i]) < 0))
            return false;
    text += length - 20;
    for (size_t i = 0; i < 5; i++) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++)
            bits = bits << 6 | (uint32_t)base_go_digit(text[4 * i + k]);
        id[3 * i] = (uint8_t)(bits >> 16);
        id[3 * i + 1] = (uint8_t)(bits >> 8);
        id[3 * i + 2] = (uint8_t)bits;
    }
    for (size_t i = 0; i < sizeof id; i++)
        out[i] = id[i];
    return true;
}

#endif /* BASE_GO_BUILD_ID_H */
