import { shortHash } from '../../lib/shortIds.ts'
import type { ScoreCause } from './schemas.ts'

type Cause = Omit<ScoreCause, 'lastMs'>

/** `wrong-hash twice, block 9 0xabab…abab on v3: computed 0x12`. */
export function causeText({ reason, count, block, topics, detail }: Cause): string {
  const about = [
    ...(block === undefined ? [] : [`block ${block.number} ${shortHash(block.hash)}`]),
    ...(topics === undefined ? [] : [`on ${topics.map((version) => `v${version}`).join(' ')}`]),
  ].join(' ')
  const times = count === 1 ? '' : ` ${count} times`
  const more = detail?.replace(/0x[0-9a-f]{64}/g, shortHash).replace(/\/p2p\/\w+$/, '')
  return `${reason}${times}${about === '' ? '' : `, ${about}`}${more === undefined ? '' : `: ${more}`}`
}

/** One sentence about the peer, for commands and the dashboard. */
export function eventText(event: Cause & { kind: string }): string {
  const words = WORDS[`${event.kind} ${event.reason}`]
  return causeText({ ...event, reason: words ?? `${KINDS[event.kind] ?? event.kind}: ${event.reason}` })
}

const KINDS: Record<string, string> = {
  reject: 'message rejected',
  ignore: 'message ignored',
  behaviour: 'misbehaved',
}
const WORDS: Record<string, string> = {
  'connected inbound': 'it connected',
  'connected outbound': 'we connected to it',
  'disconnected by-us': 'we disconnected it',
  'disconnected by-peer': 'it disconnected',
  'graft by-us': 'we added it to the mesh',
  'graft by-peer': 'it joined the mesh',
  'graft refused': 'it asked to join the mesh and was refused',
  'prune by-us': 'we removed it from the mesh',
  'prune by-peer': 'it left the mesh',
  'response valid-block': 'it answered a request with a good block',
  'response failed': 'it failed to answer a request',
  'response false-block': 'it answered with a block that is not on this chain',
  'ban score': 'banned',
  'unban expired': 'the ban expired',
  'unban lifted': 'the ban was lifted by the operator',
  'block operator': 'added to the block list',
  'unblock operator': 'removed from the block list',
}
