import type { Clock } from '../../lib/clock.ts'
import { DeviumError, describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { RoutineLines } from '../../lib/routineLines.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import { WakeUp } from '../../lib/wakeUp.ts'
import { FRAME_ENCODING_OVERHEAD_BYTES } from '../../rollup/protocol/index.ts'
import type { CostWindow } from '../admin/status.ts'
import type { ChannelManager } from '../channel/channelManager.ts'
import { payloadOf, type TxData, type TxPayload } from '../channel/txData.ts'
import type { L1Heads } from '../l1/l1Heads.ts'
import { feeOf, type TxReceipt } from '../l1/submitterL1.ts'
import type { BatcherMetrics } from './metrics.ts'
import { RepeatedWarnings } from './repeatedWarnings.ts'

/** The part of the transaction manager that publishing needs. */
export interface BatchSender {
  readonly isClosed: boolean
  send(candidate: TxPayload & { to: Hex }, signal: AbortSignal): Promise<TxReceipt>
  /** Replaces the account's transactions in the L1's pool by empty ones. */
  cancelPending(signal: AbortSignal): Promise<void>
}

export interface PublisherModules {
  manager: Pick<
    ChannelManager,
    'da' | 'fill' | 'flush' | 'next' | 'nextTxData' | 'txConfirmed' | 'txFailed' | 'firstUnsaved'
  >
  sender: BatchSender
  heads: Pick<L1Heads, 'read' | 'latest'>
  clock: Clock
  logger: Logger
  metrics: BatcherMetrics
  costs: Pick<CostWindow, 'add'>
}

export interface PublisherOptions {
  batchInbox: Hex
  /** 0 = unlimited. */
  maxPendingTx: number
  /** Transactions of one channel that may be in flight together, even beyond `maxPendingTx`. */
  txsInFlight: number
  /** Pause after a failure. */
  retryMs: number
}

/**
 * Builds channels and sends their frames in two loops, so that both happen at once. At most `maxPendingTx` transactions
 * are in flight. Transactions of one channel may exceed this limit: a channel must be complete before it times out. If
 * one send fails, the others of its group are cancelled. Sending resumes from the first frame that is not on L1, after
 * all of them have ended. So frames keep their order.
 */
export class Publisher {
  private readonly modules: PublisherModules
  private readonly options: PublisherOptions
  /** The sends in flight, with their channels. */
  private readonly inFlight = new Map<Promise<void>, Pick<TxData, 'channelId' | 'asBlobs'>>()
  /** Cancels all sends of the group when one fails. */
  private group = new AbortController()
  private deadlinesNext = false
  private later: { deadlines: boolean } | undefined
  /** Why the last transaction was abandoned. Undefined once a transaction is confirmed. */
  sendError: string | undefined
  private readonly buildWakeUp: WakeUp
  private readonly sendWakeUp: WakeUp
  private readonly warnings: RepeatedWarnings
  private readonly confirmedLines: RoutineLines
  private closedNoted = false
  private abandoning = false
  private readonly kill = new AbortController()

  constructor(modules: PublisherModules, options: PublisherOptions) {
    this.modules = modules
    this.options = options
    this.buildWakeUp = new WakeUp(modules.clock)
    this.sendWakeUp = new WakeUp(modules.clock)
    this.warnings = new RepeatedWarnings(modules)
    this.confirmedLines = new RoutineLines(modules, 'Transaction confirmed')
  }

  /** Wakes both loops. With `moreToCome` an open channel stays open past its deadline, unless it is full. */
  request(options: { moreToCome?: boolean } = {}): void {
    if (options.moreToCome !== true) this.deadlinesNext = true
    this.buildWakeUp.wake()
    this.sendWakeUp.wake()
  }

  /** Builds and sends after each `request`, until `stop` aborts. Sends in flight continue. */
  async run(stop: AbortSignal): Promise<void> {
    await Promise.all([
      this.loop(this.buildWakeUp, stop, () => this.build(stop)),
      this.loop(this.sendWakeUp, stop, async () => this.sendReady()),
    ])
  }

  /**
   * Sends everything that the manager holds. Resolves when all of it is confirmed or the sender is closed. `run` must
   * have ended. Rejects with the signal's reason; sends in flight continue.
   */
  async drain(signal: AbortSignal): Promise<void> {
    for (;;) {
      this.modules.manager.flush()
      await this.build(signal)
      signal.throwIfAborted()
      this.sendReady()
      if (this.inFlight.size > 0) await untilAborted(Promise.race(this.inFlight.keys()), signal)
      else if (this.modules.sender.isClosed || this.modules.manager.firstUnsaved === undefined) return
      else await this.sendWakeUp.wait(signal, this.options.retryMs)
      signal.throwIfAborted()
    }
  }

  /** Resolves when no send is in flight. */
  async sendsEnded(): Promise<void> {
    while (this.inFlight.size > 0) await Promise.all(this.inFlight.keys())
  }

  /**
   * Abandons the sends in flight, and replaces their unmined transactions so that they are never mined. The manager
   * must have been cleared before.
   */
  async abandon(signal: AbortSignal): Promise<void> {
    this.abandoning = true
    try {
      this.group.abort(new DeviumError('data-abandoned', 'the blocks of the transaction left the chain'))
      await this.sendsEnded()
      if (!this.modules.sender.isClosed) await this.modules.sender.cancelPending(signal)
    } finally {
      this.abandoning = false
    }
  }

  cancelAll(reason: unknown): void {
    this.kill.abort(reason)
  }

  private async loop(wakeUp: WakeUp, stop: AbortSignal, work: () => Promise<void>): Promise<void> {
    for (;;) {
      await wakeUp.wait(stop)
      if (stop.aborted) return
      await work()
    }
  }

  /** Puts held blocks into channels. Retries after a pause if that fails. */
  private async build(stop: AbortSignal): Promise<void> {
    const { manager, logger } = this.modules
    const deadlines = this.deadlinesNext
    this.deadlinesNext = false
    const signal = AbortSignal.any([this.kill.signal, stop])
    const [knowsHead] = await Promise.all([this.readL1Head(signal), manager.da.refresh(signal)])
    try {
      // Flushes and full channels need no L1 head. Deadlines do.
      await manager.fill(this.modules.heads.latest?.number ?? 0, {
        deadlines: deadlines && knowsHead && this.couldSendNow,
        onReady: () => this.sendWakeUp.wake(),
        signal,
      })
    } catch (error) {
      logger.error('Unable to get tx data', { err: error })
      this.requestLater(deadlines)
    }
    if (deadlines && !knowsHead && !signal.aborted) this.requestLater(true)
    this.sendWakeUp.wake()
  }

  /** One timer for all failures: if each failed build had its own, each poll of an L1 outage would add an endless one. */
  private requestLater(deadlines: boolean): void {
    if (this.later !== undefined) {
      this.later.deadlines ||= deadlines
      return
    }
    const later = { deadlines }
    this.later = later
    this.modules.clock.setTimeout(() => {
      this.later = undefined
      this.request({ moreToCome: !later.deadlines })
    }, this.options.retryMs)
  }

  private async readL1Head(signal: AbortSignal): Promise<boolean> {
    const { heads, metrics } = this.modules
    try {
      metrics.l1Head(await heads.read(signal))
      return true
    } catch (error) {
      if (!signal.aborted) this.warnings.warn('Failed to query L1 tip', error)
      return false
    }
  }

  private sendReady(): void {
    const { manager, sender, logger } = this.modules
    while (this.canSend()) {
      if (sender.isClosed) {
        if (!this.closedNoted) logger.info("Txmgr is closed, remaining channel data won't be sent")
        this.closedNoted = true
        return
      }
      const data = manager.nextTxData()
      if (data === undefined) return
      this.track(data, this.send(data, this.group))
      // The manager may now have room to build another channel.
      this.buildWakeUp.wake()
    }
  }

  /** Closing the channel earlier would only keep later blocks out of it. Each confirmation builds again. */
  private get couldSendNow(): boolean {
    const { maxPendingTx } = this.options
    return (maxPendingTx === 0 || this.inFlight.size < maxPendingTx) && this.modules.manager.next() === undefined
  }

  private canSend(): boolean {
    if (this.kill.signal.aborted || this.abandoning) return false
    if (this.group.signal.aborted) {
      if (this.inFlight.size > 0) return false
      this.group = new AbortController()
    }
    const newest = [...this.inFlight.values()].at(-1)
    if (newest === undefined) return true
    const next = this.modules.manager.next()
    if (next === undefined) return false
    // L1 pools accept only one kind of transaction (blob or not) from an account at a time.
    if (next.config.useBlobs !== newest.asBlobs) return false
    const { maxPendingTx, txsInFlight } = this.options
    if (maxPendingTx === 0 || this.inFlight.size < maxPendingTx) return true
    return this.inFlight.size < txsInFlight && newest.channelId === next.id
  }

  /** After a confirmation the next frame may go at once. After a failure there is a pause. */
  private track(data: TxData, sending: Promise<boolean>): void {
    const ended = sending.then((confirmed) => {
      this.inFlight.delete(ended)
      if (confirmed) this.request()
      else this.requestLater(true)
    })
    this.inFlight.set(ended, data)
  }

  /** Resolves with whether the transaction was confirmed. */
  private async send(data: TxData, group: AbortController): Promise<boolean> {
    const { manager, sender, logger, metrics, costs } = this.modules
    const payload = payloadOf(data)
    const size = data.frames.reduce((sum, frame) => sum + FRAME_ENCODING_OVERHEAD_BYTES + frame.data.length, 1)
    logger.debug(`Building ${data.asBlobs ? 'Blob' : 'Calldata'} transaction candidate`, {
      tx_id: data.id,
      size,
      ...(payload.blobs === undefined ? {} : { num_blobs: payload.blobs.length }),
    })
    const [lastFrame] = data.frames.slice(-1)
    metrics.txSubmitted(
      data.asBlobs && lastFrame !== undefined ? 1 + FRAME_ENCODING_OVERHEAD_BYTES + lastFrame.data.length : undefined,
    )
    const signal = AbortSignal.any([group.signal, this.kill.signal])
    try {
      const receipt = await sender.send({ to: this.options.batchInbox, ...payload }, signal)
      const fields = {
        tx_id: data.id,
        tx_hash: receipt.transactionHash,
        block: receipt.blockNumber,
        size,
        cost_gwei: Number(feeOf(receipt) / 1_000_000_000n),
      }
      this.confirmedLines.write(fields, { isNews: data.hasTransactions })
      this.sendError = undefined
      costs.add(this.modules.clock.now(), size, feeOf(receipt))
      manager.txConfirmed(data.id, receipt.blockNumber, {
        feeWei: feeOf(receipt),
        gasPriceWei: receipt.effectiveGasPrice,
      })
      return true
    } catch (error) {
      if (!signal.aborted && !sender.isClosed) {
        this.sendError = describeError(error)
        logger.warn('Transaction failed to send', { tx_id: data.id, err: error })
      }
      group.abort(new DeviumError('sibling-failed', 'another transaction of the group failed', { cause: error }))
      manager.txFailed(data.id)
      return false
    }
  }
}
