import type { RpcClient } from '../../jsonRpc/client.ts'
import { fromHex, type Hex, quantityToNumber } from '../../lib/hex.ts'
import { decodeBatch, decodeBlob, decodeFrames, type Frame, openChannelBatches } from '../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'

/** An L2 block as its batch on L1 describes it. */
export interface PostedBlock {
  timestamp: number
  epochNumber: number
  transactions: Uint8Array[]
  /** Singular batches only. */
  parentHash?: Hex
  /** L1 block in which the channel became complete. */
  l1Block: number
}

export interface PostedFrame extends Frame {
  l1Block: number
  /** Total bytes of the transaction's data. */
  txSizeBytes: number
  txHash: string
}

/** Blobs by versioned hash, cached because tests read them repeatedly. */
const knownBlobs = new Map<string, Uint8Array>()

/** Reads blobs from Anvil's beacon endpoint, which accepts one hash in a request. */
export async function readBlobs(
  l1Url: string,
  l1Block: number,
  versionedHashes: readonly string[],
): Promise<Uint8Array[]> {
  const read = async (hash: string) => {
    const known = knownBlobs.get(hash)
    if (known !== undefined) return known
    const response = await fetch(`${l1Url}/eth/v1/beacon/blobs/${l1Block}?versioned_hashes=${hash}`, {
      signal: AbortSignal.timeout(120_000),
    })
    const { data } = (await response.json()) as { data: string[] }
    if (data[0] === undefined) throw new Error(`no blob ${hash} in L1 block ${l1Block}`)
    const blob = fromHex(data[0])
    knownBlobs.set(hash, blob)
    return blob
  }
  return Promise.all(versionedHashes.map(read))
}

interface L1Block {
  number: string
  hash: string
  parentHash: string
  transactions: { to: string | null; from: string; input: string; blobVersionedHashes?: string[]; hash: string }[]
}

/** The chain of each L1 as read last. Tests read hundreds of blocks repeatedly. */
const knownChains = new WeakMap<object, readonly L1Block[]>()

/** All blocks of the L1, by number. */
async function readL1Chain(l1: Pick<RpcClient, 'request'>): Promise<readonly L1Block[]> {
  const known = knownChains.get(l1) ?? []
  const newer: L1Block[] = []
  let block = (await l1.request('eth_getBlockByNumber', ['latest', true])) as L1Block | null
  while (block !== null && known[quantityToNumber(block.number)]?.hash !== block.hash) {
    newer.unshift(block)
    if (quantityToNumber(block.number) === 0) break
    block = (await l1.request('eth_getBlockByHash', [block.parentHash, true])) as L1Block | null
  }
  // A reorg has removed the block since.
  if (block === null) return readL1Chain(l1)
  const [first] = newer
  const chain =
    first === undefined
      ? known.slice(0, quantityToNumber(block.number) + 1)
      : [...known.slice(0, quantityToNumber(first.number)), ...newer]
  knownChains.set(l1, chain)
  return chain
}

/** The frames that `sender` posted to the inbox, in calldata or blobs, in L1 order. */
export async function readPostedFrames(
  l1: Pick<RpcClient, 'request' | 'url'>,
  config: RollupConfig,
  sender: Hex,
): Promise<PostedFrame[]> {
  const frames: PostedFrame[] = []
  for (const [number, block] of (await readL1Chain(l1)).entries()) {
    for (const tx of block.transactions) {
      if (tx.to?.toLowerCase() !== config.batchInboxAddress || tx.from.toLowerCase() !== sender) continue
      const carried =
        tx.blobVersionedHashes === undefined
          ? [fromHex(tx.input)]
          : (await readBlobs(l1.url, number, tx.blobVersionedHashes)).map(decodeBlob)
      const txSizeBytes = carried.reduce((sum, { length }) => sum + length, 0)
      for (const data of carried)
        for (const frame of decodeFrames(data)) frames.push({ ...frame, l1Block: number, txSizeBytes, txHash: tx.hash })
    }
  }
  return frames
}

/**
 * Holocene's channel assembly: frames must be in order. A first frame drops an incomplete channel. Frames out of order
 * are dropped.
 */
export function channelsOf(frames: readonly PostedFrame[]): { data: Uint8Array; l1Block: number; frames: number }[] {
  const channels: { data: Uint8Array; l1Block: number; frames: number }[] = []
  let current: PostedFrame[] = []
  for (const frame of frames) {
    if (frame.number === 0) current = [frame]
    else if (current[0]?.channelId === frame.channelId && current.length === frame.number) current.push(frame)
    else continue
    if (!frame.isLast) continue
    const data = Buffer.concat(current.map((part) => part.data))
    channels.push({ data, l1Block: frame.l1Block, frames: current.length })
    current = []
  }
  return channels
}

export async function blocksOfChannel(data: Uint8Array, config: RollupConfig, l1Block = 0): Promise<PostedBlock[]> {
  const blocks: PostedBlock[] = []
  for (const bytes of await openChannelBatches(data, { fjord: true, maxRlpBytes: 100_000_000 })) {
    const batch = decodeBatch(bytes, config)
    if (batch.type === 'singular') {
      const { timestamp, epochNumber, transactions, parentHash } = batch
      blocks.push({ timestamp, epochNumber, transactions: transactions.slice(), parentHash, l1Block })
    } else {
      for (const { timestamp, epochNumber, transactions } of batch.elements)
        blocks.push({ timestamp, epochNumber, transactions, l1Block })
    }
  }
  return blocks
}

export async function readPostedBlocks(
  l1: Pick<RpcClient, 'request' | 'url'>,
  config: RollupConfig,
  sender: Hex,
): Promise<PostedBlock[]> {
  const channels = channelsOf(await readPostedFrames(l1, config, sender))
  return (await Promise.all(channels.map(({ data, l1Block }) => blocksOfChannel(data, config, l1Block)))).flat()
}
