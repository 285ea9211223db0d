import { readFileSync } from 'node:fs'

/** The commands of a join.txt as a reader would type them: indented lines, continued where they end in a backslash. */
export function readJoinCommands(path: string): string[] {
  const [steps = ''] = readFileSync(path, 'utf8').split('From another machine')
  return steps
    .replaceAll(/\\\n\s+/g, '')
    .split('\n')
    .filter((line) => line.startsWith('    '))
    .map((line) => line.trim())
}
