import { severityOf } from '../../lib/errors.ts'
import { EngineError } from '../engine/index.ts'
import type { SequencerFailure } from './stateMachine.ts'

/** Classifies an error for the sequencer; undefined if the node must stop. */
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
