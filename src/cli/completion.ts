import type { Command } from 'commander'

/** A script for bash (4 or newer) that completes sub-commands and flags of these programs, from their declarations. */
export function bashCompletion(programs: readonly Command[]): string {
  const words = programs.flatMap((program) => wordsOf(program, program.name()))
  return `declare -gA _devium_words=(
${words.map(([path, ...next]) => `  ['${path}']='${next.join(' ')}'`).join('\n')}
)
_devium() {
  local path="\${COMP_WORDS[0]##*/}" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    [[ -n "$word" && -n "\${_devium_words["$path $word"]+x}" ]] && path="$path $word"
  done
  COMPREPLY=($(compgen -W "\${_devium_words["$path"]}" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _devium ${programs.map((program) => program.name()).join(' ')}
`
}

/** By the words before: what may come next. Names are the declarations' own: letters, digits, dots and dashes. */
function wordsOf(command: Command, path: string): string[][] {
  const flags = command.options.flatMap(({ long, hidden }) => (hidden || long == null ? [] : [long]))
  const names = command.commands.map((sub) => sub.name())
  return [
    [path, ...names, ...flags, '--help'],
    ...command.commands.flatMap((sub) => wordsOf(sub, `${path} ${sub.name()}`)),
  ]
}
