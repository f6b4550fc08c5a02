/* completion_zsh.c - completion for zsh: specifications for _arguments.  */
#include <string.h>

#include "cmd/cli/cli_internal.h"

/* What stands in a specification between single quotes: no colons, no brackets.  */
static void print_text(const char *text)
{
    cli_print_quoted(text, "[]:\\", "'\\''");
}

/* ---- Values ---- */

/* Alike in the completions of all programs.  */
static const char functions[] =
    "(( $+functions[_fxt_traces] )) || _fxt_traces() { _files -g '*.fxt(|.*)(-.)' \"$@\" }\n"
    "\n"
    "(( $+functions[_fxt_stores] )) || _fxt_stores() { _files -g '*.fxt(|q|.*)(-.)' \"$@\" }\n"
    "\n"
    "# What fxtdiff compares; of a store also its captures, STORE#ID.\n"
    "(( $+functions[_fxt_runs] )) || _fxt_runs() {\n"
    "  local store=${(Q)PREFIX%%\\#*}\n"
    "  local -a captures\n"
    "  if [[ $PREFIX == *.fxtq(\\\\|)\\#* && -f $store ]]; then\n"
    "    captures=(${(f)\"$(_call_program captures fxtq --format=tsv --no-header ${(q)store} \\\n"
    "      \"'SELECT id FROM capture'\" 2>/dev/null)\"})\n"
    "    compadd \"$@\" -- \"$store#\"$^captures\n"
    "  else\n"
    "    _files -g '*.(fxt(|q|.*)|pb|pb.gz|folded)(-.)' \"$@\"\n"
    "  fi\n"
    "}\n"
    "\n"
    "# What the store among the words has of a kind, the last argument; not that of --diff.\n"
    "(( $+functions[_fxt_values] )) || _fxt_values() {\n"
    "  local file store sql\n"
    "  local -a lines shown\n"
    "  local -i i\n"
    "  for (( i = 2; i <= $#words; i++ )); do\n"
    "    (( i != CURRENT )) && [[ $words[i-1] != --diff ]] || continue\n"
    "    file=${(Q)words[i]}\n"
    "    file=${file/#\\~\\//$HOME/}\n"
    "    [[ -f $file && -r $file ]] || continue\n"
    "    [[ \"$(head -c 15 -- $file 2>/dev/null)\" != 'SQLite format 3' ]] || store=$file\n"
    "  done\n"
    "  [[ -n $store ]] || return 1\n"
    "  case ${@[-1]} in\n"
    "  (capture) sql='" CLI_SQL_CAPTURES "' ;;\n"
    "  (pid) sql='" CLI_SQL_PIDS "' ;;\n"
    "  (tid) sql='" CLI_SQL_TIDS "' ;;\n"
    "  (comm) sql='" CLI_SQL_COMMS "' ;;\n"
    "  (cpu) sql='" CLI_SQL_CPUS "' ;;\n"
    "  esac\n"
    "  lines=(${(f)\"$(fxtq --format=tsv --no-header --timeout=1 -- $store $sql 2>/dev/null)\"})\n"
    "  shown=(\"${(@)lines/$'\\t'/  -- }\")\n"
    "  lines=(\"${(@)lines%%$'\\t'*}\")\n"
    "  compset -P '*,'\n"
    "  compadd \"${@[1,-2]}\" -l -d shown -a lines\n"
    "}\n"
    "\n";

/* ":FILE:_files" */
static void print_value(const struct cli_option *option)
{
    const char *completer = cli_completer(CLI_ZSH, option->value);

    (void)putchar(':');
    print_text(option->argument);
    (void)putchar(':');
    if (option->value == CLI_LIST) {
        printf("_sequence compadd - ");
        cli_print_choices(option);
    } else if (option->choices) {
        (void)putchar('(');
        cli_print_choices(option);
        (void)putchar(')');
    } else {
        printf("%s", completer ? completer : " ");
    }
}

/* ---- Options ---- */

/* '(-q --quiet)'{-q,--quiet}'[no summary]', or with an argument '*'{-o+,--output=}'[...]:FILE:',
 * since that may mean more when given twice; '*'--folded=-'[...]::FILE:' if it may be missing.  */
static void print_option(const struct cli_command *command, const struct cli_option *option)
{
    bool letter = cli_option_has_letter(command, option) ||
                  (option == &cli_common_options[0] && option->letter);
    const char *more = option->argument ? "+" : "", *equals = option->argument ? "=" : "";

    equals = option->optional ? "=-" : equals;

    printf("    ");
    if (option->argument)
        printf("'*'");
    else if (letter && option->name)
        printf("'(-%c --%s)'", option->letter, option->name);
    if (letter && option->name)
        printf("{-%c%s,--%s%s}'[", option->letter, more, option->name, equals);
    else if (letter)
        printf("-%c%s'[", option->letter, more);
    else
        printf("--%s%s'[", option->name, equals);
    print_text(cli_phrase(option->help));
    (void)putchar(']');
    if (option->optional)
        (void)putchar(':');
    if (option->argument)
        print_value(option);
    printf("' \\\n");
}

/* ---- Operands ---- */

/* "name:what it is" for _describe.  */
static void print_word(const char *name, const char *brief)
{
    printf("    '");
    print_text(name);
    (void)putchar(':');
    cli_print_quoted(cli_phrase(brief), ":\\", "'\\''");
    printf("'\n");
}

/* _IDENTIFIER_words: the words of the command, or the commands of a program; or what else the first
 * operand can be.  */
static void print_words(const struct cli_command *command)
{
    const char *name, *brief;

    if (!command->word && !command->commands)
        return;
    printf("_%s_words() {\n  local -a words_of=(\n", cli_identifier(command));
    for (size_t i = 0; command->word && (name = command->word(i, &brief)) != NULL; i++)
        print_word(name, brief);
    for (size_t i = 0; command->commands && command->commands[i]; i++)
        print_word(cli_command_word(command->commands[i]), command->commands[i]->brief);
    printf("  )\n  _describe -t words '%s' words_of\n}\n\n",
           command->commands ? "command" : "word");
}

static void print_operand(const struct cli_command *command, const char *place,
                          enum cli_value value, bool words)
{
    const char *completer = cli_completer(CLI_ZSH, value);

    if (words && completer)
        printf("    '%s:operand:{ _alternative \"words:word:_%s_words\" \"files:file:%s\" }' \\\n",
               place, cli_identifier(command), completer);
    else if (words)
        printf("    '%s:word:_%s_words' \\\n", place, cli_identifier(command));
    else if (completer)
        printf("    '%s:operand:%s' \\\n", place, completer);
}

static void print_operands(const struct cli_command *command)
{
    if (cli_takes_command_line(command)) {
        printf("    '(-)1:command:_command_names -e' \\\n    '*::argument:_normal' \\\n");
        return;
    }
    print_operand(command, "1", command->first,
                  command->word || command->commands || command->first == CLI_WORD);
    print_operand(command, "*", command->rest, command->rest == CLI_WORD);
}

static void print_command(const struct cli_command *command)
{
    const struct cli_option *option;

    print_words(command);
    printf("_%s_command() {\n  _arguments -s -S : \\\n", cli_identifier(command));
    for (size_t i = 0; (option = cli_any_option(command, i)) != NULL; i++)
        print_option(command, option);
    print_operands(command);
    printf("    && return 0\n  return 1\n}\n\n");
}

void cli_complete_zsh(const struct cli_command *program)
{
    printf("#compdef %s\n# zsh completion for %s; what '%s --completion=zsh' prints.\n\n",
           program->name, program->name, program->name);
    (void)fputs(functions, stdout);
    print_command(program);
    for (size_t i = 0; program->commands && program->commands[i]; i++)
        print_command(program->commands[i]);
    printf("_%s_main() {\n", cli_identifier(program));
    if (program->commands) {
        printf("  local curcontext=$curcontext\n\n  if (( CURRENT > 2 )); then\n"
               "    case $words[2] in\n");
        for (size_t i = 0; program->commands[i]; i++) {
            printf("    (%s)\n", cli_command_word(program->commands[i]));
            printf("      curcontext=${curcontext%%:*:*}:%s-$words[2]:\n", program->name);
            printf("      shift words\n      (( CURRENT-- ))\n      _%s_command\n      return\n"
                   "      ;;\n",
                   cli_identifier(program->commands[i]));
        }
        printf("    esac\n  fi\n");
    }
    printf("  _%s_command\n}\n\n", cli_identifier(program));
    /* Read by the first completion, which it has to answer; or by the user.  */
    printf(
        "if [[ $funcstack[1] == _%s ]]; then\n  _%s_main \"$@\"\nelse\n  compdef _%s_main %s\nfi\n",
        program->name, cli_identifier(program), cli_identifier(program), program->name);
}
