import type { Logger } from '../lib/logger.ts'
import type { PayloadListener } from './types.ts'

export interface PayloadListeners {
  /** Returns what takes it off again. */
  add(listener: PayloadListener): () => void
  /** Hands a block to all of them; one that throws keeps none of the others from it. */
  deliver: PayloadListener
}

export function createPayloadListeners(logger: Logger): PayloadListeners {
  const listeners = new Set<PayloadListener>()
  return {
    add(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    deliver(envelope, from) {
      for (const listener of listeners) {
        try {
          listener(envelope, from)
        } catch (err) {
          logger.error('Payload listener failed', { err })
        }
      }
    },
  }
}
