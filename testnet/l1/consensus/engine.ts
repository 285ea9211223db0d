import type { RequestOptions, RpcClient } from '../../../src/jsonRpc/client.ts'
import { DeviumError } from '../../../src/lib/errors.ts'
import { fromHex, type Hex, normalizeHex, toQuantity } from '../../../src/lib/hex.ts'
import { versionedHashOf } from '../../../src/lib/kzg/index.ts'
import { BLOB_BYTES, JsonObjectReader } from '../../../src/rollup/protocol/index.ts'
import { type L1Block, readL1Block } from '../rpc.ts'
import type { StoredBlob } from './blobStore.ts'
import { type BlockTime, engineMethods, payloadAttributes } from './engineVersions.ts'

/** Hashes of three blocks of one chain. */
export interface Labels {
  head: Hex
  safe: Hex
  finalized: Hex
}

export interface BuiltBlock extends Omit<L1Block, 'baseFeeWei'> {
  transactionCount: number
  blobs: StoredBlob[]
  /** Parameters of engine_newPayload. */
  payload: readonly unknown[]
}

/** The Engine API of L1's execution client, and the `eth_` calls that a consensus client needs. */
export class L1Engine {
  private readonly rpc: RpcClient
  private readonly amsterdamTime: number | undefined

  constructor(rpc: RpcClient, { amsterdamTime }: { amsterdamTime: number | undefined }) {
    this.rpc = rpc
    this.amsterdamTime = amsterdamTime
  }

  async block(number: number | 'latest', options: RequestOptions): Promise<L1Block> {
    return readL1Block(this.rpc, number === 'latest' ? number : toQuantity(number), options)
  }

  async setLabels(labels: Labels, options: RequestOptions): Promise<void> {
    await this.forkchoiceUpdated('engine_forkchoiceUpdatedV3', labels, null, options)
  }

  /** Starts a payload on the head. Returns the payload id. */
  async startBlock(
    labels: Labels,
    time: BlockTime,
    random: { prevRandao: Hex; parentBeaconBlockRoot: Hex },
    options: RequestOptions,
  ): Promise<string> {
    const { forkchoiceUpdated } = engineMethods(time.timestamp, this.amsterdamTime)
    const attributes = payloadAttributes(time, this.amsterdamTime, random)
    const id = (await this.forkchoiceUpdated(forkchoiceUpdated, labels, attributes, options)).raw('payloadId')
    if (typeof id !== 'string') throw new DeviumError('l1-engine', `${forkchoiceUpdated} began no payload`)
    return id
  }

  /** Seals the block. No more transactions are added. */
  async finishBlock(
    payloadId: string,
    { timestamp }: BlockTime,
    parentBeaconBlockRoot: Hex,
    options: RequestOptions,
  ): Promise<BuiltBlock> {
    const { getPayload } = engineMethods(timestamp, this.amsterdamTime)
    const envelope = new JsonObjectReader(await this.rpc.request(getPayload, [payloadId], options), getPayload)
    const payload = envelope.object('executionPayload')
    const blobs = readBlobs(envelope.optionalObject('blobsBundle'))
    return {
      number: payload.quantityNumber('blockNumber'),
      hash: payload.hex('blockHash', 32),
      timestamp,
      transactionCount: payload.array('transactions').length,
      blobs,
      payload: [
        envelope.raw('executionPayload'),
        blobs.map(({ versionedHash }) => versionedHash),
        parentBeaconBlockRoot,
        envelope.optionalArray('executionRequests') ?? [],
      ],
    }
  }

  async importBlock({ timestamp, payload }: BuiltBlock, options: RequestOptions): Promise<void> {
    const { newPayload } = engineMethods(timestamp, this.amsterdamTime)
    checkValid(newPayload, await this.rpc.request(newPayload, payload, options))
  }

  private async forkchoiceUpdated(
    method: string,
    { head, safe, finalized }: Labels,
    attributes: Record<string, unknown> | null,
    options: RequestOptions,
  ): Promise<JsonObjectReader> {
    const state = { headBlockHash: head, safeBlockHash: safe, finalizedBlockHash: finalized }
    const answer = new JsonObjectReader(await this.rpc.request(method, [state, attributes], options), method)
    checkValid(method, answer.raw('payloadStatus'))
    return answer
  }
}

function checkValid(method: string, answer: unknown): void {
  const status = new JsonObjectReader(answer, method)
  if (status.raw('status') === 'VALID') return
  const why = status.has('validationError') ? `: ${status.raw('validationError')}` : ''
  throw new DeviumError('l1-engine', `${method} answers ${status.raw('status')}${why}`)
}

function readBlobs(bundle: JsonObjectReader | undefined): StoredBlob[] {
  if (bundle === undefined) return []
  const commitments = bundle.array('commitments')
  return bundle.array('blobs').map((blob, index): StoredBlob => {
    const commitment = normalizeHex(commitments[index], 48, 'commitment')
    return { versionedHash: versionedHashOf(fromHex(commitment)), blob: normalizeHex(blob, BLOB_BYTES, 'blob') }
  })
}
