import type { JsonValue } from '../../../src/jsonRpc/types.ts'

/** A valid client request, before mutation. */
export interface SampleCall {
  method: string
  params: JsonValue[]
}

/** The data for samples: objects of the chain and the node. */
export interface ChainFacts {
  /** A block in the form of eth_getBlockByNumber, with transaction hashes. */
  block: { [key: string]: JsonValue }
  /** Raw transactions of that block. */
  rawTransactions: string[]
  peerId: string
  /** Its address, if it can be dialed. */
  peerAddress?: string
  /** A transaction that the pool accepts. */
  signedTransaction: string
  account: string
}

/** The part of an OpenRPC document for samples. */
export interface DescribedMethod {
  name: string
  params: { name: string }[]
}

const ADDRESS = '0x00000000000000000000000000000000000abcde'
/** PUSH1 1 PUSH1 0 SSTORE, then an endless loop. */
const CODE = '0x60016000555b600456'

/** One call for each method that a rollup node describes. */
export function rollupNodeCalls(methods: readonly DescribedMethod[], facts: ChainFacts): SampleCall[] {
  const values: Record<string, JsonValue> = {
    'block number': '0x1',
    'L1 block number': '0x1',
    timestamp: String(facts.block.timestamp),
    connected: true,
    'peer id': facts.peerId,
    'IP address': '10.1.2.3',
    subnet: '10.1.0.0/16',
    subject: '10.1.0.0/16',
    reason: 'a test',
    words: ['heal'],
    text: 'a test',
    // Nobody listens at the other address.
    'peer address': facts.peerAddress ?? `/ip4/127.0.0.1/tcp/1/p2p/${facts.peerId}`,
    'unsafe head': String(facts.block.hash),
    'block hash': String(facts.block.hash),
    'recover mode': false,
    payload: { parentBeaconBlockRoot: facts.block.parentBeaconBlockRoot, executionPayload: payloadOf(facts) },
    level: 'info',
    'opt-in': false,
    topic: 'heads',
    since: 0,
    'subscription id': `0x${'12'.repeat(16)}`,
  }
  return methods.map(({ name: method, params }) => ({
    method,
    params: params.map(({ name }) => {
      const value = values[name]
      if (value === undefined) throw new RangeError(`no sample of the parameter "${name}" of ${method}`)
      return value
    }),
  }))
}

export const BATCH_SUBMITTER_CALLS: readonly SampleCall[] = [
  ...[
    'admin_startBatcher',
    'admin_stopBatcher',
    'admin_batcherStatus',
    'admin_flushBatcher',
    'admin_getThrottleController',
    'admin_resetThrottleController',
    'txmgr_getMinBaseFee',
    'txmgr_getMinPriorityFee',
    'txmgr_getMinBlobFee',
    'txmgr_getBlobTipCapDynamic',
    'txmgr_getFeeThreshold',
    'txmgr_getBumpFeeRetryTime',
    'txmgr_getRebroadcastInterval',
  ].map((method) => ({ method, params: [] })),
  {
    method: 'admin_setThrottleController',
    params: ['pid', { kp: 0.3, ki: 0.1, kd: 0.05, integral_max: 10, output_max: 1, sample_time: '2s' }],
  },
  { method: 'admin_setLogLevel', params: ['info'] },
  { method: 'txmgr_setMinBaseFee', params: [1_000_000_000] },
  { method: 'txmgr_setMinPriorityFee', params: [1_000_000_000] },
  { method: 'txmgr_setMinBlobFee', params: [1_000_000_000] },
  { method: 'txmgr_setBlobTipCapDynamic', params: [true] },
  { method: 'txmgr_setFeeThreshold', params: [100_000_000_000] },
  { method: 'txmgr_setBumpFeeRetryTime', params: [48_000_000_000] },
  { method: 'txmgr_setRebroadcastInterval', params: [12_000_000_000] },
]

function attributesOf({
  timestamp = null,
  mixHash = null,
  miner = null,
  gasLimit = null,
}: ChainFacts['block']): JsonValue {
  return {
    ...{ timestamp, prevRandao: mixHash, suggestedFeeRecipient: miner, gasLimit, withdrawals: [] },
    ...{ parentBeaconBlockRoot: mixHash, eip1559Params: '0x0000000000000000', minBaseFee: '0x0' },
    ...{ transactions: [], noTxPool: true },
  }
}

export function executionCalls({ block, signedTransaction, account }: ChainFacts): SampleCall[] {
  const hash = String(block.hash)
  const transaction = Array.isArray(block.transactions) ? (block.transactions[0] ?? hash) : hash
  const call = { from: account, to: ADDRESS, gas: '0x186a0', value: '0x1', data: '0x1234' }
  const overrides = { [ADDRESS]: { code: CODE, balance: '0x1', nonce: '0x1', state: { [hash]: hash } } }
  const filter = { fromBlock: '0x0', toBlock: 'latest', address: ADDRESS, topics: [hash, [hash, null]] }
  const calls: Record<string, JsonValue[]> = {
    admin_sdmStatus: [1_700_000_000],
    admin_setOperatorSdmOptIn: [false],
    admin_setSdmPostExecOptIn: [false],
    debug_getRawBlock: ['latest'],
    debug_getRawHeader: [hash],
    debug_getRawReceipts: ['0x1'],
    debug_getRawTransaction: [transaction],
    debug_dbGet: [`0x63${hash.slice(2)}`],
    debug_executePayload: [block.parentHash ?? hash, attributesOf(block)],
    debug_executionWitness: ['latest'],
    debug_executionWitnessByBlockHash: [hash],
    debug_traceBlock: ['0xf90200', { tracer: 'callTracer' }],
    debug_traceBlockByHash: [hash, { tracer: 'callTracer' }],
    debug_traceBlockByNumber: ['latest', { enableMemory: true }],
    debug_traceCall: [call, 'latest', { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }],
    debug_traceTransaction: [transaction, { tracer: 'callTracer', timeout: '1s' }],
    eth_call: [call, 'latest', overrides, { number: '0x10', time: '0x10', gasLimit: '0x100000' }],
    eth_createAccessList: [call, 'latest'],
    eth_estimateGas: [call, 'latest', overrides],
    eth_feeHistory: ['0x4', 'latest', [10, 50.5]],
    eth_getBalance: [account, 'latest'],
    eth_getBlockByHash: [hash, true],
    eth_getBlockByNumber: ['latest', false],
    eth_getBlockReceipts: [{ blockHash: hash, requireCanonical: true }],
    eth_getBlockTransactionCountByHash: [hash],
    eth_getBlockTransactionCountByNumber: ['0x1'],
    eth_getCode: [ADDRESS, { blockNumber: '0x1' }],
    eth_getFilterChanges: ['0x1'],
    eth_getFilterLogs: ['0x1'],
    eth_getHeaderByHash: [hash],
    eth_getHeaderByNumber: ['safe'],
    eth_getLogs: [filter],
    eth_getProof: [ADDRESS, ['0x0', hash], 'latest'],
    eth_getRawTransactionByBlockHashAndIndex: [hash, '0x0'],
    eth_getRawTransactionByBlockNumberAndIndex: ['latest', '0x0'],
    eth_getRawTransactionByHash: [transaction],
    eth_getStorageAt: [ADDRESS, '0x0', 'finalized'],
    eth_getTransactionByBlockHashAndIndex: [hash, '0x0'],
    eth_getTransactionByBlockNumberAndIndex: ['latest', '0x0'],
    eth_getTransactionByHash: [transaction],
    eth_getTransactionCount: [account, 'pending'],
    eth_getTransactionReceipt: [transaction],
    eth_getUncleByBlockHashAndIndex: [hash, '0x0'],
    eth_getUncleByBlockNumberAndIndex: ['latest', '0x0'],
    eth_getUncleCountByBlockHash: [hash],
    eth_getUncleCountByBlockNumber: ['latest'],
    eth_newFilter: [filter],
    eth_newPendingTransactionFilter: [true],
    eth_sendRawTransaction: [signedTransaction],
    eth_sendRawTransactionConditional: [
      signedTransaction,
      { blockNumberMin: '0x1', timestampMax: '0xffffffff', knownAccounts: { [ADDRESS]: { '0x0': hash } } },
    ],
    eth_sendRawTransactionSync: [signedTransaction, '0x1'],
    eth_simulateV1: [
      { blockStateCalls: [{ blockOverrides: { number: '0x100' }, stateOverrides: overrides, calls: [call] }] },
      'latest',
    ],
    eth_subscribe: ['logs', filter],
    eth_uninstallFilter: ['0x1'],
    eth_unsubscribe: ['0x1'],
    miner_setGasLimit: ['0x0'],
    miner_setMaxDASize: ['0x0', '0x0'],
    txpool_contentFrom: [account],
    web3_sha3: ['0x1234'],
  }
  const plain = [
    'debug_chainConfig',
    'eth_accounts',
    'eth_blobBaseFee',
    'eth_blockNumber',
    'eth_chainId',
    'eth_gasPrice',
    'eth_maxPriorityFeePerGas',
    'eth_newBlockFilter',
    'eth_pendingTransactions',
    'eth_syncing',
    'net_listening',
    'net_peerCount',
    'net_version',
    'rpc_modules',
    'txpool_content',
    'txpool_inspect',
    'txpool_status',
    'web3_clientVersion',
  ]
  return [
    ...Object.entries(calls).map(([method, params]) => ({ method, params })),
    ...plain.map((method) => ({ method, params: [] })),
  ]
}

export function engineCalls(facts: ChainFacts): SampleCall[] {
  const { block } = facts
  const hash = String(block.hash)
  const payload = payloadOf(facts)
  const zero = `0x${'00'.repeat(32)}`
  const state = { headBlockHash: hash, safeBlockHash: zero, finalizedBlockHash: zero }
  const attributes = {
    timestamp: `0x${(Number(block.timestamp) + 1_000_000).toString(16)}`,
    prevRandao: hash,
    suggestedFeeRecipient: ADDRESS,
    withdrawals: [],
    parentBeaconBlockRoot: hash,
    transactions: facts.rawTransactions,
    noTxPool: true,
    gasLimit: '0x1c9c380',
    eip1559Params: '0x000000fa00000006',
    minBaseFee: 0,
  }
  const root = block.parentBeaconBlockRoot ?? null
  return [
    { method: 'engine_newPayloadV4', params: [payload, [], root, []] },
    { method: 'engine_newPayloadV3', params: [payload, [], root] },
    { method: 'engine_newPayloadV2', params: [payload] },
    { method: 'engine_newPayloadV1', params: [payload] },
    { method: 'engine_forkchoiceUpdatedV3', params: [state, attributes] },
    { method: 'engine_forkchoiceUpdatedV3', params: [state, null] },
    { method: 'engine_forkchoiceUpdatedV2', params: [state] },
    { method: 'engine_forkchoiceUpdatedV1', params: [state] },
    ...['V1', 'V2', 'V3', 'V4', 'V5'].map((version) => ({
      method: `engine_getPayload${version}`,
      params: ['0x0123456789abcdef'],
    })),
    { method: 'engine_getPayloadBodiesByHashV1', params: [[hash, zero]] },
    { method: 'engine_getPayloadBodiesByRangeV1', params: ['0x1', '0x4'] },
    { method: 'engine_exchangeCapabilities', params: [['engine_newPayloadV4']] },
    { method: 'engine_getClientVersionV1', params: [{ code: 'OP', name: 'x', version: 'v1', commit: '0x12345678' }] },
    {
      method: 'engine_exchangeTransitionConfigurationV1',
      params: [{ terminalTotalDifficulty: '0x0', terminalBlockHash: zero, terminalBlockNumber: '0x0' }],
    },
    ...executionCalls(facts),
  ]
}

/** The block in the form of the Engine API. */
function payloadOf({ block, rawTransactions }: ChainFacts): { [key: string]: JsonValue } {
  const { hash, miner, number, mixHash, transactions: _, ...rest } = block
  const names = [
    'parentHash',
    'stateRoot',
    'receiptsRoot',
    'logsBloom',
    'gasLimit',
    'gasUsed',
    'timestamp',
    'extraData',
    'baseFeePerGas',
    'withdrawalsRoot',
    'blobGasUsed',
    'excessBlobGas',
  ]
  return {
    ...Object.fromEntries(names.map((name) => [name, rest[name] ?? null])),
    feeRecipient: miner ?? null,
    blockNumber: number ?? null,
    blockHash: hash ?? null,
    prevRandao: mixHash ?? null,
    withdrawals: [],
    transactions: rawTransactions,
  }
}
