import type { Context, Hono } from 'hono'
import { isLoopback } from '../../jsonRpc/hostCheck.ts'
import { createPageFiles, type PageFile } from './pageFiles.ts'

export interface ShownNode {
  name: string
  /** http(s) address of its RPC. Host `SAME_HOST` stands for the host under which the browser reached this node. */
  url: string
}

const SAME_HOST = '0.0.0.0'

export interface DashboardOptions {
  name: string
  /** Other nodes on the same page. */
  nodes: readonly ShownNode[]
  /** True: changing methods are refused, because the RPC is reachable from other hosts and there is no token. */
  refusesChanges: boolean
}

/**
 * Serves the page at `/dashboard`. The page may load and call only this server and the RPC of the other nodes, and runs
 * only its own scripts. Otherwise texts of peers could become scripts.
 */
export function addDashboard(routes: Pick<Hono, 'get'>, { name, nodes, refusesChanges }: DashboardOptions): void {
  const fileNamed = createPageFiles()
  const shownTo = (host: string | undefined) =>
    nodes.map((node) => ({ name: node.name, webSocket: webSocketUrl(node.url, host) }))
  const policy = (host: string | undefined): string =>
    [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      ["connect-src 'self'", ...new Set(shownTo(host).map(({ webSocket }) => new URL(webSocket).origin))].join(' '),
      "img-src 'self' data:",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "form-action 'none'",
    ].join('; ')
  const headers = (type: string, host: string | undefined) => ({
    'content-type': type,
    'content-security-policy': policy(host),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    // Browsers ignore this header on http hosts other than loopback, with an error in the console. This server cannot
    // know whether it is behind https.
    ...(isLoopback(hostNameOf(host)) ? { 'cross-origin-opener-policy': 'same-origin' } : {}),
    // A new version of the program has new files under the same names.
    'cache-control': 'no-cache',
  })
  const nodesFile = (host: string | undefined): PageFile => ({
    content: JSON.stringify({ name, refusesChanges, others: shownTo(host) }),
    type: 'application/json',
  })
  const send = (context: Context, file: PageFile | undefined) =>
    file === undefined
      ? context.notFound()
      : context.body(file.content, 200, headers(file.type, context.req.header('host')))
  routes.get('/dashboard', (context) => send(context, fileNamed('index.html')))
  // Links on the page are relative to `/dashboard`.
  routes.get('/dashboard/', (context) => context.redirect('../dashboard', 308))
  routes.get('/dashboard/:file', (context) => {
    const wanted = context.req.param('file')
    const { host } = context.req.header()
    return send(context, wanted === 'nodes.json' ? nodesFile(host) : fileNamed(wanted))
  })
}

function webSocketUrl(url: string, hostHeader: string | undefined): string {
  const socket = new URL(url.replace(/^http/, 'ws'))
  if (socket.hostname === SAME_HOST) socket.hostname = hostNameOf(hostHeader)
  return socket.href.replace(/\/$/, '')
}

/** The name becomes part of the policy, so anything but a plain name or address is replaced. */
function hostNameOf(hostHeader: string | undefined): string {
  const name = URL.parse(`http://${hostHeader ?? ''}`)?.hostname ?? ''
  return /^([\w.-]+|\[[\da-f:.]+\])$/.test(name) ? name : 'localhost'
}
