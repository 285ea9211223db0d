import type { Verdict } from '../gossip/blockValidator.ts'
import type { MeshCause } from '../gossip/router.ts'
import type { Ban } from '../host/accessLists.ts'
import type { ConnectionEnd } from '../host/connections.ts'
import type { AppEvent } from './appScores.ts'
import type { OffenceName } from './offences.ts'
import type { PeerHistories } from './peerHistory.ts'

/** Names of our own for what gossipsub and the application scores call otherwise. */
const PENALTIES: Record<string, string> = {
  graft_backoff: 'graft-too-soon',
  broken_promise: 'broken-promise',
}
const RESPONSES: Record<AppEvent, string> = {
  validResponses: 'valid-block',
  errorResponses: 'failed',
  rejectedPayloads: 'false-block',
}

/** Writes what the parts of the node see of a peer into its history. */
export function recordPeerEvents(histories: Pick<PeerHistories, 'record'>) {
  const { record } = histories
  return {
    /** Accepted blocks are too many to write down. */
    onVerdict(peerId: string, version: number, verdict: Verdict): void {
      if (verdict.result === 'accept') return
      const detail = verdict.result === 'reject' && verdict.detail !== undefined ? { detail: verdict.detail } : {}
      const block = verdict.block === undefined ? {} : { block: verdict.block }
      record(peerId, { kind: verdict.result, reason: verdict.reason, ...detail, ...block, topics: [version] })
    },
    onMesh(change: 'graft' | 'prune', peerId: string, version: number, cause: MeshCause): void {
      record(peerId, { kind: change, reason: cause, topics: [version] })
    },
    onPenalty(peerId: string, label: string): void {
      record(peerId, { kind: 'behaviour', reason: PENALTIES[label] ?? label })
    },
    onOffence(peerId: string, offence: OffenceName, detail?: string): void {
      record(peerId, { kind: 'behaviour', reason: offence, ...(detail === undefined ? {} : { detail }) })
    },
    /** A message that names its author. */
    onAuthor(peerId: string, version: number | undefined): void {
      record(peerId, { kind: 'reject', reason: 'author', ...(version === undefined ? {} : { topics: [version] }) })
    },
    onResponse(peerId: string, event: AppEvent, detail?: string): void {
      record(peerId, { kind: 'response', reason: RESPONSES[event], ...(detail === undefined ? {} : { detail }) })
    },
    onConnected(peerId: string, address: string, direction: 'inbound' | 'outbound'): void {
      record(peerId, { kind: 'connected', reason: direction, detail: address })
    },
    onDisconnected(peerId: string, { by, cause }: ConnectionEnd): void {
      record(peerId, { kind: 'disconnected', reason: by === 'us' ? 'by-us' : 'by-peer', detail: cause })
    },
    onBan(peerId: string, ban: Ban): void {
      record(peerId, {
        kind: 'ban',
        reason: 'score',
        detail: `${ban.reason}; until ${new Date(ban.expiryMs).toISOString()}`,
      })
    },
    onUnban(peerId: string, cause: 'expired' | 'lifted'): void {
      record(peerId, { kind: 'unban', reason: cause })
    },
    onBlock(change: 'block' | 'unblock', peerId: string): void {
      record(peerId, { kind: change, reason: 'operator' })
    },
  }
}
