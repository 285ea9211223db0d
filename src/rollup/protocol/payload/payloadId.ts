import { bigIntToBytes, concatBytes } from '../../../lib/bytes.ts'
import { keccak256, sha256 } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { encodeRlp } from '../../../lib/rlp.ts'
import type { PayloadAttributes } from '../types.ts'
import { withdrawalItem } from './payload.ts'

/**
 * op-geth's payload id (`miner/payload_building.go`): 8 bytes of a hash over everything that determines the block. The
 * first byte is replaced by the version of the attributes.
 */
export function payloadId(parentHash: Hex, attributes: PayloadAttributes, version: 1 | 2 | 3): Hex {
  const { transactions, noTxPool } = attributes
  const parts = [
    fromHex(parentHash, 32),
    uint64(attributes.timestamp),
    fromHex(attributes.prevRandao, 32),
    fromHex(attributes.suggestedFeeRecipient, 20),
    encodeRlp((attributes.withdrawals ?? []).map(withdrawalItem)),
  ]
  if (attributes.parentBeaconBlockRoot !== undefined) parts.push(fromHex(attributes.parentBeaconBlockRoot, 32))
  if (noTxPool || transactions.length > 0) {
    parts.push(Uint8Array.of(noTxPool ? 1 : 0), uint64(transactions.length), ...transactions.map(keccak256))
  }
  parts.push(uint64(attributes.gasLimit))
  if (attributes.eip1559Params !== undefined) parts.push(fromHex(attributes.eip1559Params, 8))
  if (attributes.minBaseFee !== undefined) parts.push(uint64(attributes.minBaseFee))
  const id = sha256(concatBytes(...parts)).slice(0, 8)
  id[0] = version
  return toHex(id)
}

function uint64(value: number | bigint): Uint8Array {
  return bigIntToBytes(BigInt(value), 8)
}
