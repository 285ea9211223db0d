// Child process of the crash tests. It builds and imports blocks and makes each one head, until it is killed. It prints
// each head after it is set. Arguments: data directory, recording, and as JSON: limits of the kept states; distance of
// finalized blocks below the head (0: the genesis); number of blocks after which the chain moves to another branch,
// which begins three blocks below (0: never).
import { systemClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { openChain } from '../index.ts'
import { extendChain } from './extendChain.ts'
import { loadRecordedRpc } from './recordedRpc.ts'

const [datadir = '', recordingName = '', json = '{}'] = process.argv.slice(2)
const { limits = {}, finalizedBelow = 0, branchEvery = 0 } = JSON.parse(json)
const chain = await openChain(datadir, { logger: silentLogger, clock: systemClock }, { limits })
const { rollup } = loadRecordedRpc(recordingName)
let parent: Hex = chain.head().hash
for (let count = 1; ; count++) {
  if (branchEvery > 0 && count % branchEvery === 0) {
    parent = (await chain.headerByNumber(Math.max(chain.head().number - 3, 0)))?.hash ?? parent
  }
  parent = await extendChain(chain, rollup, parent, { transfers: 8, salt: BigInt(count) })
  const number = Math.max(chain.head().number - finalizedBelow, 0)
  const finalized = finalizedBelow === 0 ? chain.genesis : await chain.headerByNumber(number)
  const isAbove = (finalized?.number ?? 0) > (chain.finalized()?.number ?? -1)
  await chain.setForkchoice({
    headBlockHash: parent,
    safeBlockHash: parent,
    finalizedBlockHash: (isAbove ? finalized?.hash : chain.finalized()?.hash) ?? chain.genesis.hash,
  })
  process.stdout.write(`${chain.head().number} ${parent}\n`)
}
