import type { GossipInternals } from './gossipInternals.ts'
import { isLarge } from './largeMessages.ts'

/**
 * Remembers who sent a large message: the library asks for its id without saying from whom it came, and the process
 * that computes it takes turns by peer.
 */
export function noteSenders(
  target: Pick<GossipInternals, 'handleReceivedMessage'>,
): (data: Uint8Array) => string | undefined {
  const senders = new WeakMap<Uint8Array, string>()
  const handleReceivedMessage = target.handleReceivedMessage.bind(target)
  target.handleReceivedMessage = (from, message) => {
    if (message.data !== undefined && isLarge(message.data)) senders.set(message.data, from.toString())
    return handleReceivedMessage(from, message)
  }
  return (data) => senders.get(data)
}
