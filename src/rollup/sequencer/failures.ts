import { severityOf } from '../../lib/errors.ts'
import { EngineError } from '../engine/index.ts'
import type { SequencerFailure } from './stateMachine.ts'

/** What an error means to the sequencer; undefined for one after which the node must stop. */
export function failureOf(error: unknown): SequencerFailure | undefined {
  const severity = severityOf(error)
  if (severity === 'critical') return undefined
  const code = error instanceof EngineError ? error.code : undefined
  if (code === 'stale-parent') return 'stale'
  if (severity === 'reset') return 'reset'
  if (code === 'engine-syncing') return 'syncing'
  if (code === 'invalid-payload') return 'invalid'
  if (code === 'payload-expired') return 'expired'
  return 'temporary'
}
