import { parseArgs } from 'node:util'
import { backlog } from './backlog.ts'
import { madeChain, recordedChains } from './chains.ts'
import { besideOpBatcher } from './rival.ts'
import { sizes } from './sizes.ts'
import { speed } from './speed.ts'

// The submitter's compression, speed and cost. If DEVIUM_OP_BATCHER names an op-batcher, it and ours post the same chain.
// Run: npm run bench:batcher -- [sizes] [speed] [backlog] [rival]
// --blocks sets the length of the rival's chain. --only selects the rows that contain all of its words, for example --only="blobs
// span zlib".

// As in the program.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { blocks: { type: 'string', default: '300' }, only: { type: 'string', default: '' } },
})
const wanted = new Set(positionals)
const parts: { name: string; run: () => Promise<boolean> }[] = [
  {
    name: 'sizes',
    async run() {
      const results: boolean[] = []
      for (const chain of [...recordedChains(), madeChain(600)]) results.push(await sizes(chain))
      return results.every((isMet) => isMet)
    },
  },
  { name: 'speed', run: () => speed(madeChain(600)) },
  { name: 'backlog', run: backlog },
  {
    name: 'rival',
    async run() {
      const binary = process.env.DEVIUM_OP_BATCHER
      if (binary !== undefined) {
        const only = values.only.split(' ').filter((word) => word !== '')
        return besideOpBatcher(binary, { blocks: Number(values.blocks), only })
      }
      console.log('\nskip beside op-batcher: DEVIUM_OP_BATCHER names no binary')
      return true
    },
  },
]
process.exitCode = 0
for (const { name, run } of parts) {
  if (wanted.size > 0 && !wanted.has(name)) continue
  if (!(await run())) process.exitCode = 1
}
