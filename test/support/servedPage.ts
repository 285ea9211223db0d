import type { TokenAccess } from '../../src/jsonRpc/bearerToken.ts'
import { createRpcApp, serveApp } from '../../src/jsonRpc/httpServer.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { UsageError } from '../../src/lib/errors.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import type { P2pApi } from '../../src/p2p/base/api.ts'
import type { HealthReport } from '../../src/p2p/base/healthReport.ts'
import { addDashboard, createRollupRpc, LIVE_NOTIFICATION } from '../../src/rpc/index.ts'
import { recorder } from '../../src/rpc/testUtils/recorder.ts'

export interface ServedPage {
  url: string
  /** The calls of the page that change something. */
  calls: unknown[][]
  close(): Promise<void>
}

const COMMANDS = [
  { name: 'heal', words: '', description: 'Restore all peer links' },
  { name: 'kill', words: 'PROGRAM', description: 'End a program at once' },
]

/** A node's RPC that records changing calls, with these results about its peers, and its page. */
export async function servePage(answers: Partial<P2pApi>, access?: TokenAccess): Promise<ServedPage> {
  const { node, p2p, calls } = recorder()
  const logger = { ...silentLogger, setLevel: () => {} }
  const run = async (words: readonly string[]) => {
    calls.push(['testnet', ...words])
    if (words[1] === 'nobody') throw new UsageError('there is no program "nobody"')
    return { command: words.join(' '), did: 'It is killed.', lookAt: 'Look at its peers.' }
  }
  const known = new Proxy(p2p, { get: (target, name) => Reflect.get(answers, name) ?? Reflect.get(target, name) })
  const { dispatcher } = createRollupRpc(
    { node, p2p: known, clock: systemClock, logger, testnet: { commands: COMMANDS, run } },
    { version: 'v1', enableAdmin: true },
  )
  const app = createRpcApp({ dispatcher, access })
  const refusesChanges = access !== undefined && access.token === undefined
  addDashboard(app, { name: 'guarded', nodes: [], refusesChanges })
  const webSockets = { dispatcher, access, allowedOrigins: [], notification: LIVE_NOTIFICATION }
  const server = await serveApp(app, '127.0.0.1', 0, 'test', { webSockets })
  return { url: `${server.url}/dashboard`, calls, close: () => server.close() }
}

const NOTHING = { gossip: null, request: null, posted: null, l1: null, sequencer: null }

/** deviump2p_health of a node that has just started. */
export function healthReport(changes: Partial<HealthReport> = {}): HealthReport {
  return {
    ...{ state: 'starting', ok: true, sinceMs: 0, text: 'no peer yet', topic: '' },
    ...{ connected: 0, subscribers: 0, mesh: 0, staticPeers: [], otherChains: [], lastBlock: null, lastRefused: null },
    recent: {
      seconds: 0,
      accepted: 0,
      refused: {},
      headMoves: { gossip: 0, request: 0, posted: 0, l1: 0, sequencer: 0 },
    },
    ...{ head: null, lastMoves: NOTHING, l1Only: { count: 0, sinceMs: null } },
    ...changes,
  }
}
