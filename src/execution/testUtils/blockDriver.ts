import type { RpcClient } from '../../jsonRpc/client.ts'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { type Hex, isHex, quantityToNumber, toHex, toQuantity } from '../../lib/hex.ts'
import { asObject, type JsonObject } from '../../lib/jsonReader.ts'
import {
  encodeDepositTx,
  isForkActive,
  l1InfoDepositTx,
  parseRollupConfig,
  type RollupConfig,
  SEQUENCER_FEE_VAULT_ADDRESS,
  ZERO_HASH,
} from '../../rollup/protocol/index.ts'
import { madeUpL1Block } from './l1Block.ts'

export interface BuildOptions {
  /** Forced transactions after the L1-info deposit. */
  transactions?: Uint8Array[]
  noTxPool?: boolean
  /** Parent instead of the head. */
  parent?: Hex
  /** Awaited between the start of the block and its end: the block must include transactions added meanwhile. */
  meanwhile?: () => Promise<unknown>
}

/** Acts as the rollup node of a chain from Ecotone on: builds blocks through the Engine API as a sequencer does. */
export class BlockDriver {
  private readonly engine: Pick<RpcClient, 'request'>
  readonly config: RollupConfig

  constructor(engine: Pick<RpcClient, 'request'>, rollupJson: unknown) {
    this.engine = engine
    this.config = parseRollupConfig(rollupJson)
  }

  /** Builds one block on the head, imports it and makes it head. */
  async build(options: BuildOptions = {}): Promise<JsonObject> {
    const id = await this.start(options)
    await options.meanwhile?.()
    const method = `engine_getPayloadV${this.isActive('karst') ? 5 : this.isActive('isthmus') ? 4 : 3}`
    const { executionPayload, parentBeaconBlockRoot } = object(await this.engine.request(method, [id]))
    await this.insert(object(executionPayload), parentBeaconBlockRoot)
    return object(executionPayload)
  }

  async attributes({ transactions = [], noTxPool = false, parent }: BuildOptions = {}): Promise<{
    parentHash: Hex
    json: JsonObject
  }> {
    const { config } = this
    const parentBlock = object(
      parent === undefined
        ? await this.engine.request('eth_getBlockByNumber', ['latest', false])
        : await this.engine.request('eth_getBlockByHash', [parent, false]),
    )
    const number = quantityToNumber(parentBlock.number)
    const timestamp = quantityToNumber(parentBlock.timestamp) + config.blockTime
    const l1Block = madeUpL1Block(config, timestamp, config.genesis.l1.number + number)
    const deposit = encodeDepositTx(l1InfoDepositTx(config, config.genesis.systemConfig, 0, l1Block, timestamp))
    return {
      parentHash: hash(parentBlock.hash),
      json: {
        timestamp: toQuantity(timestamp),
        prevRandao: ZERO_HASH,
        suggestedFeeRecipient: SEQUENCER_FEE_VAULT_ADDRESS,
        withdrawals: [],
        parentBeaconBlockRoot: ZERO_HASH,
        transactions: [deposit, ...transactions].map(toHex),
        noTxPool,
        gasLimit: toQuantity(config.genesis.systemConfig.gasLimit),
        ...(isForkActive(config, 'holocene', timestamp) ? { eip1559Params: '0x0000000000000000' } : {}),
        ...(isForkActive(config, 'jovian', timestamp) ? { minBaseFee: 0 } : {}),
      },
    }
  }

  /** Read from the genesis: the chains of the tests do not activate forks later. */
  private isActive(fork: 'isthmus' | 'karst'): boolean {
    return isForkActive(this.config, fork, this.config.genesis.l2Time)
  }

  async start(options: BuildOptions = {}): Promise<Hex> {
    const { parentHash, json } = await this.attributes(options)
    const answer = object(await this.engine.request('engine_forkchoiceUpdatedV3', [forkchoice(parentHash), json]))
    if (object(answer.payloadStatus).status !== 'VALID' || !isHex(answer.payloadId, 8)) {
      throw new Error(`block was not started: ${JSON.stringify(answer)}`)
    }
    return answer.payloadId
  }

  async insert(payload: JsonObject, beaconRoot: JsonValue | undefined): Promise<void> {
    const params = [payload, [], beaconRoot ?? ZERO_HASH]
    const status = isForkActive(this.config, 'isthmus', quantityToNumber(payload.timestamp))
      ? object(await this.engine.request('engine_newPayloadV4', [...params, []]))
      : object(await this.engine.request('engine_newPayloadV3', params))
    if (status.status !== 'VALID') throw new Error(`payload was refused: ${JSON.stringify(status)}`)
    await this.setHead(hash(payload.blockHash))
  }

  async setHead(head: Hex, safe: Hex = ZERO_HASH, finalized: Hex = ZERO_HASH): Promise<void> {
    const answer = object(
      await this.engine.request('engine_forkchoiceUpdatedV3', [forkchoice(head, safe, finalized), null]),
    )
    if (object(answer.payloadStatus).status !== 'VALID') throw new Error(`head was refused: ${JSON.stringify(answer)}`)
  }
}

export function forkchoice(head: Hex, safe: Hex = ZERO_HASH, finalized: Hex = ZERO_HASH): JsonObject {
  return { headBlockHash: head, safeBlockHash: safe, finalizedBlockHash: finalized }
}

function object(value: unknown): JsonObject {
  return asObject(value, 'answer')
}

function hash(value: unknown): Hex {
  if (!isHex(value, 32)) throw new Error(`expected a hash, got ${JSON.stringify(value)}`)
  return value
}
