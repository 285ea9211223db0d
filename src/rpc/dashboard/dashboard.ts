import type { Context, Hono } from 'hono'
import { isLoopback } from '../../jsonRpc/hostCheck.ts'
import { createPageFiles, type PageFile } from './pageFiles.ts'

/** A node that the page shows. */
export interface ShownNode {
  name: string
  /** Of its RPC, http or https. With `SAME_HOST` as host: the one by which a browser has reached this node. */
  url: string
}

const SAME_HOST = '0.0.0.0'

export interface DashboardOptions {
  /** What this node is called. */
  name: string
  /** Others that are shown beside it. */
  nodes: readonly ShownNode[]
  /** Nobody may change anything: others reach this RPC, and there is no token. */
  refusesChanges: boolean
}

/**
 * Serves the page at `/dashboard`. It may load and call nothing but this server and the other nodes' RPC, and runs no script but
 * its own files: what peers say of themselves could otherwise become part of it.
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
    // Elsewhere browsers ignore it, with an error in the console, unless it came by https, of which nobody knows here.
    ...(isLoopback(hostNameOf(host)) ? { 'cross-origin-opener-policy': 'same-origin' } : {}),
    // A new version of the program brings new files under the same names.
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
  // Links on the page stand beside `/dashboard`.
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

/** It becomes part of a policy: what is no plain name or address does not. */
function hostNameOf(hostHeader: string | undefined): string {
  const name = URL.parse(`http://${hostHeader ?? ''}`)?.hostname ?? ''
  return /^([\w.-]+|\[[\da-f:.]+\])$/.test(name) ? name : 'localhost'
}
