import type { Clock } from '../../lib/clock.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'

/** From the request on. op-node waits 10 s for an answer, and asks nothing else of us meanwhile. */
export const HELD_MS = 5_000
/** Of all peers together; the server works on few of one at once. */
const MAX_HELD = 64

/** Requests for blocks that this node lacks itself, and has asked its peers for. */
export interface AwaitedBlocks {
  /** It is here, and good. */
  onBlock(envelope: PayloadEnvelope): void
  /** The block as soon as it is here; undefined when it does not come in time, or when too many wait. Never rejects. */
  wait(number: number, askedAtMs: number, signal: AbortSignal): Promise<PayloadEnvelope | undefined>
}

export function createAwaitedBlocks({ clock }: { clock: Clock }): AwaitedBlocks {
  const held = new Set<{ number: number; end(envelope?: PayloadEnvelope): void }>()
  return {
    onBlock(envelope) {
      for (const { number, end } of held) if (number === envelope.payload.blockNumber) end(envelope)
    },
    wait: (number, askedAtMs, signal) =>
      new Promise((resolve) => {
        const waitMs = Math.min(HELD_MS, askedAtMs + HELD_MS - clock.now())
        if (waitMs <= 0 || signal.aborted || held.size >= MAX_HELD) return resolve(undefined)
        const entry = {
          number,
          end(envelope?: PayloadEnvelope) {
            held.delete(entry)
            cancel()
            signal.removeEventListener('abort', onAbort)
            resolve(envelope)
          },
        }
        const onAbort = () => entry.end()
        const cancel = clock.setTimeout(onAbort, waitMs)
        signal.addEventListener('abort', onAbort)
        held.add(entry)
      }),
  }
}
