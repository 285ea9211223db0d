import { UsageError } from '../lib/errors.ts'

/** op-node's rule for the low and high marks of peers. Throws UsageError. */
export function checkTides(low: number, high: number): void {
  if (low > 0 && high > 0 && low <= high) return
  throw new UsageError(`--p2p.peers.lo, --p2p.peers.hi: peers lo/hi tides are invalid: ${low}, ${high}`)
}
