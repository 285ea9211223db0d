import { bigIntToBytes, concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { publicKeyToAddress, recoverPublicKey } from '../../lib/secp256k1.ts'
import type { Authorization } from '../chain/block.ts'
import { MAX_LOW_S, SECP256K1_ORDER } from './signatureLimits.ts'

/** EIP-7702. */
const AUTHORIZATION_MAGIC = 0x05

/**
 * An entry of an authorization list, with its signer. The signer is recovered when first asked for: thousands of entries
 * may stand in what is refused for its size.
 */
export function createAuthorization(authorization: Omit<Authorization, 'authority'>): Authorization {
  let recovered: { authority: Hex | undefined } | undefined
  return {
    ...authorization,
    get authority() {
      recovered ??= { authority: recoverAuthority(authorization) }
      return recovered.authority
    },
  }
}

function recoverAuthority({
  chainId,
  address,
  nonce,
  yParity,
  r,
  s,
}: Omit<Authorization, 'authority'>): Hex | undefined {
  if (yParity > 1 || r === 0n || r >= SECP256K1_ORDER || s === 0n || s > MAX_LOW_S) return undefined
  const signed = encodeRlp([chainId, fromHex(address), nonce])
  const hash = keccak256(concatBytes(Uint8Array.of(AUTHORIZATION_MAGIC), signed))
  try {
    return publicKeyToAddress(recoverPublicKey(hash, bigIntToBytes(r, 32), bigIntToBytes(s, 32), yParity))
  } catch {
    return undefined
  }
}
