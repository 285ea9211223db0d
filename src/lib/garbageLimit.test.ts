import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)

/** Collections of a process that makes much garbage and keeps a part of it: of its young generation, and full ones. */
async function collections(mode: 'usual' | 'limited', ...flags: string[]): Promise<{ young: number; full: number }> {
  const script = new URL('./testUtils/youngGarbage.ts', import.meta.url).pathname
  const always = ['--trace-gc', '--max-semi-space-size=1', '--disable-warning=ExperimentalWarning']
  const { stdout } = await run(process.execPath, [...always, ...flags, script, mode])
  return { young: stdout.match(/Scavenge/g)?.length ?? 0, full: stdout.match(/Mark-Compact/g)?.length ?? 0 }
}

it('leaves no garbage of the whole marking to the pause at its end', async () => {
  // Nothing is ever marked where the heap has room for all: the young generation is collected whenever it is full.
  const unmarked = await collections('usual', '--initial-heap-size=2048')
  expect(unmarked.full).toBe(0)
  const limited = await collections('limited')
  expect(limited.full).toBeGreaterThan(3)
  // By V8's own rules it is 72 to 90 % of them.
  expect(limited.young).toBeGreaterThan(0.97 * unmarked.young)
})
