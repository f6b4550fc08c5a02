# FXT toolchain.  `make help` lists what there is to make.
#
#   O=DIR      build folder (default: build)        V=1        show full commands
#   SAN=LIST   sanitizers, as in SAN=address,undefined
#   WERROR=1   warnings are errors                  NODEPS=1   never install missing packages
#   ARCHIVES=  link programs with shared libraries alone, as distributions want it
#   TEST_JOBS=N  tests at a time (default: the number of processors)
#   FUZZ_SECONDS=N  of each fuzz target (default: 60)      FUZZ=WORD...    those whose name has it
#   CC, CFLAGS, LDFLAGS, PREFIX, DESTDIR, PKG_CONFIG as everywhere

.DEFAULT_GOAL := all
VERSION := 0.1.0
SOVERSION := 0

O ?= build
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
DOCDIR ?= $(DATADIR)/doc/fxt
BASHCOMPDIR ?= $(DATADIR)/bash-completion/completions
ZSHCOMPDIR ?= $(DATADIR)/zsh/site-functions
FISHCOMPDIR ?= $(DATADIR)/fish/vendor_completions.d
PKG_CONFIG ?= pkg-config
OBJCOPY ?= objcopy
AR ?= ar
CFLAGS ?= -O2 -g
FUZZ_SECONDS ?= 60
TEST_JOBS ?= $(shell nproc)

Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-7s %s\n' $(1) $(2))

BASE_FLAGS := -std=c17 -D_GNU_SOURCE -Iinclude -I. -I$(O) -fPIC -fvisibility=hidden -Wall -Wextra -Wconversion
BASE_FLAGS += -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wundef
# Rows of option tables end where they have nothing more to say (cmd/cli/cli.h).
BASE_FLAGS += -Wno-missing-field-initializers
BASE_FLAGS += -DFXT_TOOLCHAIN_VERSION='"$(VERSION)"'
BASE_FLAGS += $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
BASE_FLAGS += $(if $(WERROR),-Werror)
BASE_LDFLAGS := $(if $(SAN),-fsanitize=$(SAN))

# ---- Optional libraries ----

# $(O)/config.mk says which of them this machine has.  Make builds it before anything else, but after the missing packages were
# installed, and then starts over with it.  Goals that compile nothing need neither, and `make -n` installs nothing.
#   HAVE_LZMA   liblzma: MiniDebugInfo and kernel modules are compressed with xz
#   HAVE_EDIT   libedit: editing of typed lines
#   HAVE_LIBDW  libdw of elfutils, which bench/large_unwind.sh compares the unwinder with
#   ARCHIVES    libraries whose archives this machine has, too
#   HAVE_IPT    libipt, which has no .pc file: instruction traces are decoded
ifneq ($(if $(findstring n,$(filter-out -%,$(firstword $(MAKEFLAGS)))),,$(filter-out help lint format clean fuzz,$(or $(MAKECMDGOALS),all))),)
include $(O)/config.mk
endif

# Asked on every run, since packages come and go, but written only when the answer changes.
$(O)/config.mk: $(O)/.deps-build FORCE
	$(Q){ ! $(PKG_CONFIG) --exists liblzma || echo HAVE_LZMA := 1; \
	      ! $(PKG_CONFIG) --exists libedit || echo HAVE_EDIT := 1; \
	      ! $(PKG_CONFIG) --exists libdw || echo HAVE_LIBDW := 1; \
	      for l in sqlite3 z zstd lzma elf dwarf edit tinfo bsd md; do \
	          ! [ -e "$$($(CC) -print-file-name=lib$$l.a)" ] || echo ARCHIVES += $$l; \
	      done; \
	      ! printf '\043include <intel-pt.h>\nint main(void) { return 0; }\n' | $(CC) -xc - -o /dev/null -lipt 2>/dev/null || \
	      echo HAVE_IPT := 1; } > $@.part; \
	if cmp -s $@.part $@; then rm $@.part; else mv $@.part $@; fi

.PHONY: FORCE

# ---- What there is ----

# A library is a folder; the order is that of the import arrows (docs/architecture.md).
LIBRARIES := fxt symbolize unwind $(if $(HAVE_IPT),insn) profile compare store trace
# Folder libprofile/ is installed as libfxtprofile.so and pkg-config's fxt-profile.
library_name = libfxt$(filter-out fxt,$(1))
package_name = fxt$(if $(filter-out fxt,$(1)),-$(1))
PROGRAMS := fxtdump fxtcat fxt2pprof fxtsym fxtdiff fxtq sampler-capture

# Shared by all, linked into each with hidden symbols, never installed.
sources_base := $(wildcard base/*.c)
# perf.data files; likewise.
sources_perf := $(filter-out $(if $(HAVE_IPT),,libperf/trace_aux.c),$(wildcard libperf/*.c))
# The files of Fuchsia's insntrace; likewise.
sources_ptlist := $(if $(HAVE_IPT),$(wildcard libptlist/*.c))
flags_libperf := $(if $(HAVE_IPT),-DPERF_HAVE_INSN)
sources_fxt := $(wildcard libfxt/*.c libfxt/fidl/*.c)
sources_symbolize := $(wildcard libsymbolize/*.c)
sources_unwind := $(wildcard libunwind/*.c libunwind/cfi/*.c)
sources_insn := $(wildcard libinsn/*.c)
sources_profile := $(filter-out $(if $(HAVE_IPT),,libprofile/ingest/insn%),$(wildcard libprofile/*.c libprofile/*/*.c schemas/*.pb.c))
flags_libprofile := $(if $(HAVE_IPT),-DPROFILE_HAVE_INSN)
sources_compare := $(wildcard libcompare/*.c libcompare/*/*.c)
sources_store := $(wildcard libstore/*.c libstore/import/*.c libstore/functions/*.c libstore/export/*.c libstore/reports/*.c libstore/blocks/*.c) libstore/store_sql.c
sources_trace := $(wildcard libtrace/*.c)
sources_fxtdump := $(wildcard cmd/fxtdump/*.c)
sources_fxtcat := $(wildcard cmd/fxtcat/*.c)
sources_fxt2pprof := $(wildcard cmd/fxt2pprof/*.c)
sources_fxtsym := $(wildcard cmd/fxtsym/*.c)
# HTML, CSS and JavaScript of pages are built in: cmd/X/page/NAME.css is the text page_NAME_css of page_NAME_css.c.
page_source = $(dir $(patsubst %/,%,$(dir $(1))))page_$(subst .,_,$(notdir $(1))).c
page_sources = $(foreach f,$(wildcard cmd/$(1)/page/*),$(call page_source,$(f)))
sources_cli := $(wildcard cmd/cli/*.c) $(call page_sources,cli)
sources_history := $(wildcard cmd/history/*.c) $(call page_sources,history)
sources_flame := $(wildcard cmd/flame/*.c) $(call page_sources,flame)
sources_fxtdiff := $(wildcard cmd/fxtdiff/*.c) $(call page_sources,fxtdiff) $(sources_history) $(sources_flame)
sources_fxtq := $(wildcard cmd/fxtq/*.c cmd/fxtq/report/*.c cmd/fxtq/format/*.c) $(sources_history) $(sources_flame)
# Traces are decoded on every machine that has libipt, but recorded on x86-64 alone.
CAN_TRACE := $(if $(HAVE_IPT),$(filter x86_64%,$(shell $(CC) -dumpmachine)))
sources_sampler-capture := $(wildcard cmd/sampler-capture/*.c sampler-capture/*.c sampler-capture/cpu/*.c sampler-capture/heap/*.c sampler-capture/trace/*.c $(if $(CAN_TRACE),sampler-capture/insn/*.c))

libs_fxt := -lz -lzstd
libs_symbolize := -ldwarf -lelf -liberty -lz -lzstd -lpthread $(if $(HAVE_LZMA),-llzma)
flags_libsymbolize := $(if $(HAVE_LZMA),-DSYM_HAVE_LZMA)
libs_unwind := -ldwarf -lelf
libs_insn := -lipt -lpthread
libs_profile := -lprotobuf-nanopb -lz -lm
libs_compare := -lm
libs_store := -lsqlite3 -lpthread -lm
# Its service thread and the destructors of its threads outlive the plugin that brought it.
libs_trace := -lpthread -Wl,-z,nodelete
# One access to thread-local storage an event, without a call.
flags_libtrace := -ftls-model=initial-exec

flags_cmd := $(if $(HAVE_EDIT),-DFXTQ_HAVE_LIBEDIT) $(if $(HAVE_IPT),-DFXT_HAVE_INSN) $(if $(CAN_TRACE),-DFXT_CAN_TRACE_INSN)
# Archives that programs are linked with; that of libedit needs three others.
with_edit := tinfo bsd md
linked_archives := $(if $(filter-out $(ARCHIVES),$(with_edit)),$(filter-out edit,$(ARCHIVES)),$(ARCHIVES))
links_fxtq := $(if $(HAVE_EDIT),-ledit $(if $(filter edit,$(linked_archives)),$(addprefix -l,$(with_edit))))
links_sampler-capture := -lpthread

with_insn := $(if $(HAVE_IPT),insn)
libs_fxtdump := $(with_insn) symbolize unwind fxt # libperf's zstd is libfxt's
libs_fxtcat := profile $(with_insn) symbolize unwind fxt
libs_fxt2pprof := profile $(with_insn) symbolize unwind fxt
libs_fxtsym := $(with_insn) symbolize unwind fxt
libs_fxtdiff := store compare profile $(with_insn) symbolize unwind fxt
libs_fxtq := store compare profile $(with_insn) symbolize unwind fxt
libs_sampler-capture := $(with_insn) unwind fxt

# Programs are linked with archives where there are some, and with shared libraries after `make ARCHIVES=`.  With SQLite's archive,
# queries take 5 to 12 % less time; with the others, fxtq starts in a quarter less.
in_program = $(foreach l,$(1),$(if $(filter $(l:-l%=%),$(linked_archives)),$(l:-l%=-l:lib%.a),$(l)))

# A program is built as soon as its folder has sources.
PROGRAMS := $(foreach p,$(PROGRAMS),$(if $(sources_$(p)),$(p)))
LIBRARIES := $(foreach l,$(LIBRARIES),$(if $(sources_$(l)),$(l)))

objects = $(patsubst %.c,$(O)/%.o,$(sources_$(1)))

PROGRAM_FILES := $(addprefix $(O)/bin/,$(PROGRAMS))
STATIC_FILES := $(foreach l,$(LIBRARIES),$(O)/lib/$(call library_name,$(l)).a)
EXTENSION := $(O)/lib/libfxtsql.so
SHARED_FILES := $(foreach l,$(LIBRARIES),$(O)/lib/$(call library_name,$(l)).so.$(SOVERSION))

TEST_SOURCES := $(filter-out $(if $(HAVE_IPT),,tests/test_insn_%) $(if $(CAN_TRACE),,tests/test_insn_controller.c tests/test_insn_pt.c tests/test_insn_stepper.c),$(wildcard tests/test_*.c))
TEST_SUPPORT := $(wildcard tests/support/*.c)
TEST_FILES := $(patsubst tests/%.c,$(O)/tests/%,$(TEST_SOURCES))
TOOL_SOURCES := $(filter-out $(if $(HAVE_IPT),,tests/tools/insn_%) $(if $(HAVE_LIBDW),,tests/tools/unwind_peer.c),$(wildcard tests/tools/*.c))
TOOL_FILES := $(patsubst tests/tools/%.c,$(O)/tests/tools/%,$(TOOL_SOURCES))
BENCH_FILES := $(patsubst %.c,$(O)/%,$(filter-out $(if $(HAVE_IPT),,bench/insn%) $(if $(HAVE_LIBDW),,bench/unwind_libdw.c),$(wildcard bench/*.c))) $(O)/bench/fixedwork_fp
FXTGEN := $(O)/bench/fxtgen
# Preloaded by sampler-capture heap, which looks for it beside its own folder.
SHIM_FILE := $(O)/lib/fxt/libfxtheap.so
# What completes command lines: the programs print it.
COMPLETION_FILES := $(foreach p,$(PROGRAMS),$(O)/completion/bash/$(p) $(O)/completion/zsh/_$(p) $(O)/completion/fish/$(p).fish)
GENERATE_OBJECTS := $(patsubst %.c,$(O)/%.o,$(wildcard bench/generate/*.c))

.PHONY: all
all: $(O)/.deps-build $(PROGRAM_FILES) $(STATIC_FILES) $(SHARED_FILES) $(SHIM_FILE) $(EXTENSION) $(COMPLETION_FILES)

.PHONY: help
help:
	@printf '%s\n' \
	  'make            build programs and libraries into $(O)/' \
	  'make check      build and run all tests' \
	  'make bench      measure speed and memory beside peers (BENCHES=WORD... for some)' \
	  'make fuzz       run the fuzz targets (FUZZ_SECONDS=N each, FUZZ=WORD... for some)' \
	  'make bench-large  the same at 10 GB' \
	  'make demo       capture a sample program, convert it, show its hottest functions' \
	  'make lint       formatting, clang-tidy, cppcheck, import arrows' \
	  'make install    PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)' \
	  'make format     rewrite sources with clang-format' \
	  'make clean      remove $(O)/'

# ---- What is needed ----

# Each install step runs once a build folder and is skipped with NODEPS=1; scripts/deps does nothing when all is there.
$(O)/.deps-%: scripts/deps
	$(Q)mkdir -p $(@D)
	$(Q)$(if $(NODEPS),:,scripts/deps $*)
	$(Q)touch $@

# One apt-get at a time, also by make -j; the tests of the command line come last.
$(O)/.deps-check: $(O)/.deps-unit
$(O)/.deps-unit: $(O)/.deps-build

# ---- Compiling ----

$(O)/%.o: %.c | $(O)/.deps-build
	$(Q)mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE_FLAGS) $(CPPFLAGS) $(CFLAGS) $(flags_$(firstword $(subst /, ,$<))) -MMD -MP -c -o $@ $<

# Objects that were compiled without an optional library are compiled again when it is there.
$(call objects,symbolize) $(call objects,fxtq) $(call objects,sampler-capture): $(O)/config.mk

# Generated by nanopb (schemas/README.md tells how); its own style, its own warnings.
$(O)/schemas/%.o: BASE_FLAGS += -Wno-conversion -Wno-undef

# The schema, each line as a C string.
$(O)/libstore/store_sql.c: schemas/store.sql
	$(Q)mkdir -p $(@D)
	$(Q){ echo 'extern const char store_sql[]; const char store_sql[] ='; sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $<; echo ';'; } > $@

$(O)/libstore/store_sql.o: $(O)/libstore/store_sql.c
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE_FLAGS) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# The parts of pages, likewise.
define page_rules
$(O)/$(call page_source,$(1)): $(1)
	$$(Q)mkdir -p $$(@D)
	$$(Q){ echo 'extern const char $(2)[]; const char $(2)[] ='; sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $$<; echo ';'; } > $$@

$(O)/$(patsubst %.c,%.o,$(call page_source,$(1))): $(O)/$(call page_source,$(1))
	$$(call say,CC,$$<)
	$$(Q)$$(CC) $$(BASE_FLAGS) $$(CPPFLAGS) $$(CFLAGS) -Wno-overlength-strings -c -o $$@ $$<
endef
$(foreach f,$(wildcard cmd/*/page/*),$(eval $(call page_rules,$(f),$(basename $(notdir $(call page_source,$(f)))))))

# Static: one relocatable object whose hidden symbols are local, so that only the API can be linked against.
# The FIDL messages that libfxttrace shares with libfxt, with names of its own: it depends on no other library.
TRACE_CODEC := $(O)/libtrace/fidl_messages.o
$(TRACE_CODEC): libfxt/fidl/fidl_provider.c | $(O)/.deps-build
	$(Q)mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE_FLAGS) -DFIDL_API= $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

define library_rules
$(O)/lib/$(call library_name,$(1)).o: $(call objects,$(1)) $(if $(filter trace,$(1)),$(TRACE_CODEC),$(call objects,base))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(LD) -r -o $$@ $$^
	$$(Q)$$(OBJCOPY) --localize-hidden $$@

$(O)/lib/$(call library_name,$(1)).a: $(O)/lib/$(call library_name,$(1)).o
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$<

$(O)/lib/$(call library_name,$(1)).so.$(SOVERSION): $(call objects,$(1)) $(if $(filter trace,$(1)),$(TRACE_CODEC),$(call objects,base)) $(foreach l,$(filter $(LIBRARIES),$(needs_$(1))),$(O)/lib/$(call library_name,$(l)).so.$(SOVERSION))
	$$(Q)mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -shared -Wl,--exclude-libs,ALL -Wl,-soname,$(call library_name,$(1)).so.$(SOVERSION) $$(BASE_LDFLAGS) $$(LDFLAGS) -o $$@ $$^ $(libs_$(1))
	$$(Q)ln -sf $(call library_name,$(1)).so.$(SOVERSION) $(O)/lib/$(call library_name,$(1)).so
endef
needs_profile := $(with_insn) symbolize unwind fxt
needs_compare := profile $(with_insn) symbolize unwind fxt
needs_store := profile $(with_insn) symbolize unwind fxt
$(foreach l,$(LIBRARIES),$(eval $(call library_rules,$(l))))

# What programs share is an archive: each takes what it needs, and links no library that only others need.
$(O)/cli.a: $(call objects,cli) $(call objects,perf) $(call objects,ptlist) $(call objects,base)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

define program_rules
$(O)/bin/$(1): $(call objects,$(1)) $(O)/cli.a $(foreach l,$(libs_$(1)),$(O)/lib/$(call library_name,$(l)).a)
	$$(Q)mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(BASE_LDFLAGS) $$(LDFLAGS) -o $$@ $$^ $(call in_program,$(links_$(1)) $(foreach l,$(libs_$(1)),$(libs_$(l))))
endef
$(foreach p,$(PROGRAMS),$(eval $(call program_rules,$(p))))

# The programs print them, so they have to run on the machine that builds.
define completion_rules
$(O)/completion/bash/$(1): $(O)/bin/$(1)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$< --completion=bash > $$@.part && mv $$@.part $$@

$(O)/completion/zsh/_$(1): $(O)/bin/$(1)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$< --completion=zsh > $$@.part && mv $$@.part $$@

$(O)/completion/fish/$(1).fish: $(O)/bin/$(1)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$< --completion=fish > $$@.part && mv $$@.part $$@
endef
$(foreach p,$(PROGRAMS),$(eval $(call completion_rules,$(p))))

# What a heap capture puts into other processes stands alone: no library but libc, and of ours the FIDL codec and the reader of unwind
# tables, all of it hidden.  Stacks there may be small, so the reader has room for the registers of x86-64 only.
# The unwinder is the compiler's static one.  No sanitizers: their runtime must come first in a process.
SHIM_SOURCES := sampler-capture/heap/program.c $(wildcard sampler-capture/heap/shim/*.c libunwind/cfi/*.c) libfxt/fidl/fidl_decode.c libfxt/fidl/fidl_encode.c
SHIM_OBJECTS := $(patsubst %.c,$(O)/shim/%.o,$(SHIM_SOURCES))
SHIM_FLAGS := $(filter-out -fsanitize% -fno-sanitize%,$(BASE_FLAGS)) -DFIDL_API= -DCFI_COLUMNS=17 -DCFI_MAX_REMEMBERED=4 -fno-omit-frame-pointer -fno-builtin-malloc -funwind-tables -fno-plt

$(O)/shim/%.o: %.c | $(O)/.deps-build
	$(Q)mkdir -p $(@D)
	$(call say,SHIM,$<)
	$(Q)$(CC) $(SHIM_FLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(SHIM_FILE): $(SHIM_OBJECTS)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -static-libgcc -Wl,--exclude-libs,ALL -Wl,-z,now -Wl,-z,defs -Wl,-soname,libfxtheap.so -Wl,--wrap=_dl_find_object $(LDFLAGS) -o $@ $^

# The SQL functions as an extension of SQLite: the same sources, which call SQLite through its table.
extension_objects := $(patsubst %.c,$(O)/extension/%.o,$(wildcard libstore/functions/*.c libstore/extension/*.c))

$(O)/extension/%.o: %.c | $(O)/.deps-build
	$(Q)mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE_FLAGS) -DFXTSQL_EXTENSION -DSTORE_API= $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(EXTENSION): $(extension_objects) $(O)/libprofile/write/folded_name.o $(O)/libprofile/sample_types.o $(call objects,symbolize) $(call objects,base) libstore/extension/exports.map
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,--version-script=libstore/extension/exports.map $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(libs_symbolize) -lm

# ---- Tests ----

# Tests see the private headers too, so they link the libraries' objects, not the archives.
TEST_OBJECTS := $(foreach l,base perf ptlist $(filter-out trace,$(LIBRARIES)),$(call objects,$(l))) $(filter-out %/main.o,$(call objects,sampler-capture))
# Of the preloaded library, what replaces nothing.
TEST_OBJECTS += $(patsubst %,$(O)/sampler-capture/heap/shim/%.o,poisson shim_live shim_cfi cfi_full shim_object stack)
TEST_OBJECTS += $(call objects,cli) $(patsubst %.c,$(O)/%.o,$(TEST_SUPPORT))
# An archive, because a test may bring the code of one of its files itself, with other ways to reach memory.
TEST_OBJECTS += $(O)/tests/trace.a
$(O)/tests/trace.a: $(call objects,trace)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
# Lets tests/support/allocation.c make the n-th allocation of our code fail.
TEST_LDFLAGS := $(foreach f,malloc calloc realloc reallocarray,-Wl,--wrap=$(f))
TEST_LIBS = $(shell $(PKG_CONFIG) --libs check) $(foreach l,$(LIBRARIES),$(libs_$(l)))

$(TEST_FILES): $(O)/tests/%: $(O)/tests/%.o $(TEST_OBJECTS) | $(O)/.deps-unit
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) $(TEST_LDFLAGS) -o $@ $^ $(TEST_LIBS) -lm

$(TOOL_FILES): $(O)/tests/tools/%: $(O)/tests/tools/%.o $(TEST_OBJECTS)
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) $(TEST_LDFLAGS) -o $@ $^ $(TEST_LIBS) -lm

$(O)/tests/tools/flame_page: $(call objects,flame)

# Compiled after the libraries they test with were installed, also by make -j.
$(patsubst %.c,$(O)/%.o,$(TEST_SOURCES) $(TOOL_SOURCES) $(TEST_SUPPORT)): | $(O)/.deps-unit

# Generators and stopwatches; tests use them too, nobody installs them.
# What programs that read inputs as cmd/cli does are linked with.
inputs_libraries := $(patsubst %,$(O)/lib/libfxt%.a,$(with_insn) symbolize unwind) $(O)/lib/libfxt.a
inputs_links := $(if $(with_insn),$(libs_insn)) $(libs_symbolize) $(libs_fxt)

.PHONY: bench-tools
bench-tools: $(BENCH_FILES) $(FXTGEN)

$(filter-out $(O)/bench/symcache $(O)/bench/sqlrows $(O)/bench/unwind $(O)/bench/unwind_libdw $(O)/bench/tracing $(O)/bench/insnpackets,$(BENCH_FILES)): $(O)/%: $(O)/%.o $(O)/cli.a $(inputs_libraries)
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(inputs_links) -lm

$(O)/bench/sqlrows: $(O)/bench/sqlrows.o $(O)/cli.a $(inputs_libraries)
	$(Q)mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(inputs_links) -lsqlite3

# It takes the cache apart, so it wants what the archive hides.
$(O)/bench/symcache: $(O)/bench/symcache.o $(call objects,symbolize) $(call objects,base)
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(libs_symbolize)

# The same work in code that keeps frame pointers, also in functions that call no other one.
$(O)/bench/fixedwork_fp.o: bench/fixedwork.c | $(O)/.deps-build
	$(Q)mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_FLAGS) $(CPPFLAGS) $(CFLAGS) -fno-omit-frame-pointer $(if $(filter x86_64% aarch64%,$(shell $(CC) -dumpmachine)),-mno-omit-leaf-frame-pointer) -c -o $@ $<

# A program as users of the library have them.
$(O)/bench/tracing: $(O)/bench/tracing.o $(O)/lib/libfxttrace.a
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(libs_trace)

# Beside libipt alone.
$(O)/bench/insnpackets: $(O)/bench/insnpackets.o $(O)/lib/libfxt.a
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(libs_fxt) -lipt

# The unwinder is taken apart, too: rows are made where they would be searched.
$(O)/bench/unwind: $(O)/bench/unwind.o $(call objects,unwind) $(call objects,base)
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(libs_unwind)

# Without libdwarf, which exports functions of the same names.
$(O)/bench/unwind_libdw: $(O)/bench/unwind_libdw.o
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ -ldw -lelf

$(FXTGEN): $(GENERATE_OBJECTS) $(O)/cli.a $(O)/lib/libfxt.a
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(libs_fxt)

.PHONY: bench
bench: $(O)/.deps-bench all bench-tools $(if $(HAVE_IPT),$(O)/tests/tools/insn_perf_data)
	$(Q)O=$(O) CC='$(CC)' bench/run $(BENCHES)

# The same for inputs that take minutes.
.PHONY: bench-large
bench-large: $(O)/.deps-bench all bench-tools $(if $(HAVE_LIBDW),$(O)/tests/tools/unwind_peer) $(if $(HAVE_IPT),$(O)/tests/tools/insn_perf_data)
	$(Q)O=$(O) CC='$(CC)' bench/run --large $(BENCHES)

# With TESTS, only the programs that will run are built.
named = $(strip $(foreach word,$(TESTS),$(findstring $(word),$(notdir $(1)))))
TEST_WANTED := $(if $(TESTS),$(foreach t,$(TEST_FILES),$(if $(call named,$(t)),$(t))),$(TEST_FILES))

.PHONY: check check-unit
check: $(O)/.deps-unit $(O)/.deps-check all $(TEST_WANTED) $(TOOL_FILES) $(BENCH_FILES) $(FXTGEN)
	$(Q)O=$(O) CC='$(CC)' tests/run -j $(TEST_JOBS) $(TESTS)

# The Check programs alone: what runs again under the sanitizers.
check-unit: $(O)/.deps-unit all $(TEST_WANTED) $(TOOL_FILES)
	$(Q)O=$(O) CC='$(CC)' tests/run --unit -j $(TEST_JOBS) $(TESTS)

# What only a processor with Intel PT can prove; status 77 of the script: there is none here.
.PHONY: check-pt
check-pt: all
	$(Q)O=$(O) CC='$(CC)' tests/check-pt

# ---- Fuzzing (docs/testing.md) ----

# Everything once more with Clang, instrumented, in a folder of its own.
FUZZ_SOURCES := $(filter-out $(if $(HAVE_IPT),,tests/fuzz/fuzz_insn%),$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_FILES := $(patsubst %.c,$(O)/%,$(FUZZ_SOURCES))
FUZZ_SUPPORT := $(patsubst %.c,$(O)/%.o,$(filter-out $(FUZZ_SOURCES),$(wildcard tests/fuzz/*.c)))

.PHONY: fuzz fuzz-targets
fuzz: $(O)/.deps-fuzz
	$(Q)$(MAKE) O=$(O)/fuzz CC=clang SAN=fuzzer-no-link,address,undefined NODEPS=$(NODEPS) fuzz-targets
	$(Q)O=$(O)/fuzz tests/fuzz/run --seconds $(FUZZ_SECONDS) $(FUZZ)

fuzz-targets: $(FUZZ_FILES)

$(FUZZ_FILES): $(O)/%: $(O)/%.o $(FUZZ_SUPPORT) $(foreach l,base perf ptlist $(filter-out trace,$(LIBRARIES)),$(call objects,$(l)))
	$(call say,LD,$@)
	$(Q)$(CC) -fsanitize=fuzzer,address,undefined $(LDFLAGS) -o $@ $^ $(foreach l,$(LIBRARIES),$(libs_$(l)))

# Steps that are decoded in two ways.
$(O)/tests/fuzz/fuzz_insn: $(O)/tests/support/step_digest.o
# What holds for an answer that was accepted.
$(O)/tests/fuzz/fuzz_symbolize_fallback: $(O)/tests/support/fallback_parts.o
# The manager's side of what a provider may send.
$(O)/tests/fuzz/fuzz_trace_transfer: $(O)/sampler-capture/trace/transfer.o
$(O)/tests/fuzz/fuzz_trace_manager: $(addprefix $(O)/sampler-capture/trace/,channel.o manager.o transfer.o)
# Callers from copies of stacks.
$(O)/tests/fuzz/fuzz_perf_trace: $(addprefix $(O)/cmd/cli/,cuts.o perf_unwind.o)

.PHONY: demo
demo: all
	$(Q)O=$(O) CC='$(CC)' scripts/demo

# ---- Lint ----

C_FILES := $(filter-out %.pb.c %.pb.h,$(shell git ls-files '*.c' '*.h' 2>/dev/null))

.PHONY: lint format
lint: $(O)/.deps-lint
	$(Q)O=$(O) scripts/lint

format:
	$(Q)clang-format -i $(C_FILES)

# ---- Installing ----

write_pc = sed -e 's,@PREFIX@,$(PREFIX),;s,@LIBDIR@,$(LIBDIR),;s,@INCLUDEDIR@,$(INCLUDEDIR),;s,@VERSION@,$(VERSION),' \
    -e 's,@LZMA@,$(if $(HAVE_LZMA),-llzma ),' -e 's,@INSN@,$(if $(HAVE_IPT),fxt-insn ),' lib$(1)/$(call package_name,$(1)).pc.in \
    > $(DESTDIR)$(LIBDIR)/pkgconfig/$(call package_name,$(1)).pc

.PHONY: install
install: all
	$(Q)install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/fxt \
	    $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man5 $(DESTDIR)$(LIBDIR)/fxt
	$(Q)install -m 644 $(SHIM_FILE) $(DESTDIR)$(LIBDIR)/fxt
	$(Q)install -m 644 $(wildcard man/*.1) $(DESTDIR)$(MANDIR)/man1
	$(Q)install -m 644 $(wildcard man/*.5) $(DESTDIR)$(MANDIR)/man5
	$(Q)install -d $(addprefix $(DESTDIR)$(DOCDIR)/,formats images)
	$(Q)install -m 644 $(wildcard docs/*.md) $(DESTDIR)$(DOCDIR)
	$(Q)install -m 644 $(wildcard docs/formats/*) $(DESTDIR)$(DOCDIR)/formats
	$(Q)install -m 644 $(wildcard docs/images/*) $(DESTDIR)$(DOCDIR)/images
	$(Q)install -m 755 $(PROGRAM_FILES) $(DESTDIR)$(BINDIR)
	$(Q)install -d $(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(ZSHCOMPDIR) $(DESTDIR)$(FISHCOMPDIR)
	$(Q)install -m 644 $(filter $(O)/completion/bash/%,$(COMPLETION_FILES)) $(DESTDIR)$(BASHCOMPDIR)
	$(Q)install -m 644 $(filter $(O)/completion/zsh/%,$(COMPLETION_FILES)) $(DESTDIR)$(ZSHCOMPDIR)
	$(Q)install -m 644 $(filter $(O)/completion/fish/%,$(COMPLETION_FILES)) $(DESTDIR)$(FISHCOMPDIR)
	$(Q)install -m 644 $(STATIC_FILES) $(SHARED_FILES) $(EXTENSION) $(DESTDIR)$(LIBDIR)
	$(Q)install -m 644 $(wildcard include/fxt/*.h) $(DESTDIR)$(INCLUDEDIR)/fxt
	$(Q)$(foreach l,$(LIBRARIES),ln -sf $(call library_name,$(l)).so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/$(call library_name,$(l)).so &&) :
	$(Q)$(foreach l,$(LIBRARIES),$(call write_pc,$(l)) &&) :
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))

.PHONY: clean
clean:
	$(Q)rm -rf $(O)

-include $(shell find $(O) -name '*.d' -type f 2>/dev/null)
