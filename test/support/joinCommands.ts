import { readFileSync } from 'node:fs'

/** The commands of a join.txt: indented lines, joined at a backslash. */
export function readJoinCommands(path: string): string[] {
  const [steps = ''] = readFileSync(path, 'utf8').split('From another machine')
  return steps
    .replaceAll(/\\\n\s+/g, '')
    .split('\n')
    .filter((line) => line.startsWith('    '))
    .map((line) => line.trim())
}
