import { concatBytes } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'
import { privateKeyToAddress, signHash } from '../../lib/secp256k1.ts'
import { payloadSigningHash } from '../../rollup/protocol/index.ts'

export interface BlockSigner {
  /** The signer's address. Peers compare it with the address that L1 names. */
  readonly address: Hex
  /**
   * Returns r ‖ s ‖ yParity (65 bytes, yParity 0 or 1) over the domain, the chain id and `payloadHash`, the keccak256
   * of the gossip body. Rejects with P2pError `signing-failed`.
   */
  sign(payloadHash: Uint8Array): Promise<Uint8Array>
  stop(): Promise<void>
}

export function createLocalSigner(chainId: bigint, key: Uint8Array): BlockSigner {
  return {
    address: privateKeyToAddress(key),
    sign: async (payloadHash) => signPayloadHash(chainId, payloadHash, key),
    stop: async () => {},
  }
}

/** As `BlockSigner.sign`. */
export function signPayloadHash(chainId: bigint, payloadHash: Uint8Array, key: Uint8Array): Uint8Array {
  const { r, s, yParity } = signHash(payloadSigningHash(chainId, payloadHash), key)
  return concatBytes(r, s, Uint8Array.of(yParity))
}
