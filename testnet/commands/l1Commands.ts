import { UsageError } from '../../src/lib/errors.ts'
import { countOf, gweiText } from '../../src/lib/phrases.ts'
import { BLOB_MODES, type BlobMode } from '../l1/beaconService.ts'
import type { Handler } from './commandedTestnet.ts'
import { sequencerRpc } from './nodeLookup.ts'

/** `reorg N`. Finalized blocks stay, because L2 never reverts what they hold. */
export const reorg: Handler = async (testnet, [text = '']) => {
  const { l1 } = testnet
  const depth = Number(text)
  if (!/^\d+$/.test(text) || depth < 1) throw new UsageError(`reorg: expected how many L1 blocks, got "${text}"`)
  const { head, finalized } = await testnet.l1Heads()
  const most = head - finalized - 1
  if (depth > most) {
    throw new UsageError(
      `reorg ${depth}: L1 is at block ${head}, and block ${finalized} is finalized; expected at most ${most}`,
    )
  }
  await l1.reorg(depth)
  return {
    did: `Empty blocks replaced L1's last ${countOf(depth, 'block')}, from block ${head - depth + 1} on.`,
    lookAt: `Nodes derive again, and the submitter posts the lost batches again: npx devium derive status --rpc ${sequencerRpc(testnet)}`,
  }
}

/** `l1 stop`, `l1 start`, `l1 fees xN`. */
export const changeL1: Handler = async (testnet, words) => {
  const { l1 } = testnet
  const [action = '', amount] = words
  const rpc = sequencerRpc(testnet)
  if (amount === undefined && action === 'stop') {
    await l1.stopBlocks()
    return {
      did: 'L1 builds no more blocks. It still answers.',
      lookAt: `Safe heads stop. The sequencer continues until its L1 origin is too old: npx devium status --rpc ${rpc}`,
    }
  }
  if (amount === undefined && action === 'start') {
    await l1.startBlocks()
    return { did: 'L1 builds blocks again.', lookAt: `Safe heads advance: npx devium status --rpc ${rpc}` }
  }
  const factor = Number(/^x(\d+(?:\.\d+)?)$/.exec(amount ?? '')?.[1])
  if (action === 'fees' && factor > 0 && factor <= MAX_FACTOR) {
    const baseFee = await l1.multiplyBaseFee(factor)
    return {
      did: `The base fee of L1's next block is ${gweiText(baseFee)}; it falls by an eighth with each empty block after that.`,
      lookAt: `The batch submitter's fees: npx devium batcher status --rpc ${testnet.endpoints.batcher.adminRpc}`,
    }
  }
  throw new UsageError(`l1: expected stop, start, or fees x10 (at most x${MAX_FACTOR}), got "${words.join(' ')}"`)
}

const BLOBS_DID: Readonly<Record<BlobMode, string>> = {
  on: 'The beacon API serves blobs again.',
  off: 'The beacon API answers requests for blobs with errors.',
  lie: 'The beacon API serves blobs that differ from the posted blobs.',
}

/** `blobs on|off|lie`. */
export const setBlobs: Handler = async (testnet, [word = '']) => {
  const mode = BLOB_MODES.find((known) => known === word)
  if (mode === undefined) throw new UsageError(`blobs: expected ${BLOB_MODES.join(', ')}, got "${word}"`)
  if (testnet.da === 'calldata')
    throw new UsageError('blobs: batches are calldata here; start a testnet with --da blobs')
  testnet.l1.setBlobs(mode)
  const status = `npx devium derive status --rpc ${sequencerRpc(testnet)}`
  const lookAt =
    mode === 'on' ? `Safe heads advance: ${status}` : `Derivation waits for blobs, and names them: ${status}`
  return { did: BLOBS_DID[mode], lookAt }
}

const MAX_FACTOR = 100_000
