import { keccak256Hex } from '../../../lib/hash.ts'
import {
  type BlockHeader as ConsensusHeader,
  decodeBlockHeader,
  encodeBlockHeader,
} from '../../../rollup/protocol/payload/blockHeader.ts'
import type { BlockHeader } from '../../primitives/block.ts'

/**
 * Caches one encoding: the hash, size and stored form of a new block need it one after another. Headers are never
 * changed.
 */
let latest: { header: ConsensusHeader; encoding: Uint8Array } | undefined

/** Callers must not change the result. */
export function encodeHeader(header: ConsensusHeader): Uint8Array {
  if (latest?.header !== header) latest = { header, encoding: encodeBlockHeader(header) }
  return latest.encoding
}

/** Throws DecodeError. */
export function decodeHeader(encoding: Uint8Array): BlockHeader {
  return withHash(decodeBlockHeader(encoding), encoding)
}

/** Adds the hash to a header. */
export function sealHeader(consensus: ConsensusHeader): BlockHeader {
  const encoding = encodeBlockHeader(consensus)
  const header = withHash(consensus, encoding)
  latest = { header, encoding }
  return header
}

function withHash(header: ConsensusHeader, encoding: Uint8Array): BlockHeader {
  return { ...header, hash: keccak256Hex(encoding), baseFeePerGas: header.baseFeePerGas ?? 0n }
}
