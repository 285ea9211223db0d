import { JsonRpcError } from '../../../jsonRpc/types.ts'
import { bigIntToBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { isForkActive, payloadBlockHash, payloadToL2BlockRef, systemConfigFromPayload } from '../../protocol/index.ts'
import {
  type L2BlockRef,
  type PayloadAttributes,
  type PayloadEnvelope,
  type RollupConfig,
  type SystemConfig,
  ZERO_HASH,
} from '../../protocol/types.ts'
import type { EngineClient } from '../engineClient.ts'
import type { ForkchoiceResult, ForkchoiceState, L2BlockLabel, PayloadStatus } from '../types.ts'

const EMPTY_BLOOM: Hex = `0x${'00'.repeat(256)}`
const UNKNOWN_PAYLOAD = -38001

/** Faults that a test injects: return a value or throw; undefined = work normally. */
export interface EngineFaults {
  forkchoiceUpdated?: (state: ForkchoiceState, attributes?: PayloadAttributes) => ForkchoiceResult | undefined
  newPayload?: (envelope: PayloadEnvelope) => PayloadStatus | undefined
  getPayload?: (payloadId: Hex) => undefined
}

/**
 * An execution client with blocks and heads but without execution. State roots are computed from the parent's, so equal
 * inputs give equal blocks. As in a real client, a built block joins the chain only after newPayload.
 */
export class FakeEngine implements EngineClient {
  readonly config: RollupConfig
  readonly faults: EngineFaults = {}
  /** Names of Engine API calls, in order; `forkchoice+` has attributes. */
  readonly calls: string[] = []
  /** Transactions that the next built block with access to the pool includes. */
  pool: Uint8Array[] = []
  private readonly blocks = new Map<Hex, PayloadEnvelope>()
  private readonly jobs = new Map<Hex, PayloadEnvelope>()
  /** Built blocks that were returned but not inserted yet. */
  private readonly givenOut = new Map<Hex, PayloadEnvelope>()
  private labels: Record<L2BlockLabel, Hex | undefined>
  private nextJob = 1

  constructor(config: RollupConfig, genesis: PayloadEnvelope) {
    this.config = config
    this.blocks.set(genesis.payload.blockHash, genesis)
    this.labels = { latest: genesis.payload.blockHash, safe: undefined, finalized: undefined }
  }

  /** A second engine with the same blocks and heads. */
  clone(): FakeEngine {
    const copy = new FakeEngine(this.config, this.require(this.labels.latest))
    for (const [hash, block] of this.blocks) copy.blocks.set(hash, block)
    copy.labels = { ...this.labels }
    return copy
  }

  /** Takes over another engine's blocks and heads, as after a restart that lost blocks. */
  restartAs(other: FakeEngine): void {
    this.blocks.clear()
    this.jobs.clear()
    for (const [hash, block] of other.blocks) this.blocks.set(hash, block)
    this.labels = { ...other.labels }
  }

  label(label: L2BlockLabel): Hex | undefined {
    return this.labels[label]
  }

  /** Drops the blocks above `number`, like an engine that was killed before it had written them. */
  loseTip(number: number): void {
    const kept = this.canonical(number)
    for (const [hash, { payload }] of this.blocks) if (payload.blockNumber > number) this.blocks.delete(hash)
    this.jobs.clear()
    if (kept !== undefined) this.labels.latest = kept.payload.blockHash
  }

  async forkchoiceUpdated(state: ForkchoiceState, attributes?: PayloadAttributes): Promise<ForkchoiceResult> {
    this.calls.push(attributes === undefined ? 'forkchoice' : 'forkchoice+')
    const fault = this.faults.forkchoiceUpdated?.(state, attributes)
    if (fault !== undefined) return fault
    if (!this.blocks.has(state.headBlockHash)) return { payloadStatus: { status: 'SYNCING' } }
    for (const hash of [state.safeBlockHash, state.finalizedBlockHash]) {
      if (hash !== ZERO_HASH && !this.isAncestor(hash, state.headBlockHash)) {
        throw new JsonRpcError(-38002, 'Invalid forkchoice state')
      }
    }
    const { safe, finalized } = this.labels
    // A zero hash keeps the label.
    this.labels = {
      latest: state.headBlockHash,
      safe: state.safeBlockHash === ZERO_HASH ? safe : state.safeBlockHash,
      finalized: state.finalizedBlockHash === ZERO_HASH ? finalized : state.finalizedBlockHash,
    }
    if (attributes === undefined) return { payloadStatus: { status: 'VALID' } }
    const payloadId: Hex = `0x${(this.nextJob++).toString(16).padStart(16, '0')}`
    this.jobs.set(payloadId, this.build(this.require(state.headBlockHash), attributes))
    return { payloadStatus: { status: 'VALID' }, payloadId }
  }

  async newPayload(envelope: PayloadEnvelope): Promise<PayloadStatus> {
    this.calls.push('newPayload')
    const fault = this.faults.newPayload?.(envelope)
    if (fault !== undefined) return fault
    if (!this.blocks.has(envelope.payload.parentHash)) return { status: 'SYNCING' }
    if (payloadBlockHash(envelope) !== envelope.payload.blockHash) return { status: 'INVALID_BLOCK_HASH' }
    this.blocks.set(envelope.payload.blockHash, envelope)
    return { status: 'VALID' }
  }

  async getPayload(payloadId: Hex): Promise<PayloadEnvelope> {
    this.calls.push('getPayload')
    this.faults.getPayload?.(payloadId)
    const built = this.jobs.get(payloadId)
    if (built === undefined) throw new JsonRpcError(UNKNOWN_PAYLOAD, 'Unknown payload')
    this.givenOut.set(built.payload.blockHash, built)
    return built
  }

  async payloadByHash(hash: Hex): Promise<PayloadEnvelope | undefined> {
    return this.blocks.get(hash)
  }

  async payloadByNumber(number: number): Promise<PayloadEnvelope | undefined> {
    return this.canonical(number)
  }

  async blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined> {
    return this.toRef(this.blocks.get(hash))
  }

  async blockRefByNumber(number: number): Promise<L2BlockRef | undefined> {
    return this.toRef(this.canonical(number))
  }

  async blockRefByLabel(label: L2BlockLabel): Promise<L2BlockRef | undefined> {
    const hash = this.labels[label]
    return hash === undefined ? undefined : this.toRef(this.blocks.get(hash))
  }

  async systemConfigByL2Hash(hash: Hex): Promise<SystemConfig> {
    const block = this.blocks.get(hash) ?? this.givenOut.get(hash)
    if (block === undefined) throw new DecodeError(`engine does not have L2 block ${hash}`, { severity: 'reset' })
    return systemConfigFromPayload(block.payload, this.config)
  }

  async proof(): Promise<never> {
    throw new JsonRpcError(-32601, 'this engine has no state')
  }

  async ownSync(): Promise<undefined> {}

  async setSdmOptIn(optIn: boolean): Promise<boolean> {
    this.calls.push(`sdm ${optIn}`)
    return true
  }

  async chainId(): Promise<bigint> {
    return this.config.l2ChainId
  }

  /** The block that these attributes give on this parent. */
  build(parent: PayloadEnvelope, attributes: PayloadAttributes): PayloadEnvelope {
    const { payload } = parent
    const { timestamp } = attributes
    const envelope: PayloadEnvelope = {
      payload: {
        parentHash: payload.blockHash,
        feeRecipient: attributes.suggestedFeeRecipient,
        stateRoot: payload.stateRoot,
        receiptsRoot: payload.receiptsRoot,
        logsBloom: EMPTY_BLOOM,
        prevRandao: attributes.prevRandao,
        blockNumber: payload.blockNumber + 1,
        gasLimit: attributes.gasLimit,
        gasUsed: 0n,
        timestamp,
        extraData: '0x',
        baseFeePerGas: 1n,
        blockHash: ZERO_HASH,
        transactions: attributes.noTxPool ? attributes.transactions : [...attributes.transactions, ...this.pool],
      },
    }
    if (!attributes.noTxPool) this.pool = []
    if (attributes.withdrawals !== undefined) envelope.payload.withdrawals = []
    if (isForkActive(this.config, 'ecotone', timestamp)) {
      envelope.payload.blobGasUsed = 0n
      envelope.payload.excessBlobGas = 0n
      envelope.parentBeaconBlockRoot = attributes.parentBeaconBlockRoot ?? ZERO_HASH
    }
    if (isForkActive(this.config, 'isthmus', timestamp)) envelope.payload.withdrawalsRoot = payload.stateRoot
    if (attributes.eip1559Params !== undefined) {
      const params = fromHex(attributes.eip1559Params)
      const isZero = params.every((byte) => byte === 0)
      const effective = isZero ? fromHex('0x000000fa00000006') : params
      const { minBaseFee } = attributes
      envelope.payload.extraData = toHex(
        minBaseFee === undefined
          ? Uint8Array.of(0, ...effective)
          : Uint8Array.of(1, ...effective, ...bigIntToBytes(minBaseFee, 8)),
      )
    }
    return withHash(envelope)
  }

  private canonical(number: number): PayloadEnvelope | undefined {
    let block: PayloadEnvelope | undefined = this.require(this.labels.latest)
    while (block !== undefined && block.payload.blockNumber > number) block = this.blocks.get(block.payload.parentHash)
    return block?.payload.blockNumber === number ? block : undefined
  }

  private isAncestor(hash: Hex, head: Hex): boolean {
    let block = this.blocks.get(head)
    while (block !== undefined && block.payload.blockHash !== hash) block = this.blocks.get(block.payload.parentHash)
    return block !== undefined
  }

  private toRef(block: PayloadEnvelope | undefined): L2BlockRef | undefined {
    return block && payloadToL2BlockRef(block.payload, this.config)
  }

  private require(hash: Hex | undefined): PayloadEnvelope {
    const block = hash === undefined ? undefined : this.blocks.get(hash)
    if (block === undefined) throw new Error(`fake engine does not have block ${hash}`)
    return block
  }
}

export function withHash(envelope: PayloadEnvelope): PayloadEnvelope {
  return { ...envelope, payload: { ...envelope.payload, blockHash: payloadBlockHash(envelope) } }
}

/** A genesis block without transactions. */
export function fakeGenesis(timestamp: number, gasLimit: bigint): PayloadEnvelope {
  return withHash({
    parentBeaconBlockRoot: ZERO_HASH,
    payload: {
      parentHash: ZERO_HASH,
      feeRecipient: '0x4200000000000000000000000000000000000011',
      stateRoot: `0x${'11'.repeat(32)}`,
      receiptsRoot: `0x${'22'.repeat(32)}`,
      logsBloom: EMPTY_BLOOM,
      prevRandao: ZERO_HASH,
      blockNumber: 0,
      gasLimit,
      gasUsed: 0n,
      timestamp,
      extraData: '0x00000000fa00000006',
      baseFeePerGas: 1n,
      blockHash: ZERO_HASH,
      transactions: [],
      withdrawals: [],
      blobGasUsed: 0n,
      excessBlobGas: 0n,
    },
  })
}
