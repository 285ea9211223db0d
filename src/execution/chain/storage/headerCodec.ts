import { keccak256Hex } from '../../../lib/hash.ts'
import {
  type BlockHeader as ConsensusHeader,
  decodeBlockHeader,
  encodeBlockHeader,
} from '../../../rollup/protocol/payload/blockHeader.ts'
import type { BlockHeader } from '../../primitives/block.ts'

function toConsensus(header: Omit<BlockHeader, 'hash'>): ConsensusHeader {
  const { sha3Uncles, miner, ...rest } = header
  return { ...rest, unclesHash: sha3Uncles, coinbase: miner }
}

/**
 * Caches one encoding: the hash, size and stored form of a new block need it one after another. Headers are never
 * changed.
 */
let latest: { header: Omit<BlockHeader, 'hash'>; encoding: Uint8Array } | undefined

/** Callers must not change the result. */
export function encodeHeader(header: Omit<BlockHeader, 'hash'>): Uint8Array {
  if (latest?.header !== header) latest = { header, encoding: encodeBlockHeader(toConsensus(header)) }
  return latest.encoding
}

/** Throws DecodeError. */
export function decodeHeader(encoding: Uint8Array): BlockHeader {
  return fromConsensus(decodeBlockHeader(encoding), encoding)
}

/** Adds the hash to a header. */
export function sealHeader(header: Omit<BlockHeader, 'hash'>): BlockHeader {
  return sealConsensusHeader(toConsensus(header))
}

/** Adds the hash to a header in consensus form. */
export function sealConsensusHeader(consensus: ConsensusHeader): BlockHeader {
  const encoding = encodeBlockHeader(consensus)
  const header = fromConsensus(consensus, encoding)
  latest = { header, encoding }
  return header
}

function fromConsensus(consensus: ConsensusHeader, encoding: Uint8Array): BlockHeader {
  // Members are listed by name: V8 takes several times as long for a rest pattern.
  const header: BlockHeader = {
    hash: keccak256Hex(encoding),
    parentHash: consensus.parentHash,
    sha3Uncles: consensus.unclesHash,
    miner: consensus.coinbase,
    stateRoot: consensus.stateRoot,
    transactionsRoot: consensus.transactionsRoot,
    receiptsRoot: consensus.receiptsRoot,
    logsBloom: consensus.logsBloom,
    difficulty: consensus.difficulty,
    number: consensus.number,
    gasLimit: consensus.gasLimit,
    gasUsed: consensus.gasUsed,
    timestamp: consensus.timestamp,
    extraData: consensus.extraData,
    mixHash: consensus.mixHash,
    nonce: consensus.nonce,
    baseFeePerGas: consensus.baseFeePerGas ?? 0n,
  }
  const { withdrawalsRoot, blobGasUsed, excessBlobGas, parentBeaconBlockRoot, requestsHash } = consensus
  if (withdrawalsRoot !== undefined) header.withdrawalsRoot = withdrawalsRoot
  if (blobGasUsed !== undefined) header.blobGasUsed = blobGasUsed
  if (excessBlobGas !== undefined) header.excessBlobGas = excessBlobGas
  if (parentBeaconBlockRoot !== undefined) header.parentBeaconBlockRoot = parentBeaconBlockRoot
  if (requestsHash !== undefined) header.requestsHash = requestsHash
  return header
}
