import { createRpcClient, RpcTransportError } from '../../../jsonRpc/client.ts'
import { parseBlock } from '../../../l1/block.ts'
import { createBeacon } from '../../../l1/index.ts'
import { systemClock } from '../../../lib/clock.ts'
import { DeviumError, UsageError } from '../../../lib/errors.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'
import { isObject } from '../../../lib/jsonReader.ts'
import { createKzg } from '../../../lib/kzg/index.ts'
import { silentLogger } from '../../../lib/logger.ts'
import type { L1BlockRef } from '../../../rollup/protocol/types.ts'
import { checkHttpUrl } from '../../shared/httpUrl.ts'
import type { DecodeInput } from './input.ts'
import { l1TransactionFromJson } from './l1Transaction.ts'

/**
 * Reads the calldata of an L1 transaction, or its blobs if a beacon node is given. Throws UsageError if the transaction is
 * unknown or an endpoint does not answer.
 */
export async function readFromL1(hash: Hex, urls: { l1: string; beacon: string | undefined }): Promise<DecodeInput[]> {
  checkHttpUrl('--l1', urls.l1)
  if (urls.beacon !== undefined) checkHttpUrl('--l1.beacon', urls.beacon)
  const rpc = createRpcClient({ url: urls.l1 })
  try {
    const json = await rpc.request('eth_getTransactionByHash', [hash])
    if (!isObject(json)) throw new UsageError(`the L1 at ${rpc.url} does not have transaction ${hash}`)
    const transaction = l1TransactionFromJson(json)
    const bytes = fromHex(String(json.input), undefined, 'transaction input')
    const found: DecodeInput[] = [{ source: hash, kind: 'data', bytes, transaction }]
    const hashes = transaction.blobVersionedHashes
    if (hashes === undefined || urls.beacon === undefined) return found
    const block = await rpc.request('eth_getBlockByHash', [json.blockHash, false])
    if (!isObject(block))
      throw new UsageError(`transaction ${hash} is not in an L1 block yet, so its blobs cannot be read`)
    const blobs = await readBlobs(urls.beacon, parseBlock(block, false).info, hashes)
    return [...found, ...blobs.map((blob, i) => ({ source: `blob ${hashes[i]}`, kind: 'blob' as const, bytes: blob }))]
  } catch (cause) {
    if (!(cause instanceof RpcTransportError)) throw cause
    throw new UsageError(`cannot reach L1 (--l1): ${cause.message}`, { cause })
  } finally {
    await rpc.close()
  }
}

/** Verifies each blob by its versioned hash. */
async function readBlobs(url: string, block: L1BlockRef, hashes: readonly Hex[]): Promise<Uint8Array[]> {
  const modules = { clock: systemClock, logger: silentLogger }
  const kzg = createKzg(modules)
  const { client } = createBeacon({ ...modules, kzg }, { url })
  try {
    const blobs = await client.blobs(block, hashes)
    if (blobs === undefined) throw new UsageError(`the beacon API does not have the blobs of L1 block ${block.number}`)
    return blobs
  } catch (cause) {
    if (!(cause instanceof DeviumError) || cause instanceof UsageError) throw cause
    throw new UsageError(`blobs of L1 block ${block.number} (--l1.beacon): ${cause.message}`, { cause })
  } finally {
    await client.close()
    await kzg.close()
  }
}
