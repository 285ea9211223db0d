import { turnsPass } from '../../lib/nextTurn.ts'
import type { GossipInternals } from './gossipInternals.ts'

type Forwarding = Pick<GossipInternals, 'forwardMessage' | 'selectPeersToForward'> & {
  score: Pick<GossipInternals['score'], 'deliveryRecords'>
}

/**
 * Turns of the event loop that copies wait which are most likely not needed: those that are needed go out, and what has
 * come meanwhile is read.
 */
const LATER_TURNS = 2

const NOBODY: ReadonlySet<string> = new Set()

/**
 * To whom a block is passed on first, and to whom not at all. Who sent a copy while it was judged here has it. A chain
 * has one sequencer, whose blocks come much the same way each time: who sent a copy of the last one had it from
 * elsewhere, and will most likely have this one from there. The others had the last one from here, and go first.
 */
export function orderForwarding(target: Forwarding): void {
  const forward = target.forwardMessage.bind(target)
  /** Topic → id of what was passed on last. */
  const lastOf = new Map<string, string>()
  const sendersOf = (id: string | undefined): ReadonlySet<string> =>
    (id === undefined ? undefined : target.score.deliveryRecords.getRecord(id)?.peers) ?? NOBODY

  target.forwardMessage = (id, message, source, exclude) => {
    const hadLast = sendersOf(lastOf.get(message.topic))
    lastOf.set(message.topic, id)
    const served = new Set([...(exclude ?? []), ...sendersOf(id)])
    const wanted = [...target.selectPeersToForward(message.topic, source, served)]
    const waiting = wanted.filter((peerId) => hadLast.has(peerId))
    forward(id, message, source, new Set([...served, ...waiting]))
    if (waiting.length === 0) return
    if (source !== undefined) served.add(source)
    for (const peerId of wanted) if (!hadLast.has(peerId)) served.add(peerId)
    void turnsPass(LATER_TURNS).then(() => {
      for (const peerId of sendersOf(id)) served.add(peerId)
      // Without its source: the library counts the delivery of that once.
      forward(id, message, undefined, served)
    })
  }
}
