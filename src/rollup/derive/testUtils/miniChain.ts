import { concatBytes } from '../../../lib/bytes.ts'
import { DeviumError } from '../../../lib/errors.ts'
import type { Hex } from '../../../lib/hex.ts'
import { silentLogger } from '../../../lib/logger.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import {
  compressChannel,
  encodeExtraData,
  encodeFrames,
  encodeSingularBatch,
  encodeSpanBatch,
  type Frame,
  isDepositTx,
  isForkActive,
  payloadBlockHash,
  payloadToL2BlockRef,
  type SpanBatchBlock,
  systemConfigFromPayload,
} from '../../protocol/index.ts'
import type {
  L1BlockInfo,
  L1Log,
  L1Receipt,
  L1Transaction,
  L2BlockRef,
  PayloadAttributes,
  PayloadEnvelope,
  RollupConfig,
} from '../../protocol/types.ts'
import { createAttributesBuilder } from '../attributesBuilder.ts'
import type { DerivationEvent } from '../events.ts'
import { createDerivationPipeline, type DerivationPipeline } from '../pipeline.ts'
import type { DerivedAttributes, L1Source, L2Source } from '../types.ts'
import { BATCHER, fakeHash, GENESIS_TIME, INBOX, L1_BLOCK_TIME } from './config.ts'

interface L1Block {
  info: L1BlockInfo
  transactions: L1Transaction[]
  receipts: L1Receipt[]
}

export interface L1BlockContent {
  /** Data of batcher transactions. */
  data?: readonly Uint8Array[]
  logs?: readonly Omit<L1Log, 'logIndex'>[]
  transactions?: readonly L1Transaction[]
  /** Name of the L1 fork. Blocks with another name have other hashes. */
  fork?: string
  /** Seconds after genesis. */
  time?: number
}

/** An L1 that a test extends and rewinds. */
export class FakeL1 implements L1Source {
  blocks: L1Block[] = []
  /** If set, every read fails with this error. */
  failure: Error | undefined

  constructor() {
    this.add({ fork: 'l1' })
  }

  get head(): number {
    return this.blocks.length - 1
  }

  add({ data = [], logs = [], transactions = [], fork = 'l1', time }: L1BlockContent = {}): this {
    const number = this.blocks.length
    const parent = this.blocks.at(-1)?.info
    const hash = fakeHash(fork, number)
    this.blocks.push({
      info: {
        hash,
        number,
        parentHash: parent?.hash ?? fakeHash('none', 0),
        timestamp: GENESIS_TIME + (time ?? number * L1_BLOCK_TIME),
        mixHash: fakeHash(`mix-${fork}`, number),
        baseFeePerGas: 7n,
        excessBlobGas: 0n,
        parentBeaconBlockRoot: fakeHash(`beacon-${fork}`, number),
      },
      transactions: [
        ...data.map((input): L1Transaction => ({ hash, type: 2, from: BATCHER, to: INBOX, input })),
        ...transactions,
      ],
      receipts: [
        { transactionHash: hash, status: true, logs: logs.map((log, logIndex): L1Log => ({ ...log, logIndex })) },
      ],
    })
    return this
  }

  /** Adds empty blocks until the head has this number. */
  growTo(number: number, fork?: string): this {
    while (this.head < number) this.add(fork === undefined ? {} : { fork })
    return this
  }

  /** Removes all blocks above `number`. */
  rewindTo(number: number): this {
    this.blocks = this.blocks.slice(0, number + 1)
    return this
  }

  async blockInfoByHash(hash: Hex): Promise<L1BlockInfo | undefined> {
    return this.find(hash)?.info
  }

  async blockInfoByNumber(number: number): Promise<L1BlockInfo | undefined> {
    if (this.failure !== undefined) throw this.failure
    return this.blocks[number]?.info
  }

  async transactions(hash: Hex) {
    return this.found(hash)
  }

  async receipts(hash: Hex) {
    return this.found(hash)
  }

  private find(hash: Hex): L1Block | undefined {
    if (this.failure !== undefined) throw this.failure
    return this.blocks.find(({ info }) => info.hash === hash)
  }

  private found(hash: Hex): L1Block {
    const block = this.find(hash)
    if (block === undefined) throw new DeviumError('l1-not-found', `no block ${hash}`)
    return block
  }
}

/** L2 blocks built from their attributes without execution. Each has a real header hash. */
export class FakeL2 implements L2Source {
  readonly config: RollupConfig
  readonly blocks: PayloadEnvelope[]

  /** Sets the genesis hash in the config. */
  constructor(config: RollupConfig) {
    const genesis = envelopeOf(config, undefined, {
      timestamp: config.genesis.l2Time,
      prevRandao: fakeHash('mix', 0),
      suggestedFeeRecipient: `0x${'00'.repeat(20)}`,
      transactions: [],
      noTxPool: true,
      gasLimit: config.genesis.systemConfig.gasLimit,
    })
    this.blocks = [genesis]
    const l2 = { hash: genesis.payload.blockHash, number: 0 }
    this.config = { ...config, genesis: { ...config.genesis, l2 } }
  }

  get head(): L2BlockRef {
    return this.ref(this.blocks.length - 1)
  }

  ref(number: number): L2BlockRef {
    const envelope = this.blocks[number]
    if (envelope === undefined) throw new Error(`no L2 block ${number}`)
    return payloadToL2BlockRef(envelope.payload, this.config)
  }

  build(attributes: PayloadAttributes): L2BlockRef {
    this.blocks.push(envelopeOf(this.config, this.blocks.at(-1), attributes))
    return this.head
  }

  rewindTo(number: number): void {
    this.blocks.splice(number + 1)
  }

  async blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined> {
    const index = this.blocks.findIndex(({ payload }) => payload.blockHash === hash)
    return index < 0 ? undefined : this.ref(index)
  }

  async blockRefByNumber(number: number): Promise<L2BlockRef | undefined> {
    return this.blocks[number] === undefined ? undefined : this.ref(number)
  }

  async payloadByNumber(number: number): Promise<PayloadEnvelope | undefined> {
    return this.blocks[number]
  }

  async systemConfigByL2Hash(hash: Hex) {
    const envelope = this.blocks.find(({ payload }) => payload.blockHash === hash)
    if (envelope === undefined) throw new Error(`no L2 block ${hash}`)
    return systemConfigFromPayload(envelope.payload, this.config)
  }
}

function envelopeOf(
  config: RollupConfig,
  parent: PayloadEnvelope | undefined,
  attributes: PayloadAttributes,
): PayloadEnvelope {
  const fees = { denominator: 250, elasticity: 6 }
  const extraData = isForkActive(config, 'jovian', attributes.timestamp)
    ? encodeExtraData({ ...fees, minBaseFee: attributes.minBaseFee ?? 0n })
    : isForkActive(config, 'holocene', attributes.timestamp)
      ? encodeExtraData(fees)
      : '0x'
  const envelope: PayloadEnvelope = {
    payload: {
      parentHash: parent?.payload.blockHash ?? fakeHash('none', 0),
      feeRecipient: attributes.suggestedFeeRecipient,
      stateRoot: fakeHash('state', 0),
      receiptsRoot: fakeHash('receipts', 0),
      logsBloom: `0x${'00'.repeat(256)}`,
      prevRandao: attributes.prevRandao,
      blockNumber: (parent?.payload.blockNumber ?? -1) + 1,
      gasLimit: attributes.gasLimit,
      gasUsed: 0n,
      timestamp: attributes.timestamp,
      extraData,
      baseFeePerGas: 1n,
      blockHash: '0x',
      transactions: attributes.transactions,
      ...(attributes.withdrawals === undefined ? {} : { withdrawals: attributes.withdrawals }),
      ...(attributes.parentBeaconBlockRoot === undefined ? {} : { blobGasUsed: 0n, excessBlobGas: 0n }),
    },
    ...(attributes.parentBeaconBlockRoot === undefined
      ? {}
      : { parentBeaconBlockRoot: attributes.parentBeaconBlockRoot }),
  }
  envelope.payload.blockHash = payloadBlockHash(envelope)
  return envelope
}

/** An L1, the sequencer's L2 chain, a pipeline, and the derived L2 chain. */
export class MiniChain {
  readonly l1 = new FakeL1()
  readonly l2: FakeL2
  /** The sequencer's chain. */
  readonly sequenced: FakeL2
  readonly pipeline: DerivationPipeline
  readonly derived: DerivedAttributes[] = []
  /** The events of the stages. */
  readonly events: DerivationEvent[] = []

  constructor(config: RollupConfig) {
    this.l2 = new FakeL2(config)
    this.sequenced = new FakeL2(config)
    const listener = (event: DerivationEvent) => void this.events.push(event)
    const modules = { l1: this.l1, l2: this.l2, logger: silentLogger, listener }
    this.pipeline = createDerivationPipeline(modules, this.l2.config)
  }

  get config(): RollupConfig {
    return this.l2.config
  }

  /** Steps and builds blocks until the pipeline waits for L1. Returns the numbers of the built blocks. */
  async run(): Promise<number[]> {
    const built: number[] = []
    for (let steps = 0; steps < 100_000; steps++) {
      const result = await this.pipeline.step(this.l2.head)
      if (result.kind === 'idle') return built
      if (result.kind !== 'attributes') continue
      this.derived.push(result.derived)
      built.push(this.l2.build(result.derived.attributes).number)
    }
    throw new Error('the pipeline never comes to rest')
  }

  reset(safe: L2BlockRef = this.l2.head): Promise<void> {
    return this.pipeline.reset(safe)
  }

  /** Sequences blocks up to `number`, each with one transaction and the newest L1 origin that its time allows. */
  async sequenceTo(number: number): Promise<void> {
    const { sequenced, l1, config } = this
    const builder = createAttributesBuilder({ l1, l2: sequenced }, config)
    while (sequenced.head.number < number) {
      const parent = sequenced.head
      const next = l1.blocks[parent.l1Origin.number + 1]?.info
      const takesNext = next !== undefined && next.timestamp <= parent.timestamp + config.blockTime
      const prepared = await builder.prepare(parent, takesNext ? next : parent.l1Origin)
      sequenced.build({ ...prepared, transactions: [...prepared.transactions, SOME_TX] })
    }
  }

  plans(from: number, to: number): Required<BlockPlan>[] {
    return plansOf(this.sequenced, from, to)
  }

  singulars(from: number, to: number): Uint8Array[] {
    return this.plans(from, to).map(singularOf)
  }

  span(from: number, to: number): Uint8Array {
    return spanOf(this.plans(from, to), this.config)
  }
}

/** The content of batches for the blocks `from` to `to` of a chain. */
export function plansOf(chain: FakeL2, from: number, to: number): Required<BlockPlan>[] {
  const plans: Required<BlockPlan>[] = []
  for (let number = from; number <= to; number++) {
    const { parentHash, timestamp, l1Origin, sequenceNumber } = chain.ref(number)
    const transactions = chain.blocks[number]?.payload.transactions ?? []
    plans.push({
      parentHash,
      timestamp,
      epochNumber: l1Origin.number,
      epochHash: l1Origin.hash,
      sequenceNumber,
      transactions: transactions.filter((transaction) => !isDepositTx(transaction)),
    })
  }
  return plans
}

/** A transaction that is valid in a batch. */
export const SOME_TX: Uint8Array = Uint8Array.from(
  Buffer.from(
    'f86e098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008082072ea01685250ce9e4abca96f14a75f95d9eee32c7e3a853384f3d470e32f6648b2d03a07dac86aa675a638f38b446af59feae98b12d5a7742a5f26154a77e2d4fea1bfd',
    'hex',
  ),
)

export type BlockPlan = Omit<SpanBatchBlock, 'transactions'> & { transactions?: Uint8Array[] }

let channels = 0

/** Data of one batcher transaction with a complete channel of these batches. */
export function channelData(batches: readonly Uint8Array[], compression: 'zlib' | 'brotli-10' = 'zlib'): Uint8Array {
  return encodeFrames(channelFrames(batches, 1, compression))
}

/** The frames of a channel with these batches; the data are split evenly. */
export function channelFrames(
  batches: readonly Uint8Array[],
  count: number,
  compression: 'zlib' | 'brotli-10' = 'zlib',
): Frame[] {
  const data = compressChannel(concatBytes(...batches.map((batch) => encodeRlp(batch))), compression)
  const channelId: Hex = `0x${(++channels).toString(16).padStart(32, '0')}`
  const size = Math.ceil(data.length / count)
  return Array.from({ length: count }, (_, number) => ({
    channelId,
    number,
    data: data.subarray(number * size, (number + 1) * size),
    isLast: number === count - 1,
  }))
}

export function singularOf(plan: BlockPlan): Uint8Array {
  return encodeSingularBatch({ ...plan, transactions: plan.transactions ?? [] })
}

export function spanOf(plans: readonly BlockPlan[], config: RollupConfig): Uint8Array {
  return encodeSpanBatch(
    plans.map((plan) => ({ ...plan, transactions: plan.transactions ?? [] })),
    config,
  )
}
