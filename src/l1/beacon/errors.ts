import { DeviumError } from '../../lib/errors.ts'

/**
 * `beacon-not-found`: the endpoint answers 404, it has no such block or knows no such path. `beacon-unsupported`: it
 * does not offer the path. `beacon-unreachable`: no answer, or that of a server in trouble. `beacon-bad-answer`: its
 * answer is not what was asked for. `blobs-missing`: no endpoint gave all blobs of a block. All are temporary.
 */
export class BeaconError extends DeviumError<
  'beacon-not-found' | 'beacon-unsupported' | 'beacon-unreachable' | 'beacon-bad-answer' | 'blobs-missing'
> {
  override readonly name = 'BeaconError'
}
