import { fromHex, type Hex } from '../../../lib/hex.ts'
import { encodeRlp, type RlpInput } from '../../../lib/rlp.ts'
import { isForkActive } from '../config/forks.ts'
import { EMPTY_REQUESTS_HASH, EMPTY_UNCLES_HASH } from '../constants.ts'
import { l1InfoOfTransactions } from '../l1/l1Info.ts'
import type { ExecutionPayload, L2BlockRef, PayloadEnvelope, RollupConfig, Withdrawal } from '../types.ts'
import { type BlockHeader, blockHeaderHash } from './blockHeader.ts'
import { orderedTrieRoot } from './orderedTrie.ts'
import type { PayloadVersion } from './payloadSsz.ts'

/** The version of the gossip topic and of the container for a block with this L2 time. */
export function payloadVersionAt(config: RollupConfig, timestamp: number): PayloadVersion {
  if (isForkActive(config, 'isthmus', timestamp)) return 4
  if (isForkActive(config, 'ecotone', timestamp)) return 3
  if (isForkActive(config, 'canyon', timestamp)) return 2
  return 1
}

export interface PayloadHeaderOptions {
  /** The known transactions root, to save building the trie. */
  transactionsRoot?: Hex
}

/**
 * Builds the header of a payload. The payload's members determine the fork: `withdrawalsRoot` means Isthmus (with the
 * empty requests hash), `withdrawals` Canyon, the blob gas members Ecotone.
 */
export function payloadToHeader(envelope: PayloadEnvelope, opts: PayloadHeaderOptions = {}): BlockHeader {
  const { payload, parentBeaconBlockRoot } = envelope
  const header: BlockHeader = {
    parentHash: payload.parentHash,
    unclesHash: EMPTY_UNCLES_HASH,
    coinbase: payload.feeRecipient,
    stateRoot: payload.stateRoot,
    transactionsRoot: opts.transactionsRoot ?? orderedTrieRoot(payload.transactions),
    receiptsRoot: payload.receiptsRoot,
    logsBloom: payload.logsBloom,
    difficulty: 0n,
    number: payload.blockNumber,
    gasLimit: payload.gasLimit,
    gasUsed: payload.gasUsed,
    timestamp: payload.timestamp,
    extraData: payload.extraData,
    mixHash: payload.prevRandao,
    nonce: '0x0000000000000000',
    baseFeePerGas: payload.baseFeePerGas,
  }
  if (payload.withdrawalsRoot !== undefined) {
    header.withdrawalsRoot = payload.withdrawalsRoot
    header.requestsHash = EMPTY_REQUESTS_HASH
  } else if (payload.withdrawals !== undefined) {
    header.withdrawalsRoot = orderedTrieRoot(payload.withdrawals.map((each) => encodeRlp(withdrawalItem(each))))
  }
  if (payload.blobGasUsed !== undefined) header.blobGasUsed = payload.blobGasUsed
  if (payload.excessBlobGas !== undefined) header.excessBlobGas = payload.excessBlobGas
  if (parentBeaconBlockRoot !== undefined) header.parentBeaconBlockRoot = parentBeaconBlockRoot
  return header
}

/**
 * Recomputes the block hash from the payload's content, to compare it with the claimed `blockHash`. Throws DecodeError
 * if the members do not match any fork. Since Isthmus the hash does not cover `withdrawals`, so callers must reject a
 * non-empty list.
 */
export function payloadBlockHash(envelope: PayloadEnvelope, opts: PayloadHeaderOptions = {}): Hex {
  return blockHeaderHash(payloadToHeader(envelope, opts))
}

/** EIP-4895. */
export function withdrawalItem({ index, validatorIndex, address, amount }: Withdrawal): RlpInput {
  return [index, validatorIndex, fromHex(address, 20, 'withdrawal address'), amount]
}

/**
 * Reference to the block, with the origin from its L1-info deposit. Throws DecodeError if that deposit is missing or
 * malformed.
 */
export function payloadToL2BlockRef(payload: ExecutionPayload, config: RollupConfig): L2BlockRef {
  const { l1, l2 } = config.genesis
  const ref = {
    hash: payload.blockHash,
    number: payload.blockNumber,
    parentHash: payload.parentHash,
    timestamp: payload.timestamp,
  }
  if (payload.blockNumber === l2.number && payload.blockHash === l2.hash) {
    return { ...ref, l1Origin: { ...l1 }, sequenceNumber: 0 }
  }
  const info = l1InfoOfTransactions(payload.transactions)
  return { ...ref, l1Origin: { hash: info.blockHash, number: info.number }, sequenceNumber: info.sequenceNumber }
}
