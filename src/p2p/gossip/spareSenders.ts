import type { GossipInternals } from './gossipInternals.ts'

/** Whoever sent a copy while the block was judged here has it: it is not sent back to them. */
export function spareSenders(
  target: Pick<GossipInternals, 'forwardMessage'> & { score: Pick<GossipInternals['score'], 'deliveryRecords'> },
): void {
  const forward = target.forwardMessage.bind(target)
  target.forwardMessage = (id, message, source, exclude = new Set()) => {
    const senders = target.score.deliveryRecords.getRecord(id)?.peers ?? []
    forward(id, message, source, new Set([...exclude, ...senders]))
  }
}
