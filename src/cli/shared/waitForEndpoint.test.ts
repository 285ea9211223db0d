import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRpcClient, RpcTransportError } from '../../jsonRpc/client.ts'
import { ManualClock, systemClock } from '../../lib/clock.ts'
import { UsageError } from '../../lib/errors.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { createInstantClock } from '../../lib/testUtils/instantClock.ts'
import { listen } from '../../lib/testUtils/listen.ts'
import { type Endpoint, waitForEndpoint } from './waitForEndpoint.ts'

const ENDPOINT: Endpoint = { name: 'L1', flagName: 'l1', url: 'http://127.0.0.1:1' }

describe('waitForEndpoint', () => {
  const never = new AbortController().signal

  it('waits a minute for an endpoint that is too busy to answer', async () => {
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
    expect(await second).toEqual(errorWith('usage', '--l1'))
  })

  it.each([
    { id: 'HTTP 429', status: 429, body: 'slow down' },
    { id: 'HTTP 429 with an error of JSON-RPC', status: 429, body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32000}}' },
    { id: 'HTTP 503', status: 503, body: '' },
    { id: 'HTTP 502 of what stands before it', status: 502, body: '<html>Bad Gateway</html>' },
    {
      id: 'an error that says "limit exceeded"',
      status: 200,
      body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32005}}',
    },
  ])('waits as long for an endpoint that answers $id', async ({ status, body }) => {
    let requests = 0
    let busyFor = 200
    const server = createHttpServer((_, response) => {
      if (requests++ < busyFor) response.writeHead(status).end(body)
      else response.end(`{"jsonrpc":"2.0","id":${requests},"result":"0x1"}`)
    })
    const { url, close } = await listen(server)
    const rpc = createRpcClient({ url })
    onTestFinished(async () => {
      await rpc.close()
      await close()
    })
    const wait = () => {
      const modules = { clock: createInstantClock(), logger: silentLogger, signal: never }
      return waitForEndpoint(ENDPOINT, () => rpc.request('eth_chainId', []), modules)
    }
    expect(await wait()).toBe('0x1')
    busyFor = Number.POSITIVE_INFINITY
    requests = 0
    await expect(wait()).rejects.toThrow(errorWith('usage', '--l1'))
    // Requests are a quarter of a second apart.
    expect(requests).toBe(241)
  })

  it('waits ten seconds for an endpoint that is starting, then names the flag', async () => {
    const clock = new ManualClock()
    let calls = 0
    const silent = () => {
      calls++
      throw new RpcTransportError('rpc-transport', 'eth_chainId: request to http://127.0.0.1:1 failed')
    }
    const waiting = waitForEndpoint(ENDPOINT, async () => silent(), { clock, logger: silentLogger, signal: never })
    const outcome = waiting.catch((error: unknown) => error)
    // Let the first failure arrive before the time moves.
    await clock.advance(0)
    await clock.advance(9_900)
    expect(calls).toBe(40)
    await clock.advance(300)
    expect(await outcome).toEqual(errorWith('usage', '--l1', 'eth_chainId', 'http://127.0.0.1:1'))
  })

  it('continues as soon as the endpoint answers', async () => {
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
    await expect(waiting).rejects.toThrow(errorWith('usage', '--l1', refusal.message))
  })

  it('passes errors of the checks on unchanged', async () => {
    const refusal = new UsageError('incorrect L1 RPC chain id')
    const waiting = waitForEndpoint(ENDPOINT, () => Promise.reject(refusal), {
      clock: new ManualClock(),
      logger: silentLogger,
      signal: never,
    })
    await expect(waiting).rejects.toThrow(refusal)
  })

  it('stops with the program', async () => {
    // A server that accepts connections and never answers.
    const { url, close } = await listen(createServer(() => {}))
    const rpc = createRpcClient({ url })
    const controller = new AbortController()
    const waiting = waitForEndpoint(ENDPOINT, () => rpc.request('eth_chainId', [], { signal: controller.signal }), {
      clock: systemClock,
      logger: silentLogger,
      signal: controller.signal,
    })
    controller.abort(new Error('received SIGINT'))
    await expect(waiting).rejects.toThrow('received SIGINT')
    await rpc.close()
    await close()
  })
})
