/* symbolize_build.h - objects for the tests of libsymbolize, compiled when a test wants them.  */
#ifndef TESTS_SYMBOLIZE_BUILD_H
#define TESTS_SYMBOLIZE_BUILD_H

#include <fxt/symbolize.h>

enum { BUILT_FRAMES_MAX = 8 };

/* A new empty folder, below $WORK when that is set; exits when there can be none.  */
const char *build_folder(void);
void build_remove(void);

/* build_folder()/name; the caller frees it.  */
char *build_path(const char *name);
void build_write(const char *name, const char *text);

/* Runs a shell command in the folder, with $CC set; exits when it fails.  */
void build_run(const char *command);

/* The address of a symbol of the object name, by nm; 0: none.  */
uint64_t build_symbol(const char *name, const char *symbol);

/* The first answer for one address, copied.  */
struct built_answer {
    size_t calls; /* how often the library answered */
    size_t count;
    struct sym_frame frames[BUILT_FRAMES_MAX];
};

bool built_keep(void *context, size_t index, const struct sym_frame *frames, size_t count);

#endif /* TESTS_SYMBOLIZE_BUILD_H */
