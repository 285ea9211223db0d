import { ENR, id, MAX_RECORD_SIZE, publicKey, txtToBuf, verify } from '@chainsafe/enr'
import { bytesToBigInt } from '../../lib/bytes.ts'
import { DecodeError, describeError } from '../../lib/errors.ts'
import { decodeRlp, encodeRlp } from '../../lib/rlp.ts'

/** Address entries (EIP-778), with their least and largest number of bytes. */
const PLACES: Readonly<Record<string, readonly [number, number]>> = {
  ip: [4, 4],
  ip6: [16, 16],
  tcp: [1, 2],
  tcp6: [1, 2],
  udp: [1, 2],
  udp6: [1, 2],
}

/**
 * Makes the library decode records with `decodeRecord`. The library's own decoder discards the bytes of a received
 * record and encodes it again, with keys in a locale's order and the sequence as a float. A record with a capital
 * letter in a key then no longer matches its signature. It also accepts addresses of any length, and fails on them
 * later. Both throw inside an event handler, so a hostile record could end the process.
 */
export function readRecordsAsSigned(): void {
  ENR.decode = decodeRecord
  ENR.decodeFromValues = (values) => decodeRecord(encodeRlp(values))
  ENR.decodeTxt = (text) => decodeRecord(txtToBuf(text))
}

/**
 * Verifies the signature and keeps the original bytes. Ignores entries with an unusable value: lists, and addresses of
 * a wrong length. Rejects records that go-ethereum rejects, since it would refuse our whole answer that contains one.
 * Throws DecodeError.
 */
function decodeRecord(bytes: Uint8Array): ENR {
  if (bytes.length > MAX_RECORD_SIZE) throw new DecodeError(`node record is too long: ${bytes.length} bytes`)
  const items = decodeRlp(bytes)
  if (!Array.isArray(items)) throw new DecodeError('node record is not a list')
  const [signature, sequence, ...pairs] = items
  if (!(signature instanceof Uint8Array) || !(sequence instanceof Uint8Array) || sequence.length > 8) {
    throw new DecodeError('node record without signature and sequence')
  }
  if (sequence[0] === 0) throw new DecodeError('node record with a zero before its sequence')
  const entries = new Map<string, Uint8Array>()
  for (let i = 0; i < pairs.length; i += 2) {
    const [key, value] = [pairs[i], pairs[i + 1]]
    if (!(key instanceof Uint8Array) || value === undefined)
      throw new DecodeError('node record has a key without value')
    const before = pairs[i - 2]
    if (before instanceof Uint8Array && Buffer.compare(before, key) >= 0) {
      throw new DecodeError('node record with keys out of order')
    }
    const name = Buffer.from(key).toString('latin1')
    if (value instanceof Uint8Array && isReadable(name, value)) entries.set(name, value)
  }
  let isSigned: boolean
  try {
    const scheme = id(entries)
    isSigned = verify(scheme, encodeRlp(items.slice(1)), publicKey(scheme, entries), signature)
  } catch (cause) {
    throw new DecodeError(`node record: ${describeError(cause)}`, { cause })
  }
  if (!isSigned) throw new DecodeError('node record with a wrong signature')
  return new ENR(entries, bytesToBigInt(sequence), signature, bytes)
}

function isReadable(name: string, { length }: Uint8Array): boolean {
  const [shortest, longest] = PLACES[name] ?? [0, MAX_RECORD_SIZE]
  return length >= shortest && length <= longest
}
