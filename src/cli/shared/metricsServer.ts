import { Hono } from 'hono'
import type { Registry } from 'prom-client'
import { type HttpServerHandle, serveApp } from '../../jsonRpc/httpServer.ts'

/** Serves the registry in Prometheus' text format at `/metrics` until `signal` aborts. A port in use throws UsageError. */
export function serveMetrics(
  registry: Pick<Registry, 'metrics' | 'contentType'>,
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<HttpServerHandle> {
  const app = new Hono()
  app.get('/metrics', async (context) =>
    context.body(await registry.metrics(), 200, { 'content-type': registry.contentType }),
  )
  return serveApp(app, host, port, '--metrics.port', { signal })
}
