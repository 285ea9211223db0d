import { createSemaphore } from '../src/lib/semaphore.ts'
import type { AccessRules, BanRecord, PeerRecord, PeerStanding } from '../src/p2p/base/schemas.ts'
import type {
  BatcherStatus,
  BlockTimes,
  DerivationStatus,
  HealthReport,
  History,
  NodeHealth,
  NodeIdentity,
  PeerNotification,
  StaticPeerHealth,
  SyncStatus,
  TestnetCommand,
} from './answers.ts'
import { Connection, RpcError } from './connection.ts'
import { NodePast } from './nodePast.ts'
import { type Peer, type PeerFacts, withStaticPeers } from './peer.ts'
import type { ConnectionState, Known } from './statusSentence.ts'

const POLL_MS = 2_000
/** Minimum interval of peer requests, for each peer. Requests for peer records cost ten times as much. */
const MS_PER_PEER = 5
const MS_PER_RECORD = 50
/** Interval of requests for bans and blocks. A notification causes a request at once. */
const REFUSALS_MS = 10_000
/** Notifications within this time cause one request. */
const NOTIFICATIONS_MS = 300

/** All known data of one node, in memory of fixed size. */
export class NodeState implements Known {
  readonly name: string
  /** The node refuses all changes, even with a token. */
  readonly refusesChanges: boolean
  readonly connection: Connection
  connectionState: ConnectionState = 'connecting'
  /** Time since which the node does not answer. */
  lostAtMs: number | undefined
  identity: NodeIdentity | undefined
  heads: SyncStatus | undefined
  health: NodeHealth | undefined
  derivation: DerivationStatus | undefined
  /** Null if the node has no batch submitter configured. */
  batcher: BatcherStatus | null | undefined
  batcherProblem: string | undefined
  blocks: BlockTimes[] = []
  peers = new Map<string, Peer>()
  /** The operator's block lists. */
  accessRules: AccessRules = { blocks: [], allow: null }
  bans: readonly BanRecord[] = []
  /** The operator's names of peers. */
  names: Readonly<Record<string, string>> = {}
  /** The commands of its testnet; empty if there is no testnet that accepts commands. */
  testnetCommands: readonly TestnetCommand[] = []
  readonly past = new NodePast()
  /** Resolves when the connection opens for the first time. */
  readonly opened: Promise<void>
  private readonly onChange: () => void
  private timer: number | undefined
  /** Requests of a kind wait for each other: an older answer must not replace a newer one. */
  private readonly peersTurn = createSemaphore(1)
  private readonly refusalsTurn = createSemaphore(1)
  private nextPeersMs = 0
  private nextRecordsMs = 0
  private nextRefusalsMs = 0
  private newsTimer: number | undefined
  private isRequestingBlocks = false
  private staticPeers: readonly StaticPeerHealth[] = []

  constructor(name: string, url: string, { refusesChanges }: { refusesChanges: boolean }, onChange: () => void) {
    this.name = name
    this.refusesChanges = refusesChanges
    this.onChange = onChange
    const { promise, resolve } = Promise.withResolvers<void>()
    this.opened = promise
    this.connection = new Connection(url, {
      onOpen: () => {
        resolve()
        void this.begin().catch(() => {})
      },
      onClosed: (everOpened) => this.end(everOpened),
    })
  }

  /** Undefined until the node has reported it, and for a node without peers. */
  get peerId(): string | undefined {
    return this.identity?.peerID ?? undefined
  }

  open(): void {
    this.connection.open()
  }

  /** Called after an operator's change. */
  async refreshPeers(): Promise<void> {
    this.nextPeersMs = 0
    this.nextRefusalsMs = 0
    await Promise.all([this.peersTurn.run(() => this.pollPeers()), this.refusalsTurn.run(() => this.pollRefusals())])
    this.onChange()
  }

  private async begin(): Promise<void> {
    const { connection } = this
    this.connectionState = 'open'
    this.lostAtMs = undefined
    this.onChange()
    void this.pollPast().catch(() => {})
    void connection
      .call<readonly TestnetCommand[] | null>('devium_testnetCommands')
      .then((commands) => {
        this.testnetCommands = commands ?? []
      })
      .catch(() => {})
    await connection.subscribe<SyncStatus>('heads', (heads) => this.onHeads(heads))
    await connection.subscribe<NodeHealth>('health', (health) => {
      this.health = health
      this.onChange()
    })
    clearInterval(this.timer)
    this.timer = window.setInterval(() => void this.poll(), POLL_MS)
    await this.poll()
    // With p2p disabled, the topics about peers do not exist.
    if (this.peerId === undefined) return
    for (const topic of ['peers', 'bans']) {
      await connection.subscribe<PeerNotification>(topic, (notification) => this.onPeerNotification(notification))
    }
    this.names = await connection.call<Record<string, string>>('deviump2p_names')
    await this.refreshPeers()
  }

  private end(everOpened: boolean): void {
    clearInterval(this.timer)
    this.lostAtMs ??= Date.now()
    this.connectionState = everOpened ? 'lost' : 'unreachable'
    this.onChange()
  }

  private onHeads(heads: SyncStatus): void {
    this.heads = heads
    void this.requestBlocks()
    this.onChange()
  }

  /** One request at a time, because heads move constantly while a node syncs. */
  private async requestBlocks(): Promise<void> {
    if (this.isRequestingBlocks) return
    this.isRequestingBlocks = true
    try {
      this.blocks = await this.connection.call<BlockTimes[]>('devium_recentBlocks')
      this.onChange()
    } catch {
      // The connection has closed, which the page shows.
    } finally {
      this.isRequestingBlocks = false
    }
  }

  /** Polls data without a subscription. A failed request does not delay the others. */
  private async poll(): Promise<void> {
    const { connection } = this
    await Promise.allSettled([
      this.pollPast(),
      connection.call<DerivationStatus>('devium_derivationStatus').then((status) => {
        this.derivation = status
      }),
      connection.call<BatcherStatus | null>('devium_batcherStatus').then(
        (status) => {
          this.batcher = status
          this.batcherProblem = undefined
        },
        (error: unknown) => {
          if (error instanceof RpcError) this.batcherProblem = error.message
        },
      ),
      this.pollHealth(),
      this.peersTurn.run(() => this.pollPeers()),
      this.refusalsTurn.run(() => this.pollRefusals()),
    ])
    this.onChange()
  }

  private async pollPast(): Promise<void> {
    const sinceMs = this.past.lastMs
    this.past.add(sinceMs, await this.connection.call<History>('devium_history', [sinceMs]))
    this.onChange()
  }

  /** The topic reports only new states. The sentences change in between. */
  private async pollHealth(): Promise<void> {
    const { node, ...health } = await this.connection.call<NodeHealth & { node: NodeIdentity }>('devium_health')
    this.identity = node
    this.health = health
    if (health.gossip === null) return
    const { staticPeers } = await this.connection.call<HealthReport>('deviump2p_health')
    this.staticPeers = staticPeers
  }

  private async pollPeers(): Promise<void> {
    const now = Date.now()
    if (this.peerId === undefined || now < this.nextPeersMs) return
    const { connection } = this
    this.nextPeersMs = now + Math.max(POLL_MS, this.peers.size * MS_PER_PEER) - 100
    const standings = await connection.call<PeerStanding[]>('deviump2p_standings')
    const records = await this.pollRecords(now)
    const before = this.peers
    this.peers = new Map(
      withStaticPeers(standings, this.staticPeers).map((standing) => {
        const { peerID: id, connected } = standing
        // Keeps the known facts of a disconnected peer.
        const known = before.get(id)?.facts
        const facts = records?.[id] ?? (connected || known === undefined ? known : { ...known, latency: 0 })
        return [id, { ...standing, facts }]
      }),
    )
  }

  private async pollRefusals(): Promise<void> {
    const now = Date.now()
    if (this.peerId === undefined || now < this.nextRefusalsMs) return
    this.nextRefusalsMs = now + REFUSALS_MS - 100
    const { connection } = this
    const [rules, bans] = await Promise.all([
      connection.call<AccessRules>('deviump2p_accessRules'),
      connection.call<BanRecord[]>('deviump2p_bans'),
    ])
    this.accessRules = rules
    this.bans = bans
  }

  /** Undefined if the last response is recent enough. */
  private async pollRecords(now: number): Promise<Record<string, PeerFacts> | undefined> {
    if (now < this.nextRecordsMs) return undefined
    this.nextRecordsMs = now + Math.max(POLL_MS, this.peers.size * MS_PER_RECORD) - 100
    const { peers } = await this.connection.call<{ peers: Record<string, PeerRecord> }>('deviump2p_peers', [true])
    const facts = Object.entries(peers).map(([id, { userAgent, addresses, direction, latency }]) => {
      return [id, { userAgent, addresses, direction, latency }] as const
    })
    return Object.fromEntries(facts)
  }

  private onPeerNotification(notification: PeerNotification): void {
    if (notification.event === 'scores') {
      for (const [id, score] of Object.entries(notification.scores)) {
        const peer = this.peers.get(id)
        if (peer !== undefined) peer.score = score
      }
      this.onChange()
      return
    }
    this.newsTimer ??= window.setTimeout(
      () => {
        this.newsTimer = undefined
        void this.refreshPeers().catch(() => {})
      },
      Math.max(NOTIFICATIONS_MS, this.peers.size * MS_PER_PEER),
    )
  }
}
