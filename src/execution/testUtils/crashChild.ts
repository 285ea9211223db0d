// Child process of the crash test: builds, imports and makes head one block after the other, telling each head on
// standard output once it is set, until it is killed.
import { systemClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { openChain } from '../index.ts'
import { extendChain } from './extendChain.ts'
import { loadRecordedRpc } from './recordedRpc.ts'

const [datadir = '', recordingName = ''] = process.argv.slice(2)
const chain = await openChain(datadir, { logger: silentLogger, clock: systemClock })
const { rollup } = loadRecordedRpc(recordingName)
let parent: Hex = chain.head().hash
for (;;) {
  parent = await extendChain(chain, rollup, parent, { transfers: 20 })
  await chain.setForkchoice({ headBlockHash: parent, safeBlockHash: parent, finalizedBlockHash: chain.genesis.hash })
  process.stdout.write(`${chain.head().number}\n`)
}
