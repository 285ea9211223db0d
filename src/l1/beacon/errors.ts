import { DeviumError } from '../../lib/errors.ts'

/**
 * All codes are temporary.
 *
 * - `beacon-not-found`: the endpoint returns 404; it does not know the block or the path.
 * - `beacon-unsupported`: the endpoint does not support the path.
 * - `beacon-unreachable`: the endpoint did not answer, or reported a server error.
 * - `beacon-bad-answer`: the answer does not match the request.
 * - `blobs-missing`: no endpoint returned all blobs of a block.
 */
export class BeaconError extends DeviumError<
  'beacon-not-found' | 'beacon-unsupported' | 'beacon-unreachable' | 'beacon-bad-answer' | 'blobs-missing'
> {
  override readonly name = 'BeaconError'
}
