import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

// The effect of the programs' rules for V8's collector, counted in processes of their own: collections of the young
// generation that are left to the pause of a full one (src/lib/garbageLimit.ts), and full ones while packets go through
// (src/lib/laterMarking.ts). Run: npm run bench:garbage; exit code 1 when a target is missed.

/** By V8's own rules it is 72 to 90 %. */
const YOUNG_TARGET = 0.97
const run = promisify(execFile)

async function outputOf(script: string, mode: string, ...flags: string[]): Promise<string> {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const { stdout } = await run(process.execPath, [...flags, '--disable-warning=ExperimentalWarning', path, mode])
  return stdout
}

/** Collections of a process that makes much garbage and keeps a part of it. */
async function youngGarbage(mode: 'usual' | 'limited', ...flags: string[]): Promise<{ young: number; full: number }> {
  const traced = await outputOf('./youngGarbage.ts', mode, '--trace-gc', '--max-semi-space-size=1', ...flags)
  return { young: traced.match(/Scavenge/g)?.length ?? 0, full: traced.match(/Mark-Compact/g)?.length ?? 0 }
}

/** Full collections of a process that sleeps most of the time, with the young generation of one that has run for a while. */
async function packetGarbage(mode: 'usual' | 'later'): Promise<number> {
  return Number(await outputOf('./packetGarbage.ts', mode, '--expose-gc', '--min-semi-space-size=32'))
}

// Nothing is ever marked where the heap has room for all: the young generation is collected whenever it is full.
const unmarked = await youngGarbage('usual', '--initial-heap-size=2048')
const usual = await youngGarbage('usual')
const limited = await youngGarbage('limited')
const shareOf = ({ young }: { young: number }) => young / unmarked.young
const percent = (counts: { young: number }) => `${(100 * shareOf(counts)).toFixed(0)} %`
console.log(
  `young collections beside marking: ${percent(limited)} of those without (target ${100 * YOUNG_TARGET} %), ${percent(usual)} by V8's rules; full ones: ${limited.full}, ${usual.full} by V8's rules`,
)
const [packets, packetsLater] = [await packetGarbage('usual'), await packetGarbage('later')]
console.log(`full collections while packets go through: ${packetsLater} (target: fewer), ${packets} by V8's rules`)
const isMet = unmarked.full === 0 && limited.full > 3 && shareOf(limited) > YOUNG_TARGET && packetsLater < packets
process.exitCode = isMet ? 0 : 1
