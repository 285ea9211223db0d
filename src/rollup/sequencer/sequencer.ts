import { DeviumError, describeError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import { RoutineLines } from '../../lib/routineLines.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import { WakeUp } from '../../lib/wakeUp.ts'
import type { BuildJob, EngineHeads, HeadsMovedBy } from '../engine/index.ts'
import { hasMoreThanL1Info, payloadToL2BlockRef } from '../protocol/index.ts'
import type { L2BlockRef, PayloadEnvelope, RollupConfig } from '../protocol/types.ts'
import { mustBeEmpty } from './emptyBlocks.ts'
import { failureOf } from './failures.ts'
import type { SequencerModules } from './modules.ts'
import { OriginError } from './originSelector.ts'
import {
  dueAction,
  initialState,
  isCommitted,
  type SequencerAction,
  type SequencerEvent,
  type SequencerRules,
  type SequencerState,
  transition,
} from './stateMachine.ts'

export interface SequencerOptions {
  /** Starts building after the first engine reset. */
  active: boolean
  /** Time between sealing a block and its timestamp (op-node's `sequencer.sealing-duration`). */
  sealingMarginMs?: number
  /**
   * Builds blocks with forced transactions only, on the L1 origins that derivation would choose (op-node's
   * `sequencer.recover`).
   */
  recoverMode?: boolean
}

export interface SequencerStatus {
  active: boolean
  /** Whether an op-conductor decides which sequencer builds. */
  hasConductor: boolean
  /** Why the last attempts failed; undefined after a block was built. */
  failure: { code: string; message: string; sinceMs: number } | undefined
}

export class SequencerError extends DeviumError<
  | 'sequencer-running'
  | 'sequencer-stopped'
  | 'node-ending'
  | 'no-prestate'
  | 'wrong-head'
  | 'leader-unknown'
  | 'not-leader'
> {
  override readonly name = 'SequencerError'
}

/** op-node's value: sealing takes time, and the block is due at its timestamp. */
const DEFAULT_SEALING_MARGIN_MS = 50
/** A chain may start in the far future, and the clock may be set forward during the wait. */
const MAX_TIMER_MS = 1_000

/**
 * Builds blocks so that each is the head at its timestamp. The state machine decides which action is due when. This
 * loop performs the action and reports the result to the state machine. It sleeps until the next action is due or the
 * heads move.
 */
export class Sequencer {
  private readonly modules: SequencerModules
  private readonly config: RollupConfig
  private readonly rules: SequencerRules
  private readonly wakeUp: WakeUp
  private readonly sequencedLines: RoutineLines
  /** Runs starts and stops one after the other. */
  private readonly commands = createSemaphore(1)
  /** The pending stop, if the last command is a stop. */
  private stopping: Promise<Hex> | undefined
  /** Aborts when `run` has ended. The state does not change afterwards. */
  private readonly ended = new AbortController()
  private readonly stateWaiters = new Set<() => void>()
  private state: SequencerState
  private recoverMode: boolean
  private failure: SequencerStatus['failure']
  /** Committed blocks that are not published to peers yet. */
  private readonly unpublished = new WeakSet<PayloadEnvelope>()
  /** For the current block: how long sealing took, and when it was published, relative to its timestamp. */
  private timing = { sealingMs: 0, publishedAfterMs: 0 }

  constructor(modules: SequencerModules, config: RollupConfig, options: SequencerOptions) {
    this.modules = modules
    this.config = config
    // op-node replaces zero and negative values by its default.
    const { sealingMarginMs = 0, recoverMode = false } = options
    this.rules = {
      blockTimeMs: config.blockTime * 1000,
      sealingMarginMs: sealingMarginMs > 0 ? sealingMarginMs : DEFAULT_SEALING_MARGIN_MS,
    }
    this.wakeUp = new WakeUp(modules.clock)
    this.sequencedLines = new RoutineLines(modules, 'Sequenced block')
    this.state = initialState(options.active)
    this.recoverMode = recoverMode
    modules.origins.setRecoverMode(recoverMode)
    modules.engine.subscribe((heads, movedBy) => this.onHeads(heads, movedBy))
  }

  get active(): boolean {
    return this.state.active
  }

  get conductorEnabled(): boolean {
    return this.modules.conductor !== undefined
  }

  get status(): SequencerStatus {
    const { active } = this.state
    return {
      active,
      hasConductor: this.conductorEnabled,
      failure: active ? this.failure : undefined,
    }
  }

  overrideLeader(): void {
    this.modules.conductor?.overrideLeader()
  }

  setRecoverMode(isOn: boolean): void {
    this.recoverMode = isOn
    this.modules.origins.setRecoverMode(isOn)
    this.modules.logger.info('Set recover mode of the sequencer', { on: isOn })
  }

  /** Starts building on the unsafe head. If `unsafeHead` is given, it must be the head's hash. */
  async start(unsafeHead?: Hex): Promise<void> {
    await this.checkLeader()
    // A later stop comes after this start.
    this.stopping = undefined
    await this.commands.run(async () => {
      if (this.state.active) throw new SequencerError('sequencer-running', 'sequencer already running')
      const { engine, logger, onActiveChange } = this.modules
      const head = this.state.heads?.unsafe
      if (!engine.ready || head === undefined) {
        throw new SequencerError(
          'no-prestate',
          `no prestate, cannot determine if sequencer start at ${unsafeHead ?? 'the unsafe head'} is safe`,
        )
      }
      if (unsafeHead !== undefined && unsafeHead !== head.hash) {
        throw new SequencerError(
          'wrong-head',
          `block hash does not match: head ${head.hash}:${head.number}, received ${unsafeHead}`,
        )
      }
      await onActiveChange?.(true)
      this.failure = undefined
      this.dispatch({ kind: 'activated' })
      logger.info('Started sequencer', { head: head.hash, number: head.number })
    })
  }

  /**
   * Waits until the last published block is the head, drops the block in progress, and returns the head's hash. A call
   * during a pending stop waits for the same stop.
   */
  async stop(): Promise<Hex> {
    this.checkRunning()
    this.stopping ??= this.queueStop()
    return this.stopping
  }

  private queueStop(): Promise<Hex> {
    const outcome = this.commands.run(async () => {
      this.checkRunning()
      this.dispatch({ kind: 'stopping' })
      try {
        await this.untilInserted()
        await this.modules.onActiveChange?.(false)
      } catch (error) {
        this.dispatch({ kind: 'stop-cancelled' })
        throw error
      }
      this.dispatch({ kind: 'deactivated' })
      const head = this.modules.engine.heads.unsafe
      this.modules.logger.info('Stopped sequencer', { head: head.hash, number: head.number })
      return head.hash
    })
    const forget = () => {
      if (this.stopping === outcome) this.stopping = undefined
    }
    // The caller may no longer wait for the result.
    outcome.then(forget, forget)
    return outcome
  }

  /** Runs until the signal aborts. Rejects on an error after which the node must stop. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.act(signal)
      await this.insertLast()
    } finally {
      this.ended.abort(new SequencerError('node-ending', 'the node is ending'))
    }
  }

  private async act(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const due = dueAction(this.state, this.rules)
      const waitMs = due === undefined ? undefined : due.atMs - this.modules.clock.now()
      if (due === undefined || waitMs === undefined) await this.wakeUp.wait(signal)
      else if (waitMs > 0) await this.wakeUp.wait(signal, Math.min(waitMs, MAX_TIMER_MS))
      else if (this.modules.engine.ready) await this.carryOut(due.action)
      // Another component's reset is running. It ends with new heads.
      else this.dispatch({ kind: 'reset-begun' })
    }
  }

  /**
   * op-conductor has already stored the last block. If the engine did not have it, the next start would build another
   * block of the same height.
   */
  private async insertLast(): Promise<void> {
    const due = dueAction(this.state, this.rules)
    if (due?.action.kind === 'insert' && this.modules.engine.ready) await this.carryOut(due.action)
  }

  private async checkLeader(): Promise<void> {
    let isLeader: boolean
    try {
      isLeader = await this.isLeader()
    } catch (cause) {
      throw new SequencerError('leader-unknown', `sequencer leader check failed: ${describeError(cause)}`, { cause })
    }
    if (!isLeader) throw new SequencerError('not-leader', 'sequencer is not the leader, aborting')
  }

  private async isLeader(): Promise<boolean> {
    return (await this.modules.conductor?.isLeader()) ?? true
  }

  private checkRunning(): void {
    if (!this.state.active) throw new SequencerError('sequencer-stopped', 'sequencer not running')
  }

  /** A sequencer that is no longer the leader does not wait, because its last block may never be accepted. */
  private async untilInserted(): Promise<void> {
    while (this.state.active && isCommitted(this.state)) {
      try {
        if (!(await this.isLeader())) return
      } catch (error) {
        this.modules.logger.warn('Could not read the leader: stopping without waiting for the last block', {
          err: error,
        })
        return
      }
      if (this.state.active && isCommitted(this.state)) await this.nextChange()
    }
  }

  private nextChange(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.stateWaiters.add(resolve)
    return untilAborted(promise, this.ended.signal).finally(() => this.stateWaiters.delete(resolve))
  }

  private onHeads({ unsafe, safe }: EngineHeads, movedBy: HeadsMovedBy): void {
    if (movedBy === 'reset') this.modules.origins.reset()
    this.dispatch({ kind: 'heads', unsafe, safe, movedBy })
    if (this.state.active) this.modules.origins.prefetch(unsafe)
  }

  private dispatch(event: SequencerEvent): void {
    const before = this.state
    this.state = transition(before, event, this.modules.clock.now(), this.rules)
    if (this.state === before) return
    for (const resolve of [...this.stateWaiters]) resolve()
    this.wakeUp.wake()
  }

  /** Performs the due action. Throws only errors that must stop the node. */
  private async carryOut(action: SequencerAction): Promise<void> {
    this.dispatch({ kind: 'begun', action })
    try {
      if (action.kind === 'start') await this.startBlock(action.parent)
      else if (action.kind === 'seal') await this.seal(action.job, action.startedAtMs)
      else if (action.kind === 'commit') await this.commit(action.envelope)
      else await this.insert(action.envelope, action.isRestored)
    } catch (error) {
      this.handleError(error)
    }
  }

  private async startBlock(parent: L2BlockRef): Promise<void> {
    const { engine, origins, attributes, logger } = this.modules
    const origin = await origins.select(parent)
    const prepared = await attributes.prepare(parent, origin)
    // If the sequencer was stopped during the L1 reads, the engine gets no build request.
    if (this.state.phase.kind !== 'starting') return
    const noTxPool = this.recoverMode || mustBeEmpty(this.config, prepared.timestamp, origin)
    const job = await engine.startBuild(parent, { ...prepared, noTxPool })
    this.dispatch({ kind: 'started', job })
    logger.debug('Started building block', { number: parent.number + 1, origin: origin.number, noTxPool })
  }

  private async seal(job: BuildJob, startedAtMs: number): Promise<void> {
    const { engine, metrics, clock } = this.modules
    const sealingAtMs = clock.now()
    const envelope = await engine.sealBuild(job)
    const nowMs = clock.now()
    this.timing.sealingMs = nowMs - sealingAtMs
    metrics.sealed(envelope, this.timing.sealingMs, nowMs - startedAtMs - this.rules.blockTimeMs)
    this.dispatch({ kind: 'sealed', envelope })
  }

  private async commit(envelope: PayloadEnvelope): Promise<void> {
    await this.modules.conductor?.commit(envelope)
    this.dispatch({ kind: 'committed' })
    if (this.state.published.includes(envelope)) this.unpublished.add(envelope)
  }

  private async insert(envelope: PayloadEnvelope, isRestored: boolean): Promise<void> {
    const { engine, origins, metrics, clock, logger } = this.modules
    if (isRestored) {
      const { number, hash, l1Origin } = payloadToL2BlockRef(envelope.payload, this.config)
      if (!(await origins.isCanonical(l1Origin))) {
        logger.info('Not restoring a published block: its L1 origin was removed by a reorg', { number, hash })
        this.dispatch({ kind: 'failed', failure: 'orphaned' })
        return
      }
    }
    const startedAtMs = clock.now()
    const block = await engine.insertSealed(envelope)
    metrics.inserted(clock.now() - startedAtMs)
    // Peers do not get a block that this node's engine rejects, or would not have after a crash.
    if (this.unpublished.delete(envelope)) {
      this.timing.publishedAfterMs = clock.now() - envelope.payload.timestamp * 1000
      this.modules.publish(envelope)
    }
    const { transactions, gasUsed } = envelope.payload
    const { number, hash, l1Origin } = block
    const fields = { number, hash, txs: transactions.length, gasUsed, origin: l1Origin.number }
    if (isRestored) logger.info('Restored a published block that the engine had lost', fields)
    else this.sequencedLines.write({ ...fields, ...this.timing }, { isNews: hasMoreThanL1Info(transactions.length) })
    if (this.state.failures > 0) logger.info('Building blocks again', { failures: this.state.failures })
    this.failure = undefined
    this.dispatch({ kind: 'inserted' })
  }

  private handleError(error: unknown): void {
    const { logger, metrics, origins } = this.modules
    const failure = failureOf(error)
    if (failure === undefined) throw error
    const isFirst = this.state.failures === 0
    this.dispatch({ kind: 'failed', failure })
    if (failure === 'stale') {
      logger.debug('Head moved while a block was built', { err: error })
      return
    }
    const code = error instanceof DeviumError ? error.code : 'unknown'
    const isSame = this.failure?.code === code
    const sinceMs = isSame ? (this.failure?.sinceMs ?? 0) : this.modules.clock.now()
    this.failure = { code, message: describeError(error), sinceMs }
    if (failure === 'invalid' || failure === 'expired') metrics.sequencingError()
    if (error instanceof OriginError && error.code === 'origin-reorged') metrics.inconsistentOrigin()
    // One line for an outage; the next line reports its end.
    const message = this.state.phase.kind === 'resetting' ? 'Sequencer needs a reset' : 'Could not build block'
    if (isFirst) logger.warn(message, { err: error })
    else logger.debug(message, { err: error, failures: this.state.failures })
    if (this.state.phase.kind !== 'resetting') return
    metrics.sequencerReset()
    origins.reset()
    const end = () => this.dispatch({ kind: 'reset-done' })
    this.modules.requestReset().then(end, end)
  }
}
