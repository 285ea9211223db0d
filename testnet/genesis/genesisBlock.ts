import { EMPTY_BYTES } from '../../src/lib/bytes.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import {
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  EMPTY_UNCLES_HASH,
  MESSAGE_PASSER_ADDRESS,
  ZERO_HASH,
} from '../../src/rollup/protocol/index.ts'
import { computeStateRoot, computeStorageRoot, type GenesisAlloc } from './stateRoot.ts'

/** A genesis file in geth's JSON form. */
export interface GenesisFile {
  config: Record<string, unknown>
  nonce: Hex
  timestamp: Hex
  extraData: Hex
  gasLimit: Hex
  difficulty: Hex
  mixHash: Hex
  coinbase: Hex
  number: Hex
  gasUsed: Hex
  parentHash: Hex
  baseFeePerGas: Hex
  excessBlobGas: Hex
  blobGasUsed: Hex
  alloc: GenesisAlloc
}

/**
 * Hash of the genesis header. Its form is Cancun's (execution specs: header with blob fields and parent beacon root) or Isthmus's
 * (specs: isthmus/exec-engine, "Header Validity Rules").
 */
export function genesisBlockHash(file: GenesisFile, { isIsthmus }: { isIsthmus: boolean }): Hex {
  const emptyRoot = fromHex(EMPTY_TRIE_ROOT)
  const header = [
    fromHex(file.parentHash),
    fromHex(EMPTY_UNCLES_HASH),
    fromHex(file.coinbase),
    fromHex(computeStateRoot(file.alloc)),
    emptyRoot,
    emptyRoot,
    new Uint8Array(256),
    BigInt(file.difficulty),
    BigInt(file.number),
    BigInt(file.gasLimit),
    BigInt(file.gasUsed),
    BigInt(file.timestamp),
    fromHex(file.extraData),
    fromHex(file.mixHash),
    new Uint8Array(8),
    BigInt(file.baseFeePerGas),
    // Withdrawals root, blob gas used, excess blob gas, parent beacon block root, requests hash.
    isIsthmus ? computeStorageRoot(file.alloc[MESSAGE_PASSER_ADDRESS]) : emptyRoot,
    EMPTY_BYTES,
    EMPTY_BYTES,
    fromHex(ZERO_HASH),
    ...(isIsthmus ? [fromHex(EMPTY_REQUESTS_HASH)] : []),
  ]
  return toHex(keccak256(encodeRlp(header)))
}
