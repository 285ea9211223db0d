import { type Clock, sleep } from '../lib/clock.ts'
import { DeviumError } from '../lib/errors.ts'
import type { Hex } from '../lib/hex.ts'
import type { Logger } from '../lib/logger.ts'
import { WakeUp } from '../lib/wakeUp.ts'
import type { TxData } from './channel.ts'
import type { ChannelManager, FillOptions } from './channelManager.ts'
import type { L1Endpoint, TxReceipt } from './l1Endpoint.ts'
import type { BatcherMetrics } from './metrics.ts'
import { RepeatedWarnings } from './repeatedWarnings.ts'

/** The part of the transaction manager that publishing needs. */
export interface BatchSender {
  readonly isClosed: boolean
  send(candidate: { to: Hex; data: Uint8Array }, signal: AbortSignal): Promise<TxReceipt>
}

export interface PublisherModules {
  manager: Pick<ChannelManager, 'nextTxData' | 'txConfirmed' | 'txFailed' | 'pendingBlockCount' | 'channels'>
  sender: BatchSender
  l1: Pick<L1Endpoint, 'head'>
  clock: Clock
  logger: Logger
  metrics: BatcherMetrics
}

export interface PublisherOptions {
  batchInbox: Hex
  /** 0 = unlimited. */
  maxPendingTx: number
  /** Pause after a failure. */
  retryMs: number
}

/**
 * Sends the frames of the channel manager, at most `maxPendingTx` at a time. When one send fails its siblings are
 * cancelled, and sending goes on from the first frame that is not on L1 only after all of them have ended: frames keep
 * their order.
 */
export class Publisher {
  private readonly modules: PublisherModules
  private readonly options: PublisherOptions
  private readonly inFlight = new Set<Promise<void>>()
  /** Cancels the sends that go together. */
  private group = new AbortController()
  private forceNext = false
  private deadlinesNext = false
  private readonly wakeUp: WakeUp
  private readonly warnings: RepeatedWarnings
  private closedNoted = false
  private readonly kill = new AbortController()

  constructor(modules: PublisherModules, options: PublisherOptions) {
    this.modules = modules
    this.options = options
    this.wakeUp = new WakeUp(modules.clock)
    this.warnings = new RepeatedWarnings(modules)
  }

  /**
   * There may be something to send. With `force` the open channel is closed for it; with `moreToCome` it stays open even
   * when its deadline has passed, unless it is full.
   */
  request(options: { force?: boolean; moreToCome?: boolean } = {}): void {
    if (options.force === true) this.forceNext = true
    if (options.moreToCome !== true) this.deadlinesNext = true
    this.wakeUp.wake()
  }

  /** Publishes whenever it is asked to, until `stop` aborts; sends in flight go on. */
  async run(stop: AbortSignal): Promise<void> {
    for (;;) {
      await this.wakeUp.wait(stop)
      if (stop.aborted) return
      const options = { force: this.forceNext, deadlines: this.deadlinesNext }
      this.forceNext = false
      this.deadlinesNext = false
      await this.publishAll(options, stop)
    }
  }

  /** Sends everything the manager holds and waits until all of it is confirmed. `run` must have ended. */
  async drain(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.cancelAll(signal.reason)
    signal.addEventListener('abort', onAbort)
    try {
      for (;;) {
        signal.throwIfAborted()
        await this.publishAll({ force: true, deadlines: true }, signal)
        if (this.inFlight.size > 0) await Promise.race(this.inFlight)
        else if (this.modules.sender.isClosed || !this.hasUnsent()) return
        else await sleep(this.modules.clock, this.options.retryMs, signal)
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Resolves when no send is in flight any more. */
  async settled(): Promise<void> {
    while (this.inFlight.size > 0) await Promise.all(this.inFlight)
  }

  /** Gives up all sends in flight. */
  cancelAll(reason: unknown): void {
    this.kill.abort(reason)
  }

  private hasUnsent(): boolean {
    const { manager } = this.modules
    return (
      manager.pendingBlockCount > 0 ||
      manager.channels.some((channel) => channel.blocks.length > 0 && !channel.isFullySubmitted)
    )
  }

  private async publishAll(options: FillOptions, stop: AbortSignal): Promise<void> {
    const { manager, l1, sender, logger, metrics } = this.modules
    const signal = AbortSignal.any([this.kill.signal, stop])
    while (this.hasRoom() && !signal.aborted) {
      if (sender.isClosed) {
        if (!this.closedNoted) logger.info("Txmgr is closed, remaining channel data won't be sent")
        this.closedNoted = true
        return
      }
      let l1Head: number
      try {
        const head = await l1.head(signal)
        metrics.l1Head(head)
        l1Head = head.number
      } catch (error) {
        if (!signal.aborted) this.warnings.warn('Failed to query L1 tip', error)
        return
      }
      let data: TxData | undefined
      try {
        data = await manager.nextTxData(l1Head, options)
      } catch (error) {
        logger.error('Unable to get tx data', { err: error })
        return
      }
      if (data === undefined) return
      this.track(this.send(data, this.group))
    }
  }

  private hasRoom(): boolean {
    if (this.kill.signal.aborted) return false
    if (this.group.signal.aborted) {
      if (this.inFlight.size > 0) return false
      this.group = new AbortController()
    }
    return this.options.maxPendingTx === 0 || this.inFlight.size < this.options.maxPendingTx
  }

  /** A confirmation makes room for the next frame at once; after a failure there is a pause. */
  private track(sending: Promise<boolean>): void {
    const ended = sending.then((confirmed) => {
      this.inFlight.delete(ended)
      if (confirmed) this.request()
      else this.modules.clock.setTimeout(() => this.request(), this.options.retryMs)
    })
    this.inFlight.add(ended)
  }

  /** Whether the transaction was confirmed. */
  private async send(data: TxData, group: AbortController): Promise<boolean> {
    const { manager, sender, logger, metrics } = this.modules
    logger.info('Building Calldata transaction candidate', { tx_id: data.id, size: data.calldata.length })
    metrics.txSubmitted()
    const signal = AbortSignal.any([group.signal, this.kill.signal])
    try {
      const receipt = await sender.send({ to: this.options.batchInbox, data: data.calldata }, signal)
      logger.info('Transaction confirmed', {
        tx_id: data.id,
        tx_hash: receipt.transactionHash,
        block: receipt.blockNumber,
        size: data.calldata.length,
      })
      await manager.txConfirmed(data.id, receipt.blockNumber)
      return true
    } catch (error) {
      if (!signal.aborted && !sender.isClosed) logger.warn('Transaction failed to send', { tx_id: data.id, err: error })
      await manager.txFailed(data.id)
      group.abort(new DeviumError('sibling-failed', 'another transaction of the group failed', { cause: error }))
      return false
    }
  }
}
