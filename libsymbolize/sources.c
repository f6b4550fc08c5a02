/* sources.c - what the paths that a user named hold: files, .build-id trees, flat directories, and
 * directories of ELF files, which are indexed once (section 3).  */
#include "libsymbolize/sym_session.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/grow.h"
#include "base/hex.h"

enum {
    DEPTH_MAX = 32,        /* of directories */
    ENTRIES_MAX = 1 << 20, /* of directories, all together: a whole file system is a mistake */
    BUILD_ID_MIN = 2 * 8,  /* digits of a file name that is a build ID */
};

/* What reading the build ID of a file may take, without what SYM_ROOM_PER_BYTE adds.  */
static const int64_t FILE_ROOM = (int64_t)64 << 20;

/* A file of an indexed directory.  */
struct indexed {
    uint64_t key; /* the first bytes of its build ID; who takes it compares all */
    char *path;   /* owned */
};

struct sym_source {
    char *path; /* owned */
    enum sym_source_kind kind;
    bool done; /* the index is made, or not needed */
    struct indexed *items;
    size_t count, capacity;
    size_t left;              /* entries that may still be looked at */
    struct sym_unread unread; /* owns its path */
};

enum sym_status sym_sources_new(const char *const *paths, size_t count, struct sym_source **out)
{
    struct sym_source *sources = calloc(count + 1, sizeof *sources);

    *out = sources;
    if (!sources)
        return SYM_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        sources[i].path = sym_format("%s", paths[i]);
        if (!sources[i].path)
            return SYM_NO_MEMORY;
        sources[i].left = ENTRIES_MAX;
    }
    return SYM_OK;
}

void sym_sources_free(struct sym_source *sources, size_t count)
{
    for (size_t i = 0; sources && i < count; i++) {
        for (size_t k = 0; k < sources[i].count; k++)
            base_free(sources[i].items[k].path);
        base_free(sources[i].items);
        base_free((char *)sources[i].unread.path);
        base_free(sources[i].path);
    }
    base_free(sources);
}

void sym_session_unread(const struct sym_session *session, struct sym_unread *out)
{
    *out = (struct sym_unread){ .count = 0 };
    for (size_t i = 0; i < session->source_count; i++) {
        const struct sym_unread *unread = &session->sources[i].unread;

        if (!out->path) {
            out->path = unread->path;
            out->system_errno = unread->system_errno;
        }
        out->count += unread->count;
        out->stopped |= unread->stopped;
    }
}

const char *sym_source_path(const struct sym_session *session, size_t source)
{
    return session->sources[source].path;
}

enum sym_source_kind sym_source_kind(const struct sym_session *session, size_t index)
{
    struct sym_source *source = &session->sources[index];
    struct stat facts;

    if (source->kind != SYM_SOURCE_UNSEEN)
        return source->kind;
    if (stat(source->path, &facts) != 0)
        source->kind = SYM_SOURCE_MISSING;
    else
        source->kind = S_ISDIR(facts.st_mode) ? SYM_SOURCE_DIRECTORY : SYM_SOURCE_FILE;
    return source->kind;
}

/* ---- Names made of build IDs ---- */

struct sym_hex sym_hex_of(const uint8_t *id, size_t length)
{
    struct sym_hex hex;

    if (length > SYM_BUILD_ID_MAX)
        length = SYM_BUILD_ID_MAX;
    hex.text[base_hex(hex.text, id, length)] = '\0';
    return hex;
}

/* Takes path; visits it if a file is there.  */
static enum sym_status visit_if_there(char *path, sym_visit_fn visit, void *context)
{
    enum sym_status status = SYM_OK;
    struct stat info;

    if (!path)
        return SYM_NO_MEMORY;
    if (stat(path, &info) == 0 && !S_ISDIR(info.st_mode))
        status = visit(context, path);
    base_free(path);
    return status;
}

/* directory/xx/yyyy.debug, directory/xx/yyyy; and as perf keeps what it has recorded, in ~/.debug,
 * directory/xx/yyyy/elf, directory/xx/yyyy/debug.  */
static enum sym_status visit_halves(const char *directory, const struct sym_hex *hex,
                                    sym_visit_fn visit, void *context)
{
    static const char *const suffixes[] = { ".debug", "", "/elf", "/debug" };
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !status; i++)
        status = visit_if_there(
            sym_format("%s/%.2s/%s%s", directory, hex->text, hex->text + 2, suffixes[i]), visit,
            context);
    return status;
}

enum sym_status sym_visit_tree(const char *root, const uint8_t *id, size_t id_length,
                               sym_visit_fn visit, void *context)
{
    struct sym_hex hex = sym_hex_of(id, id_length);

    if (id_length < 2 || id_length > SYM_BUILD_ID_MAX)
        return SYM_OK;
    char *tree = sym_format("%s/.build-id", root);
    if (!tree)
        return SYM_NO_MEMORY;
    enum sym_status status = visit_halves(tree, &hex, visit, context);
    base_free(tree);
    return status;
}

/* directory/xxyyyy.debug, directory/xxyyyy.  */
static enum sym_status visit_flat(const char *directory, const struct sym_hex *hex,
                                  sym_visit_fn visit, void *context)
{
    enum sym_status status = visit_if_there(sym_format("%s/%s.debug", directory, hex->text), visit,
                                            context);

    return status ? status
                  : visit_if_there(sym_format("%s/%s", directory, hex->text), visit, context);
}

/* Files and directories whose names are build IDs or parts of them: found without an index.  */
static bool is_found_by_name(const char *name, size_t depth)
{
    size_t digits = strspn(name, "0123456789abcdef");

    if (depth == 0 && digits == 2 && name[2] == '\0')
        return true;
    return depth == 0 && digits >= BUILD_ID_MIN &&
           (name[digits] == '\0' || strcmp(name + digits, ".debug") == 0);
}

/* ---- Index ---- */

static uint64_t key_of(const uint8_t *id, size_t length)
{
    uint64_t key = 0;

    for (size_t i = 0; i < 8 && i < length; i++)
        key = key << 8 | id[i];
    return key;
}

/* Count what errno says of directory/name, or of directory itself: name is NULL.  What is removed
 * meanwhile was never there.  */
static void count_unread(struct sym_source *source, const char *directory, const char *name)
{
    int error = errno;

    if (error == ENOENT || source->unread.count++ > 0)
        return;
    source->unread.system_errno = error;
    source->unread.path = name ? sym_format("%s/%s", directory, name) : sym_format("%s", directory);
}

/* Whether it is worth while to open the file: ELF, a packed kernel module, or a Breakpad symbol
 * file.  */
static bool may_be_elf(struct sym_source *source, const char *path, int directory, const char *name)
{
    uint8_t magic[6] = { 0 };
    struct sym_bytes bytes = { magic, sizeof magic };
    struct stat facts;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) {
        if (errno != ENXIO && errno != ELOOP) /* a socket; a link that leads nowhere */
            count_unread(source, path, name);
        return false;
    }
    bool read = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
                pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic;
    (void)close(fd);
    if (!read)
        return false;
    return memcmp(magic, "\177ELF", 4) == 0 || memcmp(magic, "MODULE", 6) == 0 ||
           (sym_packing_of(bytes) != SYM_PACKING_NONE && strstr(name, ".ko."));
}

/* Reads the build ID of a file.  One that takes too much memory cannot be used, as others that
 * cannot be opened.  */
static enum sym_status read_build_id(const char *path, uint64_t *key, bool *known)
{
    struct base_account account = { .limit = FILE_ROOM };
    struct base_account *before = base_account_enter(&account);
    struct sym_object *object;
    enum sym_status status = sym_object_open(path, SYM_OBJECT_MAIN, &object, NULL);

    if (!status) {
        *key = key_of(object->build_id, object->build_id_length);
        *known = object->build_id_length != 0;
        sym_object_free(object);
    }
    (void)base_account_enter(before);
    return status == SYM_NO_MEMORY && account.exceeded ? SYM_MALFORMED : status;
}

/* Takes path.  */
static enum sym_status index_file(struct sym_source *source, char *path)
{
    struct indexed *items = source->items;
    uint64_t key = 0;
    bool known = false;
    enum sym_status status = path ? read_build_id(path, &key, &known) : SYM_NO_MEMORY;

    if (status) {
        base_free(path);
        return status == SYM_NO_MEMORY ? status : SYM_OK;
    }
    if (known)
        items = base_grow(items, &source->capacity, source->count + 1, sizeof *items);
    if (!known || !items) {
        base_free(path);
        return known ? SYM_NO_MEMORY : SYM_OK;
    }
    source->items = items;
    items[source->count++] = (struct indexed){ .key = key, .path = path };
    return SYM_OK;
}

static bool is_directory(int parent, const struct dirent *entry)
{
    struct stat facts;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(parent, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(facts.st_mode);
}

/* Indexes a directory and those below it.  One that cannot be read is counted.  */
/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH_MAX deep */
static enum sym_status index_directory(struct sym_source *source, const char *path, size_t depth)
{
    DIR *directory = depth < DEPTH_MAX ? opendir(path) : NULL;
    enum sym_status status = SYM_OK;
    const struct dirent *entry;

    if (!directory) {
        errno = depth < DEPTH_MAX ? errno : ENAMETOOLONG;
        count_unread(source, path, NULL);
        return SYM_OK;
    }
    while (!status && source->left && (entry = readdir(directory))) {
        const char *name = entry->d_name;
        source->unread.stopped = --source->left == 0;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_found_by_name(name, depth))
            continue;
        bool below = is_directory(dirfd(directory), entry);
        if (!below && !may_be_elf(source, path, dirfd(directory), name))
            continue;
        char *full = sym_format("%s/%s", path, name);
        if (!below) {
            status = index_file(source, full);
            continue;
        }
        status = full ? index_directory(source, full, depth + 1) : SYM_NO_MEMORY;
        base_free(full);
    }
    (void)closedir(directory);
    return status;
}

/* By build ID, then by path, so that the order of a directory does not matter.  */
static int compare_indexed(const void *a, const void *b)
{
    const struct indexed *left = a, *right = b;

    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return strcmp(left->path, right->path);
}

static enum sym_status fill_index(struct sym_source *source)
{
    char *tree = sym_format("%s/.build-id", source->path);
    enum sym_status status = SYM_OK;

    if (!tree)
        return SYM_NO_MEMORY;
    bool has_tree = access(tree, F_OK) == 0;
    base_free(tree);
    if (!has_tree)
        status = index_directory(source, source->path, 0);
    if (source->count)
        qsort(source->items, source->count, sizeof *source->items, compare_indexed);
    source->done = !status;
    return status;
}

/* It is the session's, not the module's that needs it first.  */
static enum sym_status make_index(struct sym_source *source)
{
    struct base_account *before = base_account_enter(NULL);
    enum sym_status status = fill_index(source);

    (void)base_account_enter(before);
    return status;
}

static enum sym_status visit_indexed(struct sym_source *source, const uint8_t *id, size_t id_length,
                                     sym_visit_fn visit, void *context)
{
    enum sym_status status = source->done ? SYM_OK : make_index(source);
    uint64_t key = key_of(id, id_length);
    size_t low = 0, high = source->count;

    /* The first with that key.  */
    BASE_BISECT(low, high, i, source->items[i].key < key);
    for (; !status && low < source->count && source->items[low].key == key; low++)
        status = visit(context, source->items[low].path);
    return status;
}

enum sym_status sym_source_visit(struct sym_session *session, size_t index, const uint8_t *id,
                                 size_t id_length, sym_visit_fn visit, void *context)
{
    struct sym_source *source = &session->sources[index];
    struct sym_hex hex = sym_hex_of(id, id_length);

    if (id_length < 2 || id_length > SYM_BUILD_ID_MAX)
        return SYM_OK;
    enum sym_status status = sym_visit_tree(source->path, id, id_length, visit, context);
    if (!status)
        status = visit_halves(source->path, &hex, visit, context);
    if (!status)
        status = visit_flat(source->path, &hex, visit, context);
    return status ? status : visit_indexed(source, id, id_length, visit, context);
}
