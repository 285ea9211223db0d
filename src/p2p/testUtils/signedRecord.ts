import { randomBytes } from 'node:crypto'
import { keccak256 } from '../../lib/hash.ts'
import { encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import { publicKeyOf, signHash } from '../../lib/secp256k1.ts'
import { encodeOpstackEntry } from '../discovery/opstackEntry.ts'
import { CHAIN_ID } from './testChain.ts'

/** The text of a node record (EIP-778) with its key and any other entries. `last` is appended out of order. */
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

/** The record of a node on the test's chain, on loopback. */
export function peerRecord(
  entries: Readonly<Record<string, RlpInput>> = {},
  privateKey: Uint8Array = new Uint8Array(randomBytes(32)),
  sequence: RlpInput = 1n,
): string {
  const opstack = encodeOpstackEntry({ chainId: CHAIN_ID, version: 0n })
  const place = { ip: Uint8Array.of(127, 0, 0, 1), tcp: Uint8Array.of(9) }
  return signedRecord(privateKey, { ...place, opstack, ...entries }, sequence)
}
