import type {
  AccessRules,
  BanRecord,
  BatcherStatus,
  BlockTimes,
  DerivationStatus,
  HealthReport,
  History,
  NodeHealth,
  PeerNews,
  PeerRecord,
  PeerStanding,
  StaticPeerHealth,
  SyncStatus,
  TestnetCommand,
} from './answers.ts'
import { Connection, RpcError } from './connection.ts'
import { NodePast } from './nodePast.ts'
import { type Peer, type PeerFacts, withStaticPeers } from './peer.ts'
import type { ConnectionState, Known } from './statusSentence.ts'

const LOOK_MS = 2_000
/** A look at all peers is the dearer the more there are; at what they say of themselves, ten times as much. */
const MS_PER_PEER = 5
const MS_PER_RECORD = 50
/** Between looks at who is refused; news of it bring one at once. */
const REFUSALS_MS = 10_000
/** News of many peers bring one look. */
const NEWS_MS = 300

/** Everything that is known of one node, in memory of fixed size. */
export class NodeState implements Known {
  readonly name: string
  /** It lets nobody change anything, with no token. */
  readonly refusesChanges: boolean
  readonly connection: Connection
  connectionState: ConnectionState = 'connecting'
  /** Since when it does not answer. */
  lostAtMs: number | undefined
  peerId: string | undefined
  version: string | undefined
  chainId: number | undefined
  heads: SyncStatus | undefined
  health: NodeHealth | undefined
  derivation: DerivationStatus | undefined
  /** Null where the node knows of no batch submitter. */
  batcher: BatcherStatus | null | undefined
  batcherProblem: string | undefined
  blocks: BlockTimes[] = []
  peers = new Map<string, Peer>()
  /** What the operator has blocked. */
  accessRules: AccessRules = { blocks: [], allow: null }
  bans: readonly BanRecord[] = []
  /** What the operator calls peers. */
  names: Readonly<Record<string, string>> = {}
  /** Of its testnet; empty where it is part of none that takes commands. */
  testnetCommands: readonly TestnetCommand[] = []
  readonly past = new NodePast()
  /** Resolves when the connection stands for the first time. */
  readonly opened: Promise<void>
  private readonly onChange: () => void
  private timer: number | undefined
  private nextPeersMs = 0
  private nextRecordsMs = 0
  private nextRefusalsMs = 0
  private newsTimer: number | undefined
  private isAskingBlocks = false
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

  open(): void {
    this.connection.open()
  }

  /** After an operator has changed something. */
  async refreshPeers(): Promise<void> {
    this.nextPeersMs = 0
    this.nextRefusalsMs = 0
    await Promise.all([this.lookAtPeers(), this.lookAtRefusals()])
    this.onChange()
  }

  private async begin(): Promise<void> {
    const { connection } = this
    this.connectionState = 'open'
    this.lostAtMs = undefined
    this.onChange()
    void this.lookAtPast().catch(() => {})
    void connection.call<string>('devium_version').then((version) => {
      this.version = version
    })
    void connection.call<{ l2_chain_id: number }>('devium_rollupConfig').then((config) => {
      this.chainId = Number(config.l2_chain_id)
    })
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
    void connection
      .call<{ peerID: string }>('deviump2p_self')
      .then((self) => {
        this.peerId = self.peerID
        void connection.call<Record<string, string>>('deviump2p_names').then((names) => {
          this.names = names
        })
        void this.refreshPeers().catch(() => {})
        void connection.subscribe<PeerNews>('peers', (news) => this.onPeerNews(news))
        void connection.subscribe<PeerNews>('bans', (news) => this.onPeerNews(news))
      })
      // With p2p disabled there is nothing to hear of.
      .catch(() => {})
    clearInterval(this.timer)
    this.timer = window.setInterval(() => void this.look(), LOOK_MS)
    await this.look()
  }

  private end(everOpened: boolean): void {
    clearInterval(this.timer)
    this.lostAtMs ??= Date.now()
    this.connectionState = everOpened ? 'lost' : 'unreachable'
    this.onChange()
  }

  private onHeads(heads: SyncStatus): void {
    this.heads = heads
    void this.askBlocks()
    this.onChange()
  }

  /** Once at a time: while a node syncs, heads move all the time. */
  private async askBlocks(): Promise<void> {
    if (this.isAskingBlocks) return
    this.isAskingBlocks = true
    try {
      this.blocks = await this.connection.call<BlockTimes[]>('devium_recentBlocks')
      this.onChange()
    } catch {
      // The connection ended, which is shown.
    } finally {
      this.isAskingBlocks = false
    }
  }

  /** What nobody tells of by himself. One answer that does not come keeps none of the others away. */
  private async look(): Promise<void> {
    const { connection } = this
    await Promise.allSettled([
      this.lookAtPast(),
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
      this.lookAtHealth(),
      this.lookAtPeers(),
      this.lookAtRefusals(),
    ])
    this.onChange()
  }

  private async lookAtPast(): Promise<void> {
    const sinceMs = this.past.lastMs
    this.past.add(sinceMs, await this.connection.call<History>('devium_history', [sinceMs]))
    this.onChange()
  }

  /** The topic tells of new states only; sentences go on meanwhile. */
  private async lookAtHealth(): Promise<void> {
    this.health = await this.connection.call<NodeHealth>('devium_health')
    if (this.health.gossip === null) return
    const { staticPeers } = await this.connection.call<HealthReport>('deviump2p_health')
    this.staticPeers = staticPeers
  }

  private async lookAtPeers(): Promise<void> {
    const now = Date.now()
    if (this.peerId === undefined || now < this.nextPeersMs) return
    const { connection } = this
    this.nextPeersMs = now + Math.max(LOOK_MS, this.peers.size * MS_PER_PEER) - 100
    const standings = await connection.call<PeerStanding[]>('deviump2p_standings')
    const records = await this.lookAtRecords(now)
    const before = this.peers
    this.peers = new Map(
      withStaticPeers(standings, this.staticPeers).map((standing) => {
        const { peerID: id, connected } = standing
        // Of one that is gone, what was known of it is still worth showing.
        const known = before.get(id)?.facts
        const facts = records?.[id] ?? (connected || known === undefined ? known : { ...known, latency: 0 })
        return [id, { ...standing, facts }]
      }),
    )
  }

  private async lookAtRefusals(): Promise<void> {
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

  /** Undefined where the last answer is new enough. */
  private async lookAtRecords(now: number): Promise<Record<string, PeerFacts> | undefined> {
    if (now < this.nextRecordsMs) return undefined
    this.nextRecordsMs = now + Math.max(LOOK_MS, this.peers.size * MS_PER_RECORD) - 100
    const { peers } = await this.connection.call<{ peers: Record<string, PeerRecord> }>('deviump2p_peers', [true])
    const facts = Object.entries(peers).map(([id, { userAgent, addresses, direction, latency }]) => {
      return [id, { userAgent, addresses, direction, latency }] as const
    })
    return Object.fromEntries(facts)
  }

  private onPeerNews(news: PeerNews): void {
    if (news.event === 'scores') {
      for (const [id, score] of Object.entries(news.scores)) {
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
      Math.max(NEWS_MS, this.peers.size * MS_PER_PEER),
    )
  }
}
