import type { Command } from 'commander'

/** Creates a shell's script from the programs' names and the words that may follow each sub-command. */
type Script = (words: readonly WordsAfter[], programs: readonly string[]) => string

interface WordsAfter {
  /** A program, or a program and its sub-commands. */
  path: string
  next: readonly string[]
}

/** By shell: bash 4, zsh 5, fish 3, or newer. */
const SCRIPTS: Readonly<Record<string, Script>> = { bash, zsh, fish }

export const COMPLETED_SHELLS: readonly string[] = Object.keys(SCRIPTS)

/**
 * A script that completes sub-commands and flags of these programs from their declarations, else files. Undefined for a
 * shell that is not in COMPLETED_SHELLS.
 */
export function completionScript(shell: string, programs: readonly Command[]): string | undefined {
  if (!COMPLETED_SHELLS.includes(shell)) return undefined
  const words = programs.flatMap((program) => wordsAfter(program, program.name()))
  return SCRIPTS[shell]?.(
    words,
    programs.map((program) => program.name()),
  )
}

/** Declared names hold letters, digits, dots and dashes, which no shell needs quoted. */
function wordsAfter(command: Command, path: string): WordsAfter[] {
  const flags = command.options.flatMap(({ long, hidden }) => (hidden || long == null ? [] : [long]))
  const names = command.commands.map((sub) => sub.name())
  return [
    { path, next: [...names, ...flags, '--help'] },
    ...command.commands.flatMap((sub) => wordsAfter(sub, `${path} ${sub.name()}`)),
  ]
}

function bash(words: readonly WordsAfter[], programs: readonly string[]): string {
  return `declare -gA _devium_words=(
${words.map(({ path, next }) => `  ['${path}']='${next.join(' ')}'`).join('\n')}
)
_devium() {
  local path="\${COMP_WORDS[0]##*/}" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    [[ -n "$word" && -n "\${_devium_words["$path $word"]+x}" ]] && path="$path $word"
  done
  COMPREPLY=($(compgen -W "\${_devium_words["$path"]}" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _devium ${programs.join(' ')}
`
}

/** The script avoids a variable `path`: zsh keeps the search path of programs in it. */
function zsh(words: readonly WordsAfter[], programs: readonly string[]): string {
  return `typeset -gA _devium_words=(
${words.map(({ path, next }) => `  '${path}' '${next.join(' ')}'`).join('\n')}
)
_devium() {
  local known="\${words[1]:t}" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ -n "$word" ]] && (( \${+_devium_words[$known $word]} )) && known="$known $word"
  done
  compadd -- \${=_devium_words[$known]} || _files
}
(( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit }
compdef _devium ${programs.join(' ')}
`
}

function fish(words: readonly WordsAfter[], programs: readonly string[]): string {
  return `function __devium_words
  switch "$argv"
${words.map(({ path, next }) => `    case '${path}'\n      printf '%s\\n' ${next.join(' ')}`).join('\n')}
    case '*'
      return 1
  end
end
function __devium_complete
  set -l given (commandline -opc)
  set -l known (string replace -r '.*/' '' -- $given[1])
  set -e given[1]
  for word in $given
    __devium_words "$known $word" >/dev/null; and set known "$known $word"
  end
  __devium_words $known
end
for program in ${programs.join(' ')}
  complete -c $program -a '(__devium_complete)'
end
`
}
