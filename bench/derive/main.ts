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
process.exitCode = figures.every(({ isMet }) => isMet) ? 0 : 1
