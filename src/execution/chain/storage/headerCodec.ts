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

/** Hash, size and what is stored of a new block come one after the other, each of its encoding. Headers are never changed. */
let latest: { header: Omit<BlockHeader, 'hash'>; encoding: Uint8Array } | undefined

/** The result is not to be changed. */
export function encodeHeader(header: Omit<BlockHeader, 'hash'>): Uint8Array {
  if (latest?.header !== header) latest = { header, encoding: encodeBlockHeader(toConsensus(header)) }
  return latest.encoding
}

/** Throws DecodeError. */
export function decodeHeader(encoding: Uint8Array): BlockHeader {
  return fromConsensus(decodeBlockHeader(encoding), encoding)
}

/** The header with its hash. */
export function sealHeader(header: Omit<BlockHeader, 'hash'>): BlockHeader {
  return sealConsensusHeader(toConsensus(header))
}

/** The same for a header in the form of the consensus rules. */
export function sealConsensusHeader(consensus: ConsensusHeader): BlockHeader {
  const encoding = encodeBlockHeader(consensus)
  const header = fromConsensus(consensus, encoding)
  latest = { header, encoding }
  return header
}

function fromConsensus(consensus: ConsensusHeader, encoding: Uint8Array): BlockHeader {
  // Each member by its name: all but three of another object take V8 several times as long.
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
