/* What libsymbolize reads of DWARF, beside libdwarf: every entry that covers code, its name, its
 * ranges and where it was called from; every row of every line table.  */
#include "libsymbolize/symbolize_internal.h"
#include "tests/support/symbolize_build.h"

#include <check.h>
#include <libdwarf/libdwarf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

/* No headers: other machines have none here.  */
static const char c_source[] =
    "extern volatile int sink; volatile int sink; void abort(void);\n"
    "static inline __attribute__((always_inline)) int deep(int x)\n"
    "{ if (__builtin_expect(x == 7, 0)) sink = x * 3; return x + sink; }\n"
    "static inline __attribute__((always_inline)) int middle(int x) { return deep(x) + deep(-x); "
    "}\n"
    "static __attribute__((noinline)) int local(int x) { return middle(x) + middle(x + 1); }\n"
    "__attribute__((cold, noinline)) void fail(int x) { sink = deep(x); }\n"
    "int calls(int x) { if (x > 100) fail(x); int s = 0;\n"
    "    for (int i = 0; i < x; i++) { int y = local(i); s += middle(y); } return s; }\n"
    "struct s { int a; struct { int b; enum { RED, BLUE } c; } d[3]; int (*f)(struct s *, int); "
    "};\n"
    "int uses(struct s *s) { return s->f ? s->f(s, s->d[1].b) : calls(s->a); }\n";

static const char cc_source[] =
    "volatile int sink;\n"
    "namespace outer { namespace { template <class T> inline T twice(T x) { sink += x; return x * "
    "2; } }\n"
    "struct base { virtual int go(int) = 0; virtual ~base() {} };\n"
    "template <class T> struct box : base { T value; box(T v) : value(v) {}\n"
    "    int go(int x) override { return twice<T>(value) + twice<long>(x); }\n"
    "    static int count(box *b) { return b ? b->go(3) : 0; } };\n"
    "template struct box<int>; template struct box<short>; }\n"
    "extern \"C\" int local_class(int n) {\n"
    "    struct hidden { int n; __attribute__((noinline)) int get(int x) { sink = x; return n + "
    "outer::twice(x); } };\n"
    "    hidden h = { n }; int sum = h.get(n);\n"
    "    auto add = [&sum](int x) __attribute__((noinline)) { sum += outer::twice(x); return sum + "
    "sink; };\n"
    "    auto inlined = [&](int x) { return add(x) + outer::box<int>::count(nullptr); };\n"
    "    return inlined(sum) + add(n); }\n"
    "static __attribute__((noinline)) int hot(int x) { if (x < 0) { sink = 1; __builtin_trap(); } "
    "return outer::twice(x); }\n"
    "int entry(int x) { outer::box<int> b(x); return hot(x) + b.go(x) + local_class(x); }\n";

static const struct {
    const char *name, *command;
} builds[] = {
    { "GCC, DWARF 2", "gcc -O2 -gdwarf-2 -gstrict-dwarf -shared -fPIC -o object a.c" },
    { "GCC, DWARF 3", "gcc -O2 -gdwarf-3 -shared -fPIC -o object a.c" },
    { "GCC, DWARF 4", "gcc -O2 -gdwarf-4 -shared -fPIC -o object a.c" },
    { "GCC, DWARF 5", "gcc -O3 -gdwarf-5 -shared -fPIC -o object a.c" },
    { "GCC, 64-bit DWARF", "gcc -O2 -gdwarf-5 -gdwarf64 -shared -fPIC -o object a.c" },
    { "GCC, sections dropped",
      "gcc -O2 -g -ffunction-sections -Wl,--gc-sections,-e,calls -nostdlib -static -o object a.c" },
    { "GCC, not optimized", "gcc -O0 -g -shared -fPIC -o object a.c" },
    { "GCC, nested function",
      "{ cat a.c; echo 'int nest(int a) { __attribute__((noinline)) int in(int b) { return a + b + "
      "sink; } return in(1) * in(a); }'; } >n.c && gcc -O2 -g -shared -fPIC -o object n.c" },
    { "GCC, LTO",
      "cp a.cc b.cc && sed -i 's/sink/sunk/g; s/entry/other/; s/local_class/lc/' b.cc && "
      "g++ -O2 -g -flto -shared -fPIC -o object a.cc b.cc" },
    { "G++, DWARF 4", "g++ -O2 -gdwarf-4 -shared -fPIC -o object a.cc" },
    { "G++, DWARF 5", "g++ -O2 -gdwarf-5 -shared -fPIC -o object a.cc" },
    { "G++, type units", "g++ -O2 -gdwarf-5 -fdebug-types-section -shared -fPIC -o object a.cc" },
    { "G++, not optimized", "g++ -O0 -g -shared -fPIC -o object a.cc" },
    { "Clang, DWARF 2", "clang -O2 -gdwarf-2 -shared -fPIC -o object a.c" },
    { "Clang, DWARF 4", "clang -O2 -gdwarf-4 -shared -fPIC -o object a.c" },
    { "Clang, DWARF 5", "clang -O2 -gdwarf-5 -shared -fPIC -o object a.c" },
    { "Clang, lines only", "clang -O2 -gline-tables-only -shared -fPIC -o object a.c" },
    { "Clang++, DWARF 4", "clang++ -O2 -gdwarf-4 -shared -fPIC -o object a.cc" },
    { "Clang++, DWARF 5",
      "clang++ -O2 -gdwarf-5 -ffunction-sections -shared -fPIC -o object a.cc" },
    { "32-bit", "clang --target=i386-linux-gnu -O2 -g -fPIC -c -o a.o a.c && "
                "ld.lld -shared -o object a.o" },
    { "big-endian, 32-bit", "clang --target=powerpc-linux-gnu -O2 -gdwarf-4 -fPIC -c -o a.o a.c && "
                            "ld.lld -shared -o object a.o" },
    { "big-endian, 64-bit", "clang --target=powerpc64-linux-gnu -mabi=elfv2 -O2 -gdwarf-5 -fPIC -c "
                            "-o a.o a.c && ld.lld -shared -o object a.o" },
    { "dwz", "g++ -O2 -g -shared -fPIC -o object a.cc && dwz object" },
    { "this program", "cp /proc/$PPID/exe object" },
};

/* ---- What libdwarf says ---- */

enum { CHAIN_MAX = 600 };

struct entry {     /* a function or an inlined copy */
    size_t parent; /* SIZE_MAX: none */
    unsigned depth;
    bool inlined;
    const char *name, *linkage; /* "" none */
    uint64_t call_file, call_line, call_column;
};

struct stretch {
    uint64_t low, high;
    size_t entry;
};

static struct {
    Dwarf_Debug dbg;
    Dwarf_Half version;
    uint64_t base; /* low_pc of the unit */
    struct entry *entries;
    size_t entry_count, entry_capacity;
    struct stretch *stretches;
    size_t stretch_count, stretch_capacity;
} oracle;

/* What is looked at.  */
static struct sym_object *object;
static struct sym_dwarf dwarf;
static struct sym_strings strings;
static const char *build_name;

/* Without it libdwarf ends the program where an error is not asked for.  */
static void ignore_error(Dwarf_Error error, Dwarf_Ptr context)
{
    (void)context;
    dwarf_dealloc_error(oracle.dbg, error);
}

static const char *text_of(Dwarf_Die die, Dwarf_Half attribute)
{
    char *text = NULL;

    return dwarf_die_text(die, attribute, &text, NULL) == DW_DLV_OK && text ? text : "";
}

static bool number_of(Dwarf_Die die, Dwarf_Half attribute, uint64_t *out)
{
    Dwarf_Attribute value;
    Dwarf_Unsigned number = 0;
    Dwarf_Signed signed_number = 0;
    bool found = false;

    if (dwarf_attr(die, attribute, &value, NULL) != DW_DLV_OK)
        return false;
    if (dwarf_formudata(value, &number, NULL) == DW_DLV_OK) {
        *out = number;
        found = true;
    } else if (dwarf_formsdata(value, &signed_number, NULL) == DW_DLV_OK) {
        *out = (uint64_t)signed_number;
        found = true;
    }
    dwarf_dealloc_attribute(value);
    return found;
}

static bool refers(Dwarf_Die die, Dwarf_Half attribute, Dwarf_Off *offset)
{
    Dwarf_Attribute value;

    if (dwarf_attr(die, attribute, &value, NULL) != DW_DLV_OK)
        return false;
    bool found = dwarf_global_formref(value, offset, NULL) == DW_DLV_OK;
    dwarf_dealloc_attribute(value);
    return found;
}

static void read_names(Dwarf_Die die, struct entry *entry, int hops)
{
    Dwarf_Off offset;
    Dwarf_Die other;

    if (!entry->linkage[0])
        entry->linkage = text_of(die, DW_AT_linkage_name);
    if (!entry->linkage[0])
        entry->linkage = text_of(die, DW_AT_MIPS_linkage_name);
    if (!entry->name[0])
        entry->name = text_of(die, DW_AT_name);
    if (hops == 0 || (!refers(die, DW_AT_abstract_origin, &offset) &&
                      !refers(die, DW_AT_specification, &offset)))
        return;
    ck_assert_int_eq(dwarf_offdie_b(oracle.dbg, offset, true, &other, NULL), DW_DLV_OK);
    read_names(other, entry, hops - 1);
    dwarf_dealloc_die(other);
}

static void add_stretch(uint64_t low, uint64_t high, size_t entry)
{
    const struct sym_code *code = sym_object_code(object, low);

    if (!code || low >= high)
        return;
    oracle.stretches = base_grow(oracle.stretches, &oracle.stretch_capacity,
                                 oracle.stretch_count + 1, sizeof *oracle.stretches);
    oracle.stretches[oracle.stretch_count++] = (struct stretch){
        .low = low, .high = high < code->limit ? high : code->limit, .entry = entry
    };
}

static void add_rnglist(Dwarf_Attribute attribute, Dwarf_Half form, uint64_t value, size_t entry)
{
    Dwarf_Rnglists_Head head;
    Dwarf_Unsigned count = 0, raw[2], cooked[2];
    unsigned length, code;
    Dwarf_Bool missing;

    ck_assert_int_eq(dwarf_rnglists_get_rle_head(attribute, form, value, &head, &count, NULL, NULL),
                     DW_DLV_OK);
    for (Dwarf_Unsigned i = 0; i < count; i++) {
        ck_assert_int_eq(dwarf_get_rnglists_entry_fields_a(head, i, &length, &code, &raw[0],
                                                           &raw[1], &missing, &cooked[0],
                                                           &cooked[1], NULL),
                         DW_DLV_OK);
        if (code != DW_RLE_end_of_list && code != DW_RLE_base_address &&
            code != DW_RLE_base_addressx)
            add_stretch(cooked[0], cooked[1], entry);
    }
    dwarf_dealloc_rnglists_head(head);
}

static void add_ranges(Dwarf_Die die, uint64_t offset, size_t entry)
{
    Dwarf_Ranges *ranges;
    Dwarf_Signed count;
    uint64_t base = oracle.base;

    ck_assert_int_eq(dwarf_get_ranges_b(oracle.dbg, offset, die, NULL, &ranges, &count, NULL, NULL),
                     DW_DLV_OK);
    for (Dwarf_Signed i = 0; i < count; i++) {
        if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
            base = ranges[i].dwr_addr2;
        else if (ranges[i].dwr_type == DW_RANGES_ENTRY)
            add_stretch(base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2, entry);
    }
    dwarf_ranges_dealloc(oracle.dbg, ranges, count);
}

static void add_extent(Dwarf_Die die, size_t entry)
{
    Dwarf_Attribute attribute;
    Dwarf_Addr low = 0, high = 0;
    Dwarf_Half form = 0;
    Dwarf_Off offset = 0;
    Dwarf_Unsigned number = 0;
    enum Dwarf_Form_Class form_class = DW_FORM_CLASS_UNKNOWN;

    if (dwarf_attr(die, DW_AT_ranges, &attribute, NULL) == DW_DLV_OK) {
        ck_assert_int_eq(dwarf_whatform(attribute, &form, NULL), DW_DLV_OK);
        if (form == DW_FORM_sec_offset)
            ck_assert_int_eq(dwarf_global_formref(attribute, &offset, NULL), DW_DLV_OK);
        else
            ck_assert_int_eq(dwarf_formudata(attribute, &number, NULL), DW_DLV_OK);
        uint64_t value = form == DW_FORM_sec_offset ? offset : number;
        if (oracle.version >= 5)
            add_rnglist(attribute, form, value, entry);
        else
            add_ranges(die, value, entry);
        dwarf_dealloc_attribute(attribute);
    } else if (dwarf_lowpc(die, &low, NULL) == DW_DLV_OK &&
               dwarf_highpc_b(die, &high, &form, &form_class, NULL) == DW_DLV_OK) {
        add_stretch(low, form_class == DW_FORM_CLASS_CONSTANT ? low + high : high, entry);
    }
}

static void walk_children(Dwarf_Die die, size_t around, unsigned depth);

static void walk_die(Dwarf_Die die, size_t around, unsigned depth)
{
    Dwarf_Half tag = 0;
    size_t before = oracle.stretch_count;

    ck_assert_int_eq(dwarf_tag(die, &tag, NULL), DW_DLV_OK);
    bool inlined = tag == DW_TAG_inlined_subroutine;
    if (inlined || tag == DW_TAG_subprogram || tag == DW_TAG_entry_point) {
        if (!inlined)
            around = SIZE_MAX;
        add_extent(die, oracle.entry_count);
        if (oracle.stretch_count > before) {
            struct entry entry = { .parent = around,
                                   .depth = depth,
                                   .inlined = inlined,
                                   .name = "",
                                   .linkage = "",
                                   .call_file = UINT32_MAX };
            if (inlined) {
                (void)number_of(die, DW_AT_call_file, &entry.call_file);
                (void)number_of(die, DW_AT_call_line, &entry.call_line);
                (void)number_of(die, DW_AT_call_column, &entry.call_column);
            }
            read_names(die, &entry, 16);
            oracle.entries = base_grow(oracle.entries, &oracle.entry_capacity,
                                       oracle.entry_count + 1, sizeof *oracle.entries);
            around = oracle.entry_count;
            oracle.entries[oracle.entry_count++] = entry;
        }
    }
    walk_children(die, around, depth + 1);
}

static void walk_children(Dwarf_Die die, size_t around, unsigned depth)
{
    Dwarf_Die child, next;

    if (dwarf_child(die, &child, NULL) != DW_DLV_OK)
        return;
    for (;;) {
        walk_die(child, around, depth);
        int result = dwarf_siblingof_b(oracle.dbg, child, true, &next, NULL);
        dwarf_dealloc_die(child);
        if (result != DW_DLV_OK)
            break;
        child = next;
    }
}

/* ---- Entries ---- */

static size_t function_of(size_t entry)
{
    while (oracle.entries[entry].parent != SIZE_MAX)
        entry = oracle.entries[entry].parent;
    return entry;
}

/* The innermost entry at vaddr: of the function that starts last, the deepest.  */
static size_t innermost(uint64_t vaddr)
{
    const struct stretch *function = NULL, *best = NULL;

    for (size_t i = 0; i < oracle.stretch_count; i++) {
        const struct stretch *stretch = &oracle.stretches[i];
        if (vaddr < stretch->low || vaddr >= stretch->high ||
            oracle.entries[stretch->entry].inlined)
            continue;
        if (!function || stretch->low >= function->low)
            function = stretch;
    }
    for (size_t i = 0; function && i < oracle.stretch_count; i++) {
        const struct stretch *stretch = &oracle.stretches[i];
        if (vaddr < stretch->low || vaddr >= stretch->high ||
            function_of(stretch->entry) != function->entry)
            continue;
        if (!best || oracle.entries[stretch->entry].depth > oracle.entries[best->entry].depth ||
            (oracle.entries[stretch->entry].depth == oracle.entries[best->entry].depth &&
             stretch->low >= best->low))
            best = stretch;
    }
    return best ? best->entry : SIZE_MAX;
}

static void check_names(const struct sym_scope *scope, const struct entry *entry, uint64_t vaddr)
{
    ck_assert_msg(strcmp(scope->name->linkage_name, entry->linkage) == 0,
                  "%s: 0x%llx: linkage name %s, libdwarf %s", build_name, (unsigned long long)vaddr,
                  scope->name->linkage_name, entry->linkage);
    if (!entry->linkage[0])
        ck_assert_msg(strcmp(scope->name->function, entry->name) == 0,
                      "%s: 0x%llx: %s, libdwarf %s", build_name, (unsigned long long)vaddr,
                      scope->name->function, entry->name);
}

static void check_chain(uint64_t vaddr)
{
    struct sym_unit *unit;
    struct sym_place place = { 0 };

    ck_assert_int_eq(sym_dwarf_unit(&dwarf, vaddr, NULL, &unit), SYM_OK);
    ck_assert_msg(unit != NULL, "%s: no unit at 0x%llx", build_name, (unsigned long long)vaddr);
    ck_assert_int_eq(sym_unit_place(&dwarf.decoder, unit, vaddr, &place), SYM_OK);
    ck_assert(vaddr >= place.span.start && vaddr < place.span.limit);
    size_t number = innermost(vaddr);
    uint32_t index = place.scope;
    while (number != SIZE_MAX && index != SYM_NO_VALUE) {
        const struct entry *entry = &oracle.entries[number];
        struct sym_scope *scope = &unit->scopes.items[index];
        ck_assert_int_eq(sym_scope_name(&dwarf, scope), SYM_OK);
        check_names(scope, entry, vaddr);
        ck_assert_int_eq(scope->parent != SYM_NO_VALUE, entry->inlined);
        if (entry->inlined) {
            ck_assert_uint_eq(scope->call_file, entry->call_file);
            ck_assert_uint_eq(scope->call_line, entry->call_line);
            ck_assert_uint_eq(scope->call_column, entry->call_column);
        }
        number = entry->parent;
        index = scope->parent;
    }
    ck_assert_msg(number == SIZE_MAX && index == SYM_NO_VALUE, "%s: other depth at 0x%llx",
                  build_name, (unsigned long long)vaddr);
}

/* Every stretch of every entry, at both ends.  */
static void check_entries(void)
{
    for (size_t i = 0; i < oracle.stretch_count; i++) {
        check_chain(oracle.stretches[i].low);
        check_chain(oracle.stretches[i].high - 1);
    }
}

/* ---- Lines ---- */

struct line {
    Dwarf_Addr vaddr;
    Dwarf_Unsigned number, file, column;
    Dwarf_Bool ends;
    Dwarf_Line source;
};

static struct line read_line(Dwarf_Line source)
{
    struct line line = { .source = source };

    ck_assert_int_eq(dwarf_lineaddr(source, &line.vaddr, NULL), DW_DLV_OK);
    ck_assert_int_eq(dwarf_lineno(source, &line.number, NULL), DW_DLV_OK);
    ck_assert_int_eq(dwarf_line_srcfileno(source, &line.file, NULL), DW_DLV_OK);
    ck_assert_int_eq(dwarf_lineoff_b(source, &line.column, NULL), DW_DLV_OK);
    ck_assert_int_eq(dwarf_lineendsequence(source, &line.ends, NULL), DW_DLV_OK);
    return line;
}

/* libdwarf counts files from 0 where a sequence of DWARF 5 begins, the standard (6.2.2) from 1.  */
static void check_file(struct sym_unit *unit, const struct sym_row *row, const struct line *line)
{
    const char *path;
    char *source = NULL;

    if (oracle.version >= 5 && line->file == 0 && row->file == 1)
        return;
    ck_assert_uint_eq(row->file, line->file);
    ck_assert_int_eq(sym_unit_file(&dwarf, unit, row->file, &path), SYM_OK);
    ck_assert_int_eq(dwarf_linesrc(line->source, &source, NULL), DW_DLV_OK);
    ck_assert_msg(strcmp(path, source) == 0, "%s: file %s, libdwarf %s", build_name, path, source);
    dwarf_dealloc(oracle.dbg, source, DW_DLA_STRING);
}

/* shown is the last line that was named, or NULL.  */
static void check_row(uint64_t vaddr, const struct line *shown)
{
    struct sym_unit *unit;
    struct sym_place place = { 0 };

    ck_assert_int_eq(sym_dwarf_unit(&dwarf, vaddr, NULL, &unit), SYM_OK);
    if (!unit) /* a line where the unit does not say that it is */
        return;
    ck_assert_int_eq(sym_unit_place(&dwarf.decoder, unit, vaddr, &place), SYM_OK);
    ck_assert_msg(!place.row == !shown, "%s: 0x%llx: %s line", build_name,
                  (unsigned long long)vaddr, shown ? "no" : "a");
    if (!shown)
        return;
    ck_assert_msg(place.row->line == shown->number && place.row->column == shown->column,
                  "%s: 0x%llx: line %u:%u, libdwarf %llu:%llu", build_name,
                  (unsigned long long)vaddr, place.row->line, place.row->column,
                  (unsigned long long)shown->number, (unsigned long long)shown->column);
    check_file(unit, place.row, shown);
}

static size_t check_lines(Dwarf_Die unit_die)
{
    Dwarf_Unsigned version;
    Dwarf_Small tables;
    Dwarf_Line_Context context;
    Dwarf_Line *sources;
    Dwarf_Signed count = 0;
    struct line shown, line, next;
    bool named = false;

    if (dwarf_srclines_b(unit_die, &version, &tables, &context, NULL) != DW_DLV_OK)
        return 0;
    ck_assert_int_eq(dwarf_srclines_from_linecontext(context, &sources, &count, NULL), DW_DLV_OK);
    for (Dwarf_Signed i = 0; i + 1 < count; i++) {
        line = read_line(sources[i]);
        next = read_line(sources[i + 1]);
        if (line.ends) {
            named = false;
            continue;
        }
        if (line.number) {
            shown = line;
            named = true;
        }
        if (next.vaddr > line.vaddr && sym_object_code(object, line.vaddr)) {
            check_row(line.vaddr, named ? &shown : NULL);
            check_row(next.vaddr - 1, named ? &shown : NULL);
        }
    }
    dwarf_srclines_dealloc_b(context);
    return (size_t)count;
}

/* ---- Units ---- */

static size_t compare_units(void)
{
    Dwarf_Unsigned next = 0, type_offset = 0, length = 0;
    Dwarf_Off abbrevs = 0;
    Dwarf_Half address_size = 0, length_size = 0, extension_size = 0, type = 0;
    Dwarf_Sig8 signature;
    Dwarf_Die die;
    Dwarf_Addr low;
    size_t rows = 0;

    while (dwarf_next_cu_header_d(oracle.dbg, true, &length, &oracle.version, &abbrevs,
                                  &address_size, &length_size, &extension_size, &signature,
                                  &type_offset, &next, &type, NULL) == DW_DLV_OK) {
        ck_assert_int_eq(dwarf_siblingof_b(oracle.dbg, NULL, true, &die, NULL), DW_DLV_OK);
        if (type == DW_UT_compile) {
            oracle.base = dwarf_lowpc(die, &low, NULL) == DW_DLV_OK ? low : 0;
            oracle.entry_count = oracle.stretch_count = 0;
            walk_children(die, SIZE_MAX, 1);
            check_entries();
            rows += check_lines(die);
        }
        dwarf_dealloc_die(die);
    }
    return rows;
}

START_TEST(reads_what_libdwarf_reads)
{
    struct sym_error error = { .message = "" };
    char *path = build_path("object");

    build_name = builds[_i].name;
    build_write("a.c", c_source);
    build_write("a.cc", cc_source);
    build_run(builds[_i].command);
    ck_assert_int_eq(sym_object_open(path, SYM_OBJECT_MAIN, &object, &error), SYM_OK);
    ck_assert_msg(sym_dwarf_open(&dwarf, object, NULL, &strings, &error) == SYM_OK, "%s",
                  error.message);
    ck_assert_int_eq(dwarf_init_path(path, NULL, 0, DW_DLC_READ, DW_GROUPNUMBER_ANY, ignore_error,
                                     NULL, &oracle.dbg, NULL, 0, NULL, NULL),
                     DW_DLV_OK);
    ck_assert_uint_gt(compare_units(), 20);
    ck_assert_msg(!dwarf.decoder.damaged, "%s", dwarf.decoder.damage);
    dwarf_finish(oracle.dbg, NULL);
    sym_dwarf_close(&dwarf);
    sym_object_free(object);
    sym_strings_release(&strings);
    free(path);
}
END_TEST

static void set_up(void)
{
    (void)build_folder();
}

int main(void)
{
    Suite *suite = suite_create("symbolize_oracle");
    TCase *tcase = tcase_create("oracle");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, set_up, build_remove);
    tcase_add_loop_test(tcase, reads_what_libdwarf_reads, 0, ROWS(builds));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    free(oracle.entries);
    free(oracle.stretches);
    return failed != 0;
}
