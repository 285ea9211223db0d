import type { Command } from 'commander'

/** Commands in a document: lines of code blocks, and code spans, that start with one of our programs. */
export function commandLines(markdown: string): string[] {
  const blocks = [...markdown.matchAll(/```\w*\n(.*?)```/gs)].flatMap(([, block = '']) => block.split('\n'))
  const spans = [...markdown.replaceAll(/```.*?```/gs, '').matchAll(/`([^`]+)`/g)].map(([, code = '']) =>
    code.replaceAll('\n', ' '),
  )
  return (
    [...blocks, ...spans]
      .map((line) => line.trim().replace(/^\$ /, ''))
      .map((line) => line.slice(Math.max(0, line.lastIndexOf(' | ') + 3 * Number(line.includes(' | ')))))
      .map((line) =>
        line.replace(
          /^npx |^sudo -u \w+ |^docker compose .* exec rollup-node |^kubectl exec .* -- |^ExecStart=\S*\//,
          '',
        ),
      )
      .filter((line) => /^devium(--batcher|-node|-batch-submitter|-geth)? \S/.test(line))
      // A remark follows its command after two spaces. Redirections are for the shell.
      .map((line) => line.replace(/\s{2,}.*$|\s2?>\s?\S.*$|\s<\s.*$/, ''))
  )
}

/** The error in the words according to the command's declarations; undefined if there is none. */
export function problemOf(program: Command, words: readonly string[]): string | undefined {
  let command = program
  let isRefined = true
  let given = 0
  let isWhole = true
  const rest = [...words]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    // An ellipsis stands for omitted text.
    if (word === '…') {
      isWhole = false
      continue
    }
    if (word.startsWith('--')) {
      const [name = ''] = word.split('=')
      const option = [...program.options, ...command.options].find(({ long }) => long === name)
      if (option === undefined && name !== '--help') return `${command.name()} has no ${name}`
      if (option?.required && !word.includes('=')) rest.shift()
      continue
    }
    const sub = isRefined
      ? command.commands.find((one) => one.name() === word || one.aliases().includes(word))
      : undefined
    if (sub !== undefined) command = sub
    else {
      isRefined = false
      given += 1
    }
  }
  if (!isWhole) return undefined
  const { registeredArguments } = command
  if (given === 0 && command.commands.length > 0 && command !== program) return undefined
  const least = registeredArguments.filter(({ required }) => required).length
  const most = registeredArguments.some(({ variadic }) => variadic)
    ? Number.POSITIVE_INFINITY
    : registeredArguments.length
  return given < least || given > most
    ? `${command.name()} takes ${least} to ${most} arguments, not ${given}`
    : undefined
}
