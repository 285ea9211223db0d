import { expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../lib/clock.ts'
import { createRpcApp, serveApp } from '../lib/jsonRpc/httpServer.ts'
import { createRpcDispatcher } from '../lib/jsonRpc/server.ts'
import { httpRequest } from '../lib/testUtils/httpRequest.ts'
import { addReadyPath } from './index.ts'
import { recorder } from './testUtils/recorder.ts'

/** A chain of a block a second, whose unsafe head is of second 105. */
async function ask({ atS = 105, timestamp = 105, isWell = true, hasPeers = true } = {}) {
  const { node, p2p } = recorder()
  const { syncStatus } = node
  node.syncStatus = () => ({ ...syncStatus(), unsafeL2: { ...syncStatus().unsafeL2, timestamp } })
  const health = await p2p.health()
  p2p.health = async () => ({ ...health, ok: isWell, text: isWell ? 'Blocks come by gossip.' : 'Nobody is connected.' })
  const app = createRpcApp({ dispatcher: createRpcDispatcher({ methods: new Map() }), version: 'v1' })
  const clock = new ManualClock(atS * 1000)
  addReadyPath(app.routes, { node, p2p: hasPeers ? p2p : undefined, clock }, { maxBlocksBehind: 30 })
  const server = await serveApp(app, '127.0.0.1', 0, 'test')
  onTestFinished(server.close)
  const { status, text } = await httpRequest(`${server.url}/readyz`, 'GET', {})
  expect((await httpRequest(`${server.url}/healthz`, 'GET', {})).status).toBe(200)
  return { status, ...JSON.parse(text) }
}

it.each([
  ['all is well', {}, []],
  ['the head is as old as it may be', { atS: 135 }, []],
  ['the head is older', { atS: 136 }, ['The unsafe head 5 is 31 blocks behind the clock, more than 30.']],
  ['there is no head', { timestamp: 0 }, ['The node has no unsafe head yet.']],
  ['gossip is not well', { isWell: false }, ['Nobody is connected.']],
  ['nobody gossips, as the flags say', { isWell: false, hasPeers: false }, []],
  [
    'much is missing',
    { atS: 999, isWell: false },
    ['The unsafe head 5 is 894 blocks behind the clock, more than 30.', 'Nobody is connected.'],
  ],
])('/readyz where %s', async (_where, given, reasons) => {
  expect(await ask(given)).toEqual({ status: reasons.length === 0 ? 200 : 503, ready: reasons.length === 0, reasons })
})
