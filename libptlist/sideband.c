/* sideband.c - the files beside the packets: the list, the kernel's records, load maps.  */
#include "libptlist/ptlist_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"

#define MOST_BYTES ((size_t)256 << 20) /* of a file */
#define MOST_CPUS  64U                 /* that Fuchsia's driver traces */
#define SUFFIX     ".ptlist"

bool ptlist_is(const char *path)
{
    size_t length = strlen(path), suffix = strlen(SUFFIX);

    return length > suffix && strcmp(path + length - suffix, SUFFIX) == 0;
}

/* ---- Files ---- */

/* The contents of a file, with a NUL after them.  NULL: errno.  */
static char *read_file(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), failure;
    struct stat info;
    char *text = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0) {
        *size = (size_t)info.st_size;
        errno = S_ISDIR(info.st_mode) ? EISDIR : S_ISREG(info.st_mode) ? EFBIG : ENOTSUP;
        if (S_ISREG(info.st_mode) && (uint64_t)info.st_size <= MOST_BYTES)
            text = calloc(*size + 1, 1);
    }
    failure = text ? base_read_at(fd, text, *size, 0) : errno;
    (void)close(fd);
    if (failure == 0)
        return text;
    free(text);
    errno = failure;
    return NULL;
}

void ptlist_miss(struct ptlist_sideband *sideband, const char *path)
{
    struct ptlist_counts *counts = &sideband->counts;

    if (counts->missing_files++ > 0)
        return;
    counts->missing_errno = errno;
    counts->first_missing = strdup(path);
}

/* The file beside the list; NULL: not there, or not readable.  */
static char *read_beside(struct ptlist_sideband *sideband, const char *list, const char *suffix,
                         bool is_optional, size_t *size)
{
    size_t stem = strlen(list) - strlen(SUFFIX);
    char path[4096], *text = NULL;

    errno = ENAMETOOLONG;
    if (snprintf(path, sizeof path, "%.*s%s", (int)stem, list, suffix) < (int)sizeof path)
        text = read_file(path, size);
    if (!text && !(is_optional && errno == ENOENT))
        ptlist_miss(sideband, path);
    return text;
}

/* The path as it is, or relative to the folder of the list, or its last part there: the packets
 * were copied from another machine.  NULL: no memory.  */
static char *resolve(const char *list, const char *path)
{
    size_t folder = (size_t)(base_name(list) - list);
    const char *names[] = { path, base_name(path) };
    char *found;

    if (path[0] == '/' && access(path, F_OK) == 0)
        return strdup(path);
    for (size_t i = 0; i < 2; i++) {
        if (names[i][0] == '/')
            continue;
        if (asprintf(&found, "%.*s%s", (int)folder, list, names[i]) < 0)
            return NULL;
        if (access(found, F_OK) == 0)
            return found;
        free(found);
    }
    return strdup(path);
}

/* ---- Lines ---- */

/* Take each line but comments and empty ones.  False: no memory.  */
static bool take_lines(struct ptlist_sideband *sideband, const char *list, char *text,
                       bool (*take)(struct ptlist_sideband *sideband, const char *list,
                                    const char *line))
{
    for (char *line = text, *end; line && *line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        if (line[0] && line[0] != '#' && !take(sideband, list, line))
            return false;
    }
    return true;
}

/* "0 /tmp/ptout.cpu0.pt"  */
static bool take_file(struct ptlist_sideband *sideband, const char *list, const char *line)
{
    struct ptlist_file *file;
    char *end;
    unsigned long long cpu = strtoull(line, &end, 10);

    if (end == line || *end != ' ' || !end[1] || cpu >= MOST_CPUS) {
        sideband->counts.bad_lines++;
        return true;
    }
    if (!base_make_room(&sideband->files, &sideband->file_capacity, sideband->file_count + 1,
                        sizeof *sideband->files))
        return false;
    file = &sideband->files[sideband->file_count];
    *file = (struct ptlist_file){ .cpu = (uint32_t)cpu, .path = resolve(list, end + 1) };
    sideband->file_count += file->path != NULL;
    return file->path != NULL;
}

static bool take_cpuid(struct ptlist_sideband *sideband, const char *list, const char *line)
{
    unsigned value;

    (void)list;
    if (sscanf(line, "mtc_freq: %3u", &value) == 1 && value <= 15)
        sideband->config.mtc_freq = (uint8_t)value;
    return true;
}

/* ---- Load maps ---- */

static void take_build_id(struct ptlist_module *module, const char *hex)
{
    unsigned byte;

    module->build_id_length = 0;
    while (module->build_id_length < sizeof module->build_id && sscanf(hex, "%2x", &byte) == 1 &&
           hex[1]) {
        module->build_id[module->build_id_length++] = (uint8_t)byte;
        hex += 2;
    }
}

/* The module that lines "pid:sequence" are about, the latest one.  NULL: none.  */
static struct ptlist_module *find_module(const struct ptlist_sideband *sideband, uint64_t koid,
                                         uint32_t sequence)
{
    for (size_t i = sideband->module_count; i-- > 0;)
        if (sideband->modules[i].koid == koid && sideband->modules[i].sequence == sequence)
            return &sideband->modules[i];
    return NULL;
}

static void forget_modules(struct ptlist_sideband *sideband)
{
    while (sideband->module_count > 0)
        free(sideband->modules[--sideband->module_count].name);
}

static bool add_module(struct ptlist_sideband *sideband, const struct ptlist_module *module)
{
    if (!base_make_room(&sideband->modules, &sideband->module_capacity, sideband->module_count + 1,
                        sizeof *sideband->modules))
        return false;
    sideband->modules[sideband->module_count++] = *module;
    return true;
}

/* Three lines a module: "…@trace_load: PID:SEQa BASE START END", "…b BUILD-ID", "…c NAME SONAME".
 */
static bool take_load(struct ptlist_sideband *sideband, const char *list, const char *line)
{
    static const char mark[] = "@trace_load: ";
    const char *at = strstr(line, mark);
    struct ptlist_module module = { .koid = 0 }, *known;
    char word[512], letter;
    int used = 0;

    (void)list;
    if (strstr(line, "welcome to Zircon")) /* the machine was started again */
        forget_modules(sideband);
    if (!at)
        return true;
    at += strlen(mark);
    if (sscanf(at, "%" SCNu64 ":%" SCNu32 "%c%n", &module.koid, &module.sequence, &letter, &used) !=
        3) {
        sideband->counts.bad_lines++;
        return true;
    }
    at += used;
    known = find_module(sideband, module.koid, module.sequence);
    if (letter == 'a' &&
        sscanf(at, " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64, &module.base, &module.start,
               &module.limit) == 3 &&
        module.start < module.limit && module.base <= module.start)
        return add_module(sideband, &module);
    if (letter == 'b' && known && sscanf(at, " %511s", word) == 1) {
        take_build_id(known, word);
    } else if (letter == 'c' && known && !known->name && sscanf(at, " %511s", word) == 1) {
        known->name = strdup(word);
        return known->name != NULL;
    } else {
        sideband->counts.bad_lines++;
    }
    return true;
}

/* "BUILD-ID PATH": modules with this build ID are this file.  */
static bool take_id(struct ptlist_sideband *sideband, const char *list, const char *line)
{
    struct ptlist_module key = { .koid = 0 };
    char word[80], path[4000], *resolved;

    if (sscanf(line, "%79s %3999s", word, path) != 2) {
        sideband->counts.bad_lines++;
        return true;
    }
    take_build_id(&key, word);
    resolved = resolve(list, path);
    for (size_t i = 0; resolved && i < sideband->module_count; i++) {
        struct ptlist_module *module = &sideband->modules[i];
        char *name;

        if (module->build_id_length != key.build_id_length ||
            memcmp(module->build_id, key.build_id, key.build_id_length) != 0)
            continue;
        name = strdup(resolved);
        if (!name) {
            free(resolved);
            return false;
        }
        free(module->name);
        module->name = name;
    }
    free(resolved);
    return path[0] == '\0' || resolved != NULL;
}

/* ---- Records of the kernel ---- */

/* Tags are group, event, flags and the size in words of 8 bytes.  */
enum {
    EVENT_TICKS_PER_MS = 0x001,
    EVENT_PROCESS_NAME = 0x022,
    EVENT_IPT_START = 0x200,
    EVENT_IPT_CPU_INFO = 0x201,
    EVENT_IPT_PROCESS_CREATE = 0x203,
    NAME_START = 12,
    WORDS_START = 16,
    SMALLEST = 16,
    LARGE = 32,
};

static uint32_t load_u32(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint64_t load_u64(const uint8_t *bytes)
{
    return load_u32(bytes) | (uint64_t)load_u32(bytes + 4) << 32;
}

static bool add_process(struct ptlist_sideband *sideband, const uint8_t *record)
{
    if (!base_make_room(&sideband->processes, &sideband->process_capacity,
                        sideband->process_count + 1, sizeof *sideband->processes))
        return false;
    sideband->processes[sideband->process_count++] =
        (struct ptlist_process){ .koid = load_u64(record + WORDS_START),
                                 .cr3 = load_u64(record + WORDS_START + 8),
                                 .ticks = load_u64(record + 8) };
    return true;
}

static bool add_name(struct ptlist_sideband *sideband, const uint8_t *record, size_t size)
{
    struct ptlist_name *name;

    if (!base_make_room(&sideband->names, &sideband->name_capacity, sideband->name_count + 1,
                        sizeof *sideband->names))
        return false;
    name = &sideband->names[sideband->name_count++];
    name->koid = load_u32(record + 4);
    (void)snprintf(name->text, sizeof name->text, "%.*s", (int)(size - NAME_START),
                   (const char *)record + NAME_START);
    return true;
}

static bool take_record(struct ptlist_sideband *sideband, const uint8_t *record, size_t size)
{
    const uint8_t *words = record + WORDS_START;
    uint32_t event = load_u32(record) >> 8 & 0xfff;

    if (event == EVENT_PROCESS_NAME)
        return add_name(sideband, record, size);
    if (size < LARGE)
        return true;
    switch (event) {
    case EVENT_TICKS_PER_MS:
        sideband->ticks_per_ms = load_u64(words);
        return true;
    case EVENT_IPT_START: /* the last one counts */
        sideband->config.nom_freq = (uint8_t)load_u32(words);
        sideband->kernel_cr3 = load_u64(words + 8);
        return true;
    case EVENT_IPT_CPU_INFO:
        sideband->config.family = (uint16_t)load_u32(words + 4);
        sideband->config.model = (uint8_t)load_u32(words + 8);
        sideband->config.stepping = (uint8_t)load_u32(words + 12);
        return true;
    case EVENT_IPT_PROCESS_CREATE:
        return add_process(sideband, record);
    default:
        return true;
    }
}

static bool take_records(struct ptlist_sideband *sideband, const uint8_t *bytes, size_t left)
{
    while (left >= 4 && load_u32(bytes) != 0) { /* the rest of the kernel's buffer is zero */
        size_t size = (size_t)(load_u32(bytes) & 0xf) << 3;

        if (size < SMALLEST || size > left) {
            sideband->counts.bad_records++;
            return true;
        }
        if (!take_record(sideband, bytes, size))
            return false;
        bytes += size;
        left -= size;
    }
    return true;
}

/* ---- All of them ---- */

static bool read_all(struct ptlist_sideband *sideband, const char *path, char *list)
{
    size_t size = 0;
    char *ktrace = read_beside(sideband, path, ".ktrace", false, &size);
    bool fine = take_lines(sideband, path, list, take_file) &&
                (!ktrace || take_records(sideband, (const uint8_t *)ktrace, size));
    char *cpuid = read_beside(sideband, path, ".cpuid", false, &size);
    char *map = read_beside(sideband, path, ".map", false, &size);
    char *ids = read_beside(sideband, path, ".ids", true, &size);

    fine = fine && (!cpuid || take_lines(sideband, path, cpuid, take_cpuid)) &&
           (!map || take_lines(sideband, path, map, take_load)) &&
           (!ids || take_lines(sideband, path, ids, take_id));
    free(ktrace);
    free(cpuid);
    free(map);
    free(ids);
    return fine;
}

bool ptlist_read_sideband(struct ptlist_sideband *sideband, const char *path, char *message,
                          size_t size)
{
    size_t length;
    char *list = read_file(path, &length);

    if (!list) {
        (void)snprintf(message, size, "%s: %s", path,
                       errno == EFBIG     ? "larger than 256 MiB"
                       : errno == ENOTSUP ? "not a regular file"
                                          : strerror(errno));
        return false;
    }
    message[0] = '\0';
    if (!read_all(sideband, path, list))
        (void)snprintf(message, size, "out of memory");
    else if (sideband->file_count == 0)
        (void)snprintf(message, size, "%s: no line names a file of packets (\"CPU PATH\")", path);
    free(list);
    return message[0] == '\0';
}

void ptlist_release_sideband(struct ptlist_sideband *sideband)
{
    while (sideband->file_count > 0)
        free(sideband->files[--sideband->file_count].path);
    forget_modules(sideband);
    free(sideband->counts.first_missing);
    free(sideband->files);
    free(sideband->processes);
    free(sideband->names);
    free(sideband->modules);
}
