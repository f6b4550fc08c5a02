/* completion_bash.c - completion for bash, 4.4 or newer, with or without the bash-completion
 * package.
 *
 * Every command becomes a function that knows its options; the functions below walk the words.  */
#include <string.h>

#include "cmd/cli/cli_internal.h"

/* Alike in the completions of all programs: a shell keeps the one it read last.  */
static const char walk[] =
    "# The words up to the cursor as the program will see them: readline splits at = and : too.\n"
    "# places: where each begins in readline's.\n"
    "_fxt_split() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} gap piece i\n"
    "    words=()\n"
    "    places=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        piece=${COMP_WORDS[i]}\n"
    "        gap=${line%%[![:space:]]*}\n"
    "        line=${line#\"$gap\"}\n"
    "        ((i < COMP_CWORD)) || piece=$line\n"
    "        if [[ $i -gt 0 && -z $gap ]] &&\n"
    "            [[ $piece == [=:]* || ${COMP_WORDS[i - 1]} == *[=:] ]]; then\n"
    "            words[${#words[@]} - 1]+=$piece\n"
    "        else\n"
    "            words+=(\"$piece\")\n"
    "            places+=(\"$i\")\n"
    "        fi\n"
    "        line=${line#\"$piece\"}\n"
    "    done\n"
    "}\n"
    "\n"
    "# Those of the arguments that begin with what is typed.\n"
    "_fxt_words() {\n"
    "    local word\n"
    "    for word; do\n"
    "        [[ $word != \"$typed\"* ]] || COMPREPLY+=(\"$before$word\")\n"
    "    done\n"
    "}\n"
    "\n"
    "# The same, for the last of a list with commas between.\n"
    "_fxt_list() {\n"
    "    if [[ $typed == *,* ]]; then\n"
    "        before+=${typed%,*},\n"
    "        typed=${typed##*,}\n"
    "    fi\n"
    "    compopt -o nospace 2>/dev/null\n"
    "    _fxt_words \"$@\"\n"
    "}\n"
    "\n"
    "# Files whose names match one of the patterns, and folders; all files where none matches.\n"
    "_fxt_files() {\n"
    "    local path pattern\n"
    "    local -a all=() good=() folders=()\n"
    "    mapfile -t all < <(compgen -f -- \"${typed//\\\\/}\")\n"
    "    for path in \"${all[@]}\"; do\n"
    "        if [[ -d ${path/#~\\//$HOME/} ]]; then\n"
    "            folders+=(\"$path\")\n"
    "            continue\n"
    "        fi\n"
    "        for pattern; do\n"
    "            # shellcheck disable=SC2053 # it is a pattern\n"
    "            [[ ${path##*/} != $pattern ]] || good+=(\"$path\")\n"
    "        done\n"
    "    done\n"
    "    ((${#good[@]})) && all=(\"${good[@]}\" \"${folders[@]}\")\n"
    "    for path in \"${all[@]}\"; do\n"
    "        COMPREPLY+=(\"$before$path\")\n"
    "    done\n"
    "    compopt -o filenames 2>/dev/null\n"
    "}\n"
    "\n"
    "_fxt_folders() {\n"
    "    local path\n"
    "    while IFS= read -r path; do\n"
    "        COMPREPLY+=(\"$before$path\")\n"
    "    done < <(compgen -d -- \"${typed//\\\\/}\")\n"
    "    compopt -o filenames 2>/dev/null\n"
    "}\n"
    "\n"
    "_fxt_traces() { _fxt_files '*.fxt' '*.fxt.*'; }\n"
    "_fxt_stores() { _fxt_files '*.fxtq' '*.fxt' '*.fxt.*'; }\n"
    "\n"
    "# What fxtdiff compares; of a store also its captures, STORE#ID.\n"
    "_fxt_runs() {\n"
    "    local store=${typed%%#*} id\n"
    "    if [[ $typed != *'#'* ]]; then\n"
    "        _fxt_files '*.fxtq' '*.fxt' '*.fxt.*' '*.pb' '*.pb.gz' '*.folded'\n"
    "    elif [[ $store == *.fxtq && -f $store ]]; then\n"
    "        while read -r id; do\n"
    "            _fxt_words \"$store#$id\"\n"
    "        done < <(fxtq --format=tsv --no-header \"$store\" 'SELECT id FROM capture' "
    "2>/dev/null)\n"
    "    fi\n"
    "}\n"
    "\n"
    "# The store among the words: a file that is an SQLite database, but not that of --diff.\n"
    "_fxt_store() {\n"
    "    local file start before_it='' behind=$COMP_CWORD\n"
    "    store=''\n"
    "    # Between blanks the next word stands where an empty one would.\n"
    "    [[ ! ${words[last]} ]] || behind=$((COMP_CWORD + 1))\n"
    "    for file in \"${words[@]:1:${#words[@]}-2}\" \"${COMP_WORDS[@]:behind}\"; do\n"
    "        start=$before_it\n"
    "        before_it=$file\n"
    "        file=${file//[\\\\\\'\\\"]/}\n"
    "        file=${file/#~\\//$HOME/}\n"
    "        [[ $start != --diff && -f $file && -r $file ]] || continue\n"
    "        IFS= read -r -n 15 start <\"$file\"\n"
    "        [[ $start != 'SQLite format 3' ]] || store=$file\n"
    "    done\n"
    "    [[ $store ]]\n"
    "}\n"
    "\n"
    "# What the store has of $1.  Names are those of strangers: they are quoted, or left out "
    "within\n"
    "# quotes where they would end these.\n"
    "_fxt_values() {\n"
    "    local store sql value quote=''\n"
    "    case $1 in\n"
    "    capture) sql='" CLI_SQL_CAPTURES "' ;;\n"
    "    pid) sql='" CLI_SQL_PIDS "' ;;\n"
    "    tid) sql='" CLI_SQL_TIDS "' ;;\n"
    "    comm) sql='" CLI_SQL_COMMS "' ;;\n"
    "    cpu) sql='" CLI_SQL_CPUS "' ;;\n"
    "    esac\n"
    "    _fxt_store || return\n"
    "    [[ ${words[last]} != [\\'\\\"]* ]] || quote=1\n"
    "    if [[ $typed == *,* ]]; then\n"
    "        before+=${typed%,*},\n"
    "        typed=${typed##*,}\n"
    "    fi\n"
    "    [[ $quote ]] || typed=${typed//\\\\/}\n"
    "    while IFS=$'\\t' read -r value _; do\n"
    "        [[ $value == \"$typed\"* ]] || continue\n"
    "        if [[ $quote ]]; then\n"
    "            [[ $value != *[\\'\\\"\\$\\`\\!]* ]] || continue\n"
    "        else\n"
    "            printf -v value %q \"$value\"\n"
    "        fi\n"
    "        COMPREPLY+=(\"$before$value\")\n"
    "    done < <(fxtq --format=tsv --no-header --timeout=1 -- \"$store\" \"$sql\" 2>/dev/null)\n"
    "}\n"
    "\n"
    "_fxt_processes() {\n"
    "    local pid\n"
    "    while read -r pid; do\n"
    "        _fxt_words \"$pid\"\n"
    "    done < <(ps -eo pid= 2>/dev/null)\n"
    "}\n"
    "\n"
    "# A program: word number $1 is its name, what follows are its arguments.\n"
    "_fxt_command() {\n"
    "    local name\n"
    "    if (($1 < ${#words[@]} - 1)); then\n"
    "        if declare -F _comp_command_offset >/dev/null; then\n"
    "            _comp_command_offset \"${places[$1]}\"\n"
    "        elif declare -F _command_offset >/dev/null; then\n"
    "            _command_offset \"${places[$1]}\"\n"
    "        else\n"
    "            _fxt_files\n"
    "        fi\n"
    "    elif [[ $typed == */* ]]; then\n"
    "        _fxt_files\n"
    "    else\n"
    "        while IFS= read -r name; do\n"
    "            COMPREPLY+=(\"$before$name\")\n"
    "        done < <(compgen -c -- \"$typed\" | sort -u)\n"
    "    fi\n"
    "}\n"
    "\n"
    "# Whether the last of a group of letters waits for its argument.\n"
    "_fxt_waits() {\n"
    "    local i\n"
    "    for ((i = 1; i < ${#2}; i++)); do\n"
    "        if \"$1\" takes \"-${2:i:1}\"; then\n"
    "            ((i == ${#2} - 1))\n"
    "            return\n"
    "        fi\n"
    "    done\n"
    "    return 1\n"
    "}\n"
    "\n"
    "# Complete for the command whose function is $1 and whose arguments begin at word $2.\n"
    "_fxt_complete() {\n"
    "    local waiting='' ended='' word drop before='' i\n"
    "    local last=$((${#words[@]} - 1)) operands=0\n"
    "    local typed=${words[last]}\n"
    "    for ((i = $2; i < last; i++)); do\n"
    "        word=${words[i]}\n"
    "        if [[ $waiting ]]; then\n"
    "            waiting=''\n"
    "        elif [[ ! $ended && $word == -- ]]; then\n"
    "            ended=1\n"
    "            ! \"$1\" stops || break\n"
    "        elif [[ $ended || $word != -?* ]]; then\n"
    "            ! \"$1\" stops || break\n"
    "            operands=$((operands + 1))\n"
    "        elif [[ $word == --* ]]; then\n"
    "            ! \"$1\" takes \"$word\" || waiting=$word\n"
    "        elif _fxt_waits \"$1\" \"$word\"; then\n"
    "            waiting=-${word: -1}\n"
    "        fi\n"
    "    done\n"
    "    typed=${typed#[\\'\\\"]}\n"
    "    if [[ ${words[last - 1]} == *[\\<\\>] ]]; then\n"
    "        _fxt_files\n"
    "    elif [[ $waiting ]]; then\n"
    "        \"$1\" value \"$waiting\"\n"
    "    elif ((i < last)); then\n"
    "        _fxt_command $((i + ${#ended}))\n"
    "    elif [[ ! $ended && $typed == --*=* ]]; then\n"
    "        word=${typed%%=*}\n"
    "        before=$word=\n"
    "        typed=${typed#*=}\n"
    "        ! \"$1\" takes \"$word\" || \"$1\" value \"$word\"\n"
    "    elif [[ ! $ended && $typed == -* ]]; then\n"
    "        \"$1\" options\n"
    "        [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace "
    "2>/dev/null\n"
    "    else\n"
    "        \"$1\" operand \"$operands\"\n"
    "    fi\n"
    "    # What readline takes for the word begins behind the last = or :.\n"
    "    typed=${words[last]}\n"
    "    drop=\n"
    "    [[ $COMP_WORDBREAKS != *=* || $typed != *=* ]] || drop=${typed%\"${typed##*=}\"}\n"
    "    if [[ $COMP_WORDBREAKS == *:* && $typed == *:* ]]; then\n"
    "        word=${typed%\"${typed##*:}\"}\n"
    "        ((${#word} < ${#drop})) || drop=$word\n"
    "    fi\n"
    "    [[ $typed == [\\'\\\"]* ]] || COMPREPLY=(\"${COMPREPLY[@]#\"$drop\"}\")\n"
    "}\n"
    "\n";

/* ---- One command ---- */

/* The names of options that take an argument, as a pattern's alternatives.  */
static void print_takes(const struct cli_command *command)
{
    const struct cli_option *option;
    const char *between = "";

    printf("    takes) [[ $2 == @(");
    for (size_t i = 0; (option = cli_any_option(command, i)) != NULL; i++) {
        if (!cli_option_takes_word(option))
            continue;
        if (option->name)
            printf("%s--%s", between, option->name);
        between = option->name ? "|" : between;
        if (cli_option_has_letter(command, option))
            printf("%s-%c", between, option->letter);
        between = "|";
    }
    printf(") ]] ;;\n");
}

static void print_value(const struct cli_command *command, const struct cli_option *option)
{
    const char *completer = cli_completer(CLI_BASH, option->value);

    if (!option->argument || (!option->choices && !completer))
        return;
    printf("        ");
    if (option->name)
        printf("--%s", option->name);
    if (cli_option_has_letter(command, option))
        printf("%s-%c", option->name ? " | " : "", option->letter);
    printf(") ");
    if (completer)
        printf("%s", completer);
    else
        printf(option->value == CLI_LIST ? "_fxt_list" : "_fxt_words");
    if (option->choices) {
        (void)putchar(' ');
        cli_print_choices(option);
    }
    printf(" ;;\n");
}

static void print_options(const struct cli_command *command)
{
    const struct cli_option *option;

    printf("    options)\n        _fxt_words");
    for (size_t i = 0; (option = cli_any_option(command, i)) != NULL; i++)
        if (option->name)
            printf(" \\\n            --%s%s", option->name,
                   cli_option_takes_word(option) ? "=" : "");
        else
            printf(" \\\n            -%c", option->letter);
    printf("\n        ;;\n");
}

static void print_words(const struct cli_command *command)
{
    const char *name, *brief;

    printf("_fxt_words");
    for (size_t i = 0; command->word && (name = command->word(i, &brief)) != NULL; i++)
        printf(" %s", name);
    for (size_t i = 0; command->commands && command->commands[i]; i++)
        printf(" %s", cli_command_word(command->commands[i]));
    (void)putchar('\n');
}

/* What is offered for the first operand, or for the others.  */
static void print_operand(const struct cli_command *command, bool first)
{
    enum cli_value value = first ? command->first : command->rest;
    bool words = value == CLI_WORD || (first && (command->word || command->commands));

    if (words) {
        printf("            ");
        print_words(command);
    }
    if (cli_completer(CLI_BASH, value))
        printf("            %s\n", cli_completer(CLI_BASH, value));
    printf("            ;;\n");
}

static void print_operands(const struct cli_command *command)
{
    printf("    operand)\n        case $2 in\n        0)\n");
    print_operand(command, true);
    printf("        *)\n");
    print_operand(command, false);
    printf("        esac\n        ;;\n");
}

static void print_command(const struct cli_command *command)
{
    const struct cli_option *option;

    printf("_%s() {\n    case $1 in\n", cli_identifier(command));
    print_takes(command);
    printf("    stops) %s ;;\n", cli_takes_command_line(command) ? "true" : "false");
    printf("    value)\n        case $2 in\n");
    for (size_t i = 0; (option = cli_any_option(command, i)) != NULL; i++)
        print_value(command, option);
    printf("        esac\n        ;;\n");
    print_options(command);
    print_operands(command);
    printf("    esac\n}\n\n");
}

void cli_complete_bash(const struct cli_command *program)
{
    printf("# bash completion for %s; what '%s --completion=bash' prints.\n\n", program->name,
           program->name);
    (void)fputs(walk, stdout);
    print_command(program);
    for (size_t i = 0; program->commands && program->commands[i]; i++)
        print_command(program->commands[i]);
    printf("_%s_main() {\n    local -a words places\n    COMPREPLY=()\n    _fxt_split\n",
           cli_identifier(program));
    if (program->commands) {
        printf("    if ((${#words[@]} > 2)); then\n        case ${words[1]} in\n");
        for (size_t i = 0; program->commands[i]; i++) {
            printf("        %s)\n", cli_command_word(program->commands[i]));
            printf("            _fxt_complete _%s 2\n            return\n            ;;\n",
                   cli_identifier(program->commands[i]));
        }
        printf("        esac\n    fi\n");
    }
    printf("    _fxt_complete _%s 1\n}\n\n", cli_identifier(program));
    printf("complete -F _%s_main %s\n", cli_identifier(program), program->name);
}
