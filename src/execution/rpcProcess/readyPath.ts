import type { Hono } from 'hono'
import type { BlockHeader } from '../primitives/block.ts'

/**
 * `GET /readyz`: 200 while the head is at most `maxHeadAgeS` old, else 503. An execution client does not know how far the chain is,
 * only how old its own head is.
 */
export function addReadyPath(
  routes: Pick<Hono, 'get'>,
  { head, nowS }: { head: () => Pick<BlockHeader, 'number' | 'timestamp'>; nowS: () => number },
  { maxHeadAgeS }: { maxHeadAgeS: number },
): void {
  routes.get('/readyz', (context) => {
    const { number, timestamp } = head()
    const headAgeS = nowS() - timestamp
    const ready = headAgeS <= maxHeadAgeS
    const reasons = ready ? [] : [`The head ${number} is ${headAgeS} s old, more than ${maxHeadAgeS} s.`]
    return context.json({ ready, reasons, head: number, headAgeS }, ready ? 200 : 503)
  })
}
