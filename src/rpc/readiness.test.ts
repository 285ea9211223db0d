import { expect, it, onTestFinished } from 'vitest'
import { createRpcApp, serveApp } from '../jsonRpc/httpServer.ts'
import { createRpcDispatcher } from '../jsonRpc/server.ts'
import { ManualClock } from '../lib/clock.ts'
import { httpRequest } from '../lib/testUtils/httpRequest.ts'
import { type Cause, cause } from '../rollup/node/health/facts.ts'
import { addReadyPath } from './index.ts'
import { recorder } from './testUtils/recorder.ts'

/** A chain with a block a second. Its unsafe head is from second 105. */
async function getReadiness({
  atS = 105,
  timestamp = 105,
  causes = [],
}: {
  atS?: number
  timestamp?: number
  causes?: Cause[]
} = {}) {
  const { node } = recorder()
  const { syncStatus, health } = node
  node.syncStatus = () => ({ ...syncStatus(), unsafeL2: { ...syncStatus().unsafeL2, timestamp } })
  const state = causes.length === 0 ? 'healthy' : causes.some(({ stops }) => stops) ? 'stopped' : 'degraded'
  node.health = async () => ({ ...(await health()), state, text: `It is ${state}.`, causes })
  const app = createRpcApp({ dispatcher: createRpcDispatcher({ methods: new Map() }), version: 'v1' })
  const clock = new ManualClock(atS * 1000)
  addReadyPath(app, { node, clock }, { maxBlocksBehind: 30 })
  const server = await serveApp(app, '127.0.0.1', 0, 'test')
  onTestFinished(server.close)
  const { status, text } = await httpRequest(`${server.url}/readyz`, 'GET', {})
  expect((await httpRequest(`${server.url}/healthz`, 'GET', {})).status).toBe(200)
  return { status, state, ...JSON.parse(text) }
}

const NO_PEERS = cause('no-peers', 'No peer is connected.', { stops: true, command: 'devium p2p check x' })
const BEHIND = cause('catching-up', 'It is catching up.')
const NO_BATCHES = cause('batcher-stopped', 'The batch submitter is stopped.', { hurtsOthersOnly: true })

it.each<[string, Parameters<typeof getReadiness>[0], string, RegExp[]]>([
  ['all is well', {}, 'healthy', []],
  ['the head is as old as it may be', { atS: 135, causes: [BEHIND] }, 'degraded', []],
  ['the head is older', { atS: 136, causes: [BEHIND] }, 'degraded', [/\b5\b.*\b31\b.*\b30\b/]],
  ['there is no head', { timestamp: 0 }, 'healthy', [/\bno unsafe head\b/]],
  ['no block is received', { causes: [NO_PEERS] }, 'stopped', [/^No peer is connected\.$/]],
  ['only others suffer', { causes: [NO_BATCHES] }, 'degraded', []],
  [
    'much is missing',
    { atS: 999, causes: [NO_PEERS, NO_BATCHES] },
    'stopped',
    [/^No peer is connected\.$/, /\b5\b.*\b894\b.*\b30\b/],
  ],
])('/readyz where %s', async (_where, given, state, reasons) => {
  expect(await getReadiness(given)).toMatchObject({
    ...{ status: reasons.length === 0 ? 200 : 503, ready: reasons.length === 0 },
    reasons: reasons.map((reason) => expect.stringMatching(reason)),
    ...{ state, text: `It is ${state}.` },
    causes: (given?.causes ?? []).map(({ code, text, command }) => ({ code, text, command: command ?? null })),
  })
})
