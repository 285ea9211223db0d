import { afterEach, expect, it, vi } from 'vitest'
import { signTransaction } from '../../src/execution/testUtils/signTransaction.ts'
import { createAddress } from '../../src/execution/tx/createAddress.ts'
import { fromHex, type Hex, toQuantity } from '../../src/lib/hex.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import {
  decodePostExecTx,
  encodePostExecTx,
  isDepositTx,
  isPostExecTx,
  type PayloadEnvelope,
} from '../../src/rollup/protocol/index.ts'
import { devAccounts } from '../../testnet/accounts.ts'
import { makeRealChain } from '../support/realChain.ts'
import { RealEngine } from '../support/realEngine.ts'
import { GENESIS_TIME, TestChain, untilIdle } from './harness.ts'

// Refunds of Lagoon from the block that grants them, by a real engine, to another one's derivation of it from L1.

vi.setConfig({ testTimeout: 180_000 })

let chain: TestChain
const engines: RealEngine[] = []
afterEach(async () => {
  await chain.close()
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

const [alice, bob] = devAccounts
if (alice === undefined || bob === undefined) throw new Error('no accounts')
const KEYS = { alice: fromHex(alice.privateKey), bob: fromHex(bob.privateKey) }
const CONTRACT = createAddress(fromHex(alice.address), 0n)
/** Puts down SSTORE(0, NUMBER). */
const INIT_CODE = fromHex('0x63435f55005f526004601cf3')
/** Which of the blocks get two calls of the contract, where the second finds the slot warm. */
const BUSY = [3, 4, 6]

async function startEngine(genesis: unknown): Promise<RealEngine> {
  const engine = await RealEngine.start(genesis, chain.config)
  engines.push(engine)
  return engine
}

async function startChain() {
  const real = await makeRealChain('lagoon', { genesisTime: GENESIS_TIME })
  chain = new TestChain({ config: real.config })
  const engine = await startEngine(real.genesis)
  await engine.request('admin_setSdmPostExecOptIn', [true])
  const sequencer = await chain.addNodeOn(engine.client, { sequencing: {} })
  const nonces = { alice: 0, bob: 0 }
  const send = async (account: keyof typeof nonces, fields: { to: Hex | null; data?: Uint8Array }) => {
    const key = KEYS[account]
    await engine.sendTransaction(signTransaction(key, { nonce: nonces[account]++, gasLimit: 200_000n, ...fields }).raw)
  }
  for (let number = 1; number <= 6; number++) {
    if (number === 1) await send('alice', { to: null, data: INIT_CODE })
    if (BUSY.includes(number)) for (const account of ['alice', 'bob'] as const) await send(account, { to: CONTRACT })
    await chain.clock.advance(1000)
    await until(() => sequencer.p2p.published.length >= number)
    while (chain.l1.head.timestamp + 2 <= chain.clock.now() / 1000) chain.l1.mine()
  }
  const verifying = await startEngine(real.genesis)
  return {
    sequencer,
    blocks: sequencer.p2p.published.slice(0, 6),
    verifying,
    verifier: await chain.addNodeOn(verifying.client),
  }
}

const postExecOf = ({ payload }: PayloadEnvelope) => payload.transactions.find(isPostExecTx)
const batchOf = (kind: 'singular' | 'span', blocks: readonly PayloadEnvelope[]) =>
  kind === 'span' ? chain.spanOf(blocks) : chain.batchOf(blocks)

it.each(['singular', 'span'] as const)('a verifier derives refunds from %s batches', async (kind) => {
  const { blocks, verifier, verifying } = await startChain()
  const refunding = blocks.filter((block) => postExecOf(block) !== undefined)
  expect(refunding.map(({ payload }) => payload.blockNumber)).toEqual(BUSY)
  for (const block of refunding) {
    const { refunds } = decodePostExecTx(postExecOf(block) ?? new Uint8Array())
    expect(refunds).toEqual([{ index: 2, gasRefund: 2_100n }])
  }
  chain.l1.mine([batchOf(kind, blocks)])
  await until(() => verifier.node.syncStatus().safeL2.number === 6)
  expect(verifier.node.syncStatus().safeL2.hash).toBe(blocks[5]?.payload.blockHash)
  const receipts = await verifying.request('eth_getBlockReceipts', [toQuantity(6)])
  expect(receipts).toMatchObject([{}, { opGasRefund: null }, { opGasRefund: toQuantity(2_100) }, { type: '0x7d' }])
})

it('a batch with invalid refunds becomes a deposits-only block, and ends its channel', async () => {
  const { blocks, verifier } = await startChain()
  const broken = blocks.map((block) => {
    const { payload } = block
    if (payload.blockNumber !== 4) return block
    const { version, blockNumber, refunds } = decodePostExecTx(postExecOf(block) ?? new Uint8Array())
    const tooMuch = refunds.map(({ index }) => ({ index, gasRefund: 1_000_000n }))
    const last = encodePostExecTx({ version, blockNumber, refunds: tooMuch })
    return { ...block, payload: { ...payload, transactions: [...payload.transactions.slice(0, -1), last] } }
  })
  chain.l1.mine([chain.batchOf(broken)])
  await until(() => verifier.node.syncStatus().safeL2.number === 4)
  await untilIdle()
  expect(verifier.node.syncStatus().safeL2.number).toBe(4)
  const replaced = await verifier.engine.payloadByNumber(4)
  expect(replaced?.payload.transactions).toEqual(blocks[3]?.payload.transactions.filter(isDepositTx))
  expect((await verifier.engine.payloadByNumber(3))?.payload.blockHash).toBe(blocks[2]?.payload.blockHash)
})
