import { parseArgs } from 'node:util'
import { backlog } from './backlog.ts'
import { madeChain, recordedChains } from './chains.ts'
import { besideOpBatcher } from './rival.ts'
import { sizes } from './sizes.ts'
import { speed } from './speed.ts'

// What the submitter makes of a chain: how short, how fast, and what it costs the process. Where DEVIUM_OP_BATCHER names
// one, the same chain is posted by it and by ours.
// Run: npm run bench:batcher -- [sizes] [speed] [backlog] [rival]
// With --blocks the rival's chain has so many, and of its rows only those are run that hold all words of --only, as in
// --only="blobs span zlib".

// As the program does.
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
