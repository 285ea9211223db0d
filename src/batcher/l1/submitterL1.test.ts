import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Anvil, startAnvil } from '../../../test/support/anvil.ts'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { JsonRpcError, RPC_LIMIT_EXCEEDED, RPC_METHOD_NOT_FOUND } from '../../jsonRpc/types.ts'
import { createL1 } from '../../l1/index.ts'
import { type RpcProxy, startRpcProxy } from '../../l1/testUtils/rpcProxy.ts'
import { ManualClock } from '../../lib/clock.ts'
import { UsageError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import { isObject } from '../../lib/jsonReader.ts'
import { createLogRecorder } from '../testUtils/logRecorder.ts'
import { createSubmitterL1 } from './submitterL1.ts'

let anvil: Anvil
let rpc: RpcClient
let account: Hex
beforeAll(async () => {
  anvil = await startAnvil({ args: ['--no-mining'] })
  rpc = createPatientClient({ url: anvil.url })
  ;[account] = (await rpc.request('eth_accounts', [])) as [Hex]
  for (let i = 0; i < 3; i++) {
    await rpc.request('eth_sendTransaction', [{ from: account, to: account, value: '0x1' }])
    await rpc.request('anvil_mine', ['0x1'])
  }
})
afterAll(async () => {
  await rpc.close()
  await anvil.stop()
})

/** A submitter's L1 with two endpoints of the same node. */
async function setUp() {
  const before = await rpc.request('evm_snapshot', [])
  onTestFinished(async () => void (await rpc.request('evm_revert', [before])))
  const [first, second] = await Promise.all([startRpcProxy(anvil.url), startRpcProxy(anvil.url)])
  // The chain's blocks have present timestamps.
  const clock = new ManualClock(Date.now())
  const log = createLogRecorder()
  const registry = new Registry()
  const endpoints = createL1({ clock, logger: log.logger, registry }, { urls: [first.url, second.url] })
  const controller = new AbortController()
  onTestFinished(async () => {
    controller.abort()
    await endpoints.close()
    await Promise.all([first.stop(), second.stop()])
  })
  const active = () => endpoints.states().find((state) => state.active)?.url
  /** Advances time, poll by poll, until requests go to this endpoint. */
  const becomesActive = ({ url }: RpcProxy) =>
    expect
      .poll(async () => {
        await clock.advance(15_000)
        return active()
      })
      .toBe(url)
  const run = () => void endpoints.run(controller.signal, () => {})
  return {
    first,
    second,
    clock,
    log,
    registry,
    endpoints,
    active,
    becomesActive,
    run,
    l1: createSubmitterL1(endpoints.query, 5_000),
  }
}

/** Changes the endpoint's answer to one method. */
const answers = (proxy: RpcProxy, method: string, change: (result: unknown) => unknown) => {
  proxy.change = (called, result) => (called === method ? change(result) : result)
}

describe('the blob base fee', () => {
  const feesWith = (rpcCode: number, withoutMember = '') => {
    const answering: Pick<RpcClient, 'request' | 'batch'> = {
      request: rpc.request,
      batch: async (calls, options) =>
        (await rpc.batch(calls, options)).map((answer, index) => {
          if (calls[index]?.method === 'eth_blobBaseFee') return new JsonRpcError(rpcCode, 'refused')
          return isObject(answer) ? { ...answer, [withoutMember]: undefined } : answer
        }),
    }
    return createSubmitterL1((operation) => operation({ rpc: answering }), 5_000).suggestFees(undefined)
  }

  it('is undefined on an L1 without the method, or before Cancun', async () => {
    expect(await feesWith(RPC_METHOD_NOT_FOUND)).toMatchObject({ blobBaseFee: undefined })
    expect(await feesWith(RPC_LIMIT_EXCEEDED, 'excessBlobGas')).toMatchObject({ blobBaseFee: undefined })
  })

  it('is unknown after another error, which is thrown', async () => {
    await expect(feesWith(RPC_LIMIT_EXCEEDED)).rejects.toMatchObject({ rpcCode: RPC_LIMIT_EXCEEDED })
  })
})

describe('several L1 endpoints', () => {
  it('replace a failed endpoint until it is healthy again', async () => {
    const { first, second, log, registry, active, becomesActive, run, l1 } = await setUp()
    expect(await l1.nonceAt(account, 'latest')).toBe(3)
    expect(second.calls).toEqual([])
    first.fault = 'down'
    // A single failure may be transient.
    expect((await l1.head()).number).toBe(3)
    expect(active()).toBe(first.url)
    expect((await l1.receipts([])).head).toBe(3)
    expect(active()).toBe(second.url)
    expect(log.of('Left an L1 endpoint')).toMatchObject([{ from: first.url, to: second.url }])
    expect(await registry.metrics()).toContain(`devium_l1_endpoint_active{endpoint="${second.url}"} 1`)
    first.fault = 'none'
    run()
    await becomesActive(first)
  })

  it("fail with the first endpoint's error if all fail", async () => {
    const { first, second, l1 } = await setUp()
    first.fault = second.fault = 'down'
    await expect(l1.balance(account)).rejects.toMatchObject({
      code: 'rpc-transport',
      message: expect.stringContaining(first.url),
    })
  })

  it('do not repeat a request that an endpoint answered with an error', async () => {
    const { second, active, first, l1 } = await setUp()
    for (let i = 0; i < 3; i++)
      await expect(l1.sendRawTransaction(Uint8Array.of(1))).rejects.toMatchObject({ code: 'json-rpc' })
    expect(second.calls).toEqual([])
    expect(active()).toBe(first.url)
  })

  it('do not repeat an aborted request', async () => {
    const { first, second, l1 } = await setUp()
    first.fault = 'hangs'
    const controller = new AbortController()
    const answer = l1.head(controller.signal)
    await expect.poll(() => first.calls).toEqual(['eth_getBlockByNumber'])
    controller.abort(new Error('stopped'))
    await expect(answer).rejects.toThrow('stopped')
    expect(second.calls).toEqual([])
  })

  it.each([
    ['eth_getTransactionCount', null, 'nonce'],
    ['eth_blockNumber', 3, 'eth_blockNumber'],
    ['eth_getTransactionReceipt', { blockNumber: '0x1' }, 'receipt.transactionHash'],
  ] as const)('are used at once if an answer to %s cannot be read', async (method, answer, field) => {
    const { first, second, endpoints, active, l1 } = await setUp()
    const { transactions } = (await rpc.request('eth_getBlockByNumber', ['0x2', false])) as { transactions: Hex[] }
    answers(first, method, () => answer)
    expect(await l1.nonceAt(account, 2)).toBe(2)
    const { head, receipts } = await l1.receipts(transactions)
    expect([head, receipts[0]?.blockNumber]).toEqual([3, 2])
    expect(active()).toBe(second.url)
    expect(endpoints.states()[0]?.problem?.message).toContain(field)
  })

  it('are used at once if a head is malformed', async () => {
    const { first, second, clock, active, run } = await setUp()
    answers(first, 'eth_getBlockByNumber', (block) => ({ ...(block as object), stateRoot: `0x${'11'.repeat(32)}` }))
    run()
    await clock.advance(15_000)
    await expect.poll(active).toBe(second.url)
  })

  it('are asked for a block that an endpoint does not know, which is no failure', async () => {
    const { first, active, endpoints, l1 } = await setUp()
    answers(first, 'eth_getBlockByNumber', () => null)
    expect(await l1.transactionsOf(account, 2)).toMatchObject([{ nonce: 1, to: account }])
    expect(active()).toBe(first.url)
    expect(endpoints.states()[0]?.problem).toBeUndefined()
    await expect(l1.transactionsOf(account, 99)).rejects.toMatchObject({ code: 'l1-not-found' })
  })

  it('answer for the nonce in place of an endpoint that lags', async () => {
    const { first, second, clock, endpoints, active, run, l1 } = await setUp()
    const genesis = await rpc.request('eth_getBlockByNumber', ['0x0', false])
    await rpc.request('evm_increaseTime', [100])
    await rpc.request('evm_mine', [])
    await clock.advance(100_000)
    first.change = (method, result) => {
      if (method === 'eth_getBlockByNumber') return genesis
      return method === 'eth_getTransactionCount' ? '0x0' : result
    }
    expect(await l1.nonceAt(account, 'latest')).toBe(0)
    run()
    await clock.advance(15_000)
    await expect.poll(active).toBe(second.url)
    expect(await l1.nonceAt(account, 'latest')).toBe(3)
    expect(endpoints.states()[0]?.problem?.message).toMatch(/block 0\b.*\b\d+ s\b/)
  })

  it('exclude an endpoint of another chain', async () => {
    const { first, second, clock, log, endpoints, active, run, l1 } = await setUp()
    second.fault = 'down'
    const check = async (endpoint: { rpc: Pick<RpcClient, 'request'> }) => {
      const served = await endpoint.rpc.request('eth_chainId', [])
      if (served !== '0x7a69') throw new UsageError(`serves chain ${served}`)
    }
    await endpoints.check(check)
    answers(second, 'eth_chainId', () => '0x2')
    second.fault = 'none'
    run()
    await clock.advance(15_000)
    const line = await log.seen('L1 endpoint cannot be used and is skipped')
    expect(line).toMatchObject({ lvl: 'error', url: second.url, err: 'serves chain 0x2' })
    first.fault = 'down'
    second.calls.length = 0
    await expect(l1.head()).rejects.toMatchObject({ code: 'rpc-transport' })
    expect([second.calls, active()]).toEqual([[], first.url])
    // The second poll begins when the first has ended. It does not repeat the line.
    await expect
      .poll(async () => {
        await clock.advance(15_000)
        return second.calls.length
      })
      .toBeGreaterThanOrEqual(2)
    expect(new Set(second.calls)).toEqual(new Set(['eth_chainId']))
    expect(log.of('L1 endpoint cannot be used and is skipped')).toHaveLength(1)
  })
})
