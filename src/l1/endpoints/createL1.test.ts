import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Anvil, startAnvil } from '../../../test/support/anvil.ts'
import { startTcpProxy } from '../../../testnet/links/tcpProxy.ts'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { ManualClock, systemClock } from '../../lib/clock.ts'
import { UsageError } from '../../lib/errors.ts'
import { createLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { type RpcProxy, startRpcProxy } from '../testUtils/rpcProxy.ts'
import { createL1, type L1Options } from './createL1.ts'

let anvil: Anvil
let rpc: RpcClient
beforeAll(async () => {
  anvil = await startAnvil({ args: ['--no-mining'] })
  rpc = createPatientClient({ url: anvil.url })
  const [from] = (await rpc.request('eth_accounts', [])) as string[]
  for (let i = 0; i < 6; i++) {
    await rpc.request('eth_sendTransaction', [{ from, to: from, value: '0x1' }])
    await rpc.request('anvil_mine', ['0x1'])
  }
})
afterAll(async () => {
  await rpc.close()
  await anvil.stop()
})

async function startProxy(): Promise<RpcProxy> {
  const proxy = await startRpcProxy(anvil.url)
  onTestFinished(proxy.stop)
  return proxy
}

function start(urls: readonly string[], options: Partial<L1Options> = {}) {
  // The blocks of the chain have current timestamps.
  const clock = new ManualClock(Date.now())
  const lines: string[] = []
  const logger = createLogger({ level: 'info', format: 'logfmt', color: false, write: (line) => lines.push(line) })
  const registry = new Registry()
  const l1 = createL1({ clock, logger, registry }, { urls, ...options })
  const controller = new AbortController()
  onTestFinished(async () => {
    controller.abort()
    await l1.close()
  })
  const active = () => l1.states().find((state) => state.active)?.url
  return { l1, clock, lines, registry, active, signal: controller.signal }
}

const blockAt = async (l1: ReturnType<typeof start>['l1'], number: number) => {
  const block = await l1.client.blockInfoByNumber(number)
  if (block === undefined) throw new Error(`no block ${number}`)
  return block
}

/** Advances by the head check's interval. Repeats while a check is still pending at the next due time. */
const passTimeUntil = (clock: ManualClock, active: () => string | undefined, url: string) =>
  expect
    .poll(async () => {
      await clock.advance(15_000)
      return active()
    })
    .toBe(url)

describe('several L1 endpoints', () => {
  it.each(['down', 'status'] as const)('switch to the next endpoint if one is: %s, and return later', async (fault) => {
    const [first, second] = [await startProxy(), await startProxy()]
    const { l1, clock, lines, registry, active, signal } = start([first.url, second.url])
    const { hash } = await blockAt(l1, 3)
    expect(second.calls).toEqual([])
    first.fault = fault
    expect((await l1.client.transactions(hash)).transactions.length).toBe(1)
    // A single failure is tolerated.
    expect(active()).toBe(first.url)
    expect((await l1.client.receipts(hash)).receipts.length).toBe(1)
    expect((await blockAt(l1, 4)).number).toBe(4)
    expect(active()).toBe(second.url)
    const callsBefore = first.calls.length
    await blockAt(l1, 5)
    expect(first.calls.length).toBe(callsBefore)
    expect(lines.filter((line) => line.includes('Left an L1 endpoint')).join()).toContain(first.url)

    first.fault = 'none'
    void l1.run(signal, () => {})
    await passTimeUntil(clock, active, first.url)
    expect(lines.filter((line) => line.includes('Returned')).length).toBe(1)
    const metrics = await registry.metrics()
    expect(metrics).toContain(`devium_l1_endpoint_active{endpoint="${first.url}"} 1`)
    expect(metrics).toContain(`devium_l1_endpoint_switches_total{from="${first.url}",to="${second.url}"} 1`)
  })

  it('name an endpoint with false answers, and leave it at once', async () => {
    const [liar, honest] = [await startProxy(), await startProxy()]
    const { l1, lines, active } = start([liar.url, honest.url])
    liar.change = (method, result) =>
      method.startsWith('eth_getBlockBy') ? { ...(result as object), timestamp: '0x1' } : result
    expect((await blockAt(l1, 2)).timestamp).toBeGreaterThan(1)
    expect(active()).toBe(honest.url)
    expect(lines.length).toBe(1)
    expect(lines[0]).toContain(liar.url)
    expect(lines[0]).toContain('its header has hash')
  })

  it.each([
    ['transactions', 'eth_getBlockByHash'],
    ['receipts', 'eth_getBlockReceipts'],
  ] as const)('detect a false answer about %s', async (what, method) => {
    const [liar, honest] = [await startProxy(), await startProxy()]
    const { l1, active } = start([liar.url, honest.url])
    const { hash } = await blockAt(l1, 3)
    liar.change = (called, result) => {
      if (called !== method) return result
      if (Array.isArray(result)) return []
      return { ...(result as object), transactions: [] }
    }
    await l1.client[what](hash)
    expect(active()).toBe(honest.url)
  })

  it('query other endpoints for an unknown block, and after false prefetched answers', async () => {
    const [behind, ahead] = [await startProxy(), await startProxy()]
    const { l1, active } = start([behind.url, ahead.url])
    const { hash } = await blockAt(l1, 5)
    const fresh = start([behind.url, ahead.url])
    behind.change = (method, result) => (method === 'eth_getBlockByHash' ? null : result)
    expect((await fresh.l1.client.blockInfoByHash(hash))?.number).toBe(5)
    expect((await fresh.l1.client.transactions(hash)).transactions.length).toBe(1)
    expect(await fresh.l1.client.blockInfoByHash(`0x${'12'.repeat(32)}`)).toBeUndefined()
    expect(fresh.active()).toBe(behind.url)
    behind.change = (_, result) => ({ ...(result as object), timestamp: '0x1' })
    const blocks = await Promise.all(l1.client.fetchBlocks([1, 2, 3]))
    expect(blocks.map((block) => block?.number)).toEqual([1, 2, 3])
    expect(active()).toBe(ahead.url)
  })

  it('leave an endpoint whose head stalls', async () => {
    const [stale, current] = [await startProxy(), await startProxy()]
    const { l1, clock, active, signal } = start([stale.url, current.url])
    const old = await rpc.request('eth_getBlockByNumber', ['0x0', false])
    await rpc.request('evm_increaseTime', [100])
    await rpc.request('evm_mine', [])
    await clock.advance(100_000)
    stale.change = (method, result, [id]) => (method === 'eth_getBlockByNumber' && id === 'latest' ? old : result)
    void l1.run(signal, () => {})
    await clock.advance(15_000)
    await expect.poll(active).toBe(current.url)
    expect(l1.states()[0]?.problem?.message).toMatch(/block 0\b.*\b\d+ s\b/)
  })

  it('fail together with the error of the first endpoint', async () => {
    const [first, second] = [await startProxy(), await startProxy()]
    const { l1 } = start([first.url, second.url])
    first.fault = second.fault = 'down'
    await expect(l1.client.chainId()).rejects.toMatchObject({
      code: 'rpc-transport',
      message: expect.stringContaining(first.url),
    })
  })
})

describe('the check at the start', () => {
  const check = async ({ client }: { client: { chainId(): Promise<bigint> } }) => {
    const chainId = await client.chainId()
    if (chainId !== 31_337n) throw new UsageError(`incorrect L1 RPC chain id ${chainId}`)
  }

  it('refuses an endpoint of another chain, at any position', async () => {
    const other = await startAnvil({ args: ['--chain-id', '5', '--no-mining'] })
    onTestFinished(other.stop)
    await expect(start([anvil.url, other.url]).l1.check(check)).rejects.toThrow(errorWith('usage', 5))
  })

  it('continues without a silent endpoint, and checks it before its first use', async () => {
    const [silent, well] = [await startProxy(), await startProxy()]
    silent.fault = 'down'
    const { l1, clock, active, signal, lines } = start([silent.url, well.url])
    await l1.check(check)
    expect(active()).toBe(well.url)
    expect(lines.join()).toContain('L1 endpoint unused until it answers')
    silent.calls.length = 0
    await blockAt(l1, 1)
    expect(silent.calls).toEqual([])
    silent.fault = 'none'
    void l1.run(signal, () => {})
    await passTimeUntil(clock, active, silent.url)
    expect(silent.calls[0]).toBe('eth_chainId')
  })

  it('fails if no endpoint answers', async () => {
    const silent = await startProxy()
    silent.fault = 'down'
    await expect(start([silent.url, silent.url]).l1.check(check)).rejects.toMatchObject({ code: 'rpc-transport' })
  })
})

describe('an L1 endpoint by WebSocket', () => {
  it('notifies of new heads, also after a lost connection', async () => {
    const proxy = await startTcpProxy(Number(new URL(anvil.url).port))
    onTestFinished(proxy.close)
    const logger = createLogger({ level: 'error', format: 'logfmt', color: false })
    const modules = { clock: systemClock, logger, registry: new Registry() }
    const l1 = createL1(modules, { urls: [`ws://127.0.0.1:${proxy.port}`] })
    const controller = new AbortController()
    onTestFinished(async () => {
      controller.abort()
      await l1.close()
    })
    let heads = 0
    void l1.run(controller.signal, () => {
      heads += 1
    })
    /** Mines until a block is reported: the subscription may still be pending. */
    const mineUntilNotified = (before: number) =>
      expect
        .poll(async () => {
          await rpc.request('evm_mine', [])
          return heads
        })
        .toBeGreaterThan(before)
    await mineUntilNotified(0)
    const head = await l1.client.blockInfoByLabel('latest')
    expect(head?.number).toBeGreaterThan(6)
    proxy.cut()
    await expect(l1.client.chainId()).rejects.toMatchObject({ code: 'rpc-transport' })
    proxy.allow()
    await mineUntilNotified(heads)
    expect(await l1.client.chainId()).toBe(31_337n)
  })
})
