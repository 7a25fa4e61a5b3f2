import { type CompletedCommand, flagsWithValue, placesOf } from './completion-table.ts';

type Table = readonly CompletedCommand[];

/** A script for bash 3.2 or newer. Where nothing is known it completes names of files. */
export function bashScript(table: Table): string {
  const values = table.flatMap(({ at, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(
        ({ flags, choices }) =>
          `    ${patterns(flags.map((flag) => `${at}:${flag}`))}) words='${choices.join(' ')}' ;;`,
      ),
  );
  const words = table.map(({ at, commands, options, choices }) => {
    const all = [...commands.map(({ name }) => name), ...choices, ...options.flatMap(({ flags }) => flags)];
    return `        '${at}') words='${all.join(' ')}' ;;`;
  });
  return `# Completion of tidemark for bash. Load it with: source <(tidemark completion bash)
_tidemark() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" at='' words='' word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$word" in
      ${flagsWithValue(table).join('|')}) index=$((index + 1)); continue ;;
    esac
    case "$at/$word" in
      ${patterns(placesOf(table))}) at="$at/$word" ;;
    esac
  done
  case "$at:$previous" in
${values.join('\n')}
    *)
      case "$at" in
${words.join('\n')}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _tidemark tidemark
`;
}

export function zshScript(table: Table): string {
  const values = table.flatMap(({ at, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ flags, choices }) => {
        const shown =
          choices.length === 0 ? '_files' : `items=(${choices.map(quoted).join(' ')}); _describe value items`;
        return `    (${patterns(flags.map((flag) => `${at}:${flag}`))}) ${shown}; return ;;`;
      }),
  );
  const words = table.map(({ at, commands, options, choices }) => {
    const all = [
      ...commands.map(({ name, description }) => described(name, description)),
      ...choices.map(quoted),
      ...options.flatMap(({ flags, description }) => flags.map((flag) => described(flag, description))),
    ];
    return `    ('${at}') items=(\n      ${all.join('\n      ')}\n    ) ;;`;
  });
  return `#compdef tidemark
# Completion of tidemark for zsh. Load it with: source <(tidemark completion zsh)
_tidemark() {
  local at='' word
  local -a items
  integer index
  for ((index = 2; index < CURRENT; index++)); do
    word="\${words[index]}"
    case "$word" in
      (${flagsWithValue(table).join('|')}) (( index++ )); continue ;;
    esac
    case "$at/$word" in
      (${patterns(placesOf(table))}) at="$at/$word" ;;
    esac
  done
  case "$at:\${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  case "$at" in
${words.join('\n')}
  esac
  _describe -o tidemark items
  [[ "\${words[CURRENT]}" == -* ]] || _files
}
if [[ "\${funcstack[1]}" == _tidemark ]]; then _tidemark "$@"; else compdef _tidemark tidemark; fi
`;
}

export function fishScript(table: Table): string {
  const lines = table.flatMap(({ at, commands, options, choices }) => {
    const here = `complete -c tidemark -n "__tidemark_at '${at}'"`;
    return [
      ...commands.map(({ name, description }) => `${here} -f -a ${name} -d ${fishQuoted(description)}`),
      ...(choices.length === 0 ? [] : [`${here} -f -a '${choices.join(' ')}'`]),
      ...options.map((option) => {
        const names = option.flags.map((flag) =>
          flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        );
        const values = option.choices.length === 0 ? '-r' : `-x -a '${option.choices.join(' ')}'`;
        return `${here} ${names.join(' ')}${option.takesValue ? ` ${values}` : ''} -d ${fishQuoted(option.description)}`;
      }),
    ];
  });
  return `# Completion of tidemark for fish. Save it with: tidemark completion fish > ~/.config/fish/completions/tidemark.fish
function __tidemark_at
  set -l at ''
  set -l is_value 0
  for word in (commandline -opc)[2..-1]
    if test $is_value = 1
      set is_value 0
      continue
    end
    if contains -- $word ${flagsWithValue(table).join(' ')}
      set is_value 1
    else if contains -- "$at/$word" ${placesOf(table).join(' ')}
      set at "$at/$word"
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`;
}

function patterns(texts: readonly string[]): string {
  return texts.map(quoted).join('|');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** zsh separates a name from its description by a colon. */
function described(name: string, description: string): string {
  return quoted(`${name.replaceAll(':', '\\:')}:${description}`);
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
