import type { BanRecord } from './answers.ts'

export type RefusedKind = 'peer' | 'address' | 'subnet'

/** What the operator has blocked, as commands and the page write it to a file. */
export interface BlockLists {
  peers: string[]
  addresses: string[]
  subnets: string[]
}

/** Somebody who may not connect, and why. */
export interface Refusal {
  subject: string
  kind: RefusedKind
  reason: string
  by: 'operator' | 'this node'
  /** Null: until it is let in again. */
  untilMs: number | null
}

const LISTS = { peer: 'peers', address: 'addresses', subnet: 'subnets' } as const

/** Bans, the soonest to end first, and then the block lists. */
export function refusalsOf(lists: BlockLists, bans: readonly BanRecord[]): Refusal[] {
  const blocked = Object.entries(LISTS).flatMap(([kind, list]) =>
    lists[list].map((subject): Refusal => {
      return { subject, kind: kind as RefusedKind, reason: 'on the block list', by: 'operator', untilMs: null }
    }),
  )
  const banned = bans.map(({ subject, kind, reason, untilMs }): Refusal => {
    return { subject, kind: kind === 'ip' ? 'address' : 'peer', reason, by: 'this node', untilMs }
  })
  return [...banned, ...blocked]
}

/** Told by the form of what is given, as by `devium p2p block`. */
export function kindOf(subject: string): RefusedKind {
  if (subject.includes('/')) return 'subnet'
  return /^\d+\.[\d.]*$|:/.test(subject) ? 'address' : 'peer'
}

/** Method of the RPC that blocks or unblocks one. */
export function methodFor(verb: 'block' | 'unblock', kind: RefusedKind): string {
  return `deviump2p_${verb}${{ peer: 'Peer', address: 'Addr', subnet: 'Subnet' }[kind]}`
}

/** Throws TypeError for what is no file of block lists. */
export function parseLists(text: string): BlockLists {
  const json: unknown = JSON.parse(text)
  const list = (name: keyof BlockLists): string[] => {
    const value: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, name) : undefined
    if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
      throw new TypeError(`it has no list of ${name}`)
    }
    return value
  }
  return { peers: list('peers'), addresses: list('addresses'), subnets: list('subnets') }
}
