import type { Clock } from '../../lib/clock.ts'
import { DeviumError, describeError, type Severity, severityOf } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { BatchType, ChannelSnapshot, DerivationEvent, DerivationListener } from '../derive/index.ts'

/** Number of recorded events of each kind. */
const KEPT = 20
/** Number of listed open channels. Before Holocene, the holder of the batcher's key may open any number. */
const MAX_CHANNELS = 100

export interface RecordedBatch {
  type: BatchType
  /** The pipeline's L1 block. */
  l1Block: number
  atMs: number
}

export interface DroppedBatch extends RecordedBatch {
  /** The violated rule. */
  reason: string
  /** Whether the rest of its channel was dropped, too. */
  losesChannel: boolean
}

/** Batcher data that derivation could not use. */
export interface LostData {
  what: 'blob' | 'frames' | 'frame' | 'channel'
  l1Block: number
  atMs: number
  reason: string
  channel?: Hex
}

/** Why derivation does not advance. */
export interface DerivationFailure {
  code: string
  message: string
  severity: Severity
  /** First and last failure in a row. */
  sinceMs: number
  atMs: number
  count: number
}

export interface ResetRecord {
  /** The reason for the reset. */
  reason: string
  atMs: number
  /** Undefined while it is running. */
  doneAtMs: number | undefined
}

/** The recorded events, bounded, newest last. */
export interface DerivationRecord {
  startedAtMs: number
  channels: readonly ChannelSnapshot[]
  lastBatch: RecordedBatch | undefined
  droppedBatches: readonly DroppedBatch[]
  lostData: readonly LostData[]
  /** Empty blocks since the last batch. */
  emptyBatches: { count: number; lastAtMs: number; l1Block: number } | undefined
  failure: DerivationFailure | undefined
  lastReset: ResetRecord | undefined
  /** Whether derivation has read all available L1 data. */
  isIdle: boolean
}

/** Records the events of the stages and of the loop, to explain the position of the safe head. */
export class DerivationRecorder {
  private readonly clock: Pick<Clock, 'now'>
  private readonly startedAtMs: number
  private readonly channels = new Map<Hex, ChannelSnapshot>()
  private readonly dropped: DroppedBatch[] = []
  private readonly lost: LostData[] = []
  private lastBatch: RecordedBatch | undefined
  private empty: DerivationRecord['emptyBatches']
  private failure: DerivationFailure | undefined
  private lastReset: ResetRecord | undefined
  private isIdle = false
  private readonly listeners = new Set<DerivationListener>()

  constructor({ clock }: { clock: Pick<Clock, 'now'> }) {
    this.clock = clock
    this.startedAtMs = clock.now()
  }

  /** Forwards each event after it is recorded. The returned function unsubscribes. */
  onEvent(listener: DerivationListener): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  /** The listener for the pipeline. */
  readonly listen = (event: DerivationEvent): void => {
    this.remember(event)
    for (const listener of this.listeners) listener(event)
  }

  private remember(event: DerivationEvent): void {
    const at = { l1Block: 'l1Block' in event ? event.l1Block : 0, atMs: this.clock.now() }
    switch (event.kind) {
      case 'started':
        this.channels.clear()
        break
      case 'frame-added':
        if (this.channels.has(event.channel.id) || this.channels.size < MAX_CHANNELS) {
          this.channels.set(event.channel.id, event.channel)
        }
        break
      case 'frame-ignored':
        keep(this.lost, { what: 'frame', ...at, reason: event.reason, channel: event.channel })
        break
      case 'data-ignored':
        keep(this.lost, { what: event.what, ...at, reason: event.reason })
        break
      case 'channel-gone':
        this.channels.delete(event.channel)
        if (event.how !== 'read') {
          const reason = event.how === 'timed-out' ? 'timed out before all of its frames arrived' : (event.reason ?? '')
          keep(this.lost, { what: 'channel', ...at, reason, channel: event.channel })
        }
        break
      case 'channel-left':
        keep(this.lost, { what: 'channel', ...at, reason: event.reason })
        break
      case 'batch-read':
        this.lastBatch = { type: event.type, ...at }
        break
      case 'batch-dropped':
        keep(this.dropped, { type: event.type, ...at, reason: event.reason, losesChannel: event.losesChannel })
        break
      case 'empty-batch':
        this.empty = { count: (this.empty?.count ?? 0) + 1, lastAtMs: at.atMs, l1Block: at.l1Block }
        break
    }
  }

  /** Derivation advanced, or has nothing to do before L1 advances. */
  stepped(isIdle: boolean): void {
    this.isIdle = isIdle
  }

  recovered(): void {
    this.failure = undefined
  }

  failed(error: unknown): void {
    this.isIdle = false
    const atMs = this.clock.now()
    const code = error instanceof DeviumError ? error.code : 'unknown'
    const before = this.failure?.code === code ? this.failure : undefined
    this.failure = {
      code,
      message: describeError(error),
      severity: severityOf(error),
      sinceMs: before?.sinceMs ?? atMs,
      atMs,
      count: (before?.count ?? 0) + 1,
    }
  }

  resetRequested(reason: string): void {
    this.isIdle = false
    // Keeps the reason of the first request: later requests are satisfied by the same reset.
    if (this.lastReset !== undefined && this.lastReset.doneAtMs === undefined) return
    this.lastReset = { reason, atMs: this.clock.now(), doneAtMs: undefined }
  }

  resetDone(): void {
    if (this.lastReset !== undefined) this.lastReset.doneAtMs ??= this.clock.now()
    this.empty = undefined
  }

  record(): DerivationRecord {
    return {
      startedAtMs: this.startedAtMs,
      channels: [...this.channels.values()],
      lastBatch: this.lastBatch,
      droppedBatches: [...this.dropped],
      lostData: [...this.lost],
      emptyBatches: this.empty,
      failure: this.failure,
      lastReset: this.lastReset === undefined ? undefined : { ...this.lastReset },
      isIdle: this.isIdle,
    }
  }
}

function keep<T>(list: T[], item: T): void {
  list.push(item)
  if (list.length > KEPT) list.shift()
}
