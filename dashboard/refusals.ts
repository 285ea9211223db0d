import type { AccessRules, BanRecord, BlockRecord } from './answers.ts'
import { clockTime } from './format.ts'

export type RefusedKind = BlockRecord['kind']

/** Somebody who may not connect, and why. */
export interface Refusal {
  subject: string
  kind: RefusedKind
  reason: string
  by: string
  /** Null: until it is let in again. */
  untilMs: number | null
}

/** Bans, the soonest to end first, and then the block lists. */
export function refusalsOf({ blocks }: Pick<AccessRules, 'blocks'>, bans: readonly BanRecord[]): Refusal[] {
  const blocked = blocks.map(({ subject, kind, reason, sinceMs }): Refusal => {
    const by = sinceMs === null ? 'operator' : `operator, ${dayAndTime(sinceMs)}`
    return { subject, kind, reason: reason || 'no reason given', by, untilMs: null }
  })
  const banned = bans.map(({ subject, kind, reason, untilMs }): Refusal => {
    return { subject, kind: kind === 'ip' ? 'address' : 'peer', reason, by: 'this node', untilMs }
  })
  return [...banned, ...blocked]
}

/** Today the time is enough. */
function dayAndTime(atMs: number): string {
  const at = new Date(atMs)
  return at.toDateString() === new Date().toDateString() ? clockTime(atMs) : at.toLocaleDateString()
}

/** Method of the RPC that lets one in again. */
export function unblockMethod(kind: RefusedKind): string {
  return `deviump2p_unblock${{ peer: 'Peer', address: 'Addr', subnet: 'Subnet' }[kind]}`
}

/** Who a file of block lists names, and why. Throws TypeError for what is no such file. */
export function parseBlocks(text: string): { subject: string; reason: string }[] {
  const json: unknown = JSON.parse(text)
  const blocks: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, 'blocks') : undefined
  if (!Array.isArray(blocks)) throw new TypeError('it has no list of blocks')
  return blocks.map((block: unknown) => {
    const [subject, reason]: unknown[] =
      typeof block === 'object' && block !== null ? [Reflect.get(block, 'subject'), Reflect.get(block, 'reason')] : []
    if (typeof subject !== 'string') throw new TypeError('a block has no subject')
    return { subject, reason: typeof reason === 'string' ? reason : '' }
  })
}
