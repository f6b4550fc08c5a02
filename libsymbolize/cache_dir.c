/* cache_dir.c - the directory of the symbol cache.
 *
 * Nothing is locked.  A file appears under its name complete or not at all; whoever has it open
 * keeps it although it is replaced or deleted; of two writers the later one wins.  So any number of
 * processes may read, write and delete at once. */
#include "libsymbolize/cache_pack.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/hex.h"

/* NAME.sym: a cache file.  NAME.seen: a note.  NAME.PID-N.tmp: being written.  */
#define CACHE_SUFFIX ".sym"
#define NOTE_SUFFIX  ".seen"
#define DRAFT_SUFFIX ".tmp"

static const uint64_t DEFAULT_LIMIT = UINT64_C(2) << 30;

enum {
    DRAFT_TRIES = 16,
    DRAFT_SECONDS = 60 * 60,          /* after which its writer has died */
    NOTE_SECONDS = 90 * 24 * 60 * 60, /* after which a first visit is forgotten */
};

/* ---- Names ---- */

static void file_name(char name[SYM_CACHE_NAME_MAX], const struct sym_cache_key *key,
                      const char *suffix)
{
    size_t length = base_hex(name, key->build_id, key->build_id_length);

    (void)snprintf(name + length, SYM_CACHE_NAME_MAX - length, "%s", suffix);
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);

    return length > end && strcmp(name + length - end, suffix) == 0;
}

char *sym_cache_dir_path(const struct sym_cache_dir *dir, const struct sym_cache_key *key)
{
    char name[SYM_CACHE_NAME_MAX];

    file_name(name, key, CACHE_SUFFIX);
    return sym_format("%s/%s", dir->path, name);
}

/* ---- Opening ---- */

/* The user's, in memory from malloc(); NULL and SYM_NOT_FOUND without a home.  */
static enum sym_status default_path(char **out)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (base && base[0] == '/') /* a relative one is to be ignored, says the specification */
        *out = sym_format("%s/fxt/symbols", base);
    else if (home && home[0] == '/')
        *out = sym_format("%s/.cache/fxt/symbols", home);
    else
        return SYM_NOT_FOUND;
    return *out ? SYM_OK : SYM_NO_MEMORY;
}

enum sym_status sym_cache_dir_limit(uint64_t *limit, struct sym_error *error)
{
    const char *text = getenv("FXT_SYMBOL_CACHE_BYTES");
    char *end = NULL;

    *limit = DEFAULT_LIMIT;
    if (!text || !text[0])
        return SYM_OK;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno || *end)
        return sym_fail(error, SYM_INVALID,
                        "FXT_SYMBOL_CACHE_BYTES: '%.40s' is not a number of bytes", text);
    *limit = value;
    return SYM_OK;
}

/* Makes the directories of path that are missing, for the user alone.  */
static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* opening it tells whether it is there now */
        *slash = '/';
    }
    (void)mkdir(path, 0700);
}

/* Files of others could hold names that they chose.  */
static enum sym_status check_owner(const struct sym_cache_dir *dir, struct sym_error *error)
{
    struct stat info;

    if (fstat(dir->fd, &info) != 0)
        return sym_fail(error, SYM_IO, "%s: %s", dir->path, strerror(errno));
    if (info.st_uid != geteuid())
        return sym_fail(error, SYM_IO, "%s: it belongs to another user", dir->path);
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return sym_fail(error, SYM_IO, "%s: other users may write there", dir->path);
    return SYM_OK;
}

enum sym_status sym_cache_dir_open(struct sym_cache_dir *dir, const char *path, uint64_t limit,
                                   struct sym_error *error)
{
    enum sym_status status = SYM_OK;

    *dir = (struct sym_cache_dir){ .fd = -1, .limit = limit };
    if (path)
        dir->path = sym_format("%s", path);
    else
        status = default_path(&dir->path);
    if (status == SYM_NOT_FOUND)
        return sym_fail(error, status, "no home directory");
    if (!dir->path)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir->fd < 0 && errno == ENOENT && dir->path[0]) {
        make_directories(dir->path);
        dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (dir->fd < 0)
        status = sym_fail(error, SYM_IO, "%s: %s", dir->path, strerror(errno));
    else
        status = check_owner(dir, error);
    if (status)
        sym_cache_dir_close(dir);
    return status;
}

void sym_cache_dir_close(struct sym_cache_dir *dir)
{
    if (dir->path && dir->fd >= 0)
        (void)close(dir->fd);
    base_free(dir->path);
    *dir = (struct sym_cache_dir){ .fd = -1 };
}

/* ---- Files ---- */

/* A regular file of the user's; -1: there is none.  */
static int open_own(const struct sym_cache_dir *dir, const char *name, struct stat *info)
{
    int fd = openat(dir->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return -1;
    if (fstat(fd, info) == 0 && S_ISREG(info->st_mode) && info->st_uid == geteuid())
        return fd;
    (void)close(fd);
    return -1;
}

/* Reading does not change the time of access everywhere, so the time of change says when a file was
 * used last.  */
int sym_cache_dir_find(const struct sym_cache_dir *dir, const struct sym_cache_key *key,
                       uint64_t *size)
{
    char name[SYM_CACHE_NAME_MAX];
    struct stat info;

    file_name(name, key, CACHE_SUFFIX);
    int fd = open_own(dir, name, &info);
    if (fd < 0)
        return -1;
    (void)futimens(fd, NULL);
    *size = (uint64_t)info.st_size;
    return fd;
}

void sym_cache_dir_drop(const struct sym_cache_dir *dir, const struct sym_cache_key *key)
{
    char name[SYM_CACHE_NAME_MAX];

    file_name(name, key, CACHE_SUFFIX);
    (void)unlinkat(dir->fd, name, 0);
}

/* ---- Notes ---- */

/* An empty note is a visit; one of 8 bytes is a refusal, with the inputs it is about.  */
struct sym_cache_note sym_cache_dir_note(const struct sym_cache_dir *dir,
                                         const struct sym_cache_key *key)
{
    char name[SYM_CACHE_NAME_MAX];
    uint8_t bytes[8];
    struct stat info;
    struct sym_cache_note note = { 0 };

    file_name(name, key, NOTE_SUFFIX);
    int fd = open_own(dir, name, &info);
    if (fd < 0)
        return note;
    note.visited = true;
    note.refused = read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes;
    if (note.refused)
        note.inputs = load_u64(bytes);
    (void)close(fd);
    return note;
}

static void write_note(const struct sym_cache_dir *dir, const struct sym_cache_key *key,
                       bool refused)
{
    char name[SYM_CACHE_NAME_MAX];
    uint8_t bytes[8];

    file_name(name, key, NOTE_SUFFIX);
    store_u64(bytes, key->inputs);
    int fd = openat(dir->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (refused && write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes)
        (void)unlinkat(dir->fd, name, 0);
    (void)close(fd);
}

void sym_cache_dir_note_visit(const struct sym_cache_dir *dir, const struct sym_cache_key *key)
{
    write_note(dir, key, false);
}

void sym_cache_dir_note_refusal(const struct sym_cache_dir *dir, const struct sym_cache_key *key)
{
    write_note(dir, key, true);
}

/* ---- The limit ---- */

struct entry {
    char *name; /* owned */
    uint64_t size;
    struct timespec used;
};

struct entries {
    struct entry *items;
    size_t count, capacity;
    uint64_t total;
};

static int compare_used(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    if (left->used.tv_sec != right->used.tv_sec)
        return left->used.tv_sec < right->used.tv_sec ? -1 : 1;
    if (left->used.tv_nsec != right->used.tv_nsec)
        return left->used.tv_nsec < right->used.tv_nsec ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* Deletes what a writer that died left, and notes that nobody came back to.  */
static bool is_litter(const char *name, const struct stat *info)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    time_t age = now.tv_sec - info->st_mtim.tv_sec;
    return (has_suffix(name, DRAFT_SUFFIX) && age > DRAFT_SECONDS) ||
           (has_suffix(name, NOTE_SUFFIX) && age > NOTE_SECONDS);
}

/* false: no memory.  */
static bool add_entry(const struct sym_cache_dir *dir, const char *name, struct entries *entries)
{
    struct stat info;

    if (fstatat(dir->fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return true;
    if (is_litter(name, &info))
        (void)unlinkat(dir->fd, name, 0);
    if (!has_suffix(name, CACHE_SUFFIX))
        return true;
    if (!base_make_room(&entries->items, &entries->capacity, entries->count + 1,
                        sizeof *entries->items))
        return false;
    entries->items[entries->count] = (struct entry){ .name = sym_format("%s", name),
                                                     .size = (uint64_t)info.st_size,
                                                     .used = info.st_mtim };
    if (!entries->items[entries->count].name)
        return false;
    entries->total += entries->items[entries->count++].size;
    return true;
}

static bool list_entries(const struct sym_cache_dir *dir, struct entries *entries)
{
    int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    bool complete = listing != NULL;

    if (!listing && fd >= 0)
        (void)close(fd);
    while (complete) {
        const struct dirent *item = readdir(listing);
        if (!item)
            break;
        complete = add_entry(dir, item->d_name, entries);
    }
    if (listing)
        (void)closedir(listing);
    return complete;
}

/* Deletes the files that were not used for longest, but never keep.  */
static void keep_limit(const struct sym_cache_dir *dir, const char *keep)
{
    struct entries entries = { 0 };

    if (list_entries(dir, &entries) && entries.count)
        qsort(entries.items, entries.count, sizeof *entries.items, compare_used);
    for (size_t i = 0; i < entries.count && entries.total > dir->limit; i++) {
        const struct entry *entry = &entries.items[i];
        if (strcmp(entry->name, keep) == 0)
            continue;
        (void)unlinkat(dir->fd, entry->name, 0); /* gone is gone, whoever did it */
        entries.total -= entry->size;
    }
    for (size_t i = 0; i < entries.count; i++)
        base_free(entries.items[i].name);
    base_free(entries.items);
}

/* ---- Writing ---- */

bool sym_cache_dir_draft(const struct sym_cache_dir *dir, const struct sym_cache_key *key,
                         struct sym_cache_draft *draft)
{
    static atomic_uint counter; /* sessions of several threads may write the same file */
    char suffix[48];

    draft->fd = -1;
    for (int i = 0; i < DRAFT_TRIES && draft->fd < 0; i++) {
        unsigned number = atomic_fetch_add(&counter, 1);
        (void)snprintf(suffix, sizeof suffix, ".%ld-%u" DRAFT_SUFFIX, (long)getpid(), number);
        file_name(draft->name, key, suffix);
        draft->fd = openat(dir->fd, draft->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           0600);
        if (draft->fd < 0 && errno != EEXIST)
            break;
    }
    return draft->fd >= 0;
}

void sym_cache_dir_discard(const struct sym_cache_dir *dir, struct sym_cache_draft *draft)
{
    if (draft->fd < 0)
        return;
    (void)close(draft->fd);
    (void)unlinkat(dir->fd, draft->name, 0);
    draft->fd = -1;
}

bool sym_cache_dir_publish(const struct sym_cache_dir *dir, const struct sym_cache_key *key,
                           struct sym_cache_draft *draft, uint64_t size)
{
    char name[SYM_CACHE_NAME_MAX], note[SYM_CACHE_NAME_MAX];

    file_name(name, key, CACHE_SUFFIX);
    file_name(note, key, NOTE_SUFFIX);
    if (size > dir->limit || renameat(dir->fd, draft->name, dir->fd, name) != 0) {
        sym_cache_dir_discard(dir, draft);
        return false;
    }
    (void)close(draft->fd);
    draft->fd = -1;
    (void)unlinkat(dir->fd, note, 0);
    keep_limit(dir, name);
    return true;
}
