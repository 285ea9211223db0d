import type { BuildJob, HeadsMovedBy } from '../engine/index.ts'
import type { L2BlockRef, PayloadEnvelope } from '../protocol/types.ts'
import { addPublished, childOf, dropFrom, type PublishedBlocks } from './publishedBlocks.ts'

/** The next action. `start` and `seal` call the engine, `commit` the conductor, `insert` the engine again. */
export type SequencerAction =
  | { kind: 'start'; parent: L2BlockRef }
  | { kind: 'seal'; job: BuildJob; startedAtMs: number }
  | { kind: 'commit'; envelope: PayloadEnvelope }
  | { kind: 'insert'; envelope: PayloadEnvelope; isRestored: boolean }

/**
 * The progress of the current block. In the phases that end in -ing a result is pending, and no other action starts.
 */
export type SequencerPhase =
  /**
   * No block in progress. A committed block that is missing is inserted first, otherwise the next block starts when it
   * is due.
   */
  | { kind: 'idle' }
  | { kind: 'starting'; parent: L2BlockRef; sinceMs: number }
  /** The engine collects transactions until it is time to seal. */
  | { kind: 'open'; job: BuildJob; startedAtMs: number }
  | { kind: 'sealing'; job: BuildJob }
  /** Complete, but not yet known to the conductor and to peers. */
  | { kind: 'sealed'; envelope: PayloadEnvelope }
  | { kind: 'committing'; envelope: PayloadEnvelope }
  | { kind: 'inserting'; envelope: PayloadEnvelope }
  /** The heads are being found again. */
  | { kind: 'resetting' }

export interface SequencerState {
  /** Whether this node builds blocks. Only the operator or a conductor changes this. */
  readonly active: boolean
  /** A stop waits for the last published block to become the head. No other action starts. */
  readonly stopping: boolean
  /** Undefined until the first reset. */
  readonly heads: { readonly unsafe: L2BlockRef; readonly safe: L2BlockRef } | undefined
  readonly phase: SequencerPhase
  /** Unix time in milliseconds before which no action starts. */
  readonly notBeforeMs: number
  /**
   * Committed blocks, oldest first. They are published when the engine has them. No other block of the same height may
   * follow.
   */
  readonly published: PublishedBlocks
  /** Failures since the last block that became the head. */
  readonly failures: number
  /** Resets that were needed since then. */
  readonly resets: number
  /** A reset moved the head back. Published blocks above it are inserted again, if L1 still allows them. */
  readonly mayRestore: boolean
}

/**
 * How an action failed.
 *
 * - `temporary`: try again later.
 * - `syncing`: the engine is busy with its own sync.
 * - `invalid`: the engine rejects the attributes or the block.
 * - `expired`: the engine lost the block that it was building.
 * - `stale`: the head has moved.
 * - `reset`: the heads must be found again.
 * - `orphaned`: the block's L1 origin was removed by a reorg.
 */
export type SequencerFailure = 'temporary' | 'syncing' | 'invalid' | 'expired' | 'stale' | 'reset' | 'orphaned'

export type SequencerEvent =
  | { kind: 'activated' }
  | { kind: 'stopping' }
  /** The caller of the stop no longer waits. */
  | { kind: 'stop-cancelled' }
  | { kind: 'deactivated' }
  | { kind: 'heads'; unsafe: L2BlockRef; safe: L2BlockRef; movedBy: HeadsMovedBy }
  | { kind: 'begun'; action: SequencerAction }
  | { kind: 'started'; job: BuildJob }
  | { kind: 'sealed'; envelope: PayloadEnvelope }
  | { kind: 'committed' }
  | { kind: 'inserted' }
  | { kind: 'failed'; failure: SequencerFailure }
  /** Another component resets the heads. */
  | { kind: 'reset-begun' }
  | { kind: 'reset-done' }

export interface SequencerRules {
  blockTimeMs: number
  /** Time between sealing a block and its timestamp (op-node's `sequencer.sealing-duration`). */
  sealingMarginMs: number
}

/** op-node's delay after a temporary failure. */
const TEMPORARY_RETRY_MS = 1000
/**
 * op-node's delay for a syncing engine. It is reached by doubling, because the engine may be busy only for a moment.
 */
const MAX_SYNCING_RETRY_MS = 30_000
/** op-node's maximum delay between failing derivation steps. */
const MAX_RESET_PAUSE_MS = 10_000

export function initialState(active: boolean): SequencerState {
  return {
    active,
    stopping: false,
    heads: undefined,
    phase: { kind: 'idle' },
    notBeforeMs: 0,
    published: [],
    failures: 0,
    resets: 0,
    mayRestore: false,
  }
}

/** The state after an event at `nowMs`. Pure. An event that does not fit the phase is ignored. */
export function transition(
  state: SequencerState,
  event: SequencerEvent,
  nowMs: number,
  rules: SequencerRules,
): SequencerState {
  switch (event.kind) {
    case 'activated':
      return { ...state, active: true, phase: idleUnlessResetting(state), notBeforeMs: 0, failures: 0, resets: 0 }
    case 'stopping':
      return { ...state, stopping: true }
    case 'stop-cancelled':
      return { ...state, stopping: false }
    case 'deactivated':
      // A published block that is not the head becomes the head by gossip or by L1, if at all.
      return {
        ...state,
        active: false,
        stopping: false,
        phase: idleUnlessResetting(state),
        published: [],
        mayRestore: false,
      }
    case 'heads':
      return onHeads(state, event, nowMs, rules)
    case 'begun':
      return { ...state, phase: begun(event.action, nowMs) }
    case 'started':
      return onStarted(state, event.job)
    case 'sealed':
      return onSealed(state, event.envelope)
    case 'committed':
      if (state.phase.kind !== 'committing' || !isOnHead(state, state.phase.envelope)) return toIdle(state)
      return toIdle({ ...state, published: addPublished(state.published, state.phase.envelope) })
    case 'inserted':
      return toIdle({ ...state, notBeforeMs: 0, failures: 0, resets: 0 })
    case 'failed':
      return onFailed(state, event.failure, nowMs, rules)
    case 'reset-begun':
      return { ...state, phase: { kind: 'resetting' } }
    case 'reset-done':
      return state.phase.kind === 'resetting' ? afterReset(state, nowMs, rules) : state
  }
}

/** The next action and its due time; undefined if only an event can lead to an action. */
export function dueAction(
  state: SequencerState,
  rules: SequencerRules,
): { action: SequencerAction; atMs: number } | undefined {
  const { active, stopping, heads, phase, notBeforeMs } = state
  if (!active || heads === undefined || (stopping && phase.kind !== 'idle')) return undefined
  if (phase.kind === 'sealed') return { action: { kind: 'commit', envelope: phase.envelope }, atMs: notBeforeMs }
  if (phase.kind === 'open') {
    const atMs = Math.max(notBeforeMs, phase.job.timestamp * 1000 - rules.sealingMarginMs)
    return { action: { kind: 'seal', job: phase.job, startedAtMs: phase.startedAtMs }, atMs }
  }
  if (phase.kind !== 'idle') return undefined
  const missing = missingBlock(state)
  if (missing !== undefined) {
    return { action: { kind: 'insert', envelope: missing, isRestored: state.mayRestore }, atMs: notBeforeMs }
  }
  if (stopping) return undefined
  // A block starts when its parent's timestamp has passed, so that the pool is read as late as the block time allows.
  const atMs = Math.max(notBeforeMs, heads.unsafe.timestamp * 1000)
  return { action: { kind: 'start', parent: heads.unsafe }, atMs }
}

/** Whether a committed or published block is not the head yet. The sequencer does not stop before. */
export function isCommitted(state: SequencerState): boolean {
  const { kind } = state.phase
  return kind === 'committing' || kind === 'inserting' || missingBlock(state) !== undefined
}

/** The published block after the head; undefined if the head is the last published block. */
function missingBlock({ published, heads }: SequencerState): PayloadEnvelope | undefined {
  return heads === undefined ? undefined : childOf(published, heads.unsafe.hash)
}

function begun(action: SequencerAction, nowMs: number): SequencerPhase {
  switch (action.kind) {
    case 'start':
      return { kind: 'starting', parent: action.parent, sinceMs: nowMs }
    case 'seal':
      return { kind: 'sealing', job: action.job }
    case 'commit':
      return { kind: 'committing', envelope: action.envelope }
    case 'insert':
      return { kind: 'inserting', envelope: action.envelope }
  }
}

function onStarted(state: SequencerState, job: BuildJob): SequencerState {
  const { phase, heads } = state
  if (phase.kind !== 'starting' || !state.active || job.parent.hash !== heads?.unsafe.hash) return toIdle(state)
  // The chain grows again, so lost blocks are no longer restored.
  return { ...state, mayRestore: false, phase: { kind: 'open', job, startedAtMs: phase.sinceMs } }
}

function onSealed(state: SequencerState, envelope: PayloadEnvelope): SequencerState {
  if (state.phase.kind !== 'sealing' || !state.active || !isOnHead(state, envelope)) return toIdle(state)
  return { ...state, phase: { kind: 'sealed', envelope } }
}

function onHeads(
  state: SequencerState,
  { unsafe, safe, movedBy }: SequencerEvent & { kind: 'heads' },
  nowMs: number,
  rules: SequencerRules,
): SequencerState {
  const before = state.heads?.unsafe
  const moved = { ...state, heads: { unsafe, safe } }
  if (movedBy === 'reset') {
    // The first reset only sets the heads. Later resets have kept the engine busy.
    if (before === undefined) return { ...moved, phase: { kind: 'idle' } }
    return afterReset({ ...moved, mayRestore: true }, nowMs, rules)
  }
  if (before?.hash === unsafe.hash) return moved
  const next = { ...moved, phase: phaseOn(unsafe, state.phase) }
  if (movedBy === 'sequencer') return next
  const isReplaced = before !== undefined && unsafe.number <= before.number
  return {
    ...next,
    // If L1 or another sequencer replaced a block, the published blocks from there on are dropped.
    published: dropFrom(state.published, unsafe, isReplaced),
    mayRestore: state.mayRestore && !isReplaced,
    // While derivation replaces blocks, it continues with the next block at once, so nothing is built meanwhile. A
    // higher head ends every pause.
    notBeforeMs: isReplaced ? Math.max(state.notBeforeMs, nowMs + rules.blockTimeMs) : 0,
  }
}

/** Drops a block that is not on the head. For a pending call, the result decides. */
function phaseOn(unsafe: L2BlockRef, phase: SequencerPhase): SequencerPhase {
  if (phase.kind === 'open' && phase.job.parent.hash !== unsafe.hash) return { kind: 'idle' }
  if (phase.kind === 'sealed' && phase.envelope.payload.parentHash !== unsafe.hash) return { kind: 'idle' }
  return phase
}

function onFailed(
  state: SequencerState,
  failure: SequencerFailure,
  nowMs: number,
  rules: SequencerRules,
): SequencerState {
  const failed = { ...withoutRefused(state, failure), failures: state.failures + 1 }
  switch (failure) {
    case 'stale':
      return { ...failed, failures: state.failures }
    case 'orphaned':
      return failed
    case 'temporary':
      return { ...failed, notBeforeMs: nowMs + TEMPORARY_RETRY_MS }
    case 'invalid':
    case 'expired':
      return { ...failed, notBeforeMs: nowMs + rules.blockTimeMs }
    case 'reset':
      return { ...failed, phase: { kind: 'resetting' } }
    case 'syncing':
      return { ...failed, notBeforeMs: nowMs + doubling(rules.blockTimeMs, failed.failures, MAX_SYNCING_RETRY_MS) }
  }
}

/** The state before the failed action, without a block that can never succeed. */
function withoutRefused(state: SequencerState, failure: SequencerFailure): SequencerState {
  const { phase } = state
  // op-conductor may have stored the block although its answer was lost. So the same block is committed again, and no
  // other.
  if (phase.kind === 'committing') {
    const isGivenUp = failure === 'stale' || !state.active || !isOnHead(state, phase.envelope)
    return { ...state, phase: isGivenUp ? { kind: 'idle' } : { kind: 'sealed', envelope: phase.envelope } }
  }
  if (phase.kind === 'inserting' && (failure === 'invalid' || failure === 'orphaned')) {
    const { blockNumber: number, parentHash } = phase.envelope.payload
    return toIdle({ ...state, published: dropFrom(state.published, { number: number - 1, hash: parentHash }, true) })
  }
  return toIdle(state)
}

function afterReset(state: SequencerState, nowMs: number, rules: SequencerRules): SequencerState {
  const resets = state.resets + 1
  // op-node waits for one block time: the engine was busy, and resets must not follow each other too fast. After the
  // first reset, lost blocks are restored at once.
  const isRestoring = resets === 1 && missingBlock(state) !== undefined
  const pauseMs = isRestoring ? 0 : doubling(rules.blockTimeMs, resets, MAX_RESET_PAUSE_MS)
  return { ...state, phase: { kind: 'idle' }, resets, notBeforeMs: nowMs + pauseMs }
}

function doubling(firstMs: number, attempt: number, maxMs: number): number {
  return Math.max(firstMs, Math.min(maxMs, firstMs * 2 ** Math.max(0, attempt - 1)))
}

function isOnHead({ heads }: SequencerState, envelope: PayloadEnvelope): boolean {
  return envelope.payload.parentHash === heads?.unsafe.hash
}

/** A running reset continues, whatever else happens. */
function toIdle(state: SequencerState): SequencerState {
  return { ...state, phase: idleUnlessResetting(state) }
}

function idleUnlessResetting({ phase }: SequencerState): SequencerPhase {
  return phase.kind === 'resetting' ? phase : { kind: 'idle' }
}
