import { z } from 'zod'
import { shortHash, shortPeer } from '../../../lib/shortIds.ts'
import { formatTable, plainText, wrapText } from '../../shared/table.ts'
import type { Line } from '../../shared/terminal/styledLine.ts'
import { bansNote } from '../p2p/peersView.ts'
import { commandLines, healthSchema, type ShownHealth, type VerdictOptions, verdictLines } from './verdictView.ts'

// Remote answers are validated, because another program may listen at that address.
const refSchema = z.object({ hash: z.string(), number: z.number(), timestamp: z.number() })
const headsSchema = z.object({
  current_l1: refSchema,
  head_l1: refSchema,
  safe_l1: refSchema,
  finalized_l1: refSchema,
  unsafe_l2: refSchema,
  safe_l2: refSchema,
  finalized_l2: refSchema,
  pending_safe_l2: refSchema,
  // Only nodes of devium have it.
  queued_unsafe_l2: refSchema.optional(),
})
const derivationSchema = z.object({ gap: z.object({ text: z.string() }).nullish() })
const peerStatsSchema = z.object({ connected: z.number(), known: z.number(), banned: z.number() })

/** The answers that `devium status` shows; `peers` and `bans` are undefined when the node runs without p2p. */
export interface StatusAnswers {
  /** Undefined for a node of another client. */
  health?: unknown
  heads: unknown
  peers: unknown
  bans?: unknown
  derivation?: unknown
  /** A node of another client: what it says of itself. */
  other?: { version: unknown; self: unknown }
}

/** Formats one node's verdict, name and heads. */
export function statusLines(
  answers: StatusAnswers,
  { nowMs = Date.now(), ...options }: VerdictOptions & { nowMs?: number } = {},
): Line[] {
  const heads = headsSchema.parse(answers.heads)
  const nowSeconds = Math.floor(nowMs / 1000)
  const row = (name: string, ref: z.infer<typeof refSchema>) => {
    const empty = isEmpty(ref)
    return [
      name,
      empty ? '-' : String(ref.number),
      empty ? 'unknown' : shortHash(ref.hash),
      empty ? '' : `${nowSeconds - ref.timestamp} s ago`,
    ]
  }
  const table = formatTable(
    ['head', 'number', 'hash', 'time'],
    [
      row('L2 unsafe', heads.unsafe_l2),
      row('L2 pending safe', heads.pending_safe_l2),
      row('L2 safe', heads.safe_l2),
      row('L2 finalized', heads.finalized_l2),
      row('L1 head', heads.head_l1),
      row('L1 derived to', heads.current_l1),
      row('L1 safe', heads.safe_l1),
      row('L1 finalized', heads.finalized_l1),
    ],
  )
  const banned = bansNote(answers.bans)
  const { queued_unsafe_l2: queued } = heads
  const gap = derivationSchema.safeParse(answers.derivation).data?.gap
  return [
    ...headlines(answers, options),
    ...(banned === undefined ? [] : [banned]),
    ...(queued === undefined || isEmpty(queued) ? [] : [`queued unsafe blocks begin at L2 block ${queued.number}`]),
    ...(gap == null ? [] : [plainText(gap.text)]),
    '',
    ...table.split('\n'),
  ]
}

/** The verdict and the identity. A node of another client has no verdict. */
function headlines({ health: answered, peers, other }: StatusAnswers, options: VerdictOptions): Line[] {
  const counts = peers === undefined ? undefined : peerStatsSchema.parse(peers)
  const shown = (rows: [string, string][]) => rows.map(([name, text]) => `${name.padEnd(9)}${plainText(text)}`)
  if (other === undefined) {
    const health = healthSchema.parse(answered)
    return [...verdictLines(health, options), '', ...shown(identityRows(health.node, counts))]
  }
  return [
    'This node is another client and reports no health.',
    '',
    ...shown([
      ['peer id', peerIdOf(other) ?? 'none: p2p is disabled'],
      ...peerRows(counts),
      ['version', z.string().parse(other.version)],
    ]),
  ]
}

const selfSchema = z.object({ peerID: z.string() })

function peerIdOf({ self }: NonNullable<StatusAnswers['other']>): string | null {
  return self === undefined ? null : selfSchema.parse(self).peerID
}

type PeerCounts = z.infer<typeof peerStatsSchema> | undefined

function peerRows(counts: PeerCounts): [string, string][] {
  if (counts === undefined) return []
  return [['peers', `${counts.connected} connected, ${counts.known} known, ${counts.banned} blocked or banned`]]
}

function identityRows(
  { name, role, version, chainId, network, peerID }: ShownHealth['node'],
  counts: PeerCounts,
): [string, string][] {
  const names: [string, string][] = name === null ? [] : [['node', name]]
  return [
    ['chain', network === null ? chainId : `${chainId} (${network})`],
    ['role', role],
    ...names,
    ['peer id', peerID ?? 'none: p2p is disabled'],
    ...peerRows(counts),
    ['version', `devium ${version}`],
  ]
}

/** One of several nodes. `problem`: why it did not answer. */
export interface NodeRow {
  rpc: string
  /** The operator's name for the node, if the list has names. */
  name?: string | undefined
  answers?: StatusAnswers
  problem?: string
}

/** Formats several nodes, a row each, and below the reasons of the nodes that are not healthy. */
export function statusTable(rows: readonly NodeRow[], width?: number): Line[] {
  const shown = rows.map(({ rpc, name, answers, problem }) => {
    if (answers === undefined) return { rpc, name: name ?? rpc, problem: problem ?? 'no answer' }
    const heads = headsSchema.parse(answers.heads)
    const peers = answers.peers === undefined ? undefined : peerStatsSchema.parse(answers.peers)
    if (answers.other !== undefined) return { rpc, name: name ?? rpc, heads, peers, peerID: peerIdOf(answers.other) }
    const health = healthSchema.parse(answers.health)
    return { rpc, name: name ?? health.node.name ?? rpc, health, heads, peers, peerID: health.node.peerID }
  })
  const header = ['node', 'state', 'role', 'chain', 'unsafe', 'safe', 'finalized', 'peers', 'peer id']
  const cells = shown.map(({ name, health, heads, peers, peerID }) => {
    if (heads === undefined) return [name, 'no answer', '-', '-', '-', '-', '-', '-', '-']
    const numbers = [heads.unsafe_l2, heads.safe_l2, heads.finalized_l2].map((ref) =>
      isEmpty(ref) ? '-' : String(ref.number),
    )
    const connected = peers === undefined ? '-' : String(peers.connected)
    const { role = '-', chainId = '-' } = health?.node ?? {}
    const state = health?.state ?? 'unknown'
    return [name, state, role, chainId, ...numbers, connected, peerID == null ? '-' : shortPeer(peerID)]
  })
  const sequencerRpc = shown.find(({ health }) => health?.node.role === 'sequencer')?.rpc
  const wrapped = (text: string): Line[] => wrapText(plainText(text), width, 0).split('\n')
  const reasons = shown.flatMap(({ name, rpc, health, problem }): Line[] => {
    if (problem !== undefined) return ['', ...wrapped(`${name}: ${problem}`)]
    if (health === undefined) return []
    return health.causes.flatMap(({ text, command }, index) => [
      ...(index === 0 ? [''] : []),
      ...wrapped(`${name}: ${text}`),
      ...commandLines(command, rpc, sequencerRpc),
    ])
  })
  return [...formatTable(header, cells).split('\n'), ...reasons]
}

function isEmpty({ hash }: { hash: string }): boolean {
  return /^0x0*$/.test(hash)
}
