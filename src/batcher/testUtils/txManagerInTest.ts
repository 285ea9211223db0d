import { afterAll, afterEach, beforeEach, expect, vi } from 'vitest'
import { type Anvil, startAnvil } from '../../../test/support/anvil.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { createRpcClient, type RpcClient } from '../../lib/jsonRpc/client.ts'
import { createKzg } from '../../lib/kzg/index.ts'
import { silentLogger } from '../../lib/logger.ts'
import { createL1Endpoint, type L1Endpoint } from '../l1Endpoint.ts'
import type { ForeignTx } from '../txmgr/foreignTx.ts'
import { noTxManagerMetrics } from '../txmgr/metrics.ts'
import type { TxManagerOptions } from '../txmgr/options.ts'
import { createLocalSigner } from '../txmgr/signer.ts'
import { TxManager } from '../txmgr/txManager.ts'
import { createLogRecorder, type LogRecorder } from './logRecorder.ts'
import { BATCHER_KEY, TEST_TX_OPTIONS } from './submitterSetup.ts'

// A transaction manager on an Anvil of its own for each test: seconds where nothing else runs, a minute on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

export const INBOX: Hex = '0xff00000000000000000000000000000000000901'
export const never = new AbortController().signal
export const signer = createLocalSigner({ privateKey: BATCHER_KEY })

export let anvil: Anvil
export let rpc: RpcClient
export let log: LogRecorder

const kzg = createKzg({ clock: systemClock, logger: silentLogger })
afterAll(() => kzg.close())

beforeEach(async () => {
  anvil = await startAnvil({ args: ['--chain-id', '900', '--slots-in-an-epoch', '1'] })
  rpc = createRpcClient({ url: anvil.url })
  log = createLogRecorder()
})

afterEach(async () => {
  await rpc.close()
  await anvil.stop()
  // Whatever happened in the test: the key was in no line.
  expect(JSON.stringify(log.lines).toLowerCase()).not.toContain(BATCHER_KEY)
})

export function createManager(
  options: Partial<TxManagerOptions> = {},
  change: (l1: L1Endpoint) => L1Endpoint = (l1) => l1,
  onForeign: (tx: ForeignTx) => void = () => {},
) {
  const l1 = change(createL1Endpoint(rpc, 30_000))
  return new TxManager(
    { l1, signer, kzg, clock: systemClock, logger: log.logger, metrics: noTxManagerMetrics, onForeign },
    { ...TEST_TX_OPTIONS, ...options, chainId: 900n },
  )
}

export const data = (...bytes: number[]) => ({ to: INBOX, data: Uint8Array.from(bytes) })

export async function txByHash(hash: string): Promise<Record<string, string>> {
  return (await rpc.request('eth_getTransactionByHash', [hash])) as Record<string, string>
}

export const automine = (on: boolean) => rpc.request('evm_setAutomine', [on])
export const mine = () => rpc.request('evm_mine', [])
