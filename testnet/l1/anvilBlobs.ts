import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { DeviumError } from '../../src/lib/errors.ts'
import { type Hex, isHex, toQuantity } from '../../src/lib/hex.ts'
import { JsonObjectReader } from '../../src/rollup/protocol/index.ts'
import type { StoredBlob } from './consensus/blobStore.ts'
import { type SlotTimes, timeOfSlot } from './consensus/slots.ts'
import { readL1Block } from './rpc.ts'

/** Anvil answers at once, except while it loads KZG's trusted setup. */
const TIMEOUT_MS = 30_000

/**
 * Reads Anvil's blobs of a slot. Undefined if the slot has no block. Anvil's own beacon API uses block numbers as slots, and takes
 * one hash a request.
 *
 * Anvil gives blocks that it mines within one second the same time.
 */
export async function readAnvilBlobs(l1: RpcClient, times: SlotTimes, slot: number): Promise<StoredBlob[] | undefined> {
  const timestamp = timeOfSlot(times, slot)
  let blobs: StoredBlob[] | undefined
  for (let number = await firstBlockFrom(l1, timestamp); ; number++) {
    const json = await l1.request('eth_getBlockByNumber', [toQuantity(number), true])
    if (json === null) return blobs
    const block = new JsonObjectReader(json, 'block')
    if (block.quantityNumber('timestamp') !== timestamp) return blobs
    blobs = [...(blobs ?? []), ...(await readBlobs(l1, number, block))]
  }
}

function readBlobs(l1: RpcClient, number: number, block: JsonObjectReader): Promise<StoredBlob[]> {
  const hashes = block.array('transactions').flatMap((transaction) => {
    const fields = new JsonObjectReader(transaction, 'transaction')
    return (fields.optionalArray('blobVersionedHashes') ?? []).filter((hash) => isHex(hash, 32))
  })
  return Promise.all(
    hashes.map(async (versionedHash) => ({ versionedHash, blob: await readBlob(l1, number, versionedHash) })),
  )
}

/** Number of the first block at this time or later, or of the head. */
async function firstBlockFrom(l1: RpcClient, timestamp: number): Promise<number> {
  let low = 0
  let high = (await readL1Block(l1)).number
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((await readL1Block(l1, toQuantity(middle))).timestamp < timestamp) low = middle + 1
    else high = middle
  }
  return low
}

async function readBlob(l1: RpcClient, block: number, versionedHash: Hex): Promise<Hex> {
  const url = `${l1.url}/eth/v1/beacon/blobs/${block}?versioned_hashes=${versionedHash}`
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  const { data } = (await response.json()) as { data?: unknown[] }
  const blob = data?.[0]
  if (!isHex(blob)) throw new DeviumError('l1-blobs', `Anvil has no blob ${versionedHash} in block ${block}`)
  return blob
}
