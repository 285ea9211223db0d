import type { Clock } from '../../lib/clock.ts'
import { type Hex, lowerHex } from '../../lib/hex.ts'
import { ZERO_ADDRESS } from '../../rollup/protocol/types.ts'

/** op-node (2026-04): blocks of a rotated signer stay valid for 3 h after the change was noticed. */
const GRACE_MS = 3 * 60 * 60_000

/** The signers whose blocks are accepted. */
export type Signers = ReturnType<typeof createSigners>

/**
 * Follows `current`. When it changes from one known address to another, the old one stays valid during the grace time,
 * or until the new one has signed a block. After a second change only the last old one stays valid.
 */
export function createSigners(modules: { current: () => Hex | undefined; clock: Clock }) {
  let known: Hex | undefined
  let previous: { address: Hex; sinceMs: number } | undefined

  const refresh = (): Hex | undefined => {
    const text = modules.current()
    const address = text === undefined ? undefined : lowerHex(text)
    if (address === undefined || address === ZERO_ADDRESS) return undefined
    if (address !== known) {
      if (known !== undefined) previous = { address: known, sinceMs: modules.clock.now() }
      known = address
    }
    return address
  }
  const inGrace = (): Hex | undefined => {
    if (previous !== undefined && modules.clock.now() - previous.sinceMs > GRACE_MS) previous = undefined
    return previous?.address
  }
  return {
    /** False while the configured signer is unknown or zero. Then no block is validated. */
    configured: (): boolean => refresh() !== undefined,
    /** True: a block of this signer is accepted. */
    accepts(signer: Hex): boolean {
      if (signer !== refresh()) return signer === inGrace()
      previous = undefined
      return true
    },
    /** The accepted signers: none, one, or two. */
    accepted: (): Hex[] => [refresh(), inGrace()].filter((address) => address !== undefined),
  }
}
