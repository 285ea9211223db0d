import type { AccessRules, BanRecord, BlockRecord } from '../src/p2p/base/schemas.ts'
import { clockTime } from './format.ts'

export type RefusedKind = BlockRecord['kind']

/** A refused peer or address, and the reason. */
export interface Refusal {
  subject: string
  kind: RefusedKind
  reason: string
  by: string
  /** Null: until an operator unblocks it. */
  untilMs: number | null
}

/** Bans by ending time, then the block lists. */
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

/** Only the time, if the day is today. */
function dayAndTime(atMs: number): string {
  const at = new Date(atMs)
  return at.toDateString() === new Date().toDateString() ? clockTime(atMs) : at.toLocaleDateString()
}

/** The RPC method that ends the refusal. */
export function unblockMethod(kind: RefusedKind): string {
  return `deviump2p_unblock${{ peer: 'Peer', address: 'Addr', subnet: 'Subnet' }[kind]}`
}

/** The subjects and reasons of a block list file. Throws TypeError if the file has another form. */
export function parseBlocks(text: string): { subject: string; reason: string }[] {
  const json: unknown = JSON.parse(text)
  const blocks: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, 'blocks') : undefined
  if (!Array.isArray(blocks)) throw new TypeError('expected a list "blocks"')
  return blocks.map((block: unknown) => {
    const [subject, reason]: unknown[] =
      typeof block === 'object' && block !== null ? [Reflect.get(block, 'subject'), Reflect.get(block, 'reason')] : []
    if (typeof subject !== 'string') throw new TypeError('expected a subject in each entry')
    return { subject, reason: typeof reason === 'string' ? reason : '' }
  })
}
