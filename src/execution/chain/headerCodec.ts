import { keccak256Hex } from '../../lib/hash.ts'
import {
  type BlockHeader as ConsensusHeader,
  decodeBlockHeader,
  encodeBlockHeader,
} from '../../rollup/protocol/blockHeader.ts'
import type { BlockHeader } from './block.ts'

function toConsensus(header: Omit<BlockHeader, 'hash'>): ConsensusHeader {
  const { sha3Uncles, miner, ...rest } = header
  return { ...rest, unclesHash: sha3Uncles, coinbase: miner }
}

export function encodeHeader(header: Omit<BlockHeader, 'hash'>): Uint8Array {
  return encodeBlockHeader(toConsensus(header))
}

/** Throws DecodeError. */
export function decodeHeader(encoding: Uint8Array): BlockHeader {
  const { unclesHash, coinbase, baseFeePerGas, ...rest } = decodeBlockHeader(encoding)
  return {
    hash: keccak256Hex(encoding),
    ...rest,
    sha3Uncles: unclesHash,
    miner: coinbase,
    baseFeePerGas: baseFeePerGas ?? 0n,
  }
}

/** The header with its hash. */
export function sealHeader(header: Omit<BlockHeader, 'hash'>): BlockHeader {
  return { hash: keccak256Hex(encodeHeader(header)), ...header }
}
