import { shortPeer } from '../../../lib/shortIds.ts'
import type { Events } from '../../../rpc/schemas/events.ts'
import { formatSeconds } from '../../shared/units.ts'
import type { NameOf } from '../p2p/peerNames.ts'
import type { EventLine } from './watchState.ts'

/** The line of a peer event; undefined for scores, which the table shows. */
export function peerEventLine(event: Events['peers'], atMs: number, nameOf: NameOf = shortPeer): EventLine | undefined {
  if (event.event === 'scores') return undefined
  const peer = nameOf(event.peerID)
  switch (event.event) {
    case 'connected':
      return plain(atMs, event.direction === 'inbound' ? `${peer} connected` : `connected to ${peer}`)
    case 'disconnected':
      return plain(atMs, `${event.by === 'us' ? `disconnected ${peer}` : `${peer} disconnected`}: ${event.cause}`)
    case 'graft':
      return plain(
        atMs,
        event.cause === 'refused' ? `${peer} asked to join the mesh and was refused` : `${peer} joined the mesh`,
      )
    case 'prune':
      return plain(atMs, `${peer} ${event.cause === 'by-peer' ? 'left' : 'was removed from'} the mesh`)
  }
}

export function banEventLine(event: Events['bans'], atMs: number, nameOf: NameOf = shortPeer): EventLine {
  const who = 'peerID' in event ? nameOf(event.peerID) : 'ip' in event ? event.ip : event.subnet
  switch (event.event) {
    case 'ban': {
      const text = `${who} is banned for ${formatSeconds(Math.max(0, event.untilMs - atMs) / 1000)}: ${event.reason}`
      return { atMs, text, tone: 'bad' }
    }
    case 'unban':
      return plain(atMs, `the ban of ${who} ${event.cause === 'expired' ? 'expired' : 'was lifted by the operator'}`)
    case 'block':
      return { atMs, text: `${who} was added to the block list`, tone: 'notable' }
    case 'unblock':
      return plain(atMs, `${who} was removed from the block list`)
  }
}

/** The line of data that derivation ignores or drops. The heads show the rest of its work. */
export function derivationEventLine(event: Events['derivation'], atMs: number): EventLine | undefined {
  const line = (text: string): EventLine => ({
    atMs,
    text: `L1 block ${event.kind === 'channel-first' ? '' : event.l1Block}: ${text}`,
    tone: 'notable',
  })
  switch (event.kind) {
    case 'data-ignored':
      return line(`${event.what} ignored: ${event.reason}`)
    case 'frame-ignored':
      return line(`frame ${event.frame} ignored: ${event.reason}`)
    case 'channel-gone':
      if (event.how === 'read') return undefined
      return line(`a channel ${event.how === 'timed-out' ? 'timed out' : 'was dropped'}${reasonOf(event.reason)}`)
    case 'channel-left':
      return line(`the rest of a channel was dropped: ${event.reason}`)
    case 'batch-dropped':
      return line(`${event.type} batch dropped: ${event.reason}${event.losesChannel ? '; its channel is lost' : ''}`)
    default:
      return undefined
  }
}

function reasonOf(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`
}

function plain(atMs: number, text: string): EventLine {
  return { atMs, text, tone: 'plain' }
}
