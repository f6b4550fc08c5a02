/* oracle_files.c - the files and directories of a line table, as libdwarf reads them.
 *
 * libdwarf also joins them to paths, but not as the decoder does (known faults in verify.c).  */
#include "libsymbolize/oracle_internal.h"

/* DWARF 5 counts both from 0, older versions from 1.  */
static Dwarf_Signed number_of(const struct sym_oracle_unit *unit, size_t index)
{
    return (Dwarf_Signed)index + (unit->version < 5);
}

bool sym_oracle_tables(const struct sym_oracle_unit *unit, struct sym_oracle_tables *out)
{
    const char *comp_dir = NULL;
    Dwarf_Signed directories = 0, files = 0, first = 0, limit = 0;

    *out = (struct sym_oracle_tables){ .comp_dir = "" };
    if (!unit->context ||
        dwarf_srclines_include_dir_count(unit->context, &directories, NULL) != DW_DLV_OK ||
        dwarf_srclines_files_indexes(unit->context, &first, &files, &limit, NULL) != DW_DLV_OK ||
        directories < 0 || first < 0 || first > 1 || limit < first)
        return false;
    if (dwarf_srclines_comp_dir(unit->context, &comp_dir, NULL) == DW_DLV_OK && comp_dir)
        out->comp_dir = comp_dir;
    out->directory_count = (size_t)directories;
    out->file_count = (size_t)(limit - first);
    out->first_file = (uint32_t)first;
    return true;
}

const char *sym_oracle_directory(const struct sym_oracle_unit *unit, size_t index)
{
    const char *name = NULL;

    return dwarf_srclines_include_dir_data(unit->context, number_of(unit, index), &name, NULL) ==
                   DW_DLV_OK
               ? name
               : NULL;
}

const char *sym_oracle_file(const struct sym_oracle_unit *unit, size_t index, uint64_t *directory)
{
    const char *name = NULL;
    Dwarf_Unsigned number = 0;

    if (dwarf_srclines_files_data_b(unit->context, number_of(unit, index), &name, &number, NULL,
                                    NULL, NULL, NULL) != DW_DLV_OK)
        return NULL;
    *directory = number;
    return name;
}
