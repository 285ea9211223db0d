import type { P2pEvents } from '../base/events.ts'
import { RESPONSE_TERMS } from '../base/scoreTerms.ts'
import type { PayloadVersion } from '../base/topics.ts'
import type { Verdict } from '../base/verdict.ts'
import type { PeerHistories } from './peerHistory.ts'

/** devium's names of gossipsub's penalties. */
const PENALTIES: Record<string, string> = {
  graft_backoff: 'graft-too-soon',
  broken_promise: 'broken-promise',
}

/** Records the events of a peer in its history. */
export function recordPeerEvents({ record }: Pick<PeerHistories, 'record'>, events: Pick<P2pEvents, 'on'>): void {
  const onVerdict = (peerId: string, version: PayloadVersion, verdict: Verdict): void => {
    // Accepted blocks are too many to record.
    if (verdict.result === 'accept') return
    const detail = verdict.result === 'reject' ? said(verdict.detail) : {}
    const block = verdict.block === undefined ? {} : { block: verdict.block }
    record(peerId, { kind: verdict.result, reason: verdict.reason, ...detail, ...block, topics: [version] })
  }
  events.on('verdict', onVerdict)
  events.on('rejectedAgain', onVerdict)
  events.on('author', (peerId, version) => record(peerId, { kind: 'reject', reason: 'author', topics: [version] }))
  events.on('mesh', (kind, peerId, version, reason) => record(peerId, { kind, reason, topics: [version] }))
  events.on('penalty', (peerId, label) => record(peerId, { kind: 'behaviour', reason: PENALTIES[label] ?? label }))
  events.on('offence', (peerId, reason, _points, detail) =>
    record(peerId, { kind: 'behaviour', reason, ...said(detail) }),
  )
  events.on('response', (peerId, event, detail) => {
    const reason = RESPONSE_TERMS.find(({ name }) => name === event)?.event ?? event
    record(peerId, { kind: 'response', reason, ...said(detail) })
  })
  events.on('connected', (peerId, address, reason) => record(peerId, { kind: 'connected', reason, detail: address }))
  events.on('disconnected', (peerId, { by, cause }) =>
    record(peerId, { kind: 'disconnected', reason: by === 'us' ? 'by-us' : 'by-peer', detail: cause }),
  )
  events.on('banned', (peerId, { reason, expiryMs }) =>
    record(peerId, { kind: 'ban', reason: 'score', detail: `${reason}; until ${new Date(expiryMs).toISOString()}` }),
  )
  events.on('unbanned', (peerId, reason) => record(peerId, { kind: 'unban', reason }))
  events.on('blockListChanged', (kind, what) => {
    if ('peerID' in what) record(what.peerID, { kind, reason: 'operator' })
  })
}

const said = (detail: string | undefined): { detail?: string } => (detail === undefined ? {} : { detail })
