import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { TestnetEvent } from '../../testnet/runner/events.ts'
import type { Timeline } from '../../testnet/timeline/timeline.ts'

const MAIN = fileURLToPath(new URL('../../testnet/main.ts', import.meta.url))
const MAX_OUTPUT_BYTES = 64e6
/** End of the runner's output in an error. */
const SHOWN_CHARACTERS = 3_000

export interface ScenariosOutcome {
  /** Exit code of the runner. */
  exitCode: number
  verdicts: { name: string; passed: boolean; why?: string }[]
  timeline: Timeline
  page: string
  output: string
}

/** Runs scenarios to their end on one testnet of real processes, as `npm start -- --scenario` does. */
export async function runScenarios(names: readonly string[], flags: readonly string[] = []): Promise<ScenariosOutcome> {
  const dir = mkdtempSync(join(tmpdir(), 'devium-scenarios-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const args = ['--json', '--base-port=0', `--dir=${dir}`, `--scenario=${names.join(',')}`, ...flags]
  const { code, output } = await new Promise<{ code: number; output: string }>((resolve) => {
    const nodeArgs = ['--disable-warning=ExperimentalWarning', MAIN, ...args]
    const runner = execFile(process.execPath, nodeArgs, { maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr })
    })
    onTestFinished(() => void runner.kill('SIGKILL'))
  })
  const events = output.split('\n').flatMap((line): TestnetEvent[] => (line.startsWith('{') ? [JSON.parse(line)] : []))
  const read = (file: string) => {
    try {
      return readFileSync(join(dir, file), 'utf8')
    } catch (cause) {
      throw new Error(`no ${file}. The runner ended with code ${code}: ${output.slice(-SHOWN_CHARACTERS)}`, { cause })
    }
  }
  return {
    exitCode: code,
    verdicts: events.flatMap((event) => (event.event === 'verdict' ? [event] : [])),
    timeline: JSON.parse(read('timeline.json')),
    page: read('timeline.html'),
    output,
  }
}
