import { describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import type { BuildJob } from '../engine/index.ts'
import { fakeGenesis } from '../engine/testUtils/fakeEngine.ts'
import { type L2BlockRef, type PayloadEnvelope, ZERO_HASH } from '../protocol/types.ts'
import {
  dueAction,
  initialState,
  isCommitted,
  type SequencerEvent,
  type SequencerFailure,
  type SequencerRules,
  type SequencerState,
  transition,
} from './stateMachine.ts'

const RULES: SequencerRules = { blockTimeMs: 2000, sealingMarginMs: 50 }
/** Block 10 has timestamp 20: one block every two seconds from time 0 on. */
const HEAD = 10

const hash = (number: number, fork = 'a'): Hex => `0x${fork.repeat(4)}${number.toString(16).padStart(60, '0')}`

function block(number: number, fork = 'a'): L2BlockRef {
  return {
    hash: hash(number, fork),
    number,
    parentHash: hash(number - 1),
    timestamp: number * 2,
    l1Origin: { hash: ZERO_HASH, number: 0 },
    sequenceNumber: number,
  }
}

const GENESIS = fakeGenesis(0, 30_000_000n)

/** The complete block with this number on its parent. */
function envelope(number: number, fork = 'a'): PayloadEnvelope {
  return {
    payload: {
      ...GENESIS.payload,
      blockNumber: number,
      timestamp: number * 2,
      parentHash: hash(number - 1),
      blockHash: hash(number, fork),
    },
  }
}

function job(parent: L2BlockRef): BuildJob {
  const timestamp = parent.timestamp + 2
  return { payloadId: '0x0000000000000001', parent, timestamp, attributes: { timestamp } as BuildJob['attributes'] }
}

function heads(unsafe: L2BlockRef, movedBy: (SequencerEvent & { kind: 'heads' })['movedBy'], safe = block(0)) {
  return { kind: 'heads', unsafe, safe, movedBy } as const
}

function after(state: SequencerState, events: readonly SequencerEvent[], nowMs = 20_000, rules = RULES) {
  return events.reduce((before, event) => transition(before, event, nowMs, rules), state)
}

/** An active sequencer on block 10, at that block's time. */
const IDLE = after(initialState(true), [heads(block(HEAD), 'reset')])
const PARENT = block(HEAD)
const STARTING = after(IDLE, [{ kind: 'begun', action: { kind: 'start', parent: PARENT } }])
const OPEN = after(STARTING, [{ kind: 'started', job: job(PARENT) }])
const SEALING = after(OPEN, [{ kind: 'begun', action: { kind: 'seal', job: job(PARENT), startedAtMs: 20_000 } }])
const BLOCK = envelope(HEAD + 1)
const SEALED = after(SEALING, [{ kind: 'sealed', envelope: BLOCK }])
const COMMITTING = after(SEALED, [{ kind: 'begun', action: { kind: 'commit', envelope: BLOCK } }])
const PUBLISHED = after(COMMITTING, [{ kind: 'committed' }])
const INSERTING = after(PUBLISHED, [{ kind: 'begun', action: { kind: 'insert', envelope: BLOCK, isRestored: false } }])
const INSERTED = after(INSERTING, [heads(block(HEAD + 1), 'sequencer'), { kind: 'inserted' }])
const RESETTING = after(STARTING, [{ kind: 'failed', failure: 'reset' }])

const due = (state: SequencerState, rules = RULES) => {
  const next = dueAction(state, rules)
  return next === undefined ? undefined : [next.action.kind, next.atMs]
}
const fail = (state: SequencerState, failure: SequencerFailure, nowMs = 21_000) =>
  after(state, [{ kind: 'failed', failure }], nowMs)

describe('the course of a block', () => {
  it('does nothing before the heads are known, and nothing while it is not active', () => {
    expect(due(initialState(true))).toBeUndefined()
    expect(due(after(initialState(false), [heads(PARENT, 'reset')]))).toBeUndefined()
  })

  it('is: start at the time of its parent, seal before its own, commit, insert', () => {
    expect(due(IDLE)).toEqual(['start', 20_000])
    expect(STARTING.phase).toEqual({ kind: 'starting', parent: PARENT, sinceMs: 20_000 })
    expect(due(STARTING)).toBeUndefined()
    expect(due(OPEN)).toEqual(['seal', 22_000 - 50])
    expect(due(SEALING)).toBeUndefined()
    expect(due(SEALED)).toEqual(['commit', 0])
    expect(due(COMMITTING)).toBeUndefined()
    expect(dueAction(PUBLISHED, RULES)).toEqual({
      action: { kind: 'insert', envelope: BLOCK, isRestored: false },
      atMs: 0,
    })
    expect(due(INSERTING)).toBeUndefined()
    expect(due(INSERTED)).toEqual(['start', 22_000])
  })

  it('gets the time that it was built', () => {
    expect(dueAction(OPEN, RULES)?.action).toMatchObject({ kind: 'seal', startedAtMs: 20_000 })
  })

  it('ignores answers without a pending action', () => {
    expect(after(IDLE, [{ kind: 'started', job: job(PARENT) }]).phase).toEqual({ kind: 'idle' })
    expect(after(IDLE, [{ kind: 'sealed', envelope: BLOCK }]).phase).toEqual({ kind: 'idle' })
    expect(after(IDLE, [{ kind: 'committed' }])).toEqual(IDLE)
    expect(after(RESETTING, [{ kind: 'started', job: job(PARENT) }]).phase).toEqual({ kind: 'resetting' })
    expect(after(IDLE, [{ kind: 'reset-done' }])).toBe(IDLE)
  })
})

describe('a head that moves', () => {
  const OTHER = block(HEAD + 1, 'b')

  it.each([
    ['open', OPEN],
    ['sealed', SEALED],
  ])('ends a block that is %s and does not stand on it', (_, state) => {
    const moved = after(state, [heads(OTHER, 'payload')])
    expect(moved.phase).toEqual({ kind: 'idle' })
    expect(due(moved)).toEqual(['start', 22_000])
  })

  it.each([
    ['starting', STARTING, { kind: 'started', job: job(PARENT) } as const],
    ['sealing', SEALING, { kind: 'sealed', envelope: BLOCK } as const],
    ['committing', COMMITTING, { kind: 'committed' } as const],
  ])('makes the answer of what is %s worthless', (_, state, answer) => {
    const moved = after(state, [heads(OTHER, 'payload')])
    expect(moved.phase).toEqual(state.phase)
    const answered = after(moved, [answer])
    expect(answered.phase).toEqual({ kind: 'idle' })
    expect(answered.published).toEqual([])
  })

  it('leaves a block alone when only safe has moved', () => {
    const moved = after(OPEN, [heads(PARENT, 'derivation', block(5))])
    expect(moved.phase).toEqual(OPEN.phase)
    expect(moved.heads?.safe.number).toBe(5)
  })

  it('ends a pause after a failure when it has gone up', () => {
    const paused = fail(STARTING, 'temporary')
    expect(due(paused)).toEqual(['start', 22_000])
    expect(due(after(fail(STARTING, 'temporary', 60_000), [heads(OTHER, 'payload')]))).toEqual(['start', 22_000])
  })

  it('makes room for derivation when that has replaced blocks', () => {
    const replaced = after(OPEN, [heads(block(9), 'derivation')], 30_000)
    expect(due(replaced)).toEqual(['start', 32_000])
    expect(due(after(replaced, [heads(block(HEAD, 'b'), 'derivation')], 30_001))).toEqual(['start', 20_000])
  })

  it('forgets what was published and stands in its way no more', () => {
    expect(after(PUBLISHED, [heads(OTHER, 'payload')]).published).toEqual([])
    expect(after(PUBLISHED, [heads(block(9), 'derivation')]).published).toEqual([])
    expect(after(PUBLISHED, [heads(block(HEAD + 1), 'payload')]).published).toEqual([BLOCK])
  })
})

describe('failures', () => {
  it('temporary ones are tried again after a second, a block under way with them', () => {
    expect(due(fail(STARTING, 'temporary', 30_000))).toEqual(['start', 31_000])
    expect(due(fail(INSERTING, 'temporary', 30_000))).toEqual(['insert', 31_000])
    expect(dueAction(fail(COMMITTING, 'temporary', 30_000), RULES)).toEqual({
      action: { kind: 'commit', envelope: BLOCK },
      atMs: 31_000,
    })
  })

  it('refused attributes and lost blocks are built anew after a block time', () => {
    expect(due(fail(STARTING, 'invalid', 30_000))).toEqual(['start', 32_000])
    expect(due(fail(SEALING, 'invalid', 30_000))).toEqual(['start', 32_000])
    expect(due(fail(SEALING, 'expired', 30_000))).toEqual(['start', 32_000])
    const refused = fail(INSERTING, 'invalid', 30_000)
    expect(refused.published).toEqual([])
    expect(due(refused)).toEqual(['start', 32_000])
  })

  it('a head that moved on costs no time and counts for nothing', () => {
    const stale = fail(STARTING, 'stale')
    expect(stale).toEqual({ ...IDLE, failures: 0 })
    expect(fail(COMMITTING, 'stale').phase).toEqual({ kind: 'idle' })
    expect(fail(INSERTING, 'stale').published).toEqual([BLOCK])
  })

  it('a commit that fails after the head has moved, or the sequencer stopped, is not tried again', () => {
    const moved = after(COMMITTING, [heads(block(HEAD + 1, 'b'), 'payload')])
    expect(fail(moved, 'temporary').phase).toEqual({ kind: 'idle' })
    expect(fail({ ...COMMITTING, active: false }, 'temporary').phase).toEqual({ kind: 'idle' })
  })

  it('an engine that syncs is given twice as long each time, up to 30 s', () => {
    let state: SequencerState = IDLE
    const pauses: number[] = []
    for (let attempt = 0; attempt < 6; attempt++) {
      state = after(state, [{ kind: 'begun', action: { kind: 'start', parent: PARENT } }], 100_000)
      state = fail(state, 'syncing', 100_000)
      pauses.push(state.notBeforeMs - 100_000)
    }
    expect(state.phase).toEqual({ kind: 'idle' })
    expect(pauses).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000])
    expect(fail(INSERTING, 'syncing', 30_000)).toMatchObject({ phase: { kind: 'idle' }, published: [BLOCK] })
  })

  it('are counted until a block has become head', () => {
    expect(fail(STARTING, 'temporary').failures).toBe(1)
    expect(INSERTED.failures).toBe(0)
    expect(after({ ...INSERTING, failures: 3, resets: 2 }, [{ kind: 'inserted' }])).toMatchObject({
      failures: 0,
      resets: 0,
    })
  })
})

describe('a reset', () => {
  it('stops everything until the heads are known, then waits for a block time', () => {
    expect(due(RESETTING)).toBeUndefined()
    expect(due(after(RESETTING, [heads(PARENT, 'reset')], 30_000))).toEqual(['start', 32_000])
    expect(due(after(RESETTING, [{ kind: 'reset-done' }], 30_000))).toEqual(['start', 32_000])
  })

  it.each([
    ['starting', STARTING],
    ['open', OPEN],
    ['sealing', SEALING],
    ['sealed', SEALED],
  ])('of somebody else gives up a block that is %s', (_, state) => {
    const begun = after(state, [{ kind: 'reset-begun' }])
    expect(begun.phase).toEqual({ kind: 'resetting' })
    expect(due(after(begun, [heads(PARENT, 'reset')], 30_000))).toEqual(['start', 32_000])
    expect(due(after(state, [heads(PARENT, 'reset')], 30_000))).toEqual(['start', 32_000])
  })

  it('pauses longer each time while no block becomes head, up to ten seconds', () => {
    let state = RESETTING
    const pauses: number[] = []
    for (let attempt = 0; attempt < 5; attempt++) {
      state = after(state, [heads(PARENT, 'reset')], 100_000)
      pauses.push(state.notBeforeMs - 100_000)
      state = fail(after(state, [{ kind: 'begun', action: { kind: 'start', parent: PARENT } }]), 'reset')
    }
    expect(pauses).toEqual([2000, 4000, 8000, 10_000, 10_000])
  })

  it('that takes the head back gives the engine at once what it has lost, where L1 allows it', () => {
    const lost = after(INSERTED, [heads(PARENT, 'reset')], 30_000)
    expect(dueAction(lost, RULES)).toEqual({
      action: { kind: 'insert', envelope: BLOCK, isRestored: true },
      atMs: 30_000,
    })
    const inserting = after(lost, [{ kind: 'begun', action: { kind: 'insert', envelope: BLOCK, isRestored: true } }])
    const orphaned = fail(inserting, 'orphaned')
    expect(orphaned.published).toEqual([])
    expect(due(orphaned)).toEqual(['start', 30_000])
    const restored = after(inserting, [heads(block(HEAD + 1), 'sequencer'), { kind: 'inserted' }])
    expect(due(restored)).toEqual(['start', 22_000])
    // Once a block is in progress again, no blocks are restored.
    const start = { kind: 'start', parent: block(HEAD + 1) } as const
    const open = after(restored, [
      { kind: 'begun', action: start },
      { kind: 'started', job: job(block(HEAD + 1)) },
    ])
    expect(open.mayRestore).toBe(false)
  })
})

describe('start and stop', () => {
  it('a stopped sequencer does nothing and forgets the block under way', () => {
    for (const state of [IDLE, STARTING, OPEN, SEALING, SEALED, COMMITTING, PUBLISHED, INSERTING]) {
      const stopped = after(state, [{ kind: 'deactivated' }])
      expect(stopped).toMatchObject({ active: false, phase: { kind: 'idle' }, published: [] })
      expect(due(stopped)).toBeUndefined()
    }
  })

  it('answers that come after a stop begin nothing', () => {
    expect(after({ ...STARTING, active: false }, [{ kind: 'started', job: job(PARENT) }]).phase.kind).toBe('idle')
    expect(after({ ...SEALING, active: false }, [{ kind: 'sealed', envelope: BLOCK }]).phase.kind).toBe('idle')
  })

  it('a started one begins at once, whatever had failed before', () => {
    const stopped = after(fail(STARTING, 'temporary', 90_000), [{ kind: 'deactivated' }])
    expect(due(after(stopped, [{ kind: 'activated' }]))).toEqual(['start', 20_000])
    expect(after(RESETTING, [{ kind: 'deactivated' }, { kind: 'activated' }]).phase.kind).toBe('resetting')
  })

  it('begins nothing while a stop waits but to insert what is published, and goes on when the stop is cancelled', () => {
    const stopping = (state: SequencerState) => due(after(state, [{ kind: 'stopping' }]))
    expect([IDLE, OPEN, SEALED, INSERTED].map(stopping)).toEqual([undefined, undefined, undefined, undefined])
    expect(stopping(PUBLISHED)).toEqual(['insert', 0])
    const cancelled = after(OPEN, [{ kind: 'stopping' }, { kind: 'stop-cancelled' }])
    expect(due(cancelled)).toEqual(due(OPEN))
    const again = after(OPEN, [{ kind: 'stopping' }, { kind: 'deactivated' }, { kind: 'activated' }])
    expect(due(again)).toEqual(['start', 20_000])
  })

  it('waits with a stop for a block that others may know already', () => {
    expect([IDLE, STARTING, OPEN, SEALING, SEALED].map(isCommitted)).toEqual([false, false, false, false, false])
    expect([COMMITTING, PUBLISHED, INSERTING, INSERTED].map(isCommitted)).toEqual([true, true, true, false])
  })
})
