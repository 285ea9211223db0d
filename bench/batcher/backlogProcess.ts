import { Registry } from 'prom-client'
import {
  BatchSubmitter,
  createBatcherMetrics,
  createL2Source,
  createSubmitterL1,
  L1Heads,
} from '../../src/batcher/index.ts'
import { TEST_BATCHER_OPTIONS } from '../../src/batcher/testUtils/submitterSetup.ts'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { watchLoop } from '../loopWatch.ts'

// A submitter whose transactions are never mined, so that it keeps all blocks. It reports the cost of loading them.

export interface BacklogFigures {
  /** Growth of the process's memory since its start. */
  addedBytes: number
  longestIterationMs: number
  seconds: number
  blocks: number
  heldBytes: number
}

const QUIET_MS = 5_000

// As in the program.
const [url = '', lastText = ''] = process.argv.slice(2)
const last = Number(lastText)
const rpc = createRpcClient({ url })
const l1 = createSubmitterL1((operation) => operation({ rpc }), 10_000)
const submitter = new BatchSubmitter(
  {
    rollup: rpc,
    l1,
    heads: new L1Heads({ l1, clock: systemClock }),
    l2: createL2Source(rpc, 10_000),
    builders: [],
    sender: {
      from: `0x${'11'.repeat(20)}`,
      isClosed: false,
      close() {},
      send: () => new Promise(() => {}),
      cancelPending: async () => {},
      get tunables(): never {
        throw new Error('nothing chooses by price here')
      },
      sending: [],
      cancelling: undefined,
      problem: undefined,
    },
    clock: systemClock,
    logger: silentLogger,
    metrics: createBatcherMetrics(new Registry()),
    onFatal(error) {
      throw error
    },
  },
  { ...TEST_BATCHER_OPTIONS, batchType: 'span', maxChannelDuration: 0, pollIntervalMs: 1_000 },
)
// Loads the code and opens a connection before the first memory reading.
await rpc.request('eth_blockNumber', [])
const before = process.memoryUsage().rss
const iterations = watchLoop()
const startedAtMs = performance.now()
let most = before
let loaded = 0
let loadedAtMs = startedAtMs
submitter.start()
const sampling = setInterval(() => {
  most = Math.max(most, process.memoryUsage().rss)
  const { number = 0 } = submitter.status.lastLoaded ?? {}
  if (number > loaded) loadedAtMs = performance.now()
  loaded = number
  // The submitter has reached its limit, or has loaded all blocks.
  if (loaded === 0 || (loaded < last && performance.now() - loadedAtMs < QUIET_MS)) return
  clearInterval(sampling)
  const figures: BacklogFigures = {
    addedBytes: most - before,
    longestIterationMs: iterations.longest(),
    seconds: (loadedAtMs - startedAtMs) / 1_000,
    blocks: loaded,
    heldBytes: submitter.status.heldBytes,
  }
  process.stdout.write(JSON.stringify(figures), () => process.exit(0))
}, 20)
