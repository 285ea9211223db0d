import { Registry } from 'prom-client'
import { type AnvilOptions, type LeasedAnvil, leaseAnvil } from '../../../test/support/anvil.ts'
import { type RpcClient, RpcTransportError } from '../../jsonRpc/client.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { systemClock } from '../../lib/clock.ts'
import { toQuantity } from '../../lib/hex.ts'
import type { Kzg } from '../../lib/kzg/index.ts'
import { L1Heads } from '../l1/l1Heads.ts'
import { createSubmitterL1 } from '../l1/submitterL1.ts'
import { createL2Source } from '../l2/l2Source.ts'
import { BatchSubmitter } from '../submitter/batchSubmitter.ts'
import { createBatcherMetrics } from '../submitter/metrics.ts'
import type { BatcherOptions } from '../submitter/options.ts'
import type { ThrottleOptions } from '../throttle/controller.ts'
import { createTxManagerMetrics } from '../txmgr/metrics.ts'
import type { TxManagerOptions } from '../txmgr/options.ts'
import { createLocalSigner } from '../txmgr/signer.ts'
import { TxManager } from '../txmgr/txManager.ts'
import { createLogRecorder, type LogRecorder } from './logRecorder.ts'
import { loadRecordedChain, type RecordedChain, type RecordedChainName } from './recordedChain.ts'
import { SequencerNode } from './sequencerNode.ts'

/** Anvil's third account, as in the recorded chains. */
export const BATCHER_KEY = '5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'

/** op-batcher's. */
export const DEFAULT_THROTTLE: ThrottleOptions = {
  type: 'quadratic',
  lowerThreshold: 3_200_000,
  upperThreshold: 12_800_000,
  txSizeLowerLimit: 150,
  txSizeUpperLimit: 20_000,
  blockSizeLowerLimit: 2_000,
  blockSizeUpperLimit: 130_000,
  pid: { kp: 0.33, ki: 0.01, kd: 0.05, integralMax: 1_000, outputMax: 1, sampleTimeMs: 2_000 },
}

/** Anvil takes seconds of an idle processor for its first blob. Meanwhile neither it nor the test's rollup node answers. */
const REQUEST_TIMEOUT_MS = 120_000

export const TEST_BATCHER_OPTIONS: BatcherOptions = {
  pollIntervalMs: 50,
  maxPendingTx: 1,
  numConfirmations: 1,
  maxChannelDuration: 1,
  subSafetyMargin: 4,
  dataAvailability: 'calldata',
  maxL1TxSizeBytes: 120_000,
  maxBlocksPerSpanBatch: 0,
  targetNumFrames: 1,
  approxComprRatio: 0.6,
  compressor: 'shadow',
  compressionAlgorithm: 'zlib',
  batchType: 'singular',
  networkTimeoutMs: REQUEST_TIMEOUT_MS,
  waitNodeSync: false,
  checkRecentTxsDepth: 0,
  poolTimeoutMs: 2_000,
  throttle: DEFAULT_THROTTLE,
}

export const TEST_TX_OPTIONS: TxManagerOptions = {
  numConfirmations: 1,
  safeAbortNonceTooLowCount: 3,
  resubmissionTimeoutMs: 60_000,
  networkTimeoutMs: 5_000,
  feeLimitMultiplier: 5n,
  feeLimitThresholdWei: 100_000_000_000n,
  minBaseFeeWei: 1_000_000_000n,
  minTipCapWei: 1_000_000_000n,
  minBlobFeeWei: 1_000_000_000n,
  blobTipCapDynamic: false,
  blobTipCapPercentile: 60,
  blobTipCapRange: 20,
  maxBaseFeeWei: 0n,
  maxTipCapWei: 0n,
  sendTimeoutMs: 0,
  notInMempoolTimeoutMs: 120_000,
  receiptQueryIntervalMs: 25,
  rebroadcastIntervalMs: 12_000,
  retryIntervalMs: 50,
  maxRetries: 10,
  alreadyPublishedErrors: [],
}

/** A real L1, a recorded chain behind real sockets, and submitters over both. */
export interface SubmitterSetup {
  anvil: LeasedAnvil
  l1: RpcClient
  chain: RecordedChain
  node: SequencerNode
  log: LogRecorder
  fatal: unknown[]
  /** While true, every request to L1 fails as if nothing listened there. */
  l1Fault: boolean
  /** Replaces the L1's answer to eth_blobBaseFee. Wei. */
  blobBaseFee: bigint | undefined
  /** Resolves with the next answer to eth_blobBaseFee. */
  blobBaseFeeRequested(): Promise<void>
  sender: `0x${string}`
  readonly submitters: BatchSubmitter[]
  create(options?: Partial<BatcherOptions>, txOptions?: Partial<TxManagerOptions>): BatchSubmitter
  mine(count?: number): Promise<void>
  stop(): Promise<void>
}

export async function setUpSubmitter(
  kzg: Kzg,
  name: RecordedChainName,
  anvilOptions: AnvilOptions = {},
): Promise<SubmitterSetup> {
  const chain = loadRecordedChain(name)
  const anvil = await leaseAnvil({ ...anvilOptions, args: ['--chain-id', '900', ...(anvilOptions.args ?? [])] })
  const l1 = createPatientClient({ url: anvil.url })
  // The recorded blocks have L1 origins up to here. An L1 head below them would never reach a channel's duration.
  await l1.request('anvil_mine', ['0x28'])
  const signer = createLocalSigner({ privateKey: BATCHER_KEY })
  const node = new SequencerNode(chain, l1, signer.address)
  await node.start()
  const log = createLogRecorder()
  const fatal: unknown[] = []
  const l2 = createPatientClient({ url: node.url })
  const submitters: BatchSubmitter[] = []
  let blobBaseFeeRequested = Promise.withResolvers<void>()
  const setup: SubmitterSetup = {
    anvil,
    l1,
    chain,
    node,
    log,
    fatal,
    l1Fault: false,
    blobBaseFee: undefined,
    blobBaseFeeRequested: () => blobBaseFeeRequested.promise,
    sender: signer.address,
    submitters,
    create(options = {}, txOptions = {}) {
      const faulty = async <T>(call: () => Promise<T>): Promise<T> => {
        if (setup.l1Fault) throw new RpcTransportError('rpc-transport', 'connect ECONNREFUSED')
        return call()
      }
      const rpc: Pick<RpcClient, 'request' | 'batch'> = {
        request: (...args) => faulty(() => l1.request(...args)),
        batch: async (calls, options) => {
          const answers = await faulty(() => l1.batch(calls, options))
          const { blobBaseFee } = setup
          if (calls.some(({ method }) => method === 'eth_blobBaseFee')) {
            blobBaseFeeRequested.resolve()
            blobBaseFeeRequested = Promise.withResolvers()
          }
          if (blobBaseFee === undefined) return answers
          return answers.map((answer, index) =>
            calls[index]?.method === 'eth_blobBaseFee' ? toQuantity(blobBaseFee) : answer,
          )
        },
      }
      const endpoint = createSubmitterL1((operation) => operation({ rpc }), REQUEST_TIMEOUT_MS)
      const heads = new L1Heads({ l1: endpoint, clock: systemClock })
      const modules = { l1: endpoint, heads, clock: systemClock, logger: log.logger }
      const sender = new TxManager(
        { ...modules, signer, kzg, metrics: createTxManagerMetrics(new Registry()) },
        { ...TEST_TX_OPTIONS, ...txOptions, chainId: 900n },
      )
      const submitter = new BatchSubmitter(
        {
          ...modules,
          rollup: l2,
          l2: createL2Source(l2, REQUEST_TIMEOUT_MS),
          builders: [l2],
          sender,
          metrics: createBatcherMetrics(new Registry()),
          onFatal: (error) => fatal.push(error),
        },
        { ...TEST_BATCHER_OPTIONS, numConfirmations: txOptions.numConfirmations ?? 1, ...options },
      )
      submitters.push(submitter)
      return submitter
    },
    async mine(count = 1) {
      for (let i = 0; i < count; i++) await l1.request('evm_mine', [])
    },
    async stop() {
      // Unmined transactions would delay the shutdown. A test may have ended the L1.
      await l1.request('evm_setAutomine', [true]).catch(() => {})
      await Promise.all(submitters.map((submitter) => submitter.shutdown()))
      await node.stop()
      await l2.close()
      await l1.close()
      anvil.release()
    },
  }
  return setup
}
