import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { WebSocketServer } from 'ws'
import { type Anvil, startAnvil } from '../../test/support/anvil.ts'
import { startTcpProxy } from '../../testnet/links/tcpProxy.ts'
import { WAIT_LIMIT_MS } from '../lib/testUtils/until.ts'
import { createPatientClient } from './testUtils/patientClient.ts'
import { JsonRpcError } from './types.ts'
import { createWebSocketRpcClient, type WebSocketClientOptions } from './webSocketClient.ts'

let anvil: Anvil
beforeAll(async () => {
  anvil = await startAnvil({ args: ['--no-mining', '--no-request-size-limit'] })
})
afterAll(() => anvil.stop())

function startClient(options: Partial<WebSocketClientOptions> = {}) {
  const client = createWebSocketRpcClient({ url: anvil.url.replace('http', 'ws'), ...options })
  onTestFinished(client.close)
  return client
}

describe('JSON-RPC over a WebSocket', () => {
  it('sends calls and batches, and assigns errors to their calls', async () => {
    const seen: unknown[] = []
    const observer = {
      onRequest: (method: string) => seen.push(method),
      onEnd: (method: string, _: number, answer: unknown) => seen.push([method, answer]),
    }
    const client = startClient({ observer })
    expect(await client.request('eth_chainId', [])).toBe('0x7a69')
    await expect(client.request('eth_nonsense', [])).rejects.toBeInstanceOf(JsonRpcError)
    const [block, error, chain] = await client.batch([
      { method: 'eth_getBlockByNumber', params: ['0x0', false] },
      { method: 'eth_nonsense', params: [] },
      { method: 'eth_chainId', params: [] },
    ])
    expect(block).toMatchObject({ number: '0x0' })
    expect(error).toBeInstanceOf(JsonRpcError)
    expect(chain).toBe('0x7a69')
    expect(seen.slice(0, 2)).toEqual(['eth_chainId', ['eth_chainId', { resultBytes: expect.any(Number) }]])
    expect(seen).toContainEqual(['eth_nonsense', { errorCode: expect.any(Number) }])
  })

  it('accepts an answer above 32 MiB, such as the receipts of a block of 200M gas', async () => {
    const client = startClient({ timeoutMs: WAIT_LIMIT_MS })
    const address = `0x${'77'.repeat(20)}`
    const code = `0x${'5b'.repeat(17 * 1024 * 1024)}`
    await createPatientClient({ url: anvil.url }).request('anvil_setCode', [address, code])
    expect((await client.request('eth_getCode', [address, 'latest'])) === code).toBe(true)
  })

  it('notifies of new heads until the signal aborts', async () => {
    const client = startClient()
    const controller = new AbortController()
    const heads: unknown[] = []
    const arrived = Promise.withResolvers<void>()
    const listening = client.subscribe(
      { method: 'eth_subscribe', params: ['newHeads'] },
      (head) => {
        heads.push(head)
        arrived.resolve()
      },
      controller.signal,
    )
    // The server answers calls in order, so this call comes after the earlier ones.
    await client.request('eth_chainId', [])
    await client.request('evm_mine', [])
    await arrived.promise
    expect(heads).toMatchObject([{ number: '0x1' }])
    controller.abort()
    await listening
  })

  it('reports a subscription that the server does not offer', async () => {
    await expect(
      startClient().subscribe(
        { method: 'eth_subscribe', params: ['nonsense'] },
        () => {},
        new AbortController().signal,
      ),
    ).rejects.toBeInstanceOf(JsonRpcError)
  })

  it('fails the calls of a lost connection, and reconnects for the next call', async () => {
    const proxy = await startTcpProxy(Number(new URL(anvil.url).port))
    onTestFinished(proxy.close)
    const client = startClient({ url: `ws://127.0.0.1:${proxy.port}` })
    expect(await client.request('eth_chainId', [])).toBe('0x7a69')
    const listening = expect(
      client.subscribe({ method: 'eth_subscribe', params: ['newHeads'] }, () => {}, new AbortController().signal),
    ).rejects.toMatchObject({ code: 'rpc-transport' })
    await client.request('eth_chainId', [])
    proxy.cut()
    await listening
    proxy.allow()
    expect(await client.request('eth_chainId', [])).toBe('0x7a69')
  })

  it('drops a silent connection', async () => {
    const proxy = await startTcpProxy(Number(new URL(anvil.url).port))
    onTestFinished(proxy.close)
    const client = startClient({ url: `ws://127.0.0.1:${proxy.port}`, timeoutMs: 200 })
    expect(await client.request('eth_chainId', [], { timeoutMs: WAIT_LIMIT_MS })).toBe('0x7a69')
    proxy.freeze()
    await expect(client.request('eth_chainId', [])).rejects.toMatchObject({ code: 'rpc-timeout' })
    expect(await client.request('eth_chainId', [], { timeoutMs: WAIT_LIMIT_MS })).toBe('0x7a69')
  })

  it('replaces a dropped connection by one connection', async () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
    onTestFinished(() => server.close())
    await once(server, 'listening')
    let connections = 0
    server.on('connection', (socket) => {
      connections++
      socket.on('message', (text) => {
        const { id, method } = JSON.parse(String(text))
        if (method !== 'hangs') socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: method }))
      })
    })
    const { port } = server.address() as AddressInfo
    const client = startClient({ url: `ws://127.0.0.1:${port}` })
    await client.request('first', [])
    await expect(client.request('hangs', [], { timeoutMs: 50 })).rejects.toMatchObject({ code: 'rpc-timeout' })
    expect(await client.request('second', [])).toBe('second')
    await expect.poll(() => server.clients.size).toBe(1)
    expect(await client.request('third', [])).toBe('third')
    expect(connections).toBe(2)
  })

  it.each(['ws://127.0.0.1:1', 'ws://secret@127.0.0.1:1/key'])('reports the failed connection to %s', async (url) => {
    const error = await startClient({ url })
      .request('eth_chainId', [])
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'rpc-transport' })
    expect(String(error)).toContain('ws://127.0.0.1:1')
    expect(String(error)).not.toMatch(/secret|key/)
  })
})
