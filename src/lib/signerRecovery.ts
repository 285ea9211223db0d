import type { Hex } from './hex.ts'
import { publicKeyToAddress, recoverCompact } from './secp256k1.ts'
import { type Curve, createCurve, type KeyTable } from './wasm/curve.ts'

/** Recovers signers, those that have signed before in half the time. */
export interface SignerRecovery {
  /**
   * Address whose key made the signature (r ‖ s; both above 0 and below the group's order). Throws DecodeError when there
   * is none. `expected` are addresses that are likely.
   */
  recover(hash: Uint8Array, compact: Uint8Array, yParity: number, expected: readonly Hex[]): Hex
}

/** A chain has one signer, or two while they change. */
const MAX_KNOWN = 4
/** After 16 signatures a first signer is known, none of which takes a millisecond longer for it once all is compiled. */
const ROWS_AT_ONCE = 4

interface KnownKey {
  address: Hex
  table: KeyTable
  isComplete: boolean
}

/**
 * Only the expected are looked at as known, and only they are remembered: an address is all that is given of them, and so
 * the key comes from their first signature. From then on its multiples are made, a few with each signature, with which
 * checking another one takes 63 additions of points and no doublings. Strangers' signatures are recovered as ever.
 */
export function createSignerRecovery(): SignerRecovery {
  let curve: Curve | 'unsupported' | undefined
  /** The one used last is the first. */
  const known: KnownKey[] = []

  const learn = (address: Hex, publicKey: Uint8Array): void => {
    curve ??= createCurve() ?? 'unsupported'
    if (curve === 'unsupported') return
    let key = known.find((one) => one.address === address)
    if (key === undefined) {
      const oldest = known.length < MAX_KNOWN ? undefined : known.pop()
      key = { address, table: oldest?.table ?? curve.addTable(), isComplete: false }
      key.table.begin(publicKey)
      known.unshift(key)
    }
    key.isComplete ||= key.table.fill(ROWS_AT_ONCE)
  }

  return {
    recover(hash, compact, yParity, expected) {
      for (const [index, key] of known.entries()) {
        if (!key.isComplete || !expected.includes(key.address)) continue
        if (!key.table.isSignedBy(hash, compact, yParity)) continue
        if (index > 0) known.unshift(...known.splice(index, 1))
        return key.address
      }
      const publicKey = recoverCompact(hash, compact, yParity)
      const address = publicKeyToAddress(publicKey)
      if (expected.includes(address)) learn(address, publicKey)
      return address
    },
  }
}
