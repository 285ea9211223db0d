import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../lib/clock.ts'
import { createRpcClient, RpcTransportError } from '../lib/jsonRpc/client.ts'
import { silentLogger } from '../lib/logger.ts'
import { fakeGenesis } from '../rollup/engine/testUtils/fakeEngine.ts'
import type { RollupConfig } from '../rollup/protocol/index.ts'
import { checkEngine, checkL1, type Endpoint, waitForEndpoint } from './rollupNodeChecks.ts'

const HASH = `0x${'ab'.repeat(32)}` as const
const GENESIS = fakeGenesis(1, 1n)
const CONFIG = {
  l1ChainId: 900n,
  l2ChainId: 901n,
  genesis: { l1: { hash: HASH, number: 3 }, l2: { hash: GENESIS.payload.blockHash, number: 0 } },
} as RollupConfig
const ENDPOINT: Endpoint = { name: 'L1', flagName: 'l1', url: 'http://127.0.0.1:1' }

describe('checkL1', () => {
  const l1 = (chainId: bigint, hash: `0x${string}` | undefined) => ({
    chainId: async () => chainId,
    blockInfoByNumber: async (number: number) =>
      hash === undefined ? undefined : { hash, number, parentHash: HASH, timestamp: 1 },
  })

  it('accepts the right L1, and one that has not come so far', async () => {
    await checkL1(l1(900n, HASH), CONFIG, silentLogger)
    await checkL1(l1(900n, undefined), CONFIG, silentLogger)
  })

  it('refuses another chain and another block', async () => {
    await expect(checkL1(l1(1n, HASH), CONFIG, silentLogger)).rejects.toThrow(
      'incorrect L1 RPC chain id 1, expected 900',
    )
    const other = `0x${'cd'.repeat(32)}` as const
    await expect(checkL1(l1(900n, other), CONFIG, silentLogger)).rejects.toThrow(
      `incorrect L1 genesis block hash ${other}, expected ${HASH}`,
    )
  })
})

describe('checkEngine', () => {
  it('refuses another chain and another genesis', async () => {
    const engine = { chainId: async () => 901n, payloadByNumber: async () => GENESIS }
    await checkEngine(engine, CONFIG)
    await expect(checkEngine({ ...engine, chainId: async () => 5n }, CONFIG)).rejects.toThrow(
      'incorrect L2 RPC chain id 5, expected 901',
    )
    const other = fakeGenesis(2, 1n)
    await expect(checkEngine({ ...engine, payloadByNumber: async () => other }, CONFIG)).rejects.toThrow(
      `incorrect L2 genesis block hash ${other.payload.blockHash}, expected ${GENESIS.payload.blockHash}`,
    )
    await expect(checkEngine({ ...engine, payloadByNumber: async () => undefined }, CONFIG)).rejects.toThrow(
      'does not have block 0',
    )
  })
})

describe('waitForEndpoint', () => {
  const never = new AbortController().signal

  it('waits a minute for one that is there, and too busy to answer', async () => {
    const clock = new ManualClock()
    let answers = false
    const busy = async () => {
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, 10_000))
      if (!answers) throw new RpcTransportError('rpc-timeout', 'eth_chainId: no answer within 10000 ms')
      return 'there'
    }
    const wait = () => {
      const waiting = waitForEndpoint(ENDPOINT, busy, { clock, logger: silentLogger, signal: never })
      return waiting.catch((error: unknown) => error)
    }
    const first = wait()
    await clock.advance(40_000)
    answers = true
    await clock.advance(11_000)
    expect(await first).toBe('there')
    answers = false
    const second = wait()
    await clock.advance(75_000)
    expect(await second).toMatchObject({ message: expect.stringContaining('cannot reach L1 (--l1)') })
  })

  it('waits ten seconds for an endpoint that is starting, then says which flag to look at', async () => {
    const clock = new ManualClock()
    let calls = 0
    const silent = () => {
      calls++
      throw new RpcTransportError('rpc-transport', 'eth_chainId: request to http://127.0.0.1:1 failed')
    }
    const waiting = waitForEndpoint(ENDPOINT, async () => silent(), { clock, logger: silentLogger, signal: never })
    const outcome = waiting.catch((error: unknown) => error)
    // The first failure is on its way: time moves only after it.
    await clock.advance(0)
    await clock.advance(9_900)
    expect(calls).toBe(40)
    await clock.advance(300)
    expect(String(await outcome)).toContain('cannot reach L1 (--l1): eth_chainId: request to http://127.0.0.1:1 failed')
  })

  it('goes on as soon as it answers', async () => {
    const clock = new ManualClock()
    let calls = 0
    const waiting = waitForEndpoint(
      ENDPOINT,
      async () => {
        if (calls++ < 2) throw new RpcTransportError('rpc-transport', 'not yet')
        return 7
      },
      { clock, logger: silentLogger, signal: never },
    )
    await clock.advance(0)
    await clock.advance(500)
    expect(await waiting).toBe(7)
  })

  it('does not wait for an endpoint that refuses', async () => {
    const refusal = new RpcTransportError('rpc-transport', 'HTTP 401: signature is invalid', {
      details: { status: 401 },
    })
    const waiting = waitForEndpoint(ENDPOINT, () => Promise.reject(refusal), {
      clock: new ManualClock(),
      logger: silentLogger,
      signal: never,
    })
    await expect(waiting).rejects.toThrow('cannot reach L1 (--l1): HTTP 401: signature is invalid')
  })

  it('leaves what the checks themselves say alone', async () => {
    const waiting = waitForEndpoint(
      ENDPOINT,
      () => checkL1({ chainId: async () => 1n, blockInfoByNumber: async () => undefined }, CONFIG, silentLogger),
      { clock: new ManualClock(), logger: silentLogger, signal: never },
    )
    await expect(waiting).rejects.toThrow('incorrect L1 RPC chain id')
  })

  it('ends with the program', async () => {
    // A server that accepts and never answers.
    const server = createServer(() => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const rpc = createRpcClient({ url: `http://127.0.0.1:${port}` })
    const controller = new AbortController()
    const waiting = waitForEndpoint(ENDPOINT, () => rpc.request('eth_chainId', [], { signal: controller.signal }), {
      clock: systemClock,
      logger: silentLogger,
      signal: controller.signal,
    })
    controller.abort(new Error('received SIGINT'))
    await expect(waiting).rejects.toThrow('received SIGINT')
    await rpc.close()
    server.close()
  })
})
