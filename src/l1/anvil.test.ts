import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Anvil, startAnvil } from '../../test/support/anvil.ts'
import type { RpcClient } from '../jsonRpc/client.ts'
import { createPatientClient } from '../jsonRpc/testUtils/patientClient.ts'
import { ManualClock, systemClock } from '../lib/clock.ts'
import { type Hex, normalizeHex } from '../lib/hex.ts'
import { silentLogger } from '../lib/logger.ts'
import type { L1BlockRef } from '../rollup/protocol/types.ts'
import { createL1HeadTracker, type L1HeadTracker } from './headTracker.ts'
import { createL1Client } from './l1Client.ts'
import { L1_RPC_KINDS, type L1Client } from './types.ts'

/** Deploys a contract that logs its calldata (LOG1, topic 1). */
const LOGGER_INIT_CODE = '0x600d600c600039600d6000f33660006000376001366000a100'
const GWEI = 1_000_000_000

async function accountsOf(rpc: RpcClient): Promise<[Hex, Hex]> {
  const accounts = await rpc.request('eth_accounts', [])
  if (!Array.isArray(accounts)) throw new Error('Anvil lists no accounts')
  return [normalizeHex(accounts[0], 20, 'account'), normalizeHex(accounts[1], 20, 'account')]
}

// Prague adds requestsHash to the header.
describe.each(['london', 'shanghai', 'cancun', 'prague', 'osaka'])('L1 client against Anvil at %s', (hardfork) => {
  let anvil: Anvil
  let rpc: RpcClient
  let client: L1Client
  let blockHash: Hex
  let sender: Hex

  beforeAll(async () => {
    anvil = await startAnvil({ hardfork, args: ['--no-mining', '--chain-id', '901900'] })
    rpc = createPatientClient({ url: anvil.url })
    client = createL1Client({ rpc, logger: silentLogger, clock: systemClock })
    let other: Hex
    ;[sender, other] = await accountsOf(rpc)
    await rpc.request('eth_sendTransaction', [{ from: sender, data: LOGGER_INIT_CODE, gas: '0x30d40' }])
    await rpc.request('evm_mine', [])
    const logger = (await deployed(rpc)) as Hex
    const gasPrice = `0x${(10 * GWEI).toString(16)}`
    const accessList = [{ address: logger, storageKeys: [`0x${'00'.repeat(31)}07`] }]
    for (const transaction of [
      { from: sender, to: other, value: '0x1', gasPrice },
      { from: other, to: sender, value: '0x0', gasPrice, accessList, gas: '0x186a0' },
      {
        from: sender,
        to: logger,
        data: '0x0102030405',
        maxFeePerGas: gasPrice,
        maxPriorityFeePerGas: '0x1',
        gas: '0x186a0',
      },
      { from: other, to: logger, data: `0x${'ab'.repeat(100)}`, gas: '0x186a0' },
    ]) {
      await rpc.request('eth_sendTransaction', [transaction])
    }
    await rpc.request('evm_mine', [])
    const latest = await client.blockInfoByLabel('latest')
    if (latest === undefined) throw new Error('Anvil has no latest block')
    blockHash = latest.hash
  })

  afterAll(async () => {
    await rpc.close()
    await anvil.stop()
  })

  it('verifies transactions of each type and their senders', async () => {
    const { info, transactions } = await client.transactions(blockHash)
    expect(info.number).toBe(2)
    expect(transactions.map(({ type }) => type).sort()).toEqual([0, 1, 2, 2])
    const json = (await rpc.request('eth_getBlockByHash', [blockHash, true])) as { transactions: object[] }
    expect(transactions.map(({ hash, from, to }) => ({ hash, from, to }))).toMatchObject(
      json.transactions.map((item) => pickFields(item)),
    )
  })

  it.each(L1_RPC_KINDS)('verifies receipts and logs fetched as from kind %s', async (rpcKind) => {
    const reader = createL1Client({ rpc, logger: silentLogger, clock: systemClock }, { rpcKind })
    const { receipts } = await reader.receipts(blockHash)
    expect(receipts.map(({ status }) => status)).toEqual([true, true, true, true])
    const logs = receipts.flatMap((receipt) => receipt.logs)
    expect(logs.map(({ logIndex, data }) => [logIndex, data.length]).sort()).toEqual([
      [0, expect.any(Number)],
      [1, expect.any(Number)],
    ])
    expect(logs.map(({ data }) => data.length).sort((a, b) => a - b)).toEqual([5, 100])
  })

  it('reads storage, the chain id, and blocks by number and label', async () => {
    const slot: Hex = `0x${'00'.repeat(31)}05`
    const value: Hex = `0x${'00'.repeat(12)}${'c4'.repeat(20)}`
    await rpc.request('anvil_setStorageAt', [sender, slot, value])
    await rpc.request('evm_mine', [])
    const latest = await client.blockInfoByLabel('latest')
    if (latest === undefined) throw new Error('Anvil has no latest block')
    const other: Hex = `0x${'00'.repeat(31)}06`
    const trusting = createL1Client({ rpc, logger: silentLogger, clock: systemClock }, { trustRpc: true })
    for (const reader of [client, trusting]) {
      expect(await reader.storageAt(sender, slot, latest.hash)).toBe(value)
      expect(await reader.storageAt(sender, other, latest.hash)).toBe(`0x${'00'.repeat(32)}`)
    }
    expect(await client.chainId()).toBe(901_900n)
    expect(await client.blockInfoByNumber(2)).toMatchObject({ hash: blockHash, number: 2 })
    expect(await client.blockInfoByNumber(4)).toBeUndefined()
    expect(await client.blockInfoByHash(blockHash)).toMatchObject({ number: 2 })
  })

  it('refuses storage that the state root does not prove', async () => {
    const latest = await client.blockInfoByLabel('latest')
    if (latest === undefined) throw new Error('Anvil has no latest block')
    const slot: Hex = `0x${'00'.repeat(31)}05`
    type Answer = { address: Hex; storageHash: Hex; storageProof: { key: Hex; value: Hex }[] }
    const lying = (lie: (answer: Answer) => Answer) =>
      createL1Client({
        rpc: {
          ...rpc,
          async request(method, params, options) {
            const answer = await rpc.request(method, params, options)
            return method === 'eth_getProof' ? lie(answer as Answer) : answer
          },
        },
        logger: silentLogger,
        clock: systemClock,
      }).storageAt(sender, slot, latest.hash)
    expect(await lying((answer) => answer)).toMatch(/^0x0{24}/)
    const [proof] = ((await rpc.request('eth_getProof', [sender, [slot], latest.hash])) as Answer).storageProof
    if (proof === undefined) throw new Error('no proof')
    for (const lie of [
      (answer: Answer) => ({ ...answer, storageProof: [{ ...proof, value: '0x1' as const }] }),
      (answer: Answer) => ({ ...answer, storageProof: [{ ...proof, key: '0x6' as const }] }),
      (answer: Answer) => ({ ...answer, storageProof: [] }),
      (answer: Answer) => ({ ...answer, storageHash: `0x${'11'.repeat(32)}` as const }),
      (answer: Answer) => ({ ...answer, address: `0x${'11'.repeat(20)}` as const }),
    ]) {
      await expect(lying(lie)).rejects.toMatchObject({ code: 'l1-bad-answer' })
    }
    // A new block arrived in between; the next answer is correct.
    let lies = 1
    const newer = (answer: Answer) =>
      lies-- > 0 ? { ...answer, storageHash: `0x${'11'.repeat(32)}` as const } : answer
    expect(await lying(newer)).toMatch(/^0x0{24}/)
  })
})

function pickFields(json: object) {
  const { hash, from, to } = json as { hash: Hex; from: Hex; to: Hex | null }
  return { hash, from, to }
}

async function deployed(rpc: RpcClient): Promise<unknown> {
  const block = (await rpc.request('eth_getBlockByNumber', ['latest', false])) as { hash: Hex; transactions: Hex[] }
  const receipt = (await rpc.request('eth_getTransactionReceipt', [block.transactions[0]])) as { contractAddress: Hex }
  return receipt.contractAddress
}

describe('L1 head tracker against Anvil', () => {
  it('reports heads, a reorg, and the safe and finalized block', async () => {
    await using anvil = await startAnvil({ args: ['--no-mining', '--slots-in-an-epoch', '2'] }).then(disposable)
    const rpc = createPatientClient({ url: anvil.url })
    const clock = new ManualClock()
    const client = createL1Client({ rpc, logger: silentLogger, clock })
    const tracker = createL1HeadTracker(
      { client, clock, logger: silentLogger },
      { pollIntervalMs: 500, epochPollIntervalMs: 2000 },
    )
    const heads = collect(tracker, 'onHead')
    const finalized = collect(tracker, 'onFinalized')
    const safe = collect(tracker, 'onSafe')
    const abort = new AbortController()
    tracker.start(abort.signal)
    expect((await heads.next()).number).toBe(0)

    const snapshot = await rpc.request('evm_snapshot', [])
    await rpc.request('anvil_mine', ['0x1'])
    await clock.advance(500)
    const old = await heads.next()
    expect(old.number).toBe(1)
    await rpc.request('evm_revert', [snapshot])
    await rpc.request('evm_setNextBlockTimestamp', [old.timestamp + 100])
    await rpc.request('anvil_mine', ['0x1'])
    await clock.advance(500)
    const replaced = await heads.next()
    expect(replaced.number).toBe(1)
    expect(replaced.hash).not.toBe(old.hash)

    await rpc.request('anvil_mine', ['0x9'])
    await clock.advance(2000)
    expect((await heads.next()).number).toBe(10)
    // In Anvil, the block one epoch back is safe, and the block two epochs back is finalized.
    expect((await safe.nextAfter(0)).number).toBe(8)
    expect((await finalized.nextAfter(0)).number).toBe(6)
    abort.abort()
    await rpc.close()
  })
})

/** An Anvil process that stops at the end of its scope. */
function disposable(anvil: Anvil): Anvil & AsyncDisposable {
  return { ...anvil, [Symbol.asyncDispose]: () => anvil.stop() }
}

/** Collects the reports of a tracker, to await them one by one. */
function collect(tracker: L1HeadTracker, event: 'onHead' | 'onSafe' | 'onFinalized') {
  const seen: L1BlockRef[] = []
  let wake = () => {}
  tracker[event]((ref) => {
    seen.push(ref)
    wake()
  })
  const next = async (): Promise<L1BlockRef> => {
    for (;;) {
      const ref = seen.shift()
      if (ref !== undefined) return ref
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return {
    next,
    async nextAfter(number: number): Promise<L1BlockRef> {
      for (;;) {
        const ref = await next()
        if (ref.number > number) return ref
      }
    },
  }
}
