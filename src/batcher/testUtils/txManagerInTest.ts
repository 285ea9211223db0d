import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect } from 'vitest'
import { type LeasedAnvil, leaseAnvil } from '../../../test/support/anvil.ts'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { kzg } from '../../lib/kzg/testUtils/kzgInTest.ts'
import { L1Heads } from '../l1/l1Heads.ts'
import { createSubmitterL1, type SubmitterL1 } from '../l1/submitterL1.ts'
import type { ForeignTx } from '../txmgr/foreignTx.ts'
import { createTxManagerMetrics } from '../txmgr/metrics.ts'
import type { TxManagerOptions } from '../txmgr/options.ts'
import { createLocalSigner } from '../txmgr/signer.ts'
import { type TxCandidate, TxManager } from '../txmgr/txManager.ts'
import { createLogRecorder, type LogRecorder } from './logRecorder.ts'
import { BATCHER_KEY, TEST_TX_OPTIONS } from './submitterSetup.ts'

export const INBOX: Hex = '0xff00000000000000000000000000000000000901'
export const never = new AbortController().signal
export const signer = createLocalSigner({ privateKey: BATCHER_KEY })

export let anvil: LeasedAnvil
export let rpc: RpcClient
export let log: LogRecorder

/** An L1 at its genesis block for each test. `createManager` creates transaction managers on it. */
export function useL1(): void {
  beforeEach(async () => {
    log = createLogRecorder()
    anvil = await leaseAnvil({ args: ['--chain-id', '900', '--slots-in-an-epoch', '1'] })
    // Anvil takes seconds of an idle processor for its first blob. Meanwhile it answers nothing.
    rpc = createPatientClient({ url: anvil.url })
  })
  afterEach(async () => {
    await rpc.close()
    anvil.release()
    // In every test: no log line contains the key.
    expect(JSON.stringify(log.lines).toLowerCase()).not.toContain(BATCHER_KEY)
  })
}

export function createManager(
  options: Partial<TxManagerOptions> = {},
  change: (l1: SubmitterL1) => SubmitterL1 = (l1) => l1,
  onForeign: (tx: ForeignTx) => void = () => {},
  clock: Clock = systemClock,
) {
  const l1 = change(createSubmitterL1((operation) => operation({ rpc }), 120_000))
  return new TxManager(
    {
      l1,
      heads: new L1Heads({ l1, clock }),
      signer,
      kzg,
      clock,
      logger: log.logger,
      metrics: createTxManagerMetrics(new Registry()),
      onForeign,
    },
    { ...TEST_TX_OPTIONS, ...options, chainId: 900n },
  )
}

export const data = (...bytes: number[]) => ({ to: INBOX, data: Uint8Array.from(bytes) })

/** An earlier program published it and ended: it stays in the L1's pool. */
export async function leaveInPool(candidate: TxCandidate): Promise<void> {
  const abandoned = new AbortController()
  const sending = createManager().send(candidate, abandoned.signal)
  await log.seen('Transaction successfully published')
  abandoned.abort(new Error('killed'))
  await expect(sending).rejects.toThrow('killed')
}

export async function txByHash(hash: string): Promise<Record<string, string>> {
  return (await rpc.request('eth_getTransactionByHash', [hash])) as Record<string, string>
}

export const automine = (on: boolean) => rpc.request('evm_setAutomine', [on])
export const mine = () => rpc.request('evm_mine', [])
