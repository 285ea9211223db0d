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
  queued_unsafe_l2: refSchema,
})
const derivationSchema = z.object({ gap: z.object({ text: z.string() }).nullish() })
const peerStatsSchema = z.object({ connected: z.number(), known: z.number(), banned: z.number() })

/** The answers that `devium status` shows; `peers` and `bans` are undefined when the node runs without p2p. */
export interface StatusAnswers {
  health: unknown
  heads: unknown
  peers: unknown
  bans?: unknown
  derivation?: unknown
}

/** Formats one node's verdict, name and heads. */
export function statusLines(
  answers: StatusAnswers,
  { nowMs = Date.now(), ...options }: VerdictOptions & { nowMs?: number } = {},
): Line[] {
  const health = healthSchema.parse(answers.health)
  const heads = headsSchema.parse(answers.heads)
  const nowSeconds = Math.floor(nowMs / 1000)
  const row = (name: string, ref: z.infer<typeof refSchema>) => {
    const empty = isEmpty(ref)
    return [
      name,
      empty ? '-' : String(ref.number),
      empty ? 'not seen yet' : shortHash(ref.hash),
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
    ...verdictLines(health, options),
    '',
    ...identityRows(health.node, answers.peers).map(([name, text]) => `${name.padEnd(9)}${plainText(text)}`),
    ...(banned === undefined ? [] : [banned]),
    ...(isEmpty(queued) ? [] : [`waiting in the queue from L2 block ${queued.number} on`]),
    ...(gap == null ? [] : [plainText(gap.text)]),
    '',
    ...table.split('\n'),
  ]
}

function identityRows({ name, role, version, chainId, network, peerID }: ShownHealth['node'], peers: unknown) {
  const counts = peers === undefined ? undefined : peerStatsSchema.parse(peers)
  return [
    ['chain', network === null ? chainId : `${chainId} (${network})`],
    ['role', role],
    ...(name === null ? [] : [['node', name]]),
    ['peer id', peerID ?? 'none: p2p is disabled'],
    ...(counts === undefined
      ? []
      : [['peers', `${counts.connected} connected, ${counts.known} known, ${counts.banned} blocked or banned`]]),
    ['version', `devium ${version}`],
  ] as [string, string][]
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
    const health = healthSchema.parse(answers.health)
    const heads = headsSchema.parse(answers.heads)
    const peers = answers.peers === undefined ? undefined : peerStatsSchema.parse(answers.peers)
    return { rpc, name: name ?? health.node.name ?? rpc, health, heads, peers }
  })
  const header = ['node', 'state', 'role', 'chain', 'unsafe', 'safe', 'finalized', 'peers', 'peer id']
  const cells = shown.map(({ name, health, heads, peers }) => {
    if (health === undefined || heads === undefined) return [name, 'no answer', '-', '-', '-', '-', '-', '-', '-']
    const { role, chainId, peerID } = health.node
    const numbers = [heads.unsafe_l2, heads.safe_l2, heads.finalized_l2].map((ref) =>
      isEmpty(ref) ? '-' : String(ref.number),
    )
    const connected = peers === undefined ? '-' : String(peers.connected)
    return [name, health.state, role, chainId, ...numbers, connected, peerID === null ? '-' : shortPeer(peerID)]
  })
  const sequencerRpc = shown.find(({ health }) => health?.node.role === 'sequencer')?.rpc
  const wrapped = (text: string): Line[] => wrapText(plainText(text), width, 0).split('\n')
  const reasons = shown.flatMap(({ name, rpc, health, problem }): Line[] => {
    if (health === undefined) return ['', ...wrapped(`${name}: ${problem ?? ''}`)]
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
