import type { Hono } from 'hono'
import { loadPageFiles } from './pageFiles.ts'

/** A node that the page shows. */
export interface ShownNode {
  name: string
  /** Of its RPC, http or https. */
  url: string
}

export interface DashboardOptions {
  /** What this node is called. */
  name: string
  /** Others that are shown beside it. */
  nodes: readonly ShownNode[]
}

/**
 * Serves the page at `/dashboard`. It may load and call nothing but this server and the other nodes' RPC, and runs no script but
 * its own files: what peers say of themselves could otherwise become part of it.
 */
export function addDashboard(routes: Pick<Hono, 'get'>, { name, nodes }: DashboardOptions): void {
  const files = loadPageFiles()
  const shown = nodes.map((node) => ({ name: node.name, webSocket: webSocketUrl(node.url) }))
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["connect-src 'self'", ...new Set(shown.map(({ webSocket }) => new URL(webSocket).origin))].join(' '),
    "img-src 'self' data:",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'none'",
  ].join('; ')
  const headers = (type: string) => ({
    'content-type': type,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    // A new version of the program brings new files under the same names.
    'cache-control': 'no-cache',
  })
  const nodesFile = { content: JSON.stringify({ name, others: shown }), type: 'application/json' }
  routes.get('/dashboard', (context) => {
    const page = files.get('index.html')
    return page === undefined ? context.notFound() : context.body(page.content, 200, headers(page.type))
  })
  // Links on the page stand beside `/dashboard`.
  routes.get('/dashboard/', (context) => context.redirect('../dashboard', 308))
  routes.get('/dashboard/:file', (context) => {
    const wanted = context.req.param('file')
    const file = wanted === 'nodes.json' ? nodesFile : files.get(wanted)
    return file === undefined ? context.notFound() : context.body(file.content, 200, headers(file.type))
  })
}

function webSocketUrl(url: string): string {
  return url.replace(/^http/, 'ws')
}
