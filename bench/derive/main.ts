import { UsageError } from '../../src/lib/errors.ts'
import { markLater } from '../../src/lib/laterMarking.ts'
import { limits } from './limits.ts'
import { batchData, emptyBlocks, type Figure, mainnetChannel } from './speed.ts'

// As the programs do.
markLater()
const figures: Figure[] = []
for (const measure of [emptyBlocks, batchData, mainnetChannel, limits]) {
  for (const figure of await measure()) {
    figures.push(figure)
    const value = figure.value >= 100 ? Math.round(figure.value).toLocaleString('en') : figure.value.toFixed(2)
    console.log(`${figure.isMet ? 'ok  ' : 'MISS'} ${figure.name}: ${value} ${figure.unit} (${figure.wanted})`)
  }
}
const { DEVIUM_OP_GETH: opGeth, DEVIUM_OP_NODE: opNode } = process.env
if (opGeth === undefined || opNode === undefined) {
  console.log('skip beside op-node: DEVIUM_OP_GETH and DEVIUM_OP_NODE name no binaries')
} else {
  const { besideOpNode } = await import('./rival.ts')
  await besideOpNode({ opGeth, opNode, l1LatencyMs: latencyFlag(process.argv) })
}
process.exitCode = figures.every(({ isMet }) => isMet) ? 0 : 1

/** Milliseconds after `--l1-latency`. */
function latencyFlag(args: readonly string[]): number {
  const index = args.indexOf('--l1-latency')
  const value = index < 0 ? 0 : Number(args[index + 1])
  if (!(value >= 0)) throw new UsageError(`--l1-latency: expected milliseconds, got ${args[index + 1]}`)
  return value
}
