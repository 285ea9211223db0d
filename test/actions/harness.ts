import { randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import { onTestFailed } from 'vitest'
import { concatBytes } from '../../src/lib/bytes.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { type Hex, toHex } from '../../src/lib/hex.ts'
import { type RootLogger, silentLogger } from '../../src/lib/logger.ts'
import { loopTurns } from '../../src/lib/nextTurn.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import type { HeadEvent, HealthReport } from '../../src/p2p/index.ts'
import { type BlobSource, createAttributesBuilder, createDerivationPipeline } from '../../src/rollup/derive/index.ts'
import type { EngineClient, SyncOptions } from '../../src/rollup/engine/index.ts'
import { FakeEngine, fakeGenesis } from '../../src/rollup/engine/testUtils/fakeEngine.ts'
import {
  createNodeMetrics,
  createRollupNode,
  DerivationRecorder,
  type NodeInsight,
  type P2pPort,
  type RollupNode,
  type RollupNodeModules,
  type SafeHeadDb,
  type SequencingOptions,
} from '../../src/rollup/node/index.ts'
import {
  type BlockId,
  compressChannel,
  decodeDepositTx,
  encodeFrames,
  encodeSingularBatch,
  encodeSpanBatch,
  FORKS,
  type Fork,
  type L1Transaction,
  type PayloadEnvelope,
  parseL1Info,
  type RollupConfig,
} from '../../src/rollup/protocol/index.ts'
import type { Conductor } from '../../src/rollup/sequencer/index.ts'
import { healthReport } from '../support/servedPage.ts'
import { FakeL1 } from './fakeL1.ts'

const BATCHER: Hex = `0x${'ba'.repeat(20)}`
const INBOX: Hex = `0xff${'00'.repeat(18)}01`
export const GENESIS_TIME = 1_700_000_000

export interface TestChainOptions {
  blockTime?: number
  l1BlockTime?: number
  seqWindowSize?: number
  /** Last fork that is active, from genesis on. */
  fork?: Fork
  /** Forks that come later. */
  later?: RollupConfig['forks']
  /** Scheduled, and not known to this version. */
  unknownForks?: RollupConfig['unknownForks']
  /** The whole config instead, of a chain whose engine is no fake one. */
  config?: (l1Genesis: BlockId) => RollupConfig
}

export interface NodeOptions {
  sequencing?: Partial<SequencingOptions>
  conductor?: Conductor
  sync?: SyncOptions
  logger?: RootLogger
  safeHeads?: SafeHeadDb
  blobs?: BlobSource
  follow?: RollupNodeModules['follow']
  batcher?: NodeInsight['batcher']
  /** Of the node, as its operator gave it. */
  lagoonBundle?: NonNullable<RollupConfig['lagoonBundle']>
}

/** One L1 and the rollup on it; nodes are added to it. Time stands still unless the test moves it. */
export class TestChain {
  readonly clock = new ManualClock(GENESIS_TIME * 1000)
  readonly l1: FakeL1
  readonly config: RollupConfig
  private readonly genesis: PayloadEnvelope
  private readonly l1BlockTime: number
  private readonly stop = new AbortController()
  private readonly running: Promise<void>[] = []

  constructor(options: TestChainOptions = {}) {
    const { blockTime = 1, l1BlockTime = 2, seqWindowSize = 100, fork = 'holocene', unknownForks = [] } = options
    const { later = {} } = options
    this.l1BlockTime = l1BlockTime
    this.l1 = new FakeL1(GENESIS_TIME, l1BlockTime)
    this.genesis = fakeGenesis(GENESIS_TIME, 30_000_000n)
    const { hash, number } = this.l1.head
    this.config =
      options.config?.({ hash, number }) ?? this.ownConfig(fork, later, { blockTime, seqWindowSize, unknownForks })
  }

  private ownConfig(
    fork: Fork,
    later: RollupConfig['forks'],
    others: Pick<RollupConfig, 'blockTime' | 'seqWindowSize' | 'unknownForks'>,
  ): RollupConfig {
    const forks = FORKS.slice(0, FORKS.indexOf(fork) + 1)
    return {
      genesis: {
        l1: { hash: this.l1.head.hash, number: 0 },
        l2: { hash: this.genesis.payload.blockHash, number: 0 },
        l2Time: GENESIS_TIME,
        systemConfig: {
          batcherAddress: BATCHER,
          overhead: `0x${'00'.repeat(32)}`,
          scalar: `0x01${'00'.repeat(31)}`,
          gasLimit: 30_000_000n,
          ...(forks.includes('holocene') ? { eip1559Params: '0x0000000000000000' } : {}),
        },
      },
      ...others,
      maxSequencerDrift: 600,
      channelTimeout: 300,
      l1ChainId: 900n,
      l2ChainId: 901n,
      forks: { ...Object.fromEntries(forks.map((name) => [name, 0])), ...later },
      batchInboxAddress: INBOX,
      depositContractAddress: `0x${'de'.repeat(20)}`,
      l1SystemConfigAddress: `0x${'5c'.repeat(20)}`,
    }
  }

  createEngine(): FakeEngine {
    return new FakeEngine(this.config, this.genesis)
  }

  /** Starts a node; it has found its heads when this resolves, except with execution-layer sync. */
  addNode(options: NodeOptions & { engine?: FakeEngine } = {}): Promise<TestNode> {
    return this.addNodeOn(options.engine ?? this.createEngine(), options)
  }

  /** As `addNode`, with any engine. */
  async addNodeOn<E extends EngineClient>(engine: E, options: NodeOptions = {}): Promise<TestNode<E>> {
    const p2p = new FakeP2p()
    const registry = new Registry()
    const { l1, clock } = this
    const { lagoonBundle } = options
    const config = { ...this.config, ...(lagoonBundle === undefined ? {} : { lagoonBundle }) }
    const logger = options.logger ?? silentLogger
    const recorder = new DerivationRecorder({ clock })
    const node = createRollupNode(
      {
        l1,
        l1Heads: l1,
        engine,
        pipeline: createDerivationPipeline(
          {
            l1,
            l2: engine,
            ...(options.blobs === undefined ? {} : { blobs: options.blobs }),
            logger,
            clock,
            listener: recorder.listen,
          },
          config,
        ),
        ...(options.sequencing === undefined && options.follow === undefined
          ? {}
          : { attributes: createAttributesBuilder({ l1, l2: engine }, config) }),
        ...(options.conductor === undefined ? {} : { conductor: options.conductor }),
        follow: options.follow,
        p2p,
        insight: { recorder, batcher: options.batcher },
        safeHeads: options.safeHeads,
        metrics: createNodeMetrics(registry),
        clock,
        logger,
      },
      config,
      {
        ...(options.sequencing === undefined
          ? {}
          : { sequencing: { active: true, confirmationDepth: 0, ...options.sequencing } }),
        ...(options.sync === undefined ? {} : { sync: options.sync }),
      },
    )
    const testNode: TestNode<E> = { node, engine, p2p, registry, failure: undefined }
    // Shows where the node stands that did not come to what was waited for.
    onTestFailed(() => console.error(node.syncStatus(), node.derivationStatus()))
    const running = node.run(this.stop.signal).catch((error: unknown) => {
      testNode.failure = error
    })
    this.running.push(running)
    if (options.sync?.mode === 'execution-layer') return testNode
    await until(() => node.syncStatus().currentL1.timestamp !== 0 || testNode.failure !== undefined)
    return testNode
  }

  /** Moves time on by whole seconds, mining an L1 block whenever one is due. */
  async advance(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed++) {
      await this.clock.advance(1000)
      await untilIdle()
      while (this.l1.head.timestamp + this.l1BlockTime <= this.clock.now() / 1000) this.l1.mine()
      await untilIdle()
    }
  }

  /** An L1 transaction whose one channel holds these blocks as singular batches. */
  batchOf(blocks: readonly PayloadEnvelope[], compress: 'zlib' | 'brotli-9' = 'zlib'): BatchTransaction {
    const batches = blocks.map((block) => encodeRlp(encodeSingularBatch(batchElementOf(block))))
    return this.transactionOf(compressChannel(concatBytes(...batches), compress))
  }

  /** An L1 transaction whose one channel holds these blocks as one span batch. */
  spanOf(blocks: readonly PayloadEnvelope[]): BatchTransaction {
    const span = encodeSpanBatch(blocks.map(batchElementOf), this.config)
    return this.transactionOf(compressChannel(encodeRlp(span), 'brotli-9'))
  }

  private transactionOf(data: Uint8Array): BatchTransaction {
    const channelId = toHex(randomBytes(16))
    const { genesis, batchInboxAddress } = this.config
    const input = encodeFrames([{ channelId, number: 0, data, isLast: true }])
    return { from: genesis.systemConfig.batcherAddress, to: batchInboxAddress, input }
  }

  async close(): Promise<void> {
    this.stop.abort()
    await Promise.all(this.running)
  }
}

export interface TestNode<E extends EngineClient = FakeEngine> {
  node: RollupNode
  engine: E
  p2p: FakeP2p
  registry: Registry
  /** What ended the node, if anything did. */
  failure: unknown
}

type BatchTransaction = Pick<L1Transaction, 'from' | 'to' | 'input'>

function batchElementOf({ payload }: PayloadEnvelope) {
  const [first] = payload.transactions
  if (first === undefined) throw new Error('block without L1 info')
  const l1Info = parseL1Info(decodeDepositTx(first).data)
  return {
    parentHash: payload.parentHash,
    epochNumber: l1Info.number,
    epochHash: l1Info.blockHash,
    sequenceNumber: l1Info.sequenceNumber,
    timestamp: payload.timestamp,
    transactions: payload.transactions.filter((transaction) => transaction[0] !== 0x7e),
  }
}

/** Blocks published by one node are handed to another by the test. */
class FakeP2p implements P2pPort {
  readonly published: PayloadEnvelope[] = []
  /** Start, end, and the number of the block that the answers are checked by. */
  readonly requested: [number, number, number][] = []
  readonly moves: HeadEvent[] = []
  /** What it answers about gossip: three peers that take part. */
  gossip = healthReport({ state: 'ok', text: 'blocks arrive by gossip', connected: 3, subscribers: 3, mesh: 3 })
  private listener: Parameters<P2pPort['onPayload']>[0] | undefined

  async publish(envelope: PayloadEnvelope): Promise<void> {
    this.published.push(envelope)
  }

  onPayload(listener: Parameters<P2pPort['onPayload']>[0]): void {
    this.listener = listener
  }

  /** Whether a peer serves blocks by number. */
  servesBlocks = true

  requestRange(start: number, end: number, above: PayloadEnvelope): boolean {
    this.requested.push([start, end, above.payload.blockNumber])
    return this.servesBlocks
  }

  headMoved(event: HeadEvent): void {
    this.moves.push(event)
  }

  async health(): Promise<HealthReport> {
    return this.gossip
  }

  receive(envelope: PayloadEnvelope): void {
    this.listener?.(envelope, 'peer', 'gossip')
  }
}

/** Yields often enough that only work that waits for the clock is left. */
export const untilIdle = (): Promise<void> => loopTurns(100)
