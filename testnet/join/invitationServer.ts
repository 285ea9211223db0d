import { Hono } from 'hono'
import { type HttpServerHandle, serveApp } from '../../src/jsonRpc/httpServer.ts'
import type { Invitation } from './invitation.ts'

/** Serves the invitation to anybody who reaches the address. It holds no secrets. */
export function serveInvitation(create: () => Invitation, host: string, port: number): Promise<HttpServerHandle> {
  const app = new Hono()
  let text: string | undefined
  app.get('/', (context) => {
    try {
      text ??= JSON.stringify(create())
    } catch {
      return context.text('the chain is not made yet', 503)
    }
    return context.body(text, 200, { 'content-type': 'application/json' })
  })
  return serveApp(app, host, port, 'join')
}
