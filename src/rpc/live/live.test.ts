import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { postJson } from '../../lib/testUtils/httpRequest.ts'
import type { P2pNotification } from '../../p2p/base/notifications.ts'
import { createRollupRpc, LIVE_NOTIFICATION } from '../index.ts'
import { deviumSyncStatus } from '../json.ts'
import { RECORD, recorder, STANDING } from '../testUtils/recorder.ts'

/** Serves the rollup node's RPC with a clock that the test advances. */
async function serve({ hasPeers = true } = {}) {
  const { node, p2p, listeners } = recorder()
  const clock = new ManualClock()
  const { dispatcher } = createRollupRpc(
    { node, p2p: hasPeers ? p2p : undefined, clock, logger: { ...silentLogger, setLevel: () => {} } },
    { version: 'v1', enableAdmin: false },
  )
  const webSockets = { dispatcher, allowedOrigins: [], notification: LIVE_NOTIFICATION }
  const server = await serveApp(createRpcApp({ dispatcher }), '127.0.0.1', 0, 'test', { webSockets })
  onTestFinished(server.close)
  const open = async () => {
    const client = new LiveClient(server.url.replace('http', 'ws'))
    await client.opened
    return client
  }
  const notify = (one: P2pNotification) => {
    for (const listener of listeners.notifications) listener(one)
  }
  const moveHeads = () => {
    for (const listener of listeners.heads) listener()
  }
  return { url: server.url, node, p2p, listeners, clock, open, notify, moveHeads }
}

/** Messages in order of arrival. */
class LiveClient {
  readonly opened: Promise<unknown>
  private readonly socket: WebSocket
  private readonly messages: Record<string, unknown>[] = []
  private readonly arrivals = new EventTarget()

  constructor(url: string) {
    this.socket = new WebSocket(url)
    this.opened = once(this.socket, 'open')
    this.socket.addEventListener('message', ({ data }) => {
      this.messages.push(JSON.parse(data))
      this.arrivals.dispatchEvent(new Event('message'))
    })
    onTestFinished(() => this.socket.close())
  }

  async next(): Promise<Record<string, unknown>> {
    for (;;) {
      const message = this.messages.shift()
      if (message !== undefined) return message
      await once(this.arrivals, 'message')
    }
  }

  /** The result or the error of the answer. */
  async call(method: string, ...params: unknown[]): Promise<unknown> {
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const { result, error } = await this.next()
    return error ?? result
  }

  /** The content of the next notification, which must belong to this subscription. */
  async notification(subscription: unknown): Promise<unknown> {
    const { method, params } = await this.next()
    expect(method).toBe('devium_subscription')
    expect(params).toMatchObject({ subscription })
    return (params as { result: unknown }).result
  }

  close(): void {
    this.socket.close()
  }
}

it('heads: as they are, and again when they move, but not ten times a second', async () => {
  const { open, node, moveHeads, clock } = await serve()
  const client = await open()
  const id = await client.call('devium_subscribe', 'heads')
  expect(id).toMatch(/^0x[0-9a-f]{32}$/)
  const status = deviumSyncStatus(node.syncStatus())
  expect(await client.notification(id)).toEqual(status)
  const before = node.syncStatus()
  node.syncStatus = () => ({ ...before, headL1: { ...before.headL1, number: 77 } })
  moveHeads()
  node.syncStatus = () => ({ ...before, headL1: { ...before.headL1, number: 78 } })
  moveHeads()
  // After the pause only the last head is emitted, once.
  await clock.advance(100)
  expect(await client.notification(id)).toMatchObject({ head_l1: { number: 78 } })
  await clock.advance(1_000)
  moveHeads()
  expect(await client.notification(id)).toMatchObject({ head_l1: { number: 78 } })
  expect(await client.call('devium_version')).toBe('v1')
})

it('heads: a second client is notified at once, and the source stops when both have left', async () => {
  const { open, listeners, clock } = await serve()
  const [one, two] = [await open(), await open()]
  const first = await one.call('devium_subscribe', 'heads')
  await one.notification(first)
  const second = await two.call('devium_subscribe', 'heads')
  expect(await two.notification(second)).toMatchObject({ head_l1: { number: 2 } })
  expect(listeners.heads.size).toBe(1)
  expect(await one.call('devium_unsubscribe', first)).toBe(true)
  expect(await one.call('devium_unsubscribe', first)).toBe(false)
  expect(listeners.heads.size).toBe(1)
  two.close()
  await expect.poll(() => listeners.heads.size).toBe(0)
  await clock.advance(1_000)
})

it('peers: connections, disconnections, mesh changes, and changed scores', async () => {
  const { open, p2p, notify, clock } = await serve()
  const client = await open()
  const id = await client.call('devium_subscribe', 'peers')
  const { peerID } = RECORD
  expect(await client.notification(id)).toEqual({ event: 'scores', scores: { [peerID]: -12 } })
  const events: P2pNotification[] = [
    { event: 'connected', peerID, address: '/ip4/1.2.3.4/tcp/9', direction: 'inbound' },
    { event: 'graft', peerID, version: 4, cause: 'by-us' },
    { event: 'disconnected', peerID, by: 'peer', cause: 'closed' },
  ]
  notify({ event: 'ban', peerID, reason: 'score', untilMs: 5 })
  for (const event of events) notify(event)
  for (const event of events) expect(await client.notification(id)).toEqual(event)
  // Small steps are emitted when they add up to a large one.
  let score = -12
  p2p.standings = () => [{ ...STANDING, score }]
  score = -11.7
  await clock.advance(2_000)
  score = -11.4
  await clock.advance(2_000)
  expect(await client.notification(id)).toEqual({ event: 'scores', scores: { [peerID]: -11.4 } })
})

it('bans: of both kinds, and their ends', async () => {
  const { open, notify } = await serve()
  const client = await open()
  const id = await client.call('devium_subscribe', 'bans')
  const { peerID } = RECORD
  notify({ event: 'connected', peerID, address: '/ip4/1.2.3.4/tcp/9', direction: 'inbound' })
  const events: P2pNotification[] = [
    { event: 'ban', peerID, reason: 'invalid blocks', untilMs: 5 },
    { event: 'unban', peerID, cause: 'expired' },
    { event: 'block', peerID },
    { event: 'unblock', peerID },
  ]
  for (const event of events) notify(event)
  for (const event of events) expect(await client.notification(id)).toEqual(event)
})

it('derivation: what the stages do', async () => {
  const { open, listeners } = await serve()
  const client = await open()
  const id = await client.call('devium_subscribe', 'derivation')
  const event = { kind: 'batch-dropped', l1Block: 5, type: 'span', reason: 'too old', losesChannel: true } as const
  for (const listener of listeners.derivation) listener(event)
  expect(await client.notification(id)).toEqual(event)
})

it('health: as it is, and again when a state changes', async () => {
  const { open, node, clock } = await serve()
  const client = await open()
  const id = await client.call('devium_subscribe', 'health')
  expect(await client.notification(id)).toMatchObject({
    ...{ state: 'degraded', ok: false, text: 'Sequencer is degraded. It has no peers.' },
    causes: [{ code: 'no-peers', text: 'It has no peers.', sinceMs: null, command: 'devium p2p check 16Uiu2' }],
    derivation: { state: 'up-to-date', ok: true, text: expect.stringMatching(/^All known blocks/) },
    gossip: { state: 'no-peers', ok: false },
  })
  const before = await node.health()
  await clock.advance(10_000)
  node.health = async () => ({ ...before, state: 'healthy', text: 'Sequencer is healthy.', causes: [] })
  await clock.advance(2_000)
  expect(await client.notification(id)).toMatchObject({ state: 'healthy', ok: true, causes: [] })
})

it('names the topics', async () => {
  const client = await (await serve()).open()
  const error = (topics: string) => ({
    code: -32602,
    message: expect.stringMatching(new RegExp(`\\btopic\\b.* ${topics}$`)),
  })
  expect(await client.call('devium_subscribe', 'newHeads')).toEqual(error('heads, derivation, health, peers, bans'))
  expect(await client.call('devium_unsubscribe', 'x')).toMatchObject({ code: -32602 })
  const alone = await (await serve({ hasPeers: false })).open()
  expect(await alone.call('devium_subscribe', 'peers')).toEqual(error('heads, derivation, health'))
  const id = await alone.call('devium_subscribe', 'health')
  expect(await alone.notification(id)).toMatchObject({ state: 'degraded', derivation: { ok: true } })
})

it('is refused on a connection without notifications', async () => {
  const { url, listeners } = await serve()
  const { text } = await postJson(url, {}, { id: 1, method: 'devium_subscribe', params: ['heads'] })
  expect(JSON.parse(text).error).toEqual({ code: -32601, message: 'notifications not supported' })
  expect(listeners.heads.size).toBe(0)
})
