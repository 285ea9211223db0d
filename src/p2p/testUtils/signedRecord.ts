import { keccak256 } from '../../lib/hash.ts'
import { encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import { publicKeyOf, signHash } from '../../lib/secp256k1.ts'

/** The text of a node record (EIP-778) with these entries beside its key, whatever they say; `last` comes out of order. */
export function signedRecord(
  privateKey: Uint8Array,
  entries: Readonly<Record<string, RlpInput>>,
  sequence: RlpInput = 1n,
  last: readonly RlpInput[] = [],
): string {
  const all: Record<string, RlpInput> = { ...entries, id: Buffer.from('v4'), secp256k1: publicKeyOf(privateKey) }
  const keys = Object.keys(all).sort()
  const content: RlpInput[] = [sequence, ...keys.flatMap((key) => [Buffer.from(key), all[key] ?? []]), ...last]
  const { r, s } = signHash(keccak256(encodeRlp(content)), privateKey)
  const record = encodeRlp([Uint8Array.from([...r, ...s]), ...content])
  return `enr:${Buffer.from(record).toString('base64url')}`
}
