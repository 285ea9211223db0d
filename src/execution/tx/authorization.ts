import { bigIntToBytes, concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { decodeRlp, encodeRlp, readRlpHeader, rlpBigInt, rlpBytes, rlpList, splitRlpList } from '../../lib/rlp.ts'
import { publicKeyToAddress, recoverPublicKey } from '../../lib/secp256k1.ts'
import type { Authorization } from '../chain/block.ts'
import { MAX_LOW_S, SECP256K1_ORDER } from './signatureLimits.ts'

/** EIP-7702. */
const AUTHORIZATION_MAGIC = 0x05

type Unsigned = Omit<Authorization, 'authority'>

/** An entry of an authorization list, with its signer, which is recovered when first asked for. */
export function createAuthorization(authorization: Unsigned): Authorization {
  let recovered: { authority: Hex | undefined } | undefined
  return {
    ...authorization,
    get authority() {
      recovered ??= { authority: recoverAuthority(authorization) }
      return recovered.authority
    },
  }
}

/**
 * The entries of an encoded authorization list. One whose signature gives no signer is kept, since it is part of the hash, without
 * an authority (EIP-7702). Throws DecodeError for one that is malformed.
 */
export function decodeAuthorizations(list: Uint8Array): Authorization[] {
  const entries = splitRlpList(list, 'authorization list')
  if (entries.length === 0) throw new DecodeError('transaction: empty authorization list')
  return entries.map((entry) => (isWellFormed(entry) ? new EncodedAuthorization(entry) : decodeAuthorization(entry)))
}

/** The most bytes that chain id, address, nonce, parity, r and s may have. */
const FIELD_BYTES = [32, 20, 8, 1, 32, 32] as const
const ADDRESS_FIELD = 1

/** Whether an entry is sure to be decoded, at a small part of what that takes. */
function isWellFormed(entry: Uint8Array): boolean {
  const list = readRlpHeader(entry, 0)
  let position = list.start
  for (let field = 0; field < FIELD_BYTES.length; field++) {
    if (position >= list.end) return false
    const { isList, start, end } = readRlpHeader(entry, position)
    const most = FIELD_BYTES[field] ?? 0
    if (isList || end - start > most) return false
    if (field === ADDRESS_FIELD ? end - start < most : entry[start] === 0 && end > start) return false
    position = end
  }
  return list.isList && position === entry.length
}

function decodeAuthorization(entry: Uint8Array): Authorization {
  const fields = rlpList(decodeRlp(entry), 'authorization', FIELD_BYTES.length)
  return createAuthorization({
    chainId: rlpBigInt(fields[0], 'authorization chain id'),
    address: toHex(rlpBytes(fields[ADDRESS_FIELD], 'authorization address', 20)),
    nonce: rlpBigInt(fields[2], 'authorization nonce', 8),
    yParity: Number(rlpBigInt(fields[3], 'authorization parity', 1)),
    r: rlpBigInt(fields[4], 'authorization r'),
    s: rlpBigInt(fields[5], 'authorization s'),
  })
}

/**
 * An entry that is decoded when first asked for something: thousands may stand in a transaction that is refused for its size or
 * its sender, and what is decoded of them is what the collector then holds the event loop for.
 */
class EncodedAuthorization implements Authorization {
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

function recoverAuthority({ chainId, address, nonce, yParity, r, s }: Unsigned): Hex | undefined {
  if (yParity > 1 || r === 0n || r >= SECP256K1_ORDER || s === 0n || s > MAX_LOW_S) return undefined
  const signed = encodeRlp([chainId, fromHex(address), nonce])
  const hash = keccak256(concatBytes(Uint8Array.of(AUTHORIZATION_MAGIC), signed))
  try {
    return publicKeyToAddress(recoverPublicKey(hash, bigIntToBytes(r, 32), bigIntToBytes(s, 32), yParity))
  } catch {
    return undefined
  }
}
