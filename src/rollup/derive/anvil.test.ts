import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Anvil, startAnvil } from '../../../test/support/anvil.ts'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { createL1Client, type L1Client } from '../../l1/index.ts'
import { systemClock } from '../../lib/clock.ts'
import { type Hex, normalizeHex, toHex, toQuantity } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { L1BlockInfo } from '../protocol/types.ts'
import { createAttributesBuilder } from './attributesBuilder.ts'
import { createDerivationPipeline, type DerivationPipeline } from './pipeline.ts'
import { INBOX, testConfig } from './testUtils/config.ts'
import { channelData, FakeL2, plansOf, SOME_TX, singularOf, spanOf } from './testUtils/miniChain.ts'

// Batches on a real L1. Its headers, signatures and receipts are verified on the way.

let anvil: Anvil
let rpc: RpcClient
let l1: L1Client
let batcher: Hex
let derived: FakeL2
let sequenced: FakeL2
let pipeline: DerivationPipeline

beforeEach(async () => {
  anvil = await startAnvil({ hardfork: 'prague', args: ['--no-mining', '--timestamp', '1700000000'] })
  rpc = createPatientClient({ url: anvil.url })
  l1 = createL1Client({ rpc, logger: silentLogger, clock: systemClock })
  const accounts = await rpc.request('eth_accounts', [])
  batcher = normalizeHex(Array.isArray(accounts) ? accounts[0] : undefined, 20, 'account')
  const genesis = await blockAt(0)
  const base = testConfig('holocene')
  const config = testConfig('holocene', {
    genesis: {
      ...base.genesis,
      l1: { hash: genesis.hash, number: 0 },
      l2Time: genesis.timestamp,
      systemConfig: { ...base.genesis.systemConfig, batcherAddress: batcher },
    },
  })
  derived = new FakeL2(config)
  sequenced = new FakeL2(config)
  pipeline = createDerivationPipeline({ l1, l2: derived, logger: silentLogger }, derived.config)
})

afterEach(async () => {
  await rpc.close()
  await anvil.stop()
})

async function blockAt(number: number): Promise<L1BlockInfo> {
  const info = await l1.blockInfoByNumber(number)
  if (info === undefined) throw new Error(`Anvil has no block ${number}`)
  return info
}

async function mine(secondsAfterGenesis: number): Promise<void> {
  await rpc.request('evm_setNextBlockTimestamp', [derived.config.genesis.l2Time + secondsAfterGenesis])
  await rpc.request('evm_mine', [])
}

async function post(data: Uint8Array, from = batcher): Promise<void> {
  await rpc.request('eth_sendTransaction', [{ from, to: INBOX, data: toHex(data), gas: toQuantity(1_000_000) }])
}

/** Sequences up to block `number`, with L1 origins from `origin` on as time allows. */
async function sequenceTo(number: number, origin: L1BlockInfo): Promise<void> {
  const builder = createAttributesBuilder({ l1, l2: sequenced }, sequenced.config)
  while (sequenced.head.number < number) {
    const parent = sequenced.head
    const isInTime = parent.timestamp + sequenced.config.blockTime >= origin.timestamp
    const prepared = await builder.prepare(parent, isInTime ? origin : parent.l1Origin)
    sequenced.build({ ...prepared, transactions: [...prepared.transactions, SOME_TX] })
  }
}

async function run(): Promise<void> {
  for (;;) {
    const result = await pipeline.step(derived.head)
    if (result.kind === 'idle') return
    if (result.kind === 'attributes') derived.build(result.derived.attributes)
  }
}

it('derives the sequenced chain from batches on a real L1, and again after a reorg', async () => {
  await mine(6)
  await sequenceTo(5, await blockAt(1))
  await post(channelData([spanOf(plansOf(sequenced, 1, 3), sequenced.config)], 'brotli-10'))
  await mine(12)
  await post(channelData(plansOf(sequenced, 4, 5).map(singularOf)))
  await mine(18)
  await pipeline.reset(derived.head)
  await run()
  expect(derived.head).toEqual(sequenced.ref(5))
  expect(pipeline.origin.number).toBe(3)

  // Replaces L1 blocks 2 and 3. Their content is lost and posted again later.
  await rpc.request('anvil_reorg', [2, []])
  await rpc.request('evm_mine', [])
  await expect(run()).rejects.toMatchObject({ code: 'l1-reorg', severity: 'reset' })
  derived.rewindTo(0)
  await pipeline.reset(derived.head)
  await run()
  expect(derived.head.number).toBe(0)
  await post(channelData([spanOf(plansOf(sequenced, 1, 5), sequenced.config)]))
  await rpc.request('evm_mine', [])
  await run()
  expect(derived.head).toEqual(sequenced.ref(5))
})

it('ignores transactions of senders other than the batcher', async () => {
  const accounts = await rpc.request('eth_accounts', [])
  const other = normalizeHex(Array.isArray(accounts) ? accounts[1] : undefined, 20, 'account')
  await mine(6)
  await sequenceTo(2, await blockAt(1))
  const data = channelData([spanOf(plansOf(sequenced, 1, 2), sequenced.config)])
  await post(data, other)
  await mine(12)
  await pipeline.reset(derived.head)
  await run()
  expect(derived.head.number).toBe(0)
  await post(data)
  await mine(18)
  await run()
  expect(derived.head).toEqual(sequenced.ref(2))
})
