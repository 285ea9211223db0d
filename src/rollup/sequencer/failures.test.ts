import { expect, it } from 'vitest'
import { EngineError, type EngineErrorCode } from '../engine/index.ts'
import { failureOf } from './failures.ts'

const engine = (code: EngineErrorCode, severity?: 'temporary' | 'reset' | 'critical') =>
  new EngineError(code, 'x', severity === undefined ? {} : { severity })

it.each([
  [engine('stale-parent', 'temporary'), 'stale'],
  [engine('engine-syncing', 'temporary'), 'syncing'],
  [engine('engine-syncing', 'reset'), 'reset'],
  [engine('engine-state', 'reset'), 'reset'],
  [engine('invalid-payload'), 'invalid'],
  [engine('payload-expired', 'temporary'), 'expired'],
  [engine('engine-call', 'temporary'), 'temporary'],
  [new Error('connection refused'), 'temporary'],
  [engine('invalid-payload', 'critical'), undefined],
])('%o means %s to the sequencer', (error, failure) => {
  expect(failureOf(error)).toBe(failure)
})
