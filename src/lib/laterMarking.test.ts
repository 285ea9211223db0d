import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)

/** Full collections of a process of its own. */
async function collections(mode: 'usual' | 'later'): Promise<number> {
  const script = new URL('./testUtils/packetGarbage.ts', import.meta.url).pathname
  // The young generation of a process that has run for a while.
  const flags = ['--expose-gc', '--min-semi-space-size=32', '--disable-warning=ExperimentalWarning']
  const { stdout } = await run(process.execPath, [...flags, script, mode])
  return Number(stdout)
}

it('collects the whole heap less often while packets go through', async () => {
  const [usual, later] = await Promise.all([collections('usual'), collections('later')])
  expect(usual).toBeGreaterThan(2)
  expect(later).toBeLessThan(usual)
}, 30_000)
