import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { signTransaction } from '../../src/execution/testUtils/signTransaction.ts'
import { bigIntToBytes, concatBytes } from '../../src/lib/bytes.ts'
import { fromHex, type Hex } from '../../src/lib/hex.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import type { EngineClient } from '../../src/rollup/engine/index.ts'
import {
  CONFIG_UPDATE_TOPIC,
  encodeBlob,
  type PayloadEnvelope,
  TRANSACTION_DEPOSITED_TOPIC,
} from '../../src/rollup/protocol/index.ts'
import { devAccounts } from '../../testnet/accounts.ts'
import { makeRealChain, type RealChain } from '../support/realChain.ts'
import { RealEngine } from '../support/realEngine.ts'
import type { FakeL1Log } from './fakeL1.ts'
import { GENESIS_TIME, TestChain, type TestNode } from './harness.ts'

vi.setConfig({ testTimeout: 180_000 })

let chain: TestChain
let real: RealChain
const engines: RealEngine[] = []
afterEach(async () => {
  await chain.close()
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

async function begin(
  ...[fork, options]: [Parameters<typeof makeRealChain>[0], Partial<Parameters<typeof makeRealChain>[1]>?]
) {
  real = await makeRealChain(fork, { genesisTime: GENESIS_TIME, ...options })
  chain = new TestChain({ config: real.config })
}

async function startEngine(): Promise<RealEngine> {
  const engine = await RealEngine.start(real.genesis, chain.config)
  engines.push(engine)
  return engine
}

async function startSequencer() {
  const engine = await startEngine()
  return { engine, node: await chain.addNodeOn(engine.client, { sequencing: {} }) }
}

async function startVerifier(options: Parameters<TestChain['addNodeOn']>[1] = {}) {
  const engine = await startEngine()
  return { engine, node: await chain.addNodeOn(engine.client, options) }
}

/** Lets the sequencer make its blocks, one a second, and L1 its own. */
async function sequence(
  sequencer: TestNode<EngineClient>,
  seconds: number,
  onBlock?: (number: number) => Promise<void>,
) {
  for (let passed = 0; passed < seconds; passed++) {
    const next = sequencer.node.syncStatus().unsafeL2.number + 1
    await onBlock?.(next)
    await chain.clock.advance(1000)
    await until(() => sequencer.node.syncStatus().unsafeL2.number >= next)
    while (chain.l1.head.timestamp + 2 <= chain.clock.now() / 1000) chain.l1.mine()
  }
}

async function untilSafe(node: TestNode<EngineClient>, block: PayloadEnvelope | undefined): Promise<void> {
  if (block === undefined) throw new Error('no block')
  await until(() => node.failure !== undefined || node.node.syncStatus().safeL2.hash === block.payload.blockHash)
  expect(node.failure).toBeUndefined()
}

/** Blocks that are part of the sequencer's chain now, without those that a reset took back. */
async function chainOf({ node, engine }: TestNode<EngineClient>): Promise<PayloadEnvelope[]> {
  const blocks: PayloadEnvelope[] = []
  for (let number = 1; number <= node.syncStatus().unsafeL2.number; number++) {
    const block = await engine.payloadByNumber(number)
    if (block !== undefined) blocks.push(block)
  }
  return blocks
}

const word = (value: bigint | Hex) => bigIntToBytes(typeof value === 'bigint' ? value : BigInt(value), 32)
const topic = (value: bigint | Hex): Hex =>
  `0x${(typeof value === 'bigint' ? value : BigInt(value)).toString(16).padStart(64, '0')}`

/** A deposit of `mint` wei as the portal logs it. */
function depositLog(from: Hex, to: Hex, mint: bigint): FakeL1Log {
  const opaque = concatBytes(word(mint), word(mint), bigIntToBytes(100_000n, 8), Uint8Array.of(0))
  const padded = new Uint8Array(Math.ceil(opaque.length / 32) * 32)
  padded.set(opaque)
  return {
    address: chain.config.depositContractAddress,
    topics: [TRANSACTION_DEPOSITED_TOPIC, topic(from), topic(to), topic(0n)],
    data: concatBytes(word(32n), word(BigInt(opaque.length)), padded),
  }
}

function configLog(type: bigint, ...words: bigint[]): FakeL1Log {
  return {
    address: chain.config.l1SystemConfigAddress,
    topics: [CONFIG_UPDATE_TOPIC, topic(0n), topic(type)],
    data: concatBytes(word(32n), word(BigInt(words.length * 32)), ...words.map(word)),
  }
}

const [alice, bob] = devAccounts
if (alice === undefined || bob === undefined) throw new Error('no accounts')
const transfer = (nonce: number) =>
  signTransaction(fromHex(alice.privateKey), { nonce, value: 1n, to: bob.address }).raw

describe('with the real execution client', () => {
  it('derives deposits, config updates and transactions from span batches, fork by fork up to Karst', async () => {
    const later = { isthmus: GENESIS_TIME + 6, jovian: GENESIS_TIME + 10, karst: GENESIS_TIME + 14 }
    await begin('holocene', { later })
    const sequencer = await startSequencer()
    const recipient: Hex = `0x${'d0'.repeat(20)}`
    await sequence(sequencer.node, 20, async (number) => {
      if (number < 18) await sequencer.engine.sendTransaction(transfer(number - 1))
      if (number === 4) chain.l1.mine([], [depositLog(bob.address, recipient, 5n * 10n ** 18n)])
      if (number === 7) chain.l1.mine([], [configLog(2n, 45_000_000n), configLog(4n, (100n << 32n) | 8n)])
    })
    const blocks = sequencer.node.p2p.published
    expect(blocks).toHaveLength(20)
    const { engine, node } = await startVerifier()
    chain.l1.mine([chain.spanOf(blocks.slice(0, 9))])
    chain.l1.mine([chain.spanOf(blocks.slice(9))])
    await untilSafe(node, blocks.at(-1))
    expect(await engine.request('eth_getBalance', [recipient, 'latest'])).toBe('0x4563918244f40000')
    expect(blocks.at(-1)?.payload.gasLimit).toBe(45_000_000n)
    expect(blocks.at(-1)?.payload.extraData).toMatch(/^0x010000006400000008/)
    // The block that activates Karst: L1 info and 31 upgrades, on a limit raised for them and lowered again.
    const karst = blocks.find(({ payload }) => payload.timestamp === later.karst)
    expect(karst?.payload.transactions.length).toBe(32)
    expect(karst?.payload.gasLimit).toBe(45_000_000n + 55_370_657n)
    expect(engine.calls.filter((method) => method === 'engine_getPayloadV5').length).toBeGreaterThan(0)
  })

  it.each([1, 10, 64])('follows an L1 reorg of %i blocks while it sequences, derives and finalises', async (depth) => {
    await begin('jovian')
    const sequencer = await startSequencer()
    const verifier = await startVerifier()
    for (let count = 0; count < 4; count++) {
      await sequence(sequencer.node, 2)
      chain.l1.mine([chain.batchOf(await chainOf(sequencer.node))])
    }
    await untilSafe(verifier.node, sequencer.node.p2p.published.at(-1))
    chain.l1.finalize(chain.l1.head.number)
    await until(() => verifier.node.node.syncStatus().finalizedL2.number === 8)
    const final = verifier.node.node.syncStatus().finalizedL2.hash
    // Blocks that the reorg takes the ground from: L1 grows under them, a batch every now and then.
    const fork = chain.l1.head.number
    for (let mined = 0; chain.l1.head.number < fork + depth; mined++) {
      await sequence(sequencer.node, 1)
      if (chain.l1.head.number < fork + depth)
        chain.l1.mine(mined % 3 === 0 ? [chain.batchOf(sequencer.node.p2p.published.slice(8))] : [])
    }
    for (const block of sequencer.node.p2p.published) verifier.node.p2p.receive(block)
    await until(() => verifier.node.node.syncStatus().unsafeL2.hash === sequencer.node.node.syncStatus().unsafeL2.hash)
    chain.l1.rewind(fork)
    for (let mined = 0; mined <= depth; mined++) chain.l1.mine()
    await until(() => {
      const { currentL1, unsafeL2 } = sequencer.node.node.syncStatus()
      return currentL1.hash === chain.l1.head.hash && unsafeL2.number >= 8
    })
    await chain.clock.advance(2000)
    await sequence(sequencer.node, 6)
    const blocks = await chainOf(sequencer.node)
    chain.l1.mine([chain.batchOf(blocks)])
    await untilSafe(verifier.node, blocks.at(-1))
    for (const { payload } of blocks) {
      const { l1Origin } = (await verifier.node.engine.blockRefByNumber(payload.blockNumber)) ?? {}
      expect(l1Origin?.hash).toBe(chain.l1.at(l1Origin?.number ?? -1).hash)
    }
    expect(blocks[7]?.payload.blockHash).toBe(final)
    chain.l1.finalize(chain.l1.head.number)
    await until(() => verifier.node.node.syncStatus().finalizedL2.hash === blocks.at(-1)?.payload.blockHash)
  })

  it('continues after the engine restarts, loses its tip, answers SYNCING and refuses a block', async () => {
    await begin('jovian')
    const sequencer = await startSequencer()
    await sequence(sequencer.node, 16, async (number) => {
      if (number === 15) await sequencer.engine.sendTransaction(transfer(0))
    })
    const blocks = sequencer.node.p2p.published
    const { engine, node } = await startVerifier()
    chain.l1.mine([chain.spanOf(blocks.slice(0, 4))])
    await untilSafe(node, blocks[3])
    const restoreOlder = await engine.snapshot()
    chain.l1.mine([chain.spanOf(blocks.slice(4, 8))])
    await stepUntilSafe(node, blocks[7])
    // Away, and back with all that it had.
    await engine.shutDown()
    chain.l1.mine([chain.spanOf(blocks.slice(8, 10))])
    await chain.clock.advance(3000)
    await engine.open()
    await stepUntilSafe(node, blocks[9])
    // Back without its last six blocks.
    await restoreOlder()
    node.p2p.receive(blocks[10] ?? expect.fail())
    chain.l1.mine([chain.spanOf(blocks.slice(10, 12))])
    await stepUntilSafe(node, blocks[11])
    // Busy for a while.
    let busy = 3
    engine.fault = (method) =>
      method.startsWith('engine_newPayload') && busy-- > 0
        ? { status: 'SYNCING', latestValidHash: null, validationError: null }
        : undefined
    chain.l1.mine([chain.spanOf(blocks.slice(12, 14))])
    await stepUntilSafe(node, blocks[13])
    expect(busy).toBeLessThan(0)
    // The next block of the chain is refused: one with its deposits takes its place, and the rest of the span is lost.
    const refused = blocks[14]?.payload.blockHash
    engine.fault = (method, [payload]) =>
      method.startsWith('engine_newPayload') && JSON.stringify(payload).includes(refused ?? '')
        ? { status: 'INVALID', latestValidHash: null, validationError: 'made up' }
        : undefined
    expect(blocks[14]?.payload.transactions).toHaveLength(2)
    chain.l1.mine([chain.spanOf(blocks.slice(14))])
    await until(() => node.failure !== undefined || node.node.syncStatus().safeL2.number >= 15)
    expect(node.failure).toBeUndefined()
    await until(() => node.node.syncStatus().currentL1.hash === chain.l1.head.hash)
    expect(node.node.syncStatus().safeL2.number).toBe(15)
    expect((await engine.client.payloadByNumber(15))?.payload.transactions).toHaveLength(1)
  })

  it('waits for blobs that the beacon node lacks or serves late', async () => {
    await begin('jovian')
    const sequencer = await startSequencer()
    await sequence(sequencer.node, 6)
    const blocks = sequencer.node.p2p.published
    const requested: number[] = []
    let answer: () => Uint8Array[] | undefined = () => {
      throw new Error('connect ECONNREFUSED')
    }
    const { node } = await startVerifier({
      blobs: {
        async blobs(block) {
          requested.push(block.number)
          return answer()
        },
      },
    })
    const { input, ...transaction } = chain.spanOf(blocks)
    const blobHash: Hex = `0x01${'ab'.repeat(31)}`
    const withBlob = chain.l1.mine([{ ...transaction, input: new Uint8Array(), blobVersionedHashes: [blobHash] }])
    await until(() => requested.includes(withBlob.number))
    await chain.clock.advance(10_000)
    expect(node.node.syncStatus().safeL2.number).toBe(0)
    // Known to be gone: a reset, and the same question again.
    answer = () => undefined
    const before = requested.length
    await chain.clock.advance(20_000)
    await until(() => requested.length > before)
    expect(node.failure).toBeUndefined()
    answer = () => [encodeBlob(input)]
    await stepUntilSafe(node, blocks.at(-1))
  })
})

/** Time passes meanwhile, for what is tried again after a pause. */
async function stepUntilSafe(node: TestNode<EngineClient>, block: PayloadEnvelope | undefined): Promise<void> {
  if (block === undefined) throw new Error('no block')
  await until(async () => {
    if (node.failure !== undefined || node.node.syncStatus().safeL2.hash === block.payload.blockHash) return true
    // The engine is real: it needs some real time for each second of the chain.
    await delay(50)
    await chain.clock.advance(1000)
    return false
  })
  expect(node.failure).toBeUndefined()
}
