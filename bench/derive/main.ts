import { parseArgs } from 'node:util'
import { UsageError } from '../../src/lib/errors.ts'
import { limits } from './limits.ts'
import { batchData, emptyBlocks, type Figure, mainnetChannel } from './speed.ts'

const { values: flags } = parseArgs({
  options: {
    /** Only the comparison with op-node. */
    'only-op-node': { type: 'boolean', default: false },
    /** Number of comparisons. */
    runs: { type: 'string', default: '1' },
    /** Milliseconds of L1 latency in a second pair of comparisons. */
    'l1-latency': { type: 'string', default: '0' },
  },
})
// As in the programs.
const figures: Figure[] = []
if (!flags['only-op-node']) {
  for (const measure of [emptyBlocks, batchData, mainnetChannel, limits]) report(await measure())
}
const { DEVIUM_OP_GETH: opGeth, DEVIUM_OP_NODE: opNode } = process.env
if (opGeth !== undefined && opNode !== undefined) {
  const [runs, l1LatencyMs] = [numberFlag('runs', 1), numberFlag('l1-latency', 0)]
  const { besideOpNode } = await import('./rival.ts')
  report(await besideOpNode({ opGeth, opNode, runs, l1LatencyMs }))
} else if (flags['only-op-node']) {
  throw new UsageError('--only-op-node: DEVIUM_OP_GETH and DEVIUM_OP_NODE name no binaries')
} else {
  console.log('skip beside op-node: DEVIUM_OP_GETH and DEVIUM_OP_NODE name no binaries')
}
process.exitCode = figures.every(({ isMet }) => isMet) ? 0 : 1

function report(measured: readonly Figure[]): void {
  for (const figure of measured) {
    figures.push(figure)
    const value = figure.value >= 100 ? Math.round(figure.value).toLocaleString('en') : figure.value.toFixed(2)
    console.log(`${figure.isMet ? 'ok  ' : 'MISS'} ${figure.name}: ${value} ${figure.unit} (${figure.wanted})`)
  }
}

function numberFlag(name: 'runs' | 'l1-latency', least: number): number {
  const value = Number(flags[name])
  if (value >= least) return value
  throw new UsageError(`--${name}: expected a number from ${least} on, got ${flags[name]}`)
}
