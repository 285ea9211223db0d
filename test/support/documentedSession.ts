import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

/** A file that the page tells its reader to save, or a command with the output that it shows. */
export type DocumentedStep =
  | { kind: 'file'; name: string; text: string }
  | { kind: 'command'; command: string; output: readonly string[] }

/** The steps of a page, in order: `js` blocks that start with a file name, `sh` and `console` blocks. */
export function documentedSteps(document: string): DocumentedStep[] {
  const text = readFileSync(join(ROOT, document), 'utf8')
  return [...text.matchAll(/^```(\w+)\n(.*?)^```/gms)].flatMap(([, language = '', block = '']): DocumentedStep[] => {
    const lines = block.trimEnd().split('\n')
    if (language === 'sh') return lines.map((command) => ({ kind: 'command', command, output: [] }))
    if (language === 'console') return consoleSteps(block)
    const [, name] = /^\/\/ ([\w.]+)$/.exec(lines[0] ?? '') ?? []
    if (language !== 'js' || name === undefined) throw new Error(`${document}: nobody knows what to do with\n${block}`)
    return [{ kind: 'file', name, text: block }]
  })
}

function consoleSteps(block: string): DocumentedStep[] {
  return block
    .split(/^\$ /m)
    .filter((part) => part !== '')
    .map((part) => {
      const [command = '', ...output] = part.trimEnd().split('\n')
      return { kind: 'command', command, output }
    })
}

/** Whether the output matches the page, except for numbers, which vary. */
function isAsShown(output: string, shown: readonly string[]): boolean {
  if (shown.length === 0) return true
  const pattern = shown
    .map((line) => line.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(/\d+/g, '\\d+'))
    .join('\n')
  return new RegExp(`^${pattern}$`).test(output.trimEnd())
}

/** The folder of Foundry's cast binary (its npm package also has a Node wrapper); undefined if it is not installed. */
export function castFolder(): string | undefined {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  try {
    const wrapper = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/cast/package.json'))
    return join(dirname(wrapper.resolve(`@foundry-rs/cast-${process.platform}-${arch}/package.json`)), 'bin')
  } catch {
    return undefined
  }
}

const END = 'the command has ended with'
/** Far above the time of any step. The report names the step and its output, which a test's own timeout would not. */
const STEP_LIMIT_MS = 120_000

/**
 * Runs the steps in one shell, as a reader would. Resolves to the problems of the first failing command. The folder holds the
 * files that the page assumes.
 */
export async function takeSteps(steps: readonly DocumentedStep[], folder: string, path: string): Promise<string[]> {
  const shell = spawn('bash', [], { cwd: folder, env: { ...process.env, PATH: path }, stdio: 'pipe' })
  let output = ''
  let onOutput = () => {}
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      onOutput()
    })
  }
  const run = (command: string) =>
    new Promise<{ code: number; text: string }>((resolve) => {
      output = ''
      const limit = setTimeout(
        () => resolve({ code: -1, text: `it has not ended, and printed: ${output}` }),
        STEP_LIMIT_MS,
      )
      onOutput = () => {
        const [, text = '', code] = new RegExp(`^(.*)${END} (\\d+)\n$`, 's').exec(output) ?? []
        if (code === undefined) return
        clearTimeout(limit)
        resolve({ code: Number(code), text })
      }
      // The shell reads its commands from standard input, so no command may read from it.
      shell.stdin.write(`{ ${command}\n} < /dev/null\necho ${END} $?\n`)
    })
  // With one pipe, all output of a command comes before its end marker.
  shell.stdin.write('exec 2>&1\n')
  try {
    for (const step of steps) {
      if (step.kind === 'file') writeFileSync(join(folder, step.name), step.text)
      else {
        const { code, text } = await run(step.command)
        if (code !== 0) return [`${step.command}: exit code ${code}: ${text}`]
        if (!isAsShown(text, step.output)) return [`${step.command}: not\n${step.output.join('\n')}\nbut\n${text}`]
      }
    }
    return []
  } finally {
    shell.kill()
  }
}
