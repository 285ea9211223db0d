import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { descendantsOf } from '../test/support/processes.ts'
import { startTestnet } from '../test/support/testnet.ts'
import { memoryMb, procFile } from './processStats.ts'

// Memory of a testnet's processes without user transactions. Run: node bench/memory.ts [--nodes 3] [--seconds 60]
// Each node has all others as peers, up to the runner's limits. Linux only.

const { values } = parseArgs({
  options: { nodes: { type: 'string', default: '3' }, seconds: { type: 'string', default: '60' } },
})
const nodes = Number(values.nodes)
const seconds = Number(values.seconds)
if (!(nodes > 0) || !(seconds >= 0)) throw new Error('--nodes and --seconds are numbers')

/** Megabytes. */
interface Memory {
  /** Resident memory, with shared pages. */
  resident: number
  /** Proportional set size: each page divided by the number of processes that map it. */
  proportional: number
  /** Anonymous memory: heap, buffers, stacks. */
  anonymous: number
}

interface Measured extends Memory {
  pid: number
  program: string
}

const COLUMNS = ['resident', 'proportional', 'anonymous'] as const

function memoryOf(pid: number): Memory {
  const of = (line: string) => memoryMb(pid, 'smaps_rollup', line)
  return { resident: of('Rss'), proportional: of('Pss'), anonymous: of('Anonymous') }
}

const PROGRAMS: readonly [pattern: RegExp, name: string][] = [
  [/devium--batcher|rollupNode/, 'rollup node'],
  [/devium-batch-submitter|batchSubmitter/, 'batch submitter'],
  [/devium-geth|cli\/geth/, 'devium-geth'],
  [/devium-inspection|inspectionMain/, 'its process for large messages'],
  [/kzg/, 'its process for KZG'],
  [/anvil/, 'L1 (Anvil)'],
]

function measureBelow(pid: number): Measured[] {
  return descendantsOf(pid).flatMap((child) => {
    const memory = memoryOf(child)
    const command = procFile(child, 'cmdline').replaceAll('\0', ' ')
    const program = PROGRAMS.find(([pattern]) => pattern.test(command))?.[1] ?? command.slice(0, 40)
    return command === '' ? [] : [{ pid: child, program, ...memory }]
  })
}

function row(name: string, memory: Memory): string {
  return name.padEnd(44) + COLUMNS.map((column) => memory[column].toFixed(0).padStart(14)).join('')
}

function sum(memories: readonly Memory[]): Memory {
  const of = (column: (typeof COLUMNS)[number]): number => memories.reduce((total, memory) => total + memory[column], 0)
  return { resident: of('resident'), proportional: of('proportional'), anonymous: of('anonymous') }
}

const testnet = await startTestnet({ nodes })
try {
  await delay(seconds * 1000)
  const runner = testnet.runner.pid ?? 0
  const measured = measureBelow(runner)
  const own = memoryOf(runner)
  console.log(
    `MB, ${nodes} nodes, ${seconds} s after they were ready`.padEnd(44) + COLUMNS.map((c) => c.padStart(14)).join(''),
  )
  for (const one of measured.toSorted((a, b) => a.program.localeCompare(b.program) || a.pid - b.pid)) {
    console.log(row(`${one.program} (${one.pid})`, one))
  }
  console.log(row('runner', own))
  const ours = measured.filter(({ program }) => program !== 'L1 (Anvil)')
  console.log(row('all but L1 and the runner', sum(ours)))
  console.log(row('all', sum([...measured, own])))
} finally {
  await testnet.stop()
}
