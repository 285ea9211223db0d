import type { Hono } from 'hono'
import { type BatcherStatus, explainStatus, isHealthy } from './status.ts'

/** `GET /readyz`: 200 while the submitter posts batches or has none to post, 503 if an operator must act; and why. */
export function addReadyPath(
  routes: Pick<Hono, 'get'>,
  { batcher, nowMs }: { batcher: { readonly status: BatcherStatus }; nowMs: () => number },
): void {
  routes.get('/readyz', (context) => {
    const { status } = batcher
    const ready = isHealthy(status)
    return context.json({ ready, why: explainStatus(status, nowMs()) }, ready ? 200 : 503)
  })
}
