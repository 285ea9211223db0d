import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { countOf } from '../../lib/phrases.ts'
import { shortHash } from '../../lib/shortIds.ts'
import type { P2pApi } from '../../p2p/base/api.ts'
import type { P2pNotification } from '../../p2p/base/notifications.ts'
import type { PeerStanding } from '../../p2p/base/schemas.ts'
import type { BlockTimes, RollupNodeApi } from '../../rollup/node/api.ts'
import type { Served } from '../results.ts'
import type { History, HistoryEvent } from '../schemas/history.ts'
import { createHeadWatch } from './headWatch.ts'
import { RowRing } from './rowRing.ts'

const HOUR_MS = 3_600_000
const SAMPLE_MS = 2_000
/** Scores move slowly, so a row of scores is stored with every fifth sample. */
const SAMPLES_PER_SCORES = 5
/** Limit of peers with stored scores. All samples together then take 420 kB. */
const MAX_PEERS = 100
const MAX_EVENTS = 200

/** Columns of a sample, in the order of a row. */
const COLUMNS = ['atMs', 'unsafe', 'safe', 'finalized', 'l1', 'peers', 'mesh', 'gas'] as const

export interface NodeHistoryModules {
  node: Pick<RollupNodeApi, 'syncStatus' | 'onHeads' | 'health' | 'recentBlocks'>
  /** Absent with `--p2p.disable`. */
  p2p: Pick<P2pApi, 'onNotification' | 'standings'> | undefined
  clock: Clock
  logger: Logger
}

/** An hour of samples and events of one node. It only observes: nothing depends on it. */
export class NodeHistory {
  private readonly modules: NodeHistoryModules
  private readonly samples = new RowRing(HOUR_MS / SAMPLE_MS, COLUMNS.length)
  /** The time, then one column for each peer. */
  private readonly scores = new RowRing(HOUR_MS / (SAMPLE_MS * SAMPLES_PER_SCORES), 1 + MAX_PEERS)
  /** Column of each peer; the peer seen last is at the end. */
  private readonly columns = new Map<string, number>()
  private readonly events: HistoryEvent[] = []
  private readonly reorgsOf = createHeadWatch()
  private taken = 0
  private verdict = ''
  private lastUnsafe = Number.NaN

  constructor(modules: NodeHistoryModules) {
    this.modules = modules
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, node, p2p } = this.modules
    this.note('start', 'The node started.')
    const ends = [node.onHeads(() => this.checkHeads()), p2p?.onNotification((change) => this.onNotification(change))]
    try {
      while (!signal.aborted) {
        await this.sample()
        await sleep(clock, SAMPLE_MS, signal).catch(() => undefined)
      }
    } finally {
      for (const end of ends) end?.()
    }
  }

  noteAction(text: string): void {
    this.note('note', text)
  }

  /** Everything recorded after that time. */
  since(ms: number): Served<History> {
    const column = (name: (typeof COLUMNS)[number]) => this.samples.column(COLUMNS.indexOf(name), ms)
    return {
      sampleMs: SAMPLE_MS,
      samples: {
        // Every row has a time.
        atMs: column('atMs').flatMap((atMs) => atMs ?? []),
        unsafe: column('unsafe'),
        safe: column('safe'),
        finalized: column('finalized'),
        l1: column('l1'),
        peers: column('peers'),
        mesh: column('mesh'),
        gas: column('gas'),
      },
      scores: {
        atMs: this.scores.column(0, ms).flatMap((atMs) => atMs ?? []),
        peers: Object.fromEntries([...this.columns].map(([peer, index]) => [peer, this.scores.column(index, ms)])),
      },
      events: this.events.filter(({ atMs }) => atMs > ms),
    }
  }

  private async sample(): Promise<void> {
    const { node, p2p, clock, logger } = this.modules
    // Events are recorded before a sample of the same time. So a client that requests everything after a sample misses
    // none.
    await this.checkHealth().catch((err: unknown) => logger.debug('Could not read the health of this node', { err }))
    const atMs = clock.now()
    const { unsafeL2, safeL2, finalizedL2, headL1 } = node.syncStatus()
    const standings = p2p?.standings().filter(({ connected }) => connected) ?? []
    const numberOf = ({ hash, number }: { hash: string; number: number }) => (/^0x0*$/.test(hash) ? Number.NaN : number)
    const unsafe = numberOf(unsafeL2)
    this.samples.push([
      ...[atMs, unsafe, numberOf(safeL2), numberOf(finalizedL2), numberOf(headL1), standings.length],
      ...[standings.filter(({ inMesh }) => inMesh).length, meanGas(node.recentBlocks(), this.lastUnsafe, unsafe)],
    ])
    this.lastUnsafe = unsafe
    if (this.taken % SAMPLES_PER_SCORES === 0) this.sampleScores(atMs, standings)
    this.taken++
  }

  private sampleScores(atMs: number, standings: readonly PeerStanding[]): void {
    const row = [atMs, ...new Array<number>(MAX_PEERS).fill(Number.NaN)]
    // Peers with a column come first, so that they keep it.
    const known = standings.filter(({ peerID }) => this.columns.has(peerID))
    for (const { peerID, score } of new Set([...known, ...standings])) {
      const column = this.columns.get(peerID) ?? this.freeColumn(row)
      if (column === undefined) continue
      this.columns.delete(peerID)
      this.columns.set(peerID, column)
      row[column] = Math.round(score * 100) / 100
    }
    this.scores.push(row)
  }

  /** A free column, or the column of the peer seen longest ago, unless that peer is in this row. */
  private freeColumn(row: readonly number[]): number | undefined {
    if (this.columns.size < MAX_PEERS) {
      this.scores.clear(this.columns.size + 1)
      return this.columns.size + 1
    }
    const [oldest] = this.columns
    if (oldest === undefined || !Number.isNaN(row[oldest[1]])) return undefined
    this.columns.delete(oldest[0])
    this.scores.clear(oldest[1])
    return oldest[1]
  }

  private async checkHealth(): Promise<void> {
    const { state, text, causes } = await this.modules.node.health()
    const verdict = `${state} ${causes.map(({ code }) => code).join(' ')}`
    if (verdict === this.verdict) return
    this.verdict = verdict
    this.note(state === 'healthy' ? 'recovery' : 'fault', text)
  }

  private checkHeads(): void {
    for (const { layer, depth, from, to } of this.reorgsOf(this.modules.node.syncStatus())) {
      const abandoned = countOf(depth, 'block')
      this.note('reorg', `${layer} reorg: the head moved from block ${from} to ${to} and abandoned ${abandoned}.`)
    }
  }

  private onNotification(change: P2pNotification): void {
    if (change.event === 'ban') this.note('ban', `banned: ${change.reason}`, change.peerID)
    else if (change.event === 'unban') {
      const how = change.cause === 'expired' ? 'ban expired' : 'ban lifted by the operator'
      this.note('unban', how, change.peerID)
    } else if (change.event === 'block' || change.event === 'unblock') {
      const subject = 'peerID' in change ? change.peerID : 'ip' in change ? change.ip : change.subnet
      this.note(change.event, `${change.event}ed by the operator`, subject)
    }
  }

  private note(kind: HistoryEvent['kind'], text: string, subject: string | null = null): void {
    const short = text.replaceAll(/\b0x[0-9a-f]{64}\b/g, shortHash)
    this.events.push({ atMs: this.modules.clock.now(), kind, text: short, subject })
    if (this.events.length > MAX_EVENTS) this.events.shift()
  }
}

/** Mean over the blocks after `after` up to `upTo` whose payloads were seen. */
function meanGas(blocks: readonly BlockTimes[], after: number, upTo: number): number {
  const seen = blocks.flatMap(({ number, gasUsed }) =>
    gasUsed !== undefined && number <= upTo && !(number <= after) ? [gasUsed] : [],
  )
  return seen.length === 0 ? Number.NaN : Math.round(seen.reduce((sum, gas) => sum + gas, 0) / seen.length)
}
