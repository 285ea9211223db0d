import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)

/** How often the young generation is collected while the old one is being marked, on average. */
async function collectionsWhileMarking(mode: 'usual' | 'limited'): Promise<number> {
  const script = new URL('./testUtils/youngGarbage.ts', import.meta.url).pathname
  const flags = ['--trace-gc', '--max-semi-space-size=4', '--disable-warning=ExperimentalWarning']
  const { stdout } = await run(process.execPath, [...flags, script, mode])
  const full = stdout.match(/Mark-Compact/g)?.length ?? 0
  expect(full).toBeGreaterThan(0)
  return (stdout.match(/Scavenge \(interleaved\)/g)?.length ?? 0) / full
}

it('leaves no garbage of the whole marking to the pause at its end', async () => {
  const [usual, limited] = await Promise.all([collectionsWhileMarking('usual'), collectionsWhileMarking('limited')])
  expect(limited).toBeGreaterThan(3 * usual)
}, 30_000)
