import type { BuildJob, HeadsMovedBy } from '../engine/index.ts'
import type { L2BlockRef, PayloadEnvelope } from '../protocol/types.ts'
import { addPublished, childOf, dropFrom, type PublishedBlocks } from './publishedBlocks.ts'

/** What the sequencer does next. `start` and `seal` ask the engine, `commit` the conductor, `insert` the engine again. */
export type SequencerAction =
  | { kind: 'start'; parent: L2BlockRef }
  | { kind: 'seal'; job: BuildJob; startedAtMs: number }
  | { kind: 'commit'; envelope: PayloadEnvelope }
  | { kind: 'insert'; envelope: PayloadEnvelope; isRestored: boolean }

/** Where the block under way stands. In the phases that end in -ing an answer is awaited and nothing else is begun. */
export type SequencerPhase =
  /** No block under way: one that was committed and is missing is inserted, else the next one started when it is due. */
  | { kind: 'idle' }
  | { kind: 'starting'; parent: L2BlockRef; sinceMs: number }
  /** The engine collects transactions until it is time to seal. */
  | { kind: 'open'; job: BuildJob; startedAtMs: number }
  | { kind: 'sealing'; job: BuildJob }
  /** Complete, but unknown to the conductor and to peers. */
  | { kind: 'sealed'; envelope: PayloadEnvelope }
  | { kind: 'committing'; envelope: PayloadEnvelope }
  | { kind: 'inserting'; envelope: PayloadEnvelope }
  /** Heads are looked up anew. */
  | { kind: 'resetting' }

export interface SequencerState {
  /** Whether this node makes the blocks; only the operator or a conductor changes that. */
  readonly active: boolean
  /** Somebody waits for the last published block to be the head: nothing else is begun. */
  readonly stopping: boolean
  /** Undefined until the first reset has found them. */
  readonly heads: { readonly unsafe: L2BlockRef; readonly safe: L2BlockRef } | undefined
  readonly phase: SequencerPhase
  /** Unix time in milliseconds before which nothing is begun. */
  readonly notBeforeMs: number
  /** Committed blocks, which go to peers once the engine has them, oldest first: no other block of their height may follow. */
  readonly published: PublishedBlocks
  /** Failures since the last block that became head. */
  readonly failures: number
  /** Resets since then, for lack of which nothing could go on. */
  readonly resets: number
  /** A reset took the head back: what was published above it is to be inserted again, if L1 still allows it. */
  readonly mayRestore: boolean
}

/**
 * How an action failed. `temporary`: later again. `syncing`: the engine is busy with a sync of its own. `invalid`: it
 * refuses attributes or block. `expired`: the block being built is gone. `stale`: the head has moved.
 * `reset`: the heads must be looked up anew. `orphaned`: the block's L1 origin is gone.
 */
export type SequencerFailure = 'temporary' | 'syncing' | 'invalid' | 'expired' | 'stale' | 'reset' | 'orphaned'

export type SequencerEvent =
  | { kind: 'activated' }
  | { kind: 'stopping' }
  /** Whoever wanted the stop is gone. */
  | { kind: 'stop-cancelled' }
  | { kind: 'deactivated' }
  | { kind: 'heads'; unsafe: L2BlockRef; safe: L2BlockRef; movedBy: HeadsMovedBy }
  /** The action that was due is carried out now. */
  | { kind: 'begun'; action: SequencerAction }
  | { kind: 'started'; job: BuildJob }
  | { kind: 'sealed'; envelope: PayloadEnvelope }
  | { kind: 'committed' }
  | { kind: 'inserted' }
  | { kind: 'failed'; failure: SequencerFailure }
  /** Somebody has the heads looked up anew. */
  | { kind: 'reset-begun' }
  | { kind: 'reset-done' }

/** What does not change while the sequencer runs. */
export interface SequencerRules {
  blockTimeMs: number
  /** Time before its timestamp at which a block is sealed (op-node's `sequencer.sealing-duration`). */
  sealingMarginMs: number
}

/** op-node: time after which something that failed for a while is tried again. */
const TEMPORARY_RETRY_MS = 1000
/** op-node's time for an engine that syncs; reached by doubling, since it may only be busy for a moment. */
const MAX_SYNCING_RETRY_MS = 30_000
/** op-node's longest time between derivation steps that fail. */
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

/** The state after an event at `nowMs`. Pure; an event that does not fit the phase changes nothing. */
export function transition(
  state: SequencerState,
  event: SequencerEvent,
  nowMs: number,
  rules: SequencerRules,
): SequencerState {
  switch (event.kind) {
    case 'activated':
      return { ...state, active: true, phase: settled(state), notBeforeMs: 0, failures: 0, resets: 0 }
    case 'stopping':
      return { ...state, stopping: true }
    case 'stop-cancelled':
      return { ...state, stopping: false }
    case 'deactivated':
      // What was published and is not the head reaches it by gossip or L1, if it is anybody's head.
      return { ...state, active: false, stopping: false, phase: settled(state), published: [], mayRestore: false }
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

/** The next action and when it is due; undefined while only an event can bring one. */
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
  // A block is started when the one before it is due: the pool is then read as late as the block time allows.
  const atMs = Math.max(notBeforeMs, heads.unsafe.timestamp * 1000)
  return { action: { kind: 'start', parent: heads.unsafe }, atMs }
}

/** Whether a block is committed or published, and not the head yet: the sequencer does not stop before that is done. */
export function isCommitted(state: SequencerState): boolean {
  const { kind } = state.phase
  return kind === 'committing' || kind === 'inserting' || missingBlock(state) !== undefined
}

/** The published block that comes after the head, if the head is not the last one. */
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
  // A chain that grows again needs nothing of what was lost.
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
    // The first one only says where the chain stands; those that follow have kept the engine busy.
    if (before === undefined) return { ...moved, phase: { kind: 'idle' } }
    return afterReset({ ...moved, mayRestore: true }, nowMs, rules)
  }
  if (before?.hash === unsafe.hash) return moved
  const next = { ...moved, phase: phaseOn(unsafe, state.phase) }
  if (movedBy === 'sequencer') return next
  const isReplaced = before !== undefined && unsafe.number <= before.number
  return {
    ...next,
    // Where another block stands in its place, by L1 or because somebody else builds, what was published is forgotten.
    published: dropFrom(state.published, unsafe, isReplaced),
    mayRestore: state.mayRestore && !isReplaced,
    // Derivation that replaces blocks goes on with the next one at once: nothing is built in between. A head that
    // has gone up ends every pause.
    notBeforeMs: isReplaced ? Math.max(state.notBeforeMs, nowMs + rules.blockTimeMs) : 0,
  }
}

/** A block that is not on the head is given up; what the engine or conductor is asked already is judged by its answer. */
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

/** Back before the action that failed, without what it says can never succeed. */
function withoutRefused(state: SequencerState, failure: SequencerFailure): SequencerState {
  const { phase } = state
  // op-conductor may have stored a block although its answer was lost: this one is committed again, and no other.
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
  // op-node waits for one block: the engine has had work, and resets shall not follow each other too fast. What the
  // engine has lost is given back at once, the first time.
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

/** A reset under way goes on whatever else happens. */
function toIdle(state: SequencerState): SequencerState {
  return { ...state, phase: settled(state) }
}

function settled({ phase }: SequencerState): SequencerPhase {
  return phase.kind === 'resetting' ? phase : { kind: 'idle' }
}
