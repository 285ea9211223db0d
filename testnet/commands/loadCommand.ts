import { UsageError } from '../../src/lib/errors.ts'
import { countOf } from '../../src/lib/phrases.ts'
import { LOADS, type LoadKind } from '../load/transactionLoad.ts'
import type { Handler } from './commandedTestnet.ts'
import { sequencerOf } from './nodeLookup.ts'

/** Limited because the runner's process signs the transactions. */
const MAX_PER_SECOND = 1_000
const KINDS = Object.keys(LOADS)
const isKind = (text: string): text is LoadKind => text in LOADS

/** `load N [transfers|data]`, `load off`. */
export const setLoad: Handler = async (testnet, words) => {
  const { load } = testnet
  const [amount = '', kind = 'transfers'] = words
  const lookAt = `Blocks and batches show it: npx devium watch --rpc ${sequencerOf(testnet).rollupRpc}`
  if (amount === 'off' && words.length === 1) {
    if (!load.isRunning) throw new UsageError('load: no load runs')
    await load.stop()
    return {
      did: `The load ended: ${countOf(load.accepted, 'transaction')} taken, ${load.refused} refused.`,
      lookAt,
    }
  }
  const perSecond = Number(amount)
  if (!/^\d+$/.test(amount) || perSecond < 1 || perSecond > MAX_PER_SECOND || !isKind(kind)) {
    throw new UsageError(
      `load: expected 1 to ${MAX_PER_SECOND} transactions a second, and ${KINDS.join(' or ')}; or off; got "${words.join(' ')}"`,
    )
  }
  await load.start(perSecond, kind)
  return { did: `${countOf(perSecond, 'transaction')} a second (${kind}) go to the sequencer.`, lookAt }
}
