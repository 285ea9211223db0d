import { bigIntToBytes } from '../../../lib/bytes.ts'
import { keccak256 } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { decodeRlp, encodeTypedRlp, rlpBigInt, rlpBytes, rlpList } from '../../../lib/rlp.ts'
import { MAX_LOW_S, publicKeyToAddress, recoverPublicKey, SECP256K1_ORDER } from '../../../lib/secp256k1.ts'
import type { Authorization, AuthorizationFields } from './types.ts'

/** EIP-7702. */
const AUTHORIZATION_MAGIC = 0x05

/** An entry of an authorization list. Its signer is recovered on first access. */
export function createAuthorization(fields: AuthorizationFields): Authorization {
  let recovered: { authority: Hex | undefined } | undefined
  return {
    ...fields,
    get authority() {
      recovered ??= { authority: recoverAuthority(fields) }
      return recovered.authority
    },
  }
}

/**
 * An authorization entry of a checked form, decoded on first access. A transaction that is rejected for its size or
 * sender may have thousands of entries. Decoding them would cost a garbage collection pause. An entry with an invalid
 * signature is kept without an authority, because it is part of the hash (EIP-7702).
 */
export class EncodedAuthorization implements Authorization {
  readonly #encoding: Uint8Array
  #decoded: Authorization | undefined

  constructor(encoding: Uint8Array) {
    this.#encoding = encoding
  }

  get chainId(): bigint {
    return this.#entry().chainId
  }

  get address(): Hex {
    return this.#entry().address
  }

  get nonce(): bigint {
    return this.#entry().nonce
  }

  get yParity(): number {
    return this.#entry().yParity
  }

  get r(): bigint {
    return this.#entry().r
  }

  get s(): bigint {
    return this.#entry().s
  }

  get authority(): Hex | undefined {
    return this.#entry().authority
  }

  #entry(): Authorization {
    this.#decoded ??= decodeAuthorization(this.#encoding)
    return this.#decoded
  }
}

function decodeAuthorization(encoding: Uint8Array): Authorization {
  const [chainId, address, nonce, yParity, r, s] = rlpList(decodeRlp(encoding), 'authorization')
  const integer = (item: typeof chainId) => rlpBigInt(item, 'authorization')
  return createAuthorization({
    chainId: integer(chainId),
    address: toHex(rlpBytes(address, 'authorization')),
    nonce: integer(nonce),
    yParity: Number(integer(yParity)),
    r: integer(r),
    s: integer(s),
  })
}

function recoverAuthority({ chainId, address, nonce, yParity, r, s }: AuthorizationFields): Hex | undefined {
  if (yParity > 1 || r === 0n || r >= SECP256K1_ORDER || s === 0n || s > MAX_LOW_S) return undefined
  const hash = keccak256(encodeTypedRlp(AUTHORIZATION_MAGIC, [chainId, fromHex(address), nonce]))
  try {
    return publicKeyToAddress(recoverPublicKey(hash, bigIntToBytes(r, 32), bigIntToBytes(s, 32), yParity))
  } catch {
    return undefined
  }
}
